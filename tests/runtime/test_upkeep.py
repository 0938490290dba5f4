"""The pace of dropping what is kept no longer: soon after a runtime opened, then again and again while it is open."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.app import host_of
from remit.errors import StoreError, WorkspaceBusy
from remit.runtime.upkeep import UPKEEP_SECONDS, Upkeep
from tests.faults.live import Site, called, patient, site
from tests.faults.processes import until

SECONDS = 10


def made(*answers: bool | Exception, every: float, wanted: int) -> Sequence[int]:
    """The numbers of the sweeps that an upkeep made until there were so many of them; the last answer is repeated."""
    sweeps: list[int] = []

    async def main() -> None:
        enough, loop = asyncio.Event(), asyncio.get_running_loop()

        def sweep() -> bool:
            sweeps.append(len(sweeps))
            if len(sweeps) == wanted:
                loop.call_soon_threadsafe(enough.set)
            answer = answers[min(len(sweeps), len(answers)) - 1]
            if isinstance(answer, Exception):
                raise answer
            return answer

        async with asyncio.timeout(SECONDS):
            upkeep = Upkeep(sweep, every_seconds=every)
            await enough.wait()
            await upkeep.close()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    return sweeps


def test_a_runtime_sweeps_again_and_again() -> None:
    assert len(made(False, every=0.01, wanted=5)) >= 5


def test_what_is_due_is_dropped_part_by_part_without_waiting_for_the_next_hour() -> None:
    assert made(True, True, False, every=UPKEEP_SECONDS, wanted=3) == [0, 1, 2]


@pytest.mark.parametrize("error", [WorkspaceBusy("busy"), StoreError("gone"), OSError("no thread")])
def test_a_sweep_that_fails_is_tried_again(error: Exception) -> None:
    assert len(made(error, error, False, every=0.01, wanted=3)) >= 3


def test_a_runtime_that_is_closed_at_once_has_swept_once() -> None:
    sweeps: list[int] = []

    async def main() -> None:
        async with asyncio.timeout(SECONDS):
            await Upkeep(lambda: bool(sweeps.append(1)), every_seconds=UPKEEP_SECONDS).close()

    asyncio.run(main())
    assert sweeps == [1]


def events(here: Site) -> int:
    with closing(sqlite3.connect(here.database)) as raw:
        (count,) = raw.execute("SELECT count(*) FROM protocol_events").fetchone()
    return int(count)


def test_a_runtime_that_stays_open_drops_what_grows_old_meanwhile(tmp_path: Path) -> None:
    here, host, ahead = site(tmp_path), host_of(), [timedelta(0)]
    late = replace(host, clock=lambda: host.clock() + ahead[0])

    async def main() -> None:
        async with asyncio.timeout(SECONDS), patient(here, host=late, keeps=timedelta(days=3)) as runtime:
            async with runtime.run("ops") as run:
                await called(run, "read")
            await asyncio.to_thread(until, lambda: events(here) > 0)
            ahead[0] = timedelta(days=4)
            await asyncio.to_thread(until, lambda: events(here) == 0)

    asyncio.run(main())


def test_a_runtime_that_opens_drops_what_the_file_keeps_no_longer(tmp_path: Path) -> None:
    here, host = site(tmp_path), host_of()

    async def opened(days: float) -> None:
        then = replace(host, clock=lambda: host.clock() + timedelta(days=days))
        async with asyncio.timeout(SECONDS), here.open(then) as runtime, runtime.run("ops") as run:
            await called(run, "read") if not days else None

    asyncio.run(opened(0))
    made = events(here)
    asyncio.run(opened(6.9))
    assert events(here) == made > 0
    asyncio.run(opened(7.1))
    assert events(here) == 0
