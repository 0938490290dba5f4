"""Opening, creating and upgrading the database.

Decides that only `create_or_upgrade` ever makes a file, and that it makes it whole or not at all. What is in the
database is read by `reading.py` and written by `writing.py`.
"""

import contextlib
import os
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from remit.errors import StoreError
from remit.store.faults import translated
from remit.store.location import Location, exists
from remit.store.sqlite import SqliteFile, begin_writing
from remit.store.store import DatabaseStore
from remit.store.versions import needs_upgrade

__all__ = ["Location", "UpgradeOutcome", "create_or_upgrade", "exists", "open_store"]

_UPGRADE_LOCK_SECONDS = 30.0


class UpgradeOutcome(StrEnum):
    """What `create_or_upgrade` did."""

    CREATED = "created"
    UPGRADED = "upgraded"
    UNCHANGED = "unchanged"


def open_store(location: Location, *, new_id: Callable[[], str], clock: Callable[[], datetime]) -> DatabaseStore:
    """The store at a location, looked at once so that a database which cannot be used is refused here.

    `new_id` gives a text never given before (a uuid), `clock` a time with its zone. Creates and changes nothing.
    Raises NoDatabase, DatabaseVersion or DatabaseUnusable.
    """
    store = DatabaseStore(SqliteFile(location.path), new_id=new_id, clock=clock)
    store.verify()
    return store


def create_or_upgrade(location: Location) -> UpgradeOutcome:
    """Make the database where there is none, with the folder it is in; else bring its schema up to this remit's.

    The file gets mode 0600, its folder, if it is new, 0700. The folder of an embedded one stands in a checkout, so it
    keeps itself out of version control. An empty, damaged or foreign file is refused as it is by `open_store`, never
    recreated. Raises StoreError.
    """
    path = location.path
    with translated(str(path)):
        if not exists(location) and _create(path):
            if location.embedded:
                _ignore(path.parent)
            return UpgradeOutcome.CREATED
        # Looked at without a trace first: opening for writing alone puts a stranger's file into WAL mode for good.
        missing = SqliteFile(path).read(lambda connection: needs_upgrade(connection, str(path)))
        return UpgradeOutcome.UPGRADED if missing and _upgrade(path) else UpgradeOutcome.UNCHANGED


def _create(path: Path) -> bool:
    """Whether the new file is ours. It is built under another name, so that nobody ever opens half a database."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _cannot_create(path, error) from error
    try:
        _upgrade(unfinished)
        return _publish(unfinished, path)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)


def _ignore(folder: Path) -> None:
    # Where this fails the database is there all the same, and only shows up in a `git status`.
    with contextlib.suppress(OSError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
        file.write("*\n")


def _publish(unfinished: Path, path: Path) -> bool:
    # A rename would replace a database that another process created in the meantime; a link refuses.
    try:
        os.link(unfinished, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise _cannot_create(path, error) from error
    return True


def _upgrade(path: Path) -> bool:
    from remit.store.upgrade import upgrade  # noqa: PLC0415 (alembic costs 0.25 CPU s; only an upgrade needs it)

    with contextlib.closing(SqliteFile(path).writer.connect()) as connection:
        begin_writing(connection, lock_timeout=_UPGRADE_LOCK_SECONDS, place=str(path))
        if not needs_upgrade(connection, str(path)):
            return False
        upgrade(connection)
        connection.commit()
        return True


def _cannot_create(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the database cannot be created ({error.strerror})",
        code="database-not-created",
        place=str(path),
        hint="check that its folder can be written",
    )
