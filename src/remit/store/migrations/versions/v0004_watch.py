"""Who watches a workspace: a table of leases."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "watch_leases",
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("boot", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("pid_start", sa.Text, nullable=False),
        sa.Column("since", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("workspace", name="pk_watch_leases"),
    )
