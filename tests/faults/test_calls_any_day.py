"""A clock that is set a day forth or back while calls run and approvals wait: no deadline moves, no window opens again."""

import asyncio
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from remit.app import Host, host_of
from remit.core.approvals import Approval, ApprovalState
from remit.runtime.abi import ToolResultEnvelope
from remit.runtime.run import Run
from tests.faults.live import OWNER, Site, called, site
from tests.upstream.calls import until

SECONDS = 40
DAY = timedelta(days=1)
JUMPS = pytest.mark.parametrize("jump", [DAY, -DAY], ids=["a-day-forth", "a-day-back"])


class Clock:
    """The wall clock, set by so much."""

    def __init__(self) -> None:
        self.off = timedelta()
        self._host = host_of()

    def __call__(self) -> datetime:
        return self._host.clock() + self.off

    def host(self) -> Host:
        """This machine with this clock."""
        return replace(self._host, clock=self)


@JUMPS
def test_fault_f13_the_deadlines_of_calls_under_way_are_where_they_were(tmp_path: Path, jump: timedelta) -> None:
    here, clock = site(tmp_path, idle=1, total=20, silent_on=["tools/call"]), Clock()

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open(clock.host()) as runtime, runtime.run("ops") as run:
            silent = asyncio.create_task(called(run, "write", 1))
            tight = asyncio.create_task(called(run, "write", 2, timeout_seconds=0.7))
            began = time.monotonic()
            await until(lambda: len(here.arrived()) == 2)
            clock.off = jump
            assert [(await call).code for call in (tight, silent)] == ["timeout_absolute", "timeout_idle"]
            assert 0.5 < time.monotonic() - began < 3

    asyncio.run(main())
    here.sound_audit()


@JUMPS
def test_fault_f13_a_process_whose_clock_is_another_does_not_take_a_living_ones_calls_for_lost(
    tmp_path: Path, jump: timedelta
) -> None:
    release = tmp_path / "release"
    here, clock = site(tmp_path, held_by=str(release)), Clock()

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            call = asyncio.create_task(called(run, "write", 1, tool_call_id="c", idempotency_key="key"))
            await until(lambda: len(here.arrived()) == 1)
            clock.off = jump
            async with here.open(clock.host()) as other, other.run("ops") as second:
                again = await called(second, "write", 1, idempotency_key="key")
                assert again.code == "call_in_flight"
                release.touch()
                assert ((await call).code, (await call).metadata.get("not_recorded")) == (None, None)

    asyncio.run(main())
    assert (here.arrived(), here.actions()["c"]) == (["write 1"], ("completed", None))
    here.sound_audit()


@JUMPS
def test_fault_f13_an_approval_that_the_clock_has_left_behind_is_asked_for_again_and_never_opens_a_second_time(
    tmp_path: Path, jump: timedelta
) -> None:
    here, clock = site(tmp_path), Clock()

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open(clock.host()) as runtime, runtime.run("ops") as run:
            first = await asked(run)
            assert approve(here, first, clock).state is ApprovalState.APPROVED
            clock.off = jump
            second = await asked(run)
            clock.off = timedelta()
            third = await asked(run)
            assert len({first, second, third}) == 3
            approve(here, third, clock)
            assert not (await pay(run)).is_error
            assert (await pay(run)).code == "approval_required"

    asyncio.run(main())
    assert here.arrived() == ["pay 1"]
    states = sorted(each.state.value for each in here.desks().approvals.approvals(OWNER))
    assert states.count("succeeded") == 1
    assert "approved" not in states
    here.sound_audit()


async def pay(run: Run) -> ToolResultEnvelope:
    return await called(run, "pay", 1)


async def asked(run: Run) -> str:
    """The id of the request that a call makes or waits for."""
    result = await pay(run)
    assert result.code == "approval_required", result
    return str(result.metadata["approval_id"])


def approve(here: Site, approval_id: str, clock: Clock) -> Approval:
    decided = here.desks().approvals.decide_approval(
        OWNER, approval_id, ApprovalState.APPROVED, approver="user:ann", reason=None, at=clock()
    )
    assert decided is not None
    return decided.approval
