"""How long callers wait for their requests: `total` seconds for all of one, `idle` seconds for each silence.

Decides when a wait is over. The silence begins when the request goes out and again with each sign of the server; nothing
extends the total. Signs may come by the hundred thousand: each costs one reading of the clock, the timer looks later.
"""

import asyncio
import math
from collections.abc import Callable

__all__ = ["Patience", "Waits"]


class Patience:
    """The clock of one request. `on_over` is called once, with whether a silence (and not the whole) took too long."""

    def __init__(self, waits: "Waits", total: float, idle: float | None, on_over: Callable[[bool], None]):
        self._waits = waits
        self._clock = waits.clock
        now = self._clock()
        self._total_at = now + total
        self._idle = idle
        self._heard: float | None = None
        self._on_over = on_over
        # The earliest end that there can be; a look that comes too early only puts it off.
        waits.begin(self, self._total_at if idle is None else min(self._total_at, now + idle))

    def sent(self) -> None:
        """The request goes out: the first silence begins."""
        self._heard = self._clock()

    def heard(self) -> None:
        """The server gave a sign."""
        self._heard = self._clock()

    def end(self) -> None:
        """Nobody waits any more."""
        self._waits.end(self)

    def look(self, now: float) -> float:
        """Tell where the wait is over. When it should be looked at again, infinity where never."""
        idle_at = self._total_at if self._idle is None else (now if self._heard is None else self._heard) + self._idle
        if now < min(self._total_at, idle_at):
            return min(self._total_at, idle_at)
        self.end()
        self._on_over(now < self._total_at)
        return math.inf


class Waits:
    """The requests of one client that somebody waits for, under one timer. To be made and used in one event loop."""

    # A timer a request would cost more than all else here: a heap of hundreds that ended, ordered by calls of Python.
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.clock = self._loop.time
        self._waiting: set[Patience] = set()
        self._due = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, patience: Patience, due: float) -> None:
        """A wait that can be over at `due`, not before."""
        self._waiting.add(patience)
        if due < self._due:
            self._look_at(due)

    def end(self, patience: Patience) -> None:
        """A wait that is over. The timer stays: it looks for nothing once, and the next request rarely needs an earlier one."""
        self._waiting.discard(patience)

    def _look_at(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = None if due == math.inf else self._loop.call_at(due, self._look)

    def _look(self) -> None:
        now = self.clock()
        self._timer, self._due = None, math.inf
        dues = [patience.look(now) for patience in tuple(self._waiting)]
        # Whoever was told may have begun another wait by now.
        self._look_at(min([self._due, *dues]))
