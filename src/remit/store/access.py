"""Reading and writing one database with short-lived connections: what every desk and the store itself go through.

Decides that each reading and each transaction checks the file and its schema first. Waiting for the writers' lock is bounded
by the caller.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection

from remit.store.faults import translated
from remit.store.sqlite import SqliteFile, begin_writing, check_file
from remit.store.versions import require_version

__all__ = ["Access"]

Result = TypeVar("Result")

_DESK_SECONDS = 10.0


class Access:
    """One database file. Keeps no connection open between calls and may be used from several threads."""

    def __init__(self, file: SqliteFile):
        self.file = file
        self.place = str(file.path)

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work` on one consistent state. Raises StoreError where the database cannot be used."""

        def checked(connection: Connection) -> Result:
            require_version(connection, self.place)
            return work(connection)

        with translated(self.place):
            return self.file.read(checked)

    @contextmanager
    def writing(self, *, lock_timeout: float = _DESK_SECONDS, place: str | None = None) -> Generator[Connection]:
        """A connection that holds the writers' lock. What the caller does not commit is rolled back.

        Raises WorkspaceBusy about `place` where the lock is not had in time, StoreError where the database cannot be used.
        """
        with translated(self.place):
            check_file(self.file.path)
            connection = self.file.writer.connect()
        try:
            with translated(self.place):
                begin_writing(connection, lock_timeout=lock_timeout, place=place or self.place)
                require_version(connection, self.place)
            yield connection
        finally:
            # Closing rolls back what was not committed.
            connection.close()

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work`, committed; nothing of it is kept where it raises."""
        with self.writing() as connection, translated(self.place):
            result = work(connection)
            connection.commit()
            return result
