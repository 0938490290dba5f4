"""Whether a workspace was ever applied by a lock."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; no workspace of before was, as there were no locks."""
    op.add_column("workspaces", sa.Column("lock_used", sa.Boolean, nullable=False, server_default=sa.false()))
