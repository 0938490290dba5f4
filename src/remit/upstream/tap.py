"""A tap on a transport's two streams: records every message and notices the end of the stream.

The SDK has no hook that sees raw messages; wrapping the streams is the one place that sees them all in every transport
(reference: MCP Python SDK 2.3, `mcp.shared._stream_protocols` contract of read and write streams).
"""

import contextvars
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage

from remit.core.events import Direction
from remit.upstream.recorder import Recorder

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
    """The read side, recorded. `restore` sees each message first; `on_end` is called once, before the session learns that the stream ended."""

    def __init__(
        self,
        inner: ReadSide,
        recorder: Recorder,
        on_end: Callable[[], None],
        restore: Callable[[JSONRPCMessage], None] = lambda _: None,
    ):
        self._inner = inner
        self._recorder = recorder
        self._on_end = on_end
        self._restore = restore

    @property
    def last_context(self) -> contextvars.Context | None:
        """The sender's context of the last item, where the transport keeps one."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next item, recorded when it is a message."""
        try:
            item = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._on_end()
            raise
        if isinstance(item, SessionMessage):
            self._restore(item.message)
            self._recorder.message(Direction.RECEIVED, item.message)
        return item

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
        self._recorder.message(Direction.SENT, item.message)
        await self._inner.send(item)

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
