"""Progress on its way from a server to whoever called.

Decides which progress counts: finite numbers that do not fall, of a request that still waits. However fast it comes, a
callback gets about twenty a second of it, the newest each time and the last one in any case; one that is slow or raises
holds up nothing but itself.
"""

import asyncio
import math
from collections.abc import Mapping
from contextlib import suppress

from remit.core.canonical import Json, JsonObject
from remit.core.remote_ports import OnProgress, Progress
from remit.upstream.tickets import Ticket

__all__ = ["ProgressFilter", "ProgressRelay", "listen"]

_INTERVAL = 0.05
_CALLBACK_SECONDS = 5.0
_MESSAGE = 2_000
"""Characters of a message that are handed on."""


class ProgressFilter:
    """Reads the progress of one request."""

    def __init__(self) -> None:
        self._last = -math.inf

    def read(self, params: JsonObject) -> Progress | None:
        """The progress in a notification's params, None where it does not count."""
        value, total, message = _number(params, "progress"), _number(params, "total"), params.get("message")
        if value is None:
            return None
        falls, self._last = value < self._last, value
        return None if falls else Progress(value, total, message[:_MESSAGE] if isinstance(message, str) else None)


class ProgressRelay:
    """Hands progress to one callback, in a task of its own."""

    def __init__(self, callback: OnProgress):
        self._callback = callback
        self._newest: Progress | None = None
        self._over = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def push(self, progress: Progress) -> None:
        """The newest progress; one that was not handed on yet is replaced."""
        self._newest = progress
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._deliver())

    def end(self) -> None:
        """Nothing more comes: what is left is handed on without delay."""
        self._over.set()

    def drop(self) -> None:
        """Nobody listens any more."""
        self._newest = None
        if self.task is not None:
            self.task.cancel()

    async def _deliver(self) -> None:
        while self._newest is not None:
            progress, self._newest = self._newest, None
            with suppress(Exception):
                async with asyncio.timeout(_CALLBACK_SECONDS):
                    await self._callback(progress)
            with suppress(TimeoutError):
                async with asyncio.timeout(_INTERVAL):
                    await self._over.wait()


def listen(ticket: Ticket, callback: OnProgress | None) -> ProgressRelay | None:
    """Have the progress of a request count as signs of life, and handed to a callback if there is one."""
    reader, relay = ProgressFilter(), None if callback is None else ProgressRelay(callback)

    def on_progress(params: JsonObject) -> None:
        progress = reader.read(params)
        if progress is not None:
            ticket.on_sign()
            if relay is not None:
                relay.push(progress)

    ticket.on_progress = on_progress
    return relay


def _number(params: Mapping[str, Json], key: str) -> float | None:
    value = params.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
