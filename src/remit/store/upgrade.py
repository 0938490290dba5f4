"""Bring a database's schema up to this remit's, through alembic. The only module that imports it: it costs 0.25 CPU s."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

__all__ = ["upgrade"]


def upgrade(connection: Connection) -> None:
    """Run every revision that is missing, inside the connection's transaction; the caller commits."""
    config = Config()
    config.set_main_option("script_location", "remit.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
