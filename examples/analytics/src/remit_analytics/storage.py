"""The database: made once from the data set, opened so that nobody can change it or reach anything else through it.

Decides where the data lives (a file, or memory) and every lock on the connection. Does not run questions.
"""

import errno
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from remit_analytics.catalog import VIEWS
from remit_analytics.dataset import AGENTS, DATASET_VERSION, make_rows

__all__ = ["Database", "DatabaseUnusable", "create_file", "open_database"]

_log = logging.getLogger(__name__)

_READ_ONLY_PLACE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})

# In this order: after the last one no statement can loosen any of them, and the last but one closes the file system, the
# network and extensions. No temporary directory: a query that outgrows the memory fails, it never writes.
_LOCKS = (
    "SET memory_limit = '256MB'",
    "SET threads = 2",
    "SET temp_directory = ''",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class DatabaseUnusable(Exception):
    """The named database file cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """An open, locked database. `catalog` is every relation name in it, lower case, system views included."""

    connection: duckdb.DuckDBPyConnection
    kind: Literal["file", "memory"]
    catalog: frozenset[str]


def open_database(path: Path | None, *, create: Callable[[Path], None] | None = None) -> Database:
    """Open `path` read-only, making it first if it is missing; `None` keeps the data in memory.

    A place that cannot be written (a read-only checkout) and holds no database yet falls back to memory: the data is the
    same. Any other trouble with the file raises `DatabaseUnusable`; an existing file is never overwritten.
    """
    if path is None:
        return _in_memory()
    if not path.exists():
        try:
            (create or create_file)(path)
        except OSError as error:
            if error.errno not in _READ_ONLY_PLACE:
                raise DatabaseUnusable(f"cannot make the database {path}: {error.strerror}") from error
            _log.warning("%s cannot be written (%s); the data is kept in memory instead", path, error.strerror)
            return _in_memory()
    return _from_file(path)


def create_file(path: Path) -> None:
    """Make the database at `path`: whole, or not at all.

    It is built beside its place and then renamed, so that two processes starting at once both find a complete file,
    whichever of them is last.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".analytics-", dir=path.parent) as folder:
        draft = Path(folder) / "draft.duckdb"
        with duckdb.connect(str(draft)) as connection:
            _fill(connection)
        os.replace(draft, path)  # noqa: PTH105 - Path.replace reads like text replacement; this is the atomic rename


def _in_memory() -> Database:
    connection = duckdb.connect(":memory:")
    _fill(connection)
    return _database(connection, "memory")


def _from_file(path: Path) -> Database:
    try:
        connection = duckdb.connect(str(path), read_only=True)
        row = connection.execute("SELECT version FROM store.dataset").fetchone()
    except duckdb.Error as error:
        raise DatabaseUnusable(f"{path} is not an analytics database; name another file in ANALYTICS_DB") from error
    if row != (DATASET_VERSION,):
        connection.close()
        raise DatabaseUnusable(f"{path} holds another version of the data set; delete it, it is made again")
    return _database(connection, "file")


def _database(connection: duckdb.DuckDBPyConnection, kind: Literal["file", "memory"]) -> Database:
    for lock in _LOCKS:
        connection.execute(lock)
    names = connection.execute(
        "SELECT view_name FROM duckdb_views() UNION SELECT table_name FROM duckdb_tables()"
    ).fetchall()
    return Database(connection=connection, kind=kind, catalog=frozenset(str(name).lower() for (name,) in names))


def _fill(connection: duckdb.DuckDBPyConnection) -> None:
    turns, calls = make_rows()
    connection.execute("BEGIN")
    connection.execute("CREATE SCHEMA store")
    connection.execute("CREATE TABLE store.dataset (version VARCHAR NOT NULL)")
    connection.execute("INSERT INTO store.dataset VALUES (?)", [DATASET_VERSION])
    _store(connection, "agents", "agent VARCHAR, team VARCHAR, model VARCHAR, purpose VARCHAR", AGENTS)
    _store(
        connection,
        "turns",
        "turn_id INTEGER, agent VARCHAR, started_at TIMESTAMP, channel VARCHAR, status VARCHAR, error_kind VARCHAR,"
        " latency_ms INTEGER, input_tokens INTEGER, output_tokens INTEGER, tool_calls INTEGER",
        turns,
    )
    _store(
        connection,
        "tool_calls",
        "call_id INTEGER, turn_id INTEGER, tool VARCHAR, status VARCHAR, duration_ms INTEGER",
        calls,
    )
    for view in VIEWS:
        connection.execute(f"CREATE VIEW main.{view.name} AS {view.body}")
    connection.execute("COMMIT")


def _store(connection: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Sequence[object]) -> None:
    """Make one table and fill each of its columns from the attribute of the same name."""
    pairs = [column.split() for column in columns.split(", ")]
    # Whole columns as lists: one statement for thousands of rows, where executemany takes seconds.
    picked = ", ".join(f"unnest(CAST(? AS {kind}[]))" for _, kind in pairs)
    values = [[getattr(row, name) for row in rows] for name, _ in pairs]
    connection.execute(f"CREATE TABLE store.{table} ({columns})")
    connection.execute(f"INSERT INTO store.{table} SELECT {picked}", values)
