"""Observe, plan, apply. Sees servers and database only through the ports in core."""
