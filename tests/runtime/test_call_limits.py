"""The limit of a call counts from when it was asked for, whatever the program or the database is busy with by then."""

import asyncio
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from remit.core.call_ports import Grants, GrantSource, Stamp
from remit.runtime.abi import ToolResultEnvelope
from tests.faults.between import OK, Between, between

LIMIT = 0.5


@dataclass
class Busy:
    """The grants of a database that may be busy, once with `busy` set, until `over`."""

    of: GrantSource
    busy: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    def grants(self, owner: str, assistant: str) -> Grants | None:
        self._waits()
        return self.of.grants(owner, assistant)

    def stamp(self, owner: str, assistant: str) -> Stamp | None:
        self._waits()
        return self.of.stamp(owner, assistant)

    def _waits(self) -> None:
        if self.busy:
            self.over.wait(10)


@contextmanager
def every_thread_busy() -> Generator[None]:
    """No thread of the running loop is free inside."""
    over = threading.Event()
    # More than the loop of any machine has.
    waiting = [asyncio.ensure_future(asyncio.to_thread(over.wait, 5)) for _ in range(64)]
    try:
        yield
    finally:
        over.set()
        for each in waiting:
            each.cancel()


def test_a_call_goes_out_within_its_limit_while_every_thread_of_the_program_is_busy(tmp_path: Path) -> None:
    at = between(tmp_path, limit=LIMIT, lost=OK)

    async def work() -> str:
        async with at.opened() as run:
            with every_thread_busy():
                result = await run.call("bank__pay", '{"n": 1}')
            assert isinstance(result, ToolResultEnvelope)
            return result.content

    assert (asyncio.run(work()), len(at.sent)) == ("ok", 1)


def test_a_call_whose_grants_cannot_be_read_in_time_ends_at_its_limit_and_is_in_the_trail(tmp_path: Path) -> None:
    at = between(tmp_path, limit=LIMIT, lost=OK)
    source = at.grants = Busy(at.desks)

    assert (calls_while_busy(at, source), at.sent) == (("timeout_absolute", True), [])
    assert [each["error.type"] for each in at.events("call_denied")] == ["timeout_absolute"]


def test_a_call_that_cannot_be_decided_anew_in_time_is_not_sent_a_second_time(tmp_path: Path) -> None:
    at = between(tmp_path, limit=LIMIT)
    source = at.grants = Busy(at.desks)
    at.then = lambda _: setattr(source, "busy", True)

    async def work() -> ToolResultEnvelope:
        async with at.opened() as run:
            result = await run.call("bank__pay", '{"n": 1}')
            source.over.set()
            assert isinstance(result, ToolResultEnvelope)
            return result

    assert (asyncio.run(work()).code, len(at.sent)) == ("server_gone", 1)


def calls_while_busy(at: Between, source: Busy) -> tuple[str | None, bool]:
    """The code of a call, and whether it came long before the database was free."""

    async def work() -> tuple[str | None, bool]:
        async with at.opened() as run:
            source.busy, asked = True, time.monotonic()
            result = await run.call("bank__pay", '{"n": 1}')
            seconds = time.monotonic() - asked
            source.over.set()
            assert isinstance(result, ToolResultEnvelope)
            return result.code, seconds < 8

    return asyncio.run(work())
