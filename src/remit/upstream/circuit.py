"""The circuit breaker of one connection: when to leave a flapping server alone, and who may try it again.

Decides what comes after failures in a row: growing pauses first, for which requests wait; from the fifth failure on,
requests are refused until the pause is over. Then one of them goes through, and what becomes of it decides. A failure is an
opening that came to nothing or a connection that broke (fault F16 of the reference).
"""

import time
from collections.abc import Callable, Sequence

__all__ = ["PAUSES", "TRIPS_AFTER", "Circuit"]

PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between a failure and the next opening, by the number of failures in a row; the last one holds from then on."""

TRIPS_AFTER = 5
"""Failures in a row after which requests are refused."""


class Circuit:
    """Failures in a row and what follows from them. `clock` gives seconds that only grow."""

    def __init__(self, pauses: Sequence[float] = PAUSES, clock: Callable[[], float] = time.monotonic):
        self._pauses = tuple(pauses) or (0.0,)
        self._clock = clock
        self._failures = 0
        self._failed_at = clock()
        self._not_before = 0.0
        self._probe: object | None = None
        self._calls_break = False

    def refusal(self, request: object | None) -> str | None:
        """Why a request may not even wait, or None; the one that is let through an open circuit is its probe.

        None asks for those who wait already: none of them is a probe.
        """
        if self._failures < TRIPS_AFTER:
            return None
        seconds = self.due_in()
        if seconds > 0:
            return f"{self._failures} failures in a row; the next attempt is due in {seconds:.1f} s"
        if self._probe is not None:
            return f"{self._failures} failures in a row; an attempt is under way"
        self._probe = request
        return None

    def due_in(self) -> float:
        """Seconds until the next opening may begin; 0 where it may begin now."""
        return max(self._not_before - self._clock(), 0.0)

    def now(self) -> float:
        """The moment, for `failed`."""
        return self._clock()

    def failed(self, began: float | None = None) -> None:
        """A failure. A request that `began` before the last one tells nothing new: one death fails all that were waiting."""
        if began is not None and self._failures and began <= self._failed_at:
            return
        pause = self._pauses[min(self._failures, len(self._pauses) - 1)]
        self._failures += 1
        self._failed_at = self._clock()
        self._not_before = self._failed_at + pause

    def call_broke(self) -> None:
        """A tools/call took its connection with it: from here on only an answered one shows that the server is well."""
        self._calls_break = True

    def answered(self, *, call: bool = True) -> None:
        """The server answered a request: it is well, unless it breaks at calls and this was none."""
        # Before each call on a new connection comes a listing, which a server that dies at calls answers every time.
        if call or not self._calls_break:
            self._failures = 0
            self._not_before = 0.0
            self._calls_break = False

    def left(self, request: object) -> None:
        """A request has its outcome."""
        if self._probe is request:
            self._probe = None
