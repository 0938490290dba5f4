"""The files under watch: each reading of a state that lasted, valid or not.

Decides when files are read: once nobody wrote to them for a moment, and again where somebody did meanwhile. Events of the file
system only make it look sooner. What counts is whether the files differ from those that were read last, which is also looked
at now and then: events get lost (network file systems, a full queue) and come in any number.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Protocol

from remit.config.loader import LoadResult, Rejected
from remit.config.watched_files import Stamp
from remit.core.diagnostics import Diagnostic
from remit.errors import RemitError, UsageError
from remit.reconcile.watch_pace import WatchPace

__all__ = ["FileEvents", "FileWatch", "Files", "file_events", "no_events"]

_log = logging.getLogger(__name__)

_STEP_MS, _DEBOUNCE_MS, _TIMEOUT_MS = 20, 60, 500


class Files(Protocol):
    """The files of one configuration (config.watched_files.WatchedFiles)."""

    def stamp(self) -> Stamp:
        """What differs once anybody changed one of them."""
        ...

    def folders(self) -> frozenset[Path]:
        """Where they lie."""
        ...


FileEvents = Callable[[Iterable[Path]], AsyncGenerator[None]]
"""Something happened in one of these folders; ends or raises OSError where that cannot be told (any more)."""


async def file_events(folders: Iterable[Path]) -> AsyncGenerator[None]:
    """Events of the file system, by watchfiles."""
    # Imported here: only a watch pays for it. Its types name trio, which need not be installed.
    from watchfiles import awatch  # noqa: PLC0415  # pyright: ignore[reportUnknownVariableType]

    events = awatch(
        *folders,
        watch_filter=None,
        recursive=False,
        step=_STEP_MS,
        debounce=_DEBOUNCE_MS,
        rust_timeout=_TIMEOUT_MS,
    )
    async with aclosing(events):
        async for _ in events:
            yield


async def no_events(folders: Iterable[Path]) -> AsyncGenerator[None]:
    """No event ever: files are looked at when somebody asks, or at the next tick."""
    await asyncio.Event().wait()
    yield


class FileWatch:
    """The readings of one configuration. `load` reads it; it runs in a thread, as it may take a while.

    Without `ticks` the files are looked at only on an event and when `look` is called.
    """

    def __init__(
        self,
        files: Files,
        load: Callable[[], LoadResult],
        pace: WatchPace,
        *,
        events: FileEvents = file_events,
        ticks: bool = True,
    ):
        self._files = files
        self._load = load
        self._pace = pace
        self._events = events
        self._ticks = ticks
        self._happened = asyncio.Event()
        self._newer = asyncio.Event()
        self._read: Stamp | None = None
        self._read_at = 0.0

    def look(self) -> None:
        """Look at the files now."""
        self._happened.set()

    async def readings(self) -> AsyncGenerator[LoadResult]:
        """Each state of the files that lasted and differs from the one before, the first one at once.

        Raises UsageError where the first one names what is not there.
        """
        async with self._listening() as listen:
            while True:
                self._happened.clear()
                result = await self._changed()
                if result is not None:
                    listen(await asyncio.to_thread(self._files.folders))
                    yield result
                await self._event()

    async def lasted(self) -> bool:
        """Whether the files are those that were read last, and have been for long enough to be acted upon."""
        read = self._read
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._read_at + self._pace.apply_still):
                await self._newer.wait()
        return self._read is read and await asyncio.to_thread(self._files.stamp) == read

    async def _changed(self) -> LoadResult | None:
        while True:
            stamp = await asyncio.to_thread(self._files.stamp)
            if stamp == self._read:
                return None
            await asyncio.sleep(self._pace.still)
            if await asyncio.to_thread(self._files.stamp) != stamp:
                continue
            result = await asyncio.to_thread(self._loaded)
            # Read while somebody wrote: half of this and half of that may be valid.
            if await asyncio.to_thread(self._files.stamp) == stamp:
                self._read, self._read_at = stamp, _now()
                self._newer.set()
                self._newer = asyncio.Event()
                return result

    def _loaded(self) -> LoadResult:
        try:
            return self._load()
        except UsageError as error:
            if self._read is None:
                raise
            return Rejected(diagnostics=(_as_diagnostic(error),))

    async def _event(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._pace.tick if self._ticks else None):
                await self._happened.wait()

    @asynccontextmanager
    async def _listening(self) -> AsyncGenerator[Callable[[frozenset[Path]], None]]:
        """Something to say which folders count with; nothing listens after the block."""
        task: asyncio.Task[None] | None = None
        known: frozenset[Path] = frozenset()

        def listen(folders: frozenset[Path]) -> None:
            nonlocal task, known
            if folders != known or task is None or task.done():
                if task is not None:
                    task.cancel()
                known, task = folders, asyncio.create_task(self._hear(folders))

        try:
            yield listen
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait({task})

    async def _hear(self, folders: frozenset[Path]) -> None:
        try:
            async with aclosing(self._events(folders)) as events:
                async for _ in events:
                    self._happened.set()
        except Exception as error:  # noqa: BLE001 (too many watches on this machine, a folder that is gone: the ticks go on)
            _log.warning("no file events (%s): the files are looked at now and then", error)


def _as_diagnostic(error: RemitError) -> Diagnostic:
    return Diagnostic(code=error.code, message=error.message, address=error.place, hint=error.hint)


def _now() -> float:
    return asyncio.get_running_loop().time()
