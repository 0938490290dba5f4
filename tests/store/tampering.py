"""Writing to a database as somebody does who owns its file."""

import sqlite3
from collections.abc import Iterable

from tests.store.calls import Site

__all__ = ["edited"]


def edited(site: Site, *statements: str, again: bool = True, more: Iterable[str] = ()) -> None:
    """Change the trail as somebody does who owns the file: the triggers do not stop that, and are there `again` then."""
    raw = sqlite3.connect(site.path)
    triggers = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        raw.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        raw.execute(statement)
    for sql in (*((sql for _, sql in triggers) if again else ()), *more):
        raw.execute(sql)
    raw.commit()
    raw.close()
