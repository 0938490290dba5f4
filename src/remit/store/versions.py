"""Which schema a database has, judged without alembic.

Decides between usable, older, newer and somebody else's. The comparison is one row with a constant (DESIGN.md section 7).
"""

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from remit.errors import DatabaseUnusable, DatabaseVersion
from remit.store.migrations import HEAD, REVISIONS

__all__ = ["ALEMBIC_VERSION", "needs_upgrade", "require_version"]

ALEMBIC_VERSION = Table("alembic_version", MetaData(), Column("version_num", Text))
"""Alembic's own table: not part of our metadata, as alembic makes it."""


def require_version(connection: Connection, place: str) -> None:
    """Refuse every schema but this remit's. Raises DatabaseVersion, or DatabaseUnusable for another program's file."""
    if needs_upgrade(connection, place):
        raise DatabaseVersion(
            "the database's schema is older than this remit",
            code="database-older",
            place=place,
            hint="back it up, then run `remit db upgrade`",
        )


def needs_upgrade(connection: Connection, place: str) -> bool:
    """Whether revisions are missing; an empty schema misses all. Raises as `require_version` for what is not ours."""
    tables = inspect(connection).get_table_names()
    if ALEMBIC_VERSION.name not in tables:
        if tables:
            raise DatabaseUnusable(
                "the database belongs to another program: it has tables, and none of them is remit's",
                code="database-foreign",
                place=place,
                hint="name another file; remit never adds its tables to a database that it did not make",
            )
        return True
    found = connection.execute(select(ALEMBIC_VERSION.c.version_num)).scalars().all()
    unknown = sorted(set(found) - set(REVISIONS))
    if unknown:
        raise DatabaseVersion(
            f"the database's schema ({unknown[0]!r}) is not known to this remit, which knows {HEAD!r}: "
            "a newer remit wrote it",
            code="database-newer",
            place=place,
            hint="use the newer remit, or another database",
        )
    return HEAD not in found
