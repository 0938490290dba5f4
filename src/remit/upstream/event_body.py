"""The body of an answer that is an event stream, handed to the SDK event by event.

Decides what an event that cannot be passed on costs, one that is over the cap or cannot be read: the one request that it
answers where that is known, nothing where it answers none, else the stream, with whatever may follow. Where events end is decided in remit.upstream.events_stream.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any, Never, Protocol, cast

import httpcore2
import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, JSONRPCError, JSONRPCResponse

from remit.core.live import UnreachableReason
from remit.upstream.events_stream import EventCutter, overlong_event, passable_event, payload_of
from remit.upstream.faults import Fault
from remit.upstream.lines import Broken, read_line
from remit.upstream.marked_errors import error_of_fault
from remit.upstream.outgoing import is_foreign
from remit.upstream.overlong import Overlong
from remit.upstream.parking import Parking
from remit.upstream.posting import Posts
from remit.upstream.resuming import Resumable

__all__ = ["MAX_SSE_EVENT", "EventBody", "StreamOwner"]

MAX_SSE_EVENT = 16 * 1024 * 1024
"""Bytes of one server-sent event."""


class StreamOwner(Protocol):
    """What a stream needs of the transport that it came over."""

    received: int
    event_room: int
    parking: Parking
    resumable: Resumable
    on_dropped: Callable[[str], None]

    def end_stream(self, fault: Fault) -> None:
        """Keep why a stream ends before its time."""
        ...


class EventBody(httpx2.AsyncByteStream):
    """An event stream, under a cap on each event.

    `answers_one` is whether the stream answers one request: then an event that cannot be read fails that request, while
    on a stream for all of them nobody knows which one to fail, and the stream ends. `posts` are the messages that are posted
    beside the stream, where all answers come on it. `number` is the request that the stream is for, None where it is for no one request.
    """

    def __init__(
        self,
        owner: StreamOwner,
        response: httpcore2.Response,
        *,
        answers_one: bool,
        posts: Posts | None = None,
        number: int | str | None = None,
    ):
        self._number = number
        self._owner = owner
        self._response = response
        self._answers_one = answers_one
        self._posts = posts
        self.on_closed: Callable[[], None] = lambda: None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        cutter = EventCutter(MAX_SSE_EVENT)
        parts = cast("AsyncIterator[bytes]", aiter(cast("Any", self._response.stream)))
        try:
            async for part in parts if self._posts is None else self._posts.beside(parts):
                if isinstance(part, JSONRPCError):
                    yield _event_of(part)
                    continue
                self._owner.received += len(part)
                for event in cutter.feed(part):
                    if passed := self._passed(event):
                        yield passed
                if cutter.lost:
                    yield self._instead_of(cutter.lost)
                    return
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
            raise httpx2.ReadError("the event stream broke") from error

    async def aclose(self) -> None:
        """Close the answer, and give up what is posted beside it."""
        self.on_closed()
        if self._posts is not None:
            await self._posts.close()
        await self._response.aclose()

    def _passed(self, event: bytes | Overlong) -> bytes:
        if isinstance(event, Overlong):
            return self._instead_of(event)
        if self._posts is not None:
            stand_in = self._looked_at(payload_of(event), self._posts)
            if stand_in is not None:
                return _event_of(stand_in)
        room = self._owner.event_room
        passed, document = passable_event(event, self._owner.parking, room)
        if self._number is not None:
            self._owner.resumable.note(event, self._number)
            if is_foreign(document, self._number):
                self._owner.on_dropped("an answer to another request, on the stream of one")
                return b""
        return passed if len(passed) <= room else self._instead_of(overlong_event(event, room))

    def _looked_at(self, payload: bytes, posts: Posts) -> JSONRPCError | None:
        """What stands for an event on a stream of all answers that the SDK would skip, so that nobody waits for it."""
        match read_line(payload):
            case Broken(text=text, why=why):
                self._end(Fault(UnreachableReason.PROTOCOL, f"an event {why}: {text}"))
            case SessionMessage(message=JSONRPCResponse(id=number)):
                posts.answered(number)
            case SessionMessage(message=JSONRPCError() as error):
                posts.answered(error.id)
                return error if error.error.code == PARSE_ERROR else None
            case _:
                pass
        return None

    def _end(self, fault: Fault) -> Never:
        self._owner.end_stream(fault)
        raise httpx2.ReadError(fault.message)

    def _instead_of(self, event: Overlong) -> bytes:
        """An error for the request that the event answers; nothing where it answers none."""
        fault = event.fault("an event")
        if event.answers_nobody:
            self._owner.on_dropped(fault.message)
            return b""
        if event.request_id is None and not self._answers_one:
            self._end(fault)
        if self._posts is not None:
            self._posts.answered(event.request_id)
        # The SDK puts the request's own id into the answer of a stream that answers one.
        return _event_of(JSONRPCError(jsonrpc="2.0", id=event.request_id, error=error_of_fault(fault)))


def _event_of(answer: JSONRPCError) -> bytes:
    return b"data: " + answer.model_dump_json(by_alias=True).encode("utf-8") + b"\n\n"
