"""Questions to the database: each on its own cursor, off the event loop, read-only, under a deadline.

Decides how work runs and what bounds it. What SQL is acceptable is decided in guard.py, how figures are computed in
questions.py.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
import duckdb

from remit_analytics.guard import Refused
from remit_analytics.storage import Database

__all__ = ["MAX_PARALLEL", "SECONDS", "Source"]

SECONDS = 5.0
"""How long one question may take, waiting for its turn included."""

MAX_PARALLEL = 4

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class Source:
    """Runs questions against one open database; calls may overlap."""

    def __init__(self, database: Database, *, seconds: float = SECONDS) -> None:
        self.database = database
        self.seconds = seconds
        self._turnstile = anyio.CapacityLimiter(MAX_PARALLEL)

    async def ask(self, question: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """What `question` returns for a read-only cursor, or `Refused` where it takes longer than `seconds`.

        A cancelled or late question is interrupted inside DuckDB, so that no abandoned thread keeps a core busy.
        """
        try:
            with anyio.fail_after(self.seconds):
                async with self._turnstile:
                    return await _interruptible(self.database.connection.cursor(), question)
        except TimeoutError as error:
            raise Refused(
                f"Stopped: the question took longer than {self.seconds:g} seconds. Narrow it: filter by day or agent,"
                " aggregate earlier, and give every join a condition."
            ) from error


async def _interruptible(
    cursor: duckdb.DuckDBPyConnection, question: Callable[[duckdb.DuckDBPyConnection], Answer]
) -> Answer:
    started, stopped, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> Answer:
        started.set()
        try:
            if stopped.is_set():
                raise Refused("Stopped before it began.")
            return _read_only(cursor, question)
        finally:
            done.set()

    try:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        stopped.set()
        with anyio.CancelScope(shield=True):
            await _interrupt(cursor, started, done)
        raise


async def _interrupt(cursor: duckdb.DuckDBPyConnection, started: threading.Event, done: threading.Event) -> None:
    # Once is not enough: an interrupt between two statements of the worker stops neither of them.
    for _ in range(100):
        if done.is_set() or not started.is_set():
            return
        cursor.interrupt()
        await anyio.sleep(0.02)
    _log.warning("a question goes on although it was interrupted")


def _read_only(cursor: duckdb.DuckDBPyConnection, question: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
    # An in-memory database cannot be opened read-only; its transactions can.
    with cursor:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        return question(cursor)
