"""What core and reconcile need from the outside, as Protocols; upstream and store implement them, app.py binds them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from remit.core.canonical import Json, JsonObject
from remit.core.definition import Definition
from remit.core.desired import DesiredServer
from remit.core.identity import ServerId
from remit.core.leases import Lease
from remit.core.live import Era, Listed, Unreachable
from remit.core.operations import Change, Operation
from remit.core.recorded import Recorded

__all__ = [
    "AppliedRecord",
    "CacheInvalidation",
    "DefinitionDiff",
    "Failure",
    "HistoryEntry",
    "ListingTarget",
    "ServerLister",
    "Store",
    "WorkspaceTransaction",
]

DefinitionDiff = Callable[[Definition, Definition], tuple[Change, ...]]
"""The changed paths between two definitions, each with its class; pure, and never empty where the digests differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingTarget:
    """A server to list, with the era it spoke the last time (None: never spoken to)."""

    server: DesiredServer
    remembered_era: Era | None = None


class ServerLister(Protocol):
    """Lists one server completely, under the server's own deadlines. Never raises for what a server does."""

    async def list_server(self, target: ListingTarget) -> Listed | Unreachable:
        """Every page, judged tool by tool, or the reason why there is no listing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRecord:
    """The history row of one apply. `plan` is the plan document as it was shown, `outcome` a short word.

    `beside` is what was done beside its operations, by its key in the summary.
    """

    actor: str
    at: datetime
    commit: str | None
    digest: str
    outcome: str
    plan: JsonObject
    beside: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of history, newest first; `summary` is the plan's."""

    workspace: str
    serial: int
    actor: str
    at: datetime
    commit: str | None
    digest: str
    outcome: str
    summary: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An assistant whose operations were rolled back together, and why."""

    assistant: str
    message: str


class WorkspaceTransaction(Protocol):
    """One transaction under the workspace lock: everything in it is committed together, or nothing is."""

    def recorded(self) -> Recorded:
        """The recorded state as this transaction sees it."""
        ...

    def execute(self, operations: Sequence[Operation]) -> tuple[Failure, ...]:
        """Carry out operations in the order that keeps every constraint; a failed assistant costs the others nothing."""
        ...

    def bind(self, source: str | None) -> None:
        """Write down where the workspace's files come from, if it is recorded."""
        ...

    def note_environment(self, environment: str) -> None:
        """Write down which environment the workspace, if it is recorded, is applied for, as `WorkspaceRecord` has it."""
        ...

    def move_workspace(self, before: str) -> None:
        """Take over everything of a workspace that this one was called before; nothing where there is none."""
        ...

    def keep_listing(self, server_id: ServerId, listed: Listed) -> None:
        """Keep a listing as the registration's last good one, with its time and era."""
        ...

    def keep_apply(self, record: AppliedRecord) -> int:
        """Add a history row, bump the workspace's serial and return it."""
        ...

    def keep_files(self, files: Sequence[str]) -> None:
        """Keep which files declare the workspace, if it is recorded: no history, as nothing else need have changed."""
        ...

    def note_lock(self) -> None:
        """Note that the workspace, if it is recorded, is applied by a lock: it refuses to go without one from then on."""
        ...


class Store(Protocol):
    """The database of recorded state."""

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    def recorded(self) -> Recorded:
        """A consistent reading of the whole recorded state."""
        ...

    def last_good(self, server_ids: Sequence[ServerId]) -> Mapping[ServerId, Listed]:
        """The last good listings of some registrations; a registration never listed is absent."""
        ...

    def workspace(
        self, name: str, *, owner: str, lock_timeout: float, lease: Lease | None = None
    ) -> AbstractContextManager[WorkspaceTransaction]:
        """Take the workspace's lock and begin. Commits on a clean exit.

        Raises WorkspaceBusy where the lock is not had within `lock_timeout` seconds, or where the `lease` to watch the
        workspace is another's by now.
        """
        ...

    def history(self, workspace: str, *, limit: int) -> tuple[HistoryEntry, ...]:
        """The newest applies of a workspace, newest first."""
        ...

    def applied(self, workspace: str, serial: int) -> AppliedRecord | None:
        """One apply of a workspace with its plan; None where there was none with that serial."""
        ...


class CacheInvalidation(Protocol):
    """Told after a commit which assistants changed; a failure is logged, the database is the truth."""

    def assistants_changed(self, owner: str, assistants: Sequence[str]) -> None:
        """Forget what is cached about these assistants."""
        ...
