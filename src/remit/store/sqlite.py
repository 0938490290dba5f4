"""One SQLite file: the checks before it is opened, connections for reading and for writing, the writers' lock.

Decides how a file is read without leaving a trace. A read-only connection to a WAL database creates `-wal` and `-shm`
beside it and leaves them there, and fails on a read-only medium. So a file without a `-wal` (nobody has it open) is read
as immutable, and the reading counts only if the file is the same afterwards. It knows nothing of tables.
"""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from remit.errors import DatabaseUnusable, NoDatabase, RemitError, WorkspaceBusy
from remit.store.faults import is_busy

__all__ = ["SqliteFile", "as_they_are", "begin_writing", "check_file"]

Result = TypeVar("Result")

_HEADER_BYTES = 100
_STILL_ATTEMPTS = 3
_BUSY_SECONDS = 5.0
_PAUSE_SECONDS = 0.02
_LOCK = "remit_lock"


def check_file(path: Path) -> None:
    """Refuse what cannot be a database to trust, before SQLite sees it.

    Raises NoDatabase where there is none, DatabaseUnusable for what is not a regular, non-empty SQLite file or can be
    written by everyone. An empty file is refused as SQLite would take it for a new database.
    """
    try:
        found = path.stat()
        _require_private(path, found)
        readable = os.access(path, os.R_OK)
    except (FileNotFoundError, NotADirectoryError):
        raise _no_database(path) from None
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from error
    if stat.S_ISDIR(found.st_mode):
        raise _unusable(path, "database-not-sqlite", "this is a folder", "name a file")
    if not readable:
        raise _unreadable(path, os.strerror(errno.EACCES))
    if not found.st_size:
        raise _unusable(
            path, "database-empty", "the file is empty", "restore it from a backup, or delete it and create one"
        )
    if not _is_sqlite(path, found):
        raise _unusable(path, "database-not-sqlite", "the file is not a SQLite database", "name the right file")


def _is_sqlite(path: Path, found: os.stat_result) -> bool:
    # Looked at through SQLite alone: closing any other descriptor of the file drops every lock that this process holds on
    # it, an open journal's too, and then another process removes the write-ahead log under it (sqlite.org/howtocorrupt.html).
    if not stat.S_ISREG(found.st_mode) or found.st_size < _HEADER_BYTES:
        return False
    try:
        with closing(sqlite3.connect(_uri(path, "mode=ro&immutable=1"), uri=True)) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        # What else may be wrong with it shows in the reading that this one precedes.
        return getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB
    return True


def _require_private(path: Path, found: os.stat_result) -> None:
    folder = path.resolve().parent.stat().st_mode
    if found.st_mode & stat.S_IWOTH:
        raise _unusable(path, "database-exposed", "every user may write this file", "chmod o-w the file")
    # In a sticky folder (/tmp) others can add files but cannot replace ours.
    if folder & stat.S_IWOTH and not folder & stat.S_ISVTX:
        raise _unusable(path, "database-exposed", "every user may replace this file", "chmod o-w its folder")


def _no_database(path: Path) -> NoDatabase:
    return NoDatabase(
        "there is no database",
        place=str(path),
        hint="`remit init` or `remit db upgrade` creates one, `remit apply --create-db` does so on the way; "
        "if there should be one, check REMIT_DATABASE_URL",
    )


def _unreadable(path: Path, why: str) -> DatabaseUnusable:
    return _unusable(path, "database-unusable", f"the file cannot be read ({why})", "check its permissions")


def _unusable(path: Path, code: str, message: str, hint: str) -> DatabaseUnusable:
    return DatabaseUnusable(message, code=code, place=str(path), hint=hint)


