"""What a watch needs of MCP servers: a listing whenever it asks, and a sign when that is old.

Decides the shapes; upstream implements them, app.py binds them (DESIGN.md section 9).
"""

from enum import StrEnum
from typing import Protocol

from remit.core.live import Listed, Unreachable
from remit.core.ports import ListingTarget

__all__ = ["Attention", "WatchedServer", "WatcherFactory"]


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
