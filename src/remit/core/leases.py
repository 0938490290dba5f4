"""The lease that makes a watch the only one of its workspace.

Decides its shape and what each answer obliges a watch to do. store implements the desk (DESIGN.md section 8).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

__all__ = ["Lease", "LeaseDesk", "Watcher"]


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
