"""The benchmark of plan and apply: what remit costs at 10 to 5,000 tools, held against the budgets of DESIGN.md section 14.

`./run bench plan|apply`. Not part of the package that is installed, and no test: its figures depend on the machine.
"""
