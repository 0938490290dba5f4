"""Indexes that find what is due to be dropped without looking at all that is kept."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the indexes; those on contents hold only rows that have some."""
    op.create_index("ix_protocol_events_at", "protocol_events", ["at"])
    for name, table, columns, condition in (
        ("ix_actions_content", "actions", ["ended_at"], "output IS NOT NULL OR arguments IS NOT NULL"),
        ("ix_idempotency_records_result", "idempotency_records", ["owner", "ended_at"], "result IS NOT NULL"),
    ):
        where = sa.text(condition)
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
