"""What a call is held to: three more columns of an attachment's policy, and a connection's limit of one call.

Rows that are there get the strictest value of each policy, as a tool gets that nobody said anything about.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"

_COLUMNS = (
    ("unknown_arguments", "reject", "pass"),
    ("record", "full", "digest"),
    ("audit_arguments", "digest", "values"),
)
"""Name, the strict value and the other one."""

_CALL_TIMEOUT_SECONDS = 300.0

_registrations = sa.table(
    "mcp_server_registrations",
    sa.column("id", sa.Text),
    sa.column("connection", sa.Text),
    sa.column("timeout_seconds", sa.Float),
)


def upgrade() -> None:
    """Add the columns, then the limit to every connection, tombstones included."""
    for name, strict, other in _COLUMNS:
        # Alembic adds a column and then its check, which SQLite cannot do but by copying the table. Both engines take this.
        op.execute(
            f"ALTER TABLE assistant_mcp_tools ADD COLUMN {name} TEXT DEFAULT '{strict}' NOT NULL "
            f"CONSTRAINT ck_assistant_mcp_tools_{name} CHECK ({name} IN ('{strict}', '{other}'))"
        )
    columns = _registrations.c
    rows = op.get_bind().execute(sa.select(columns.id, columns.connection, columns.timeout_seconds)).all()
    for row_id, text, idle_seconds in rows:
        if (limited := _limited(text, idle_seconds)) is not None:
            op.execute(_registrations.update().where(columns.id == row_id).values(connection=limited))


def _limited(connection: str, idle_seconds: float) -> str | None:
    """The connection with its limit; None for one that no remit wrote, which reading names when it comes to it."""
    try:
        document: dict[str, Any] = {**json.loads(connection)}
        document["call_timeout_seconds"] = max(_CALL_TIMEOUT_SECONDS, idle_seconds)
    except (ValueError, TypeError):
        return None
    return json.dumps(document, separators=(",", ":"))
