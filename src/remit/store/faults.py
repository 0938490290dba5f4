"""Database errors as StoreErrors: what went wrong and the way out, without SQL, parameters or values.

Decides which driver error is which; the one place that does, for SQLite's result codes (https://sqlite.org/rescode.html).
"""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from remit.errors import DatabaseUnusable, RemitError, StoreError

__all__ = ["as_store_error", "is_busy", "translated", "unstorable"]

_Fault = tuple[str, str, str]

_FAULTS: dict[int, _Fault] = {
    sqlite3.SQLITE_BUSY: (
        "database-locked",
        "another process keeps the database locked",
        "try again when that process is done; no lock outlives its process",
    ),
    sqlite3.SQLITE_LOCKED: (
        "database-locked",
        "another connection keeps the database locked",
        "try again when that process is done; no lock outlives its process",
    ),
    sqlite3.SQLITE_FULL: (
        "database-full",
        "the disk or the database is full; nothing of this transaction was kept",
        "make room, then run the same command again",
    ),
    sqlite3.SQLITE_READONLY: (
        "database-read-only",
        "the database cannot be written",
        "check the permissions of the file and its folder, and whether the file system is mounted read-only",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "database-corrupt",
        "the database file is damaged",
        "restore it from a backup; remit never recreates a database on its own",
    ),
    sqlite3.SQLITE_NOTADB: (
        "database-not-sqlite",
        "the file is not a SQLite database",
        "name the right file; remit never replaces a file that it did not make",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "database-unusable",
        "the database file, or the journal beside it, cannot be opened",
        "check the permissions of the file and its folder",
    ),
    sqlite3.SQLITE_IOERR: (
        "database-io",
        "the disk reported an error",
        "check the disk, then run the same command again",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        "database-constraint",
        "a row would break a rule of the database; nothing of this transaction was kept",
        "plan again; if it happens again, report it",
    ),
}


@contextmanager
def translated(place: str) -> Generator[None]:
    """Run a block whose database errors become StoreErrors about `place`.

    A StoreError that comes through without a place gets this one. The first driver error in a chain of failures counts:
    rolling back after a full disk fails again, for a reason that says nothing.
    """
    try:
        yield
    except RemitError as error:
        error.place = error.place or place
        raise
    except UnicodeEncodeError:
        # The error object carries the whole text, so it is cut off instead of chained.
        raise unstorable(place) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise _of_driver(error, place) from error


def as_store_error(error: Exception, place: str) -> StoreError:
    """The StoreError that an error of any kind becomes where there is nobody to raise it to but a future."""
    match error:
        case StoreError():
            error.place = error.place or place
            return error
        case UnicodeEncodeError():
            return unstorable(place)
        case SQLAlchemyError() | sqlite3.Error():
            return _of_driver(error, place)
        case _:
            return StoreError(
                f"the rows could not be made ({type(error).__name__})",
                code="journal-failed",
                place=place,
                hint="report it: a defect of remit",
            )


def unstorable(place: str) -> StoreError:
    """The error for a text that not both engines can hold: a NUL character or a lone surrogate."""
    return StoreError(
        "a name or a path holds a NUL character or a lone surrogate, which no database keeps faithfully",
        code="text-not-storable",
        place=place,
        hint="remove that character",
    )


def is_busy(error: sqlite3.OperationalError) -> bool:
    """Whether another connection held the lock, in any of the ways that SQLite says so."""
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _of_driver(error: BaseException, place: str) -> StoreError:
    origin = _origin(error)
    result = getattr(origin, "sqlite_errorcode", None)
    name = getattr(origin, "sqlite_errorname", type(origin).__name__)
    if isinstance(result, int) and (fault := _FAULTS.get(result & 0xFF)):
        code, message, hint = fault
        return DatabaseUnusable(f"{message} ({name})", code=code, place=place, hint=hint)
    return DatabaseUnusable(
        f"the database refused ({name})", place=place, hint="check the file; if it is sound, report it"
    )


def _origin(error: BaseException) -> BaseException:
    found: BaseException = error
    step: BaseException | None = error
    while step is not None:
        if isinstance(step, sqlite3.Error):
            found = step
        elif isinstance(step, DBAPIError) and isinstance(step.orig, sqlite3.Error):
            found = step.orig
        step = step.__cause__ or step.__context__
    return found
