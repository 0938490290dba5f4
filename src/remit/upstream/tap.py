"""A tap on a transport's two streams: records every message, notices the end of the stream, and takes notifications out.

Decides that a flood of a server's requests is not answered, and that its notifications end here, but for `cancelled`: the
SDK starts two tasks and parses a model for each, so that a flood of them would hold up every caller, and a progress too
large for a float ends its session (measured with 2.3.0). Progress and what a subscription delivers go to the request that waits for it, a changed list of tools to whoever
opened the connection.

The SDK has no hook that sees raw messages; wrapping the streams is the one place that sees them all in every transport
(reference: MCP Python SDK 2.3, `mcp.shared._stream_protocols` contract of read and write streams).
"""

import contextvars
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Protocol, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from remit.core.canonical import JsonObject
from remit.core.events import Direction
from remit.upstream.recorder import Recorder
from remit.upstream.tickets import ACKNOWLEDGED, CANCELLED, PROGRESS, request_key

_LIST_CHANGED = "notifications/tools/list_changed"
_META = frozenset({"progressToken", "traceparent", "tracestate"})
_MCP_META = "io.modelcontextprotocol/"

__all__ = ["ReadSide", "ReadTap", "WriteSide", "WriteTap"]


class ReadSide(Protocol):
    """What a transport yields to read from."""

    async def receive(self) -> SessionMessage | Exception:
        """The next item. Raises anyio.EndOfStream at the end."""
        ...

    async def aclose(self) -> None:
        """Close this side."""
        ...


class WriteSide(Protocol):
    """What a transport yields to write to."""

    async def send(self, item: SessionMessage, /) -> None:
        """Hand one message over."""
        ...

    async def aclose(self) -> None:
        """Close this side."""
        ...


class ReadTap:
    """The read side, recorded, without notifications.

    `restore` sees each message first; `on_end` is called once, before the session learns that the stream ended;
    `on_list_changed` is called for each word that the tools changed.
    """

    def __init__(
        self,
        inner: ReadSide,
        recorder: Recorder,
        on_end: Callable[[], None],
        restore: Callable[[JSONRPCMessage], None] = lambda _: None,
        on_list_changed: Callable[[], None] = lambda: None,
    ):
        self.take_answer: Callable[[JSONRPCMessage], bool] = lambda _: False
        """Takes an answer to a request that did not go through the SDK; False where it did."""
        self.on_over: Callable[[], None] = lambda: None
        """Called where the stream ended, after `on_end`."""
        self._inner = inner
        self._recorder = recorder
        self._on_end = on_end
        self._restore = restore
        self._on_list_changed = on_list_changed
        self._looked_at: dict[int, SessionMessage] = {}

    @property
    def last_context(self) -> contextvars.Context | None:
        """The sender's context of the last item, where the transport keeps one."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next item that is no notification; what is a message is recorded."""
        while True:
            try:
                item = await self._inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._on_end()
                self.on_over()
                raise
            if not isinstance(item, SessionMessage):
                return item
            # Several may be on their way: a transport goes on before the session has taken what it gave it.
            if self._looked_at.pop(id(item), None) is item or not self.look(item):
                self._looked_at.pop(id(item), None)
                return item

    def look(self, item: SessionMessage) -> bool:
        """Record a message and keep it, unless it is the session's: then False, and it has to come by `receive` next.

        A transport that calls this spares most messages the way through its stream and the session's task.
        """
        message = item.message
        if isinstance(message, JSONRPCRequest) and not self._recorder.may_ask():
            return True
        self._restore(message)
        self._recorder.message(Direction.RECEIVED, message)
        if isinstance(message, JSONRPCNotification) and message.method != CANCELLED:
            self._take(message)
            return True
        if self.take_answer(message) or _is_nobodys(message):
            return True
        self._looked_at[id(item)] = item
        return False

    def _take(self, notification: JSONRPCNotification) -> None:
        if notification.method == _LIST_CHANGED:
            self._on_list_changed()
        elif notification.method == PROGRESS and notification.params is not None:
            params = cast("JsonObject", notification.params)
            ticket = self._recorder.tickets.running(params.get("progressToken"))
            if ticket is not None:
                ticket.on_progress(self._recorder.redactor.object(params))
        elif notification.method == ACKNOWLEDGED and notification.params is not None:
            params = cast("JsonObject", notification.params)
            meta = params.get("_meta")
            key = meta.get(SUBSCRIPTION_ID_META_KEY) if isinstance(meta, Mapping) else None
            ticket = self._recorder.tickets.running(key)
            if ticket is not None:
                ticket.on_acknowledged(params)

    async def aclose(self) -> None:
        """Close the side behind the tap."""
        await self._inner.aclose()

    def __aiter__(self) -> "ReadTap":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "ReadTap":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        await self.aclose()


class WriteTap:
    """The write side, recorded."""

    def __init__(self, inner: WriteSide, recorder: Recorder):
        self._inner = inner
        self._recorder = recorder

    async def send(self, item: SessionMessage, /) -> None:
        """Record a message, then hand it over: an answer can never be recorded before its request."""
        message = item.message
        if isinstance(message, JSONRPCRequest):
            _leave_only_ours(message)
        self._recorder.message(Direction.SENT, message)
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            await self._answer(item)
            return
        ticket = self._recorder.tickets.running(message.id) if isinstance(message, JSONRPCRequest) else None
        if ticket is not None:
            ticket.hand_over()
        try:
            await self._inner.send(item)
        except Exception:
            # The other side was gone before it took the message, or the message cannot be written down.
            if ticket is not None:
                ticket.handed = False
            raise

    async def _answer(self, item: SessionMessage) -> None:
        self._recorder.answering += 1
        try:
            await self._inner.send(item)
        finally:
            self._recorder.answering -= 1

    async def aclose(self) -> None:
        """Close the side behind the tap."""
        await self._inner.aclose()

    async def __aenter__(self) -> "WriteTap":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        await self.aclose()


def _is_nobodys(message: JSONRPCMessage) -> bool:
    """Whether an answer is to no request of ours: they have numbers, and the SDK reads more as a number than is one."""
    return isinstance(message, JSONRPCResponse | JSONRPCError) and isinstance(request_key(message.id), str)


def _leave_only_ours(request: JSONRPCRequest) -> None:
    # The SDK lets every propagator of the host write here: its baggage may name tenants and users.
    meta = (request.params or {}).get("_meta")
    if isinstance(meta, dict):
        foreign = [key for key in cast("dict[str, object]", meta) if key not in _META and not key.startswith(_MCP_META)]
        for key in foreign:
            del meta[key]
