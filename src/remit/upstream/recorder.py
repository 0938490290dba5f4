"""The event log of one connection: every message and fact in order, masked, handed to a sink.

Decides the kind of a message from its method, and of an answer from the request that it answers; and the trace: that of
the request it belongs to, else the one that opened the connection. The exact sequences are documented in
remit.upstream.discovery. What a sink keeps is its own decision, but for floods: of the progress of one request, and of
the notifications of each minute that belong to none, the first thousand are recorded and the others counted. So are the
requests of the server; of these the others are not answered either, as each costs the SDK a task.
"""

import time
from collections.abc import Callable
from datetime import datetime

from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from remit.core.canonical import Json, JsonObject
from remit.core.events import Direction, EventKind, EventSink, ProtocolEvent
from remit.upstream.bodies import body_of, digest_of, digested
from remit.upstream.redaction import Redactor
from remit.upstream.tickets import CANCELLED, Ticket, Tickets

__all__ = ["NOTIFICATIONS_RECORDED", "Recorder"]

NOTIFICATIONS_RECORDED = 1_000
"""Progress notifications recorded of one request, and other notifications recorded each minute."""

_KIND_OF_METHOD = {
    "server/discover": EventKind.PROBE,
    "initialize": EventKind.HANDSHAKE,
    "notifications/initialized": EventKind.HANDSHAKE,
    "tools/list": EventKind.PAGE,
    "tools/call": EventKind.CALL,
}
_MAX_OPEN = 10_000
_MOST_ANSWERS = 100
"""Answers of ours that may wait for a server to read them."""

_FLOOD_SECONDS = 60.0


class Recorder:
    """Numbers and masks the events of one connection. `tickets` says which request a message belongs to.

    `answering` is how many answers to requests of the server's are being sent right now.
    """

    def __init__(
        self,
        *,
        server: str,
        connection_id: str,
        trace_id: str,
        clock: Callable[[], datetime],
        sink: EventSink,
        redactor: Redactor,
    ):
        self.server = server
        self.connection_id = connection_id
        self.trace_id = trace_id
        self.redactor = redactor
        self.tickets = Tickets()
        self._clock = clock
        self._sink = sink
        self._sequence = 0
        self._asked: dict[tuple[Direction, str], EventKind] = {}
        self.answering = 0
        self._noted = self._requests = self._refused = 0
        self._minute_ends = 0.0

    def fact(self, kind: EventKind, **facts: Json) -> None:
        """Something that we did or noticed."""
        self._record(kind, Direction.LOCAL, self.redactor.object(facts), self.trace_id)

    def words(self, text: str) -> Json:
        """A text of the server's as a fact may hold it: masked, or its digest where a call's values are not to be kept."""
        masked = self.redactor.text(text)
        return digest_of(masked) if self.tickets.reserved else masked

    def message(self, direction: Direction, message: JSONRPCMessage) -> None:
        """A JSON-RPC message that was sent or received. A received result is masked in place, for whoever reads it next."""
        if direction is Direction.RECEIVED and isinstance(message, JSONRPCResponse):
            message.result = dict(self.redactor.object(message.result)) if self.redactor.masks else message.result
        ticket = self.tickets.of(direction, message)
        kind = self._kind_of(direction, message)
        if direction is Direction.RECEIVED and isinstance(message, JSONRPCNotification) and not self._room_for(ticket):
            return
        body = body_of(message)
        if not isinstance(message, JSONRPCResponse) or direction is Direction.SENT:
            body = self.redactor.object(body)
        if ticket is None and self.tickets.reserved:
            # Nobody knows what of it is an argument that came back, now or from an earlier call.
            body = digested(body, belongs=False)
        elif ticket is not None and not ticket.full and (direction is Direction.RECEIVED or not _is_cancel(message)):
            body = digested(body)
        self._record(kind, direction, body, self._trace_of(ticket))

    def ended(self, request_id: int, ticket: Ticket) -> None:
        """A request has its outcome; what was left out of its progress is said."""
        self.tickets.end(request_id)
        if ticket.noted > NOTIFICATIONS_RECORDED:
            facts: JsonObject = {"id": request_id, "left_out": ticket.noted - NOTIFICATIONS_RECORDED}
            self._record(EventKind.NOTIFICATION, Direction.LOCAL, facts, self._trace_of(ticket))

    def may_ask(self) -> bool:
        """Whether one more request of the server is answered, or even recorded."""
        self._look_at_minute()
        self._requests += 1
        allowed = self._requests <= NOTIFICATIONS_RECORDED and self.answering < _MOST_ANSWERS
        self._refused += not allowed
        return allowed

    def count_up(self) -> None:
        """What was left out of the notifications that belong to no request, and of the server's requests, is said."""
        noted, refused = self._noted, self._refused
        self._noted = self._requests = self._refused = 0
        if noted > NOTIFICATIONS_RECORDED:
            self.fact(EventKind.NOTIFICATION, left_out=noted - NOTIFICATIONS_RECORDED)
        if refused:
            self.fact(EventKind.MESSAGE, left_out=refused)

    def _look_at_minute(self) -> None:
        if (moment := time.monotonic()) >= self._minute_ends:
            self.count_up()
            self._minute_ends = moment + _FLOOD_SECONDS

    def _trace_of(self, ticket: Ticket | None) -> str:
        return self.trace_id if ticket is None or ticket.trace_id is None else ticket.trace_id

    def _room_for(self, ticket: Ticket | None) -> bool:
        if ticket is not None:
            ticket.noted += 1
            return ticket.noted <= NOTIFICATIONS_RECORDED
        self._look_at_minute()
        self._noted += 1
        return self._noted <= NOTIFICATIONS_RECORDED

    def _kind_of(self, direction: Direction, message: JSONRPCMessage) -> EventKind:
        match message:
            case JSONRPCRequest(method=method, id=request_id):
                kind = _KIND_OF_METHOD.get(method, EventKind.MESSAGE)
                if len(self._asked) >= _MAX_OPEN:
                    # Most likely given up long ago.
                    del self._asked[next(iter(self._asked))]
                self._asked[direction, str(request_id)] = kind
                return kind
            case JSONRPCNotification(method=method):
                return _KIND_OF_METHOD.get(method, EventKind.NOTIFICATION)
            case JSONRPCResponse(id=request_id) | JSONRPCError(id=request_id):
                asked_by = Direction.SENT if direction is Direction.RECEIVED else Direction.RECEIVED
                return self._asked.pop((asked_by, str(request_id)), EventKind.MESSAGE)

    def _record(self, kind: EventKind, direction: Direction, body: JsonObject, trace_id: str) -> None:
        self._sequence += 1
        self._sink.record(
            ProtocolEvent(
                trace_id=trace_id,
                connection_id=self.connection_id,
                server=self.server,
                sequence=self._sequence,
                at=self._clock(),
                kind=kind,
                direction=direction,
                body=body,
            )
        )


def _is_cancel(message: JSONRPCMessage) -> bool:
    return isinstance(message, JSONRPCNotification) and message.method == CANCELLED
