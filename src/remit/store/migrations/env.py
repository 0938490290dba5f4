"""Alembic's environment: runs revisions on the connection that `upgrade` holds, inside its one transaction."""

from alembic import context
from sqlalchemy import Connection

from remit.store.tables import METADATA

__all__: list[str] = []


def _run(connection: Connection) -> None:
    # SQLite alters a table by copying it; batch mode lets later revisions be written once for both engines.
    context.configure(connection=connection, target_metadata=METADATA, render_as_batch=True)
    context.run_migrations()


_run(context.config.attributes["connection"])
