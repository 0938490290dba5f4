"""Which files declared a workspace at its last apply."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column: a JSON list of texts, null for a workspace whose files nobody kept."""
    op.add_column("workspaces", sa.Column("files", sa.Text))