class SqliteFile:
    """Engines for one file. A connection lasts for one reading or one transaction, so nothing has to be kept open."""

    def __init__(self, path: Path):
        self.path = path
        self._still = _reading(path, "mode=ro&immutable=1")
        self._live = _reading(path, "mode=ro")
        self.writer = _writing(path)

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work` on one consistent state of the file, which is neither created nor changed by it."""
        for _ in range(_STILL_ATTEMPTS):
            check_file(self.path)
            if (before := self._stamp()) is None:
                break
            try:
                result = _within(self._still, work)
            except (SQLAlchemyError, sqlite3.Error, RemitError):
                if self._stamp() == before:
                    raise
                continue
            if self._stamp() == before:
                return result
        return _within(self._live, work)

    def _stamp(self) -> tuple[int, ...] | None:
        """What differs once anybody wrote the file; None while somebody has it open, or left a journal behind."""
        if any(_beside(self.path, suffix).exists() for suffix in ("-shm", "-wal", "-journal")):
            return None
        try:
            found = self.path.stat()
        except FileNotFoundError:
            # It went after it was looked at; an outage like any other, and no crash.
            raise _no_database(self.path) from None
        return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _within(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    with engine.connect() as connection, connection.begin():
        return work(connection)


def _reading(path: Path, mode: str) -> Engine:
    engine = _engine(path, mode, ("PRAGMA query_only = ON",))
    event.listen(engine, "begin", _begin_reading)
    return engine


def _writing(path: Path) -> Engine:
    engine = _engine(
        path,
        "mode=rw",
        ("PRAGMA journal_mode = WAL", "PRAGMA foreign_keys = ON", "PRAGMA recursive_triggers = ON"),
    )
    event.listen(engine, "begin", _begin_immediate)
    event.listen(engine, "invalidate", _give_up)
    return engine


def _give_up(driver: DBAPIConnection, _record: object, _error: object) -> None:
    # On Ctrl-C inside a statement SQLAlchemy closes without rolling back, and SQLite keeps a closed connection, its lock
    # included, for as long as a cursor of it lives: in a traceback, or until somebody collects garbage.
    driver.rollback()


def _engine(path: Path, mode: str, pragmas: tuple[str, ...]) -> Engine:
    uri = _uri(path, mode)

    def connect() -> sqlite3.Connection:
        # isolation_level=None: the driver begins nothing by itself; the begin events below do.
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False
        )
        try:
            for pragma in (*pragmas, "PRAGMA trusted_schema = OFF"):
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    return create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(os.fspath(path.absolute()))}?{mode}"


def _begin_reading(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def begin_writing(connection: Connection, *, lock_timeout: float, place: str) -> None:
    """Begin a transaction that holds the writers' lock.

    Raises WorkspaceBusy about `place` after `lock_timeout` seconds without it.
    """
    connection.execution_options(**{_LOCK: (lock_timeout, place)})
    connection.begin()


def _begin_immediate(connection: Connection) -> None:
    # BEGIN would take the lock at the first write, where a reader turned writer is refused at once, whatever the
    # timeout. The waiting is done here and not in SQLite, whose busy handler does not let Ctrl-C through.
    options: dict[str, Any] = dict(connection.get_execution_options())
    seconds, place = cast("tuple[float, str]", options[_LOCK])
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 (for the type checker; the creator makes nothing else)
    driver.execute("PRAGMA busy_timeout = 0")
    deadline = time.monotonic() + seconds
    while not _begun(driver):
        if time.monotonic() >= deadline:
            raise WorkspaceBusy(
                f"another process is writing to this database; waited {seconds:g} s. It can be an apply of this or of "
                "another workspace, or an upgrade",
                place=place,
                hint="run the command again when it is done, or wait longer with --lock-timeout; "
                "the lock ends with its process, there is nothing to unlock",
            )
        time.sleep(_PAUSE_SECONDS)


def _begun(driver: sqlite3.Connection) -> bool:
    try:
        driver.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
        return False
    return True


@contextmanager
def as_they_are(driver: DBAPIConnection) -> Generator[None]:
    """While inside, a text that is no UTF-8 is read with a lone surrogate for each wrong byte, where it would be an error.

    For rows that say themselves whether somebody edited them: one bad text must not hide the others.
    """
    connection = cast("sqlite3.Connection", driver)
    connection.text_factory = _with_surrogates
    try:
        yield
    finally:
        connection.text_factory = str


def _with_surrogates(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
