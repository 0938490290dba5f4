"""Awaiting the journal: a future of its writer thread, from a coroutine that may be cancelled.

Decides that a cancelled waiter never cancels what it waited for (the row is written all the same, and who gave up must say
what becomes of it), and that whatever one commit settles wakes the event loop once, not once for each waiter.
"""

import asyncio
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar
from weakref import WeakKeyDictionary, ref

__all__ = ["durable"]

Result = TypeVar("Result")


async def durable(future: "Future[Result]") -> Result:
    """The result of a journal's future. Raises what it failed with."""
    if future.done():
        return future.result()
    loop = asyncio.get_running_loop()
    deliveries = _DELIVERIES.get(loop)
    if deliveries is None:
        deliveries = _DELIVERIES[loop] = _Deliveries(loop)
    waiter: asyncio.Future[None] = loop.create_future()
    # asyncio.wrap_future would hand a cancellation on to the writer's future.
    future.add_done_callback(lambda _: deliveries.add(waiter))
    await waiter
    return future.result()


class _Deliveries:
    """What the writer's thread has settled and one event loop has not heard of yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop):
        # Weak, or no loop would ever be forgotten.
        self._loop = ref(loop)
        self._settled: deque[asyncio.Future[None]] = deque()
        self._is_woken = False

    def add(self, waiter: "asyncio.Future[None]") -> None:
        """Called by the writer's thread."""
        self._settled.append(waiter)
        loop = None if self._is_woken else self._loop()
        if loop is not None:
            self._is_woken = True
            # The loop may be closed by now; then nobody waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # First this, then the looking: who adds later wakes the loop again.
        self._is_woken = False
        while self._settled:
            waiter = self._settled.popleft()
            if not waiter.done():
                waiter.set_result(None)


_DELIVERIES: WeakKeyDictionary[asyncio.AbstractEventLoop, _Deliveries] = WeakKeyDictionary()
