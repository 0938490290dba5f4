"""The one connection of a journal: kept open, durable at every commit, opened anew when the file or the database is another.

Decides how the writers' lock is tried for, without waiting, and which errors end a transaction as a whole. The SQLite-only
part of the journal.
"""

import contextlib
import sqlite3
from typing import cast

from sqlalchemy import select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import PoolProxiedConnection

from remit.store.faults import is_busy
from remit.store.migrations import HEAD
from remit.store.session import Session, Statement
from remit.store.sqlite import SqliteFile, check_file
from remit.store.versions import ALEMBIC_VERSION, require_version

__all__ = ["JournalConnection", "concerns_one_item"]

_VERSION = Statement(select(ALEMBIC_VERSION.c.version_num))

_OF_ONE_ITEM = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
)


def concerns_one_item(error: Exception) -> bool:
    """Whether the others of a transaction can still be written; a full disk, a lock or a damaged file concern all."""
    return isinstance(error, _OF_ONE_ITEM) or not isinstance(error, sqlite3.Error)


class JournalConnection:
    """Opened by the first `try_to_begin`; after any failure it is closed and opened anew."""

    def __init__(self, file: SqliteFile):
        self._file = file
        self._place = str(file.path)
        self._pooled: PoolProxiedConnection | None = None
        self._driver: sqlite3.Connection | None = None
        self._session: Session | None = None
        self._identity: tuple[int, int] | None = None
        self._data_version: int | None = None
        self.is_unchanged = False
        """Whether nobody else has written since the transaction before, so that what it read still holds."""

    @property
    def session(self) -> Session:
        """The session of the transaction that `try_to_begin` began."""
        assert self._session is not None  # noqa: S101 (the caller's order of calls)
        return self._session

    def try_to_begin(self) -> bool:
        """Begin a transaction; False where another connection holds the lock. Raises StoreError or a driver error."""
        if self._driver is None or self._identity != self._found():
            self._open()
        assert self._driver is not None  # noqa: S101 (`_open` sets it)
        try:
            self._driver.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_busy(error):
                return False
            raise
        # SQLite counts the commits of every other connection, of this process and of others.
        (version,) = self._driver.execute("PRAGMA data_version").fetchone()
        self.is_unchanged = version == self._data_version
        self._data_version = version
        return self.is_unchanged or self._has_our_schema()

    def commit(self) -> None:
        """Commit; what was written is on the disk when this returns."""
        assert self._driver is not None  # noqa: S101 (the caller's order of calls)
        self._driver.execute("COMMIT")

    def close(self) -> None:
        """Close, rolling back what was not committed. Never raises."""
        with contextlib.suppress(sqlite3.Error):
            if self._session is not None:
                self._session.close()
            if self._driver is not None:
                self._driver.rollback()
        with contextlib.suppress(sqlite3.Error):
            if self._pooled is not None:
                self._pooled.close()
        self._session = self._driver = self._pooled = self._data_version = None

    def _open(self) -> None:
        self.close()
        check_file(self._file.path)
        self._identity = self._found()
        self._pooled = self._file.writer.raw_connection()
        self._driver = cast("sqlite3.Connection", self._pooled.driver_connection)
        self._driver.execute("PRAGMA synchronous = FULL")
        self._driver.execute("PRAGMA busy_timeout = 0")
        # A statement of many rows keeps what it would have to undo; in a file, that costs a descriptor that may not be there.
        self._driver.execute("PRAGMA temp_store = MEMORY")
        self._session = Session(cast("DBAPIConnection", self._driver), self._file.writer.dialect)

    def _has_our_schema(self) -> bool:
        """Whether nobody changed the schema while this connection was open. Raises DatabaseVersion where somebody did."""
        if self.session.rows(_VERSION, {}) == [(HEAD,)]:
            return True
        self.close()
        self._file.read(lambda connection: require_version(connection, self._place))
        return False

    def _found(self) -> tuple[int, int] | None:
        # A journal must not go on writing into a file that somebody removed or replaced.
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
