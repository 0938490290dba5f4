"""What a watch needs of the outside: servers that say when to look again, and the lease that makes it the only watcher.

Decides the shapes; upstream implements the servers, store the leases, app.py binds them (DESIGN.md sections 7 and 8).
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from remit.core.live import Listed, Unreachable
from remit.core.ports import ListingTarget

__all__ = ["Attention", "Lease", "LeaseDesk", "WatchedServer", "Watcher", "WatcherFactory"]


class Attention(StrEnum):
    """How a change of a server's tools is noticed.

    PUSH is `notifications/tools/list_changed` on a kept connection, PUSH_AND_POLLING the same where a lost stream would not
    be noticed (streamable HTTP before 2026-07-28), SUBSCRIPTION is `subscriptions/listen` of 2026-07-28.
    """

    PUSH = "push"
    PUSH_AND_POLLING = "push_and_polling"
    SUBSCRIPTION = "subscription"
    POLLING = "polling"


class WatchedServer(Protocol):
    """One server under watch, used by one task at a time. Never raises for what a server does."""

    @property
    def attention(self) -> Attention:
        """How changes are noticed, as the newest listing settled it; POLLING before the first one."""
        ...

    async def list_now(self) -> Listed | Unreachable:
        """Every page, on the connection that is kept where the server can say that its tools changed."""
        ...

    async def changed(self) -> None:
        """Return once something since the beginning of the newest listing says that it is old."""
        ...

    async def close(self) -> None:
        """End the connection and a child process; bounded, and fine to repeat."""
        ...


class WatcherFactory(Protocol):
    """Makes watched servers; nothing is opened before the first listing."""

    def watch(self, target: ListingTarget) -> WatchedServer:
        """One server, as the file declares it now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Who watches: a fresh `token` for each run, and what a person needs to find its process."""

    token: str
    host: str
    pid: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to be a workspace's only watcher. `epoch` grows with each taking, so that an old holder's writes show."""

    workspace: str
    token: str
    epoch: int


class LeaseDesk(Protocol):
    """Leases in the database, which end by its time. Every method raises StoreError where it cannot be used."""

    def take(self, workspace: str, watcher: Watcher, *, seconds: float) -> Lease:
        """A lease for so long. Raises WorkspaceBusy, naming the holder, where another watcher's has not ended."""
        ...

    def renew(self, lease: Lease, *, seconds: float) -> bool:
        """Prolong a lease, also one whose time is over that nobody took. False where it is not the holder's any more."""
        ...

    def release(self, lease: Lease) -> None:
        """Give a lease back; nothing happens where it is another's by now."""
        ...
