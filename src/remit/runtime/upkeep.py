"""Drops what is kept no longer while a runtime is open: soon after it opened, and every hour from then on.

Decides the pace only: what is due is the store's, how long anything is kept is the file's. A sweep that fails stops no call; the
next one is an hour later.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from remit.errors import RemitError, WorkspaceBusy

__all__ = ["UPKEEP_SECONDS", "Upkeep"]

UPKEEP_SECONDS = 3600.0

_PAUSE_SECONDS = 0.05
"""Between two sweeps of one round: ten times what a call that waits for the database's lock waits to try again."""

_log = logging.getLogger(__name__)


class Upkeep:
    """One task of the running event loop. `sweep` drops a bounded part, off the loop, and says whether more is due."""

    def __init__(self, sweep: Callable[[], bool], *, every_seconds: float = UPKEEP_SECONDS):
        self._sweep = sweep
        self._every = every_seconds
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._work(), name="remit-upkeep")

    async def close(self) -> None:
        """End after the sweep that is under way; the first one is always made, however short the runtime lived."""
        self._closing.set()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            more = await self._swept()
            if await self._closes_within(_PAUSE_SECONDS if more else self._every):
                return

    async def _swept(self) -> bool:
        try:
            return await asyncio.to_thread(self._sweep)
        except WorkspaceBusy:
            # Somebody who writes goes first; nothing is lost by waiting.
            return False
        except RemitError as error:
            _log.warning(
                "what is kept no longer was not dropped (%s); the next try is in %g s", error.code, self._every
            )
        except Exception as error:  # noqa: BLE001 (a thread that cannot be had, or a defect: no reason to end a runtime)
            _log.warning("what is kept no longer was not dropped (%s)", type(error).__name__)
        return False

    async def _closes_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        return self._closing.is_set()
