"""Watches the recorded state of runs whose calls are under way, so that another process can cancel them.

Decides how often the database is asked (once a second, for all runs together) and that a cancelled run cancels the task
that carries its call. The run's recorded state is the authority; a server never is.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from remit.core.calls import RunState

__all__ = ["POLL_SECONDS", "RunWatch", "Watched"]

POLL_SECONDS = 1.0


@dataclass(eq=False, slots=True)
class Watched:
    """One call under way. `by_run` says that its task was cancelled because its run was."""

    run_id: str
    task: "asyncio.Task[object]"
    before: int
    by_run: bool = False

    def only_by_run(self) -> bool:
        """Take the run's cancellation back. False where somebody else cancelled the task, perhaps as well: that holds."""
        return self.by_run and self.task.uncancel() <= self.before


class RunWatch:
    """Polls while anything is under way, and not otherwise. `states` reads the database; it runs in `threads`."""

    def __init__(
        self,
        states: Callable[[Sequence[str]], Mapping[str, RunState]],
        threads: Executor,
        *,
        poll_seconds: float = POLL_SECONDS,
    ):
        self._states = states
        self._threads = threads
        self._poll_seconds = poll_seconds
        self._watched: set[Watched] = set()
        self._poller: asyncio.Task[None] | None = None

    @contextmanager
    def watching(self, run_id: str) -> Generator[Watched]:
        """While inside, the awaiting task is cancelled when its run is; `only_by_run` tells that from any other cancellation."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (for the type checker: a coroutine always runs in a task)
        entry = Watched(run_id, task, task.cancelling())
        self._watched.add(entry)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll(), name="remit-run-watch")
        try:
            yield entry
        finally:
            self._watched.discard(entry)

    def cancelled(self, run_id: str) -> None:
        """The run is cancelled: end its calls now."""
        for entry in self._watched:
            if entry.run_id == run_id and not entry.by_run:
                entry.by_run = True
                entry.task.cancel()

    async def close(self) -> None:
        """Stop polling."""
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            runs = sorted({entry.run_id for entry in self._watched})
            if not runs:
                return
            states: Mapping[str, RunState] = {}
            # A database that is down, or no thread to be had, says nothing about a run; the next poll asks again.
            with suppress(Exception):
                states = await asyncio.get_running_loop().run_in_executor(self._threads, self._states, runs)
            for run_id, state in states.items():
                if state is RunState.CANCELLED:
                    self.cancelled(run_id)
