"""Whether a server or an assistant is protected from removal."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column to both; nothing of before was protected."""
    for table in ("mcp_server_registrations", "assistants"):
        op.add_column(table, sa.Column("protect", sa.Boolean, nullable=False, server_default=sa.false()))
