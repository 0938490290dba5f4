"""Messages that are posted beside the stream which their answers come on (legacy SSE).

Decides that each POST runs on its own and fails on its own: one that is refused, or that nobody answers, costs its request
and no other. The SDK's client posts one message after another and ends the whole session at the first that fails (measured
with 2.3.0), so here it is told at once that a message was taken, and the failure of one is an error among the events of the
stream. An answer on the stream counts whatever its POST is answered with, and whichever of the two comes first.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp_types import JSONRPCError

from remit.upstream.faults import Fault, fault_of
from remit.upstream.marked_errors import error_of_fault
from remit.upstream.outgoing import Outgoing
from remit.upstream.tickets import request_key

__all__ = ["Posts"]

_GRACE = 0.25
"""Seconds in which the stream may still bring the answer to a request whose POST failed in a way that says nothing of it."""

_NOTE_SECONDS = 30.0
"""The longest that a message may take which nobody waits for."""

_IN_ORDER_SECONDS = 5.0
_BEFORE_CANCEL_SECONDS = 0.5
_LEFT_SECONDS = 5.0
"""Seconds that a POST may stay open after its request was answered: the connection is wanted by others."""


@dataclass(eq=False, slots=True)
class _Post:
    """A message under way. `news` is set once the stream says no more about it."""

    what: Outgoing
    news: asyncio.Event = field(default_factory=asyncio.Event)
    answered: bool = False
    task: "asyncio.Task[None] | None" = None


class Posts:
    """The messages posted beside one stream. `send` posts one and gives why it was not taken, None where it was.

    `on_untaken` is told of one that nobody waits for.
    """

    def __init__(
        self,
        send: Callable[[httpx2.Request], Awaitable[Fault | None]],
        *,
        on_untaken: Callable[[str, Fault], None] = lambda _method, _why: None,
    ):
        self._send = send
        self._on_untaken = on_untaken
        self._open: dict[int | str, _Post] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failures: deque[tuple[_Post, Fault]] = deque()
        self._told: asyncio.Future[None] | None = None
        self._is_over = False

    async def take(self, request: httpx2.Request, what: Outgoing) -> None:
        """Post a message in a task of its own. Waits for none but the one that ends a handshake, which nothing may overtake."""
        post = _Post(what)
        if self._is_over:
            return
        if what.number is not None:
            self._open[what.number] = post
        post.task = self._begun(self._carry(post, request))
        if what.ends_handshake:
            await asyncio.wait({post.task}, timeout=_IN_ORDER_SECONDS)

    def answered(self, number: object) -> None:
        """The stream brought the answer to a request: what its POST is answered with counts no more."""
        key = request_key(number)
        post = None if key is None else self._open.get(key)
        if post is not None and post.task is not None:
            post.answered = True
            post.news.set()
            asyncio.get_running_loop().call_later(_LEFT_SECONDS, post.task.cancel)

    @property
    def waits(self) -> bool:
        """Whether any request is still being posted."""
        return bool(self._open)

    async def beside(self, parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes | JSONRPCError]:
        """The parts of the stream, and between them an error for each request that was not taken."""
        broken: Exception | None = None
        async with aclosing(self._merged(parts)) as merged:
            try:
                async for arrived in merged:
                    yield arrived
            except Exception as error:  # noqa: BLE001 (raised again as it is, below)
                broken = error
        # What became of a request says more than the end of the stream: one that was refused was not carried out.
        await self._settled()
        for error in self._errors():
            yield error
        if broken is not None:
            raise broken

    async def close(self) -> None:
        """Give up whatever is under way."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _merged(self, parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes | JSONRPCError]:
        reading: asyncio.Task[bytes | None] | None = None
        try:
            while True:
                reading = reading or self._begun(_next(parts))
                self._told = asyncio.get_running_loop().create_future()
                if not self._failures:
                    await asyncio.wait({reading, self._told}, return_when=asyncio.FIRST_COMPLETED)
                # What was read goes first, as it may hold the very answer that a failure would stand for.
                if reading.done():
                    part, reading = reading.result(), None
                    if part is None:
                        return
                    yield part
                for error in self._errors():
                    yield error
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    def _errors(self) -> Iterator[JSONRPCError]:
        while self._failures:
            post, fault = self._failures.popleft()
            if not post.answered and post.what.number is not None:
                yield JSONRPCError(jsonrpc="2.0", id=post.what.number, error=error_of_fault(fault))

    async def _settled(self) -> None:
        tasks = {post.task for post in self._open.values() if post.task is not None}
        for post in self._open.values():
            post.news.set()
        if tasks:
            await asyncio.wait(tasks, timeout=_GRACE)

    async def _carry(self, post: _Post, request: httpx2.Request) -> None:
        cancelled = None if post.what.cancels is None else self._open.get(post.what.cancels)
        if cancelled is not None and cancelled.task is not None:
            # On a connection of its own it could arrive before what it cancels, and would then be nobody's.
            await asyncio.wait({cancelled.task}, timeout=_BEFORE_CANCEL_SECONDS)
        try:
            fault = await self._sent(post, request)
            if fault is not None and post.what.number is None:
                self._on_untaken(post.what.method or "an answer", fault)
            elif fault is not None:
                await self._fail(post, fault)
        finally:
            if post.what.number is not None:
                self._open.pop(post.what.number, None)
        if cancelled is not None and cancelled.task is not None:
            cancelled.task.cancel()

    async def _sent(self, post: _Post, request: httpx2.Request) -> Fault | None:
        try:
            async with asyncio.timeout(_NOTE_SECONDS if post.what.number is None else None):
                return await self._send(request)
        except Exception as error:  # noqa: BLE001 (whatever broke, its request must learn of it)
            return fault_of(error, "sending")

    async def _fail(self, post: _Post, fault: Fault) -> None:
        if not fault.refused:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await post.news.wait()
        if not post.answered:
            self._failures.append((post, fault))
            if self._told is not None and not self._told.done():
                self._told.set_result(None)

    def _begun(self, work: Any) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _next(parts: AsyncIterator[bytes]) -> bytes | None:
    return await anext(parts, None)
