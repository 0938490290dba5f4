"""What is posted to a server of streamable HTTP that nobody waits for, and the requests that nobody waits for any more.

Decides that neither is in the way of other requests. The SDK's client posts what is no request (a `cancelled`, an answer of
ours to the server) in between requests and waits for the end of it, and it keeps the POST of a request open that was given
up before 2026-07-28, for ever where the server does not answer it any more: after a hundred of them there is no connection
left (measured with 2.3.0).
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

import anyio
import httpx2

from remit.upstream.event_body import EventBody
from remit.upstream.faults import Fault, fault_of
from remit.upstream.outgoing import Outgoing

__all__ = ["Asides", "OpenPost"]

_NOTE_SECONDS = 30.0
_LEFT_SECONDS = 1.0
"""Seconds that a server has to end a request of its own accord after it was told that it is given up."""


class OpenPost:
    """The POST of a request, up to the end of its answer."""

    def __init__(self, number: int | str, on_end: Callable[["OpenPost"], None]):
        self.number = number
        self.scope = anyio.CancelScope()
        self.is_streaming = False
        self._on_end = on_end
        self._answer: EventBody | None = None

    def begin(self, answer: EventBody) -> None:
        """The answer is an event stream, which is read later on."""
        self._answer, self.is_streaming = answer, True
        answer.on_closed = self.end

    def end(self) -> None:
        """The answer is complete, or nobody reads it any more."""
        self._on_end(self)

    async def leave(self) -> None:
        """Wait for it no longer, and give its connection back."""
        self.scope.cancel()
        if self._answer is not None:
            await self._answer.aclose()


class Asides:
    """The messages beside the requests of one client. `send` posts one and gives why it was not taken, which `on_untaken` is told.

    `in_order_seconds` is the longest that requests wait for the message that ends a handshake.
    """

    def __init__(
        self,
        send: Callable[[httpx2.Request], Awaitable[Fault | None]],
        *,
        on_untaken: Callable[[str, Fault], None] = lambda _method, _why: None,
        in_order_seconds: float = 5.0,
    ):
        self._send = send
        self._on_untaken = on_untaken
        self._in_order_seconds = in_order_seconds
        self._open: dict[int | str, OpenPost] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def request(self, number: int | str) -> Generator[OpenPost]:
        """While inside, and while its answer streams, the request is known here: it ends where it is given up."""

        def ended(post: OpenPost) -> None:
            if self._open.get(number) is post:
                del self._open[number]

        post = self._open[number] = OpenPost(number, ended)
        try:
            yield post
        finally:
            if not post.is_streaming:
                post.end()

    async def take(self, request: httpx2.Request, what: Outgoing) -> None:
        """Post a message in a task of its own. Waits for the one that ends a handshake only, and not for ever."""
        task = asyncio.get_running_loop().create_task(self._carry(request, what))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if what.ends_handshake:
            await asyncio.wait({task}, timeout=self._in_order_seconds)

    async def close(self) -> None:
        """Give up whatever is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(self, request: httpx2.Request, what: Outgoing) -> None:
        try:
            async with asyncio.timeout(_NOTE_SECONDS if what.cancels is None else _LEFT_SECONDS):
                fault = await self._send(request)
        except Exception as error:  # noqa: BLE001 (nobody waits for it, and it ends nothing)
            fault = fault_of(error, "sending")
        if fault is not None:
            self._on_untaken(what.method or "an answer", fault)
        if what.cancels is None or what.cancels not in self._open:
            return
        await asyncio.sleep(_LEFT_SECONDS)
        post = self._open.pop(what.cancels, None)
        if post is not None:
            with suppress(Exception):
                await post.leave()
