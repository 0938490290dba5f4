"""How long a caller waits for one request: `total` seconds for all of it, `idle` seconds for each silence.

Decides when a wait is over. The silence begins when the request goes out and again with each sign of the server; nothing
extends the total. Signs may come by the hundred thousand: each costs one reading of the clock, the timer looks later.
"""

import asyncio
from collections.abc import Callable

__all__ = ["Patience"]


class Patience:
    """The clock of one request. `on_over` is called once, with whether a silence (and not the whole) took too long."""

    def __init__(self, total: float, idle: float | None, on_over: Callable[[bool], None]):
        self._loop = asyncio.get_running_loop()
        self._total_at = self._loop.time() + total
        self._idle = idle
        self._heard: float | None = None
        self._on_over = on_over
        # The earliest end that there can be; a look that comes too early only puts it off.
        due = self._total_at if idle is None else min(self._total_at, self._loop.time() + idle)
        self._timer = self._loop.call_at(due, self._look)

    def sent(self) -> None:
        """The request goes out: the first silence begins."""
        self._heard = self._loop.time()

    def heard(self) -> None:
        """The server gave a sign."""
        self._heard = self._loop.time()

    def end(self) -> None:
        """Nobody waits any more."""
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        idle_at = self._total_at if self._idle is None else (now if self._heard is None else self._heard) + self._idle
        if now >= self._total_at:
            self._on_over(False)
        elif now >= idle_at:
            self._on_over(True)
        else:
            self._timer = self._loop.call_at(min(self._total_at, idle_at), self._look)
