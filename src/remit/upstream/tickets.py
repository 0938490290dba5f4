"""Whose a request is: the trace its events belong to, how fully they are recorded, and who hears that it went out.

Decides which request a message belongs to, by its id or its progress token, in both directions. A request that ended is
known for a while longer, so that a late answer is recorded where the call was.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from remit.core.canonical import JsonObject
from remit.core.events import Direction

__all__ = ["ACKNOWLEDGED", "CANCELLED", "PROGRESS", "Ticket", "Tickets", "request_key"]

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
PROGRESS = "notifications/progress"
CANCELLED = "notifications/cancelled"
_ENDED_KEPT = 1_000
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


def _nothing(*_: object) -> None:
    return


@dataclass(eq=False, slots=True, kw_only=True)
class Ticket:
    """What is known of one request while it is on its way.

    `trace_id` None is the trace that opened the connection. `full` is whether values are recorded. `handed` is whether
    the transport took the request; `on_handed` is told. `on_progress` gets the params of its progress, and calls
    `on_sign` for what counts as a sign of life. `on_acknowledged` gets the params that say what a subscription delivers.
    """

    trace_id: str | None = None
    full: bool = True
    on_handed: Callable[[], None] = _nothing
    on_progress: Callable[[JsonObject], None] = _nothing
    on_sign: Callable[[], None] = _nothing
    on_acknowledged: Callable[[JsonObject], None] = _nothing
    handed: bool = False
    noted: int = 0
    """Progress notifications that came for it."""

    def hand_over(self) -> None:
        """The transport is about to take the request: from here on the server may have it."""
        self.handed = True
        self.on_handed()

    def forget(self) -> None:
        """Nobody waits for the request any more, so nobody is told."""
        # Also the end of a cycle of references, which would be left to the garbage collector with every call.
        self.on_handed = self.on_progress = self.on_sign = self.on_acknowledged = _nothing


class Tickets:
    """The requests of one session. Bounded: the client lets only so many run, and only so many ended ones are kept."""

    def __init__(self) -> None:
        self._running: dict[int | str, Ticket] = {}
        self._ended: OrderedDict[int | str, Ticket] = OrderedDict()
        self.reserved = False
        """Whether the values of any request so far are not to be recorded: what belongs to no request may hold them."""

    def begin(self, request_id: int, ticket: Ticket) -> None:
        """A request is about to be sent."""
        self._running[request_id] = ticket
        self.reserved = self.reserved or not ticket.full

    def end(self, request_id: int) -> None:
        """A request has its outcome."""
        ticket = self._running.pop(request_id, None)
        if ticket is not None:
            self._ended[request_id] = ticket
            if len(self._ended) > _ENDED_KEPT:
                self._ended.popitem(last=False)

    def running(self, request_id: object) -> Ticket | None:
        """The request of ours with this id, if it still waits; a number may have come back as text."""
        key = request_key(request_id)
        return None if key is None else self._running.get(key)

    def of(self, direction: Direction, message: JSONRPCMessage) -> Ticket | None:
        """The request of ours that a message belongs to; None where it belongs to none."""
        sent = direction is Direction.SENT
        match message:
            case JSONRPCRequest(id=request_id) if sent:
                return self._find(request_id)
            case JSONRPCResponse(id=request_id) | JSONRPCError(id=request_id) if not sent:
                return self._find(request_id)
            case JSONRPCNotification(method="notifications/cancelled", params=params) if sent:
                return self._find((params or {}).get("requestId"))
            case JSONRPCNotification(method="notifications/progress", params=params) if not sent:
                return self._find((params or {}).get("progressToken"))
            case _:
                return None

    def _find(self, request_id: object) -> Ticket | None:
        key = request_key(request_id)
        return None if key is None else self._running.get(key) or self._ended.get(key)


def request_key(request_id: object) -> int | str | None:
    """The id of a message as the key of a request, None for what is no id.

    A number may have come back as text, as the SDK has it (`mcp.shared.dispatcher.coerce_request_id`), but only as we would
    write it: the SDK also takes "0102", " 102" and the digits of other scripts for 102.
    """
    if isinstance(request_id, str):
        return int(request_id) if _NUMBER.fullmatch(request_id) else request_id
    return request_id if isinstance(request_id, int) and not isinstance(request_id, bool) else None
