"""The benchmark: what plan, apply and governed calls cost, held against the budgets of DESIGN.md section 14.

`./run bench plan|apply|call`. Not part of the package that is installed, and no test: its figures depend on the machine.
"""
