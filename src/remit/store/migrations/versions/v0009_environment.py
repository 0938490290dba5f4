"""Which environment a workspace is applied for."""

import json
import re
from typing import cast

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0009"
down_revision = "0008"

_WORKSPACES = sa.table("workspaces", sa.column("name"), sa.column("files"), sa.column("environment"))


def upgrade() -> None:
    """Add the column. The files of the last apply tell which overlay was among them; where nobody can tell it stays null."""
    op.add_column("workspaces", sa.Column("environment", sa.Text))
    connection, row = op.get_bind(), _WORKSPACES.c
    for name, files in connection.execute(sa.select(row.name, row.files)).all():
        environment = _environment(files)
        if environment is not None:
            connection.execute(sa.update(_WORKSPACES).where(row.name == name).values(environment=environment))


def _environment(files: str | None) -> str | None:
    try:
        names: object = json.loads(files or "null")
    except ValueError:
        return None
    if not isinstance(names, list) or not names:
        return None
    overlays = [
        found[1] for each in cast("list[object]", names) if (found := re.fullmatch(r"envs/([^/]+)\.yaml", str(each)))
    ]
    return None if len(overlays) > 1 else (overlays or [""])[0]
