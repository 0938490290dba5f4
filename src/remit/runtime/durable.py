"""Awaiting the journal: a future of its writer thread, from a coroutine that may be cancelled.

Decides that a cancelled waiter never cancels what it waited for: the row is written all the same, and who gave up must say
what becomes of it.
"""

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

__all__ = ["durable"]

Result = TypeVar("Result")


async def durable(future: "Future[Result]") -> Result:
    """The result of a journal's future. Raises what it failed with."""
    if future.done():
        return future.result()
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def on_done(_: "Future[Result]") -> None:
        # asyncio.wrap_future would hand a cancellation on to the writer's future; and the loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_wake, waiter)

    future.add_done_callback(on_done)
    await waiter
    return future.result()


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
