"""Subscriptions to the changes of a server's tools: since 2026-07-28 a server announces them to subscribers only.

Decides when there is something to subscribe to, and how one is held beside the requests of a session: nobody waits for it,
and how it ends is nobody's fault. While none is held, a listing is as good as its age.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from remit.core.canonical import JsonObject
from remit.core.live import Era
from remit.upstream.connector import Opened
from remit.upstream.faults import Fault
from remit.upstream.tickets import Ticket

__all__ = ["LISTEN", "WANTED", "Subscriber", "announces", "delivers"]

LISTEN = "subscriptions/listen"
WANTED: JsonObject = {"notifications": {"toolsListChanged": True}}

_PAUSE_SECONDS = 60.0
"""From one subscription to the next on a session: one that a server ends at once must not make every listing old at once."""


class Subscriber:
    """Holds a subscription on each session that it is given, as long as the session lasts.

    `on_gap` is called when changes begin or cease to be heard: what was listed before may be old. `seconds` bounds the wait
    for the server's word on what it delivers.
    """

    def __init__(self, *, on_gap: Callable[[], None], seconds: float, pause_seconds: float = _PAUSE_SECONDS):
        self._on_gap = on_gap
        self._seconds = seconds
        self._pause_seconds = pause_seconds

    async def hold(self, opened: Opened) -> None:
        """Subscribe, again whenever a subscription ends. Returns where there is none to be had; raises nothing of its own."""
        if opened.negotiated.era is Era.LEGACY or not announces(opened.negotiated.capabilities):
            return
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            if not await self._held(opened):
                return
            self._on_gap()
            await asyncio.sleep(max(began + self._pause_seconds - clock(), 0.0))

    async def _held(self, opened: Opened) -> bool:
        """One subscription up to its end. Whether it delivered anything."""
        delivered = False
        ticket = Ticket()
        with suppress(Fault, TimeoutError):
            async with asyncio.timeout(self._seconds) as limit:

                def acknowledged(params: JsonObject) -> None:
                    nonlocal delivered
                    delivered = delivers(params)
                    limit.reschedule(None if delivered else 0.0)
                    if delivered:
                        self._on_gap()

                ticket.on_acknowledged = acknowledged
                await opened.ready()
                await opened.session.request(LISTEN, WANTED, ticket)
        ticket.forget()
        return delivered


def announces(capabilities: JsonObject) -> bool:
    """Whether a server says of itself that it announces changes of its tools."""
    tools = capabilities.get("tools")
    return isinstance(tools, Mapping) and tools.get("listChanged") is True


def delivers(params: JsonObject) -> bool:
    """Whether a server's word on a subscription says that changes of its tools come on it."""
    honoured = params.get("notifications")
    return isinstance(honoured, Mapping) and honoured.get("toolsListChanged") is True
