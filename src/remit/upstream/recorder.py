"""The event log of one connection: every message and fact in order, masked, handed to a sink.

Decides the kind of a message from its method, and of an answer from the request that it answers. The exact sequences are
documented in remit.upstream.discovery. What a sink keeps is its own decision.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from remit.core.canonical import Json, JsonObject
from remit.core.events import Direction, EventKind, EventSink, ProtocolEvent
from remit.upstream.redaction import Redactor

__all__ = ["Recorder"]

_KIND_OF_METHOD = {
    "server/discover": EventKind.PROBE,
    "initialize": EventKind.HANDSHAKE,
    "notifications/initialized": EventKind.HANDSHAKE,
    "tools/list": EventKind.PAGE,
    "tools/call": EventKind.CALL,
}
_MAX_OPEN = 10_000


class Recorder:
    """Numbers and masks the events of one connection."""

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
        self.redactor = redactor
        self._connection_id = connection_id
        self._trace_id = trace_id
        self._clock = clock
        self._sink = sink
        self._sequence = 0
        self._asked: dict[tuple[Direction, str], EventKind] = {}

    def fact(self, kind: EventKind, **facts: Json) -> None:
        """Something that we did or noticed."""
        self._record(kind, Direction.LOCAL, facts)

    def message(self, direction: Direction, message: JSONRPCMessage) -> None:
        """A JSON-RPC message that was sent or received."""
        self._record(self._kind_of(direction, message), direction, _body_of(message))

    def _kind_of(self, direction: Direction, message: JSONRPCMessage) -> EventKind:
        match message:
            case JSONRPCRequest(method=method, id=request_id):
                kind = _KIND_OF_METHOD.get(method, EventKind.MESSAGE)
                if len(self._asked) < _MAX_OPEN:
                    self._asked[direction, str(request_id)] = kind
                return kind
            case JSONRPCNotification(method=method):
                return _KIND_OF_METHOD.get(method, EventKind.NOTIFICATION)
            case JSONRPCResponse(id=request_id) | JSONRPCError(id=request_id):
                asked_by = Direction.SENT if direction is Direction.RECEIVED else Direction.RECEIVED
                return self._asked.pop((asked_by, str(request_id)), EventKind.MESSAGE)

    def _record(self, kind: EventKind, direction: Direction, body: JsonObject) -> None:
        self._sequence += 1
        self._sink.record(
            ProtocolEvent(
                trace_id=self._trace_id,
                connection_id=self._connection_id,
                server=self.server,
                sequence=self._sequence,
                at=self._clock(),
                kind=kind,
                direction=direction,
                body=self.redactor.object(body),
            )
        )


def _body_of(message: JSONRPCMessage) -> JsonObject:
    # By hand instead of model_dump: a page can be 64 MiB, and its result is a plain JSON object already.
    body: dict[str, Any] = {"jsonrpc": "2.0"}
    if not isinstance(message, JSONRPCNotification):
        body["id"] = message.id
    match message:
        case JSONRPCRequest(method=method, params=params) | JSONRPCNotification(method=method, params=params):
            body["method"] = method
            if params is not None:
                body["params"] = params
        case JSONRPCResponse(result=result):
            body["result"] = result
        case JSONRPCError(error=error):
            body["error"] = error.model_dump(by_alias=True, exclude_unset=True)
    return cast("JsonObject", body)
