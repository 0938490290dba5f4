"""The schema's revisions, oldest first. Importing this imports no alembic: a plan only compares one row with `HEAD`."""

__all__ = ["HEAD", "REVISIONS"]

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009")
"""Every revision that this remit knows, in the order they are applied; a test compares it with `versions/`."""

HEAD = REVISIONS[-1]
