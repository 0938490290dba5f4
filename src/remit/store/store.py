"""The `Store` of `core/ports.py` on a database file: readings that leave no trace, and one writer at a time.

Decides when a transaction is kept: on a clean exit in which no method of it failed.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from remit.core.canonical import JsonObject
from remit.core.identity import ServerId
from remit.core.leases import Lease
from remit.core.live import Listed
from remit.core.ports import AppliedRecord, HistoryEntry
from remit.core.recorded import Recorded
from remit.errors import StoreError
from remit.store.access import Access
from remit.store.faults import translated
from remit.store.reading import read_apply, read_history, read_last_good, read_recorded, tool_configs
from remit.store.scope import Scope
from remit.store.sqlite import SqliteFile
from remit.store.tables import workspaces
from remit.store.writing import DatabaseTransaction

if TYPE_CHECKING:
    from remit.core.checkup import Soundness
    from remit.store.governance import Governance
    from remit.store.leases import Leases

__all__ = ["DatabaseStore"]


class DatabaseStore:
    """Made by `open_store`. Keeps no connection open between calls and may be used from several threads.

    Every method raises StoreError, with the file's path as its place, where the database cannot be used.
    """

    def __init__(self, file: SqliteFile, *, new_id: Callable[[], str], clock: Callable[[], datetime]):
        self._access = Access(file)
        self._new_id = new_id
        self._clock = clock

    @property
    def dialect(self) -> str:
        """`sqlite`."""
        return self._access.file.writer.dialect.name

    def verify(self) -> None:
        """Refuse a database that cannot be used, or whose schema is not this remit's."""
        self._access.read(lambda _: None)

    def recorded(self) -> Recorded:
        """A consistent reading of the whole recorded state."""
        return self._access.read(read_recorded)

    def last_good(self, server_ids: Sequence[ServerId]) -> Mapping[ServerId, Listed]:
        """The last good listings of some registrations; a registration never listed is absent."""
        return self._access.read(lambda connection: read_last_good(connection, server_ids))

    def history(self, workspace: str, *, limit: int) -> tuple[HistoryEntry, ...]:
        """The newest applies of a workspace, newest first."""
        return self._access.read(lambda connection: read_history(connection, workspace, limit=limit))

    def applied(self, workspace: str, serial: int) -> AppliedRecord | None:
        """One apply of a workspace with its plan; None where there was none with that serial."""
        return self._access.read(lambda connection: read_apply(connection, workspace, serial))

    def tool_configs(self, *, owner: str, assistant: str) -> list[JsonObject]:
        """`Assistant.tool_configs`: the model-facing functions of an assistant, ordered by name."""
        return self._access.read(lambda connection: tool_configs(connection, owner=owner, assistant=assistant))

    def governance(self) -> "Governance":
        """What people look at and decide about the governed runtime, and the grants that it reads."""
        from remit.store.governance import Governance  # noqa: PLC0415 (a plan needs none of it)

        return Governance(self._access, self._clock)

    def soundness(self) -> "Soundness":
        """What the database says of itself."""
        from remit.store.soundness import read_soundness  # noqa: PLC0415 (only a doctor needs it)

        return self._access.read(lambda connection: read_soundness(connection, self._clock))

    def leases(self, *, patience: float = 2.0) -> "Leases":
        """Who watches which workspace; a busy database is waited for so many seconds."""
        from remit.store.leases import Leases  # noqa: PLC0415 (only a watch needs it)

        return Leases(self._access, patience=patience)

    @contextmanager
    def workspace(
        self, name: str, *, owner: str, lock_timeout: float, lease: Lease | None = None
    ) -> Generator[DatabaseTransaction]:
        """Take the workspace's lock and begin. Commits on a clean exit, rolls back on any exception.

        Raises WorkspaceBusy where the lock is not had within `lock_timeout` seconds, or where the `lease` to watch the
        workspace is another's by now. On SQLite the lock is the file's.
        """
        place = self._access.place
        with self._access.writing(lock_timeout=lock_timeout, place=f"workspace.{name}") as connection:
            with translated(place):
                _require_owner(connection, name, owner)
                if lease is not None:
                    _require_lease(connection, lease)
            scope = Scope(connection=connection, workspace=name, owner=owner, new_id=self._new_id, clock=self._clock)
            transaction = DatabaseTransaction(scope, place)
            yield transaction
            if transaction.failure is not None:
                raise transaction.failure
            with translated(place):
                connection.commit()


def _require_lease(connection: Connection, lease: Lease) -> None:
    from remit.store.leases import require_lease  # noqa: PLC0415 (only a watch needs it)

    require_lease(connection, lease)


def _require_owner(connection: Connection, name: str, owner: str) -> None:
    recorded = connection.execute(select(workspaces.c.owner).where(workspaces.c.name == name)).scalar()
    if recorded is not None and recorded != owner:
        raise StoreError(
            f"the workspace belongs to {recorded}, not to {owner}",
            code="workspace-owner",
            place=f"workspace.{name}",
            hint="set owner: to the one that is recorded, or choose another workspace name",
        )
