"""What should be, what is, and what to do about it. Pure: standard library only, no I/O, clock, ids or logging."""
