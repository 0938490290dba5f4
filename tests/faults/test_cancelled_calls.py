"""Calls that are cancelled at any moment, by who waits for them or with their run: one end each, and nobody left waiting."""

import asyncio
from pathlib import Path

import pytest

from remit.core.calls import RunState
from tests.faults.live import called, site
from tests.upstream.calls import until

SECONDS = 40
ENDS = {"completed", "cancelled", "failed"}


def test_fault_f11_a_call_that_its_caller_gives_up_at_any_moment_has_one_end_and_its_key_answers_from_then_on(
    tmp_path: Path,
) -> None:
    here = site(tmp_path)
    given_up: list[int] = []

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            await called(run, "read", -1)
            for n in range(60):
                call = asyncio.create_task(called(run, "write", n, tool_call_id=f"c{n}", idempotency_key=f"key {n}"))
                # However fast the machine is, the sixty moments lie anywhere from before the intent to after the outcome.
                for _ in range(n // 2):
                    await asyncio.sleep(0.0002)
                if call.cancel():
                    given_up.append(n)
                    with pytest.raises(asyncio.CancelledError):
                        await call
            for n in range(60):
                again = await called(run, "write", n, idempotency_key=f"key {n}")
                assert again.code in (None, "outcome_unknown")
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert given_up
    assert {here.arrived().count(f"write {n}") for n in range(60)} <= {0, 1}
    assert {state for state, _ in here.actions().values()} <= ENDS
    here.sound_audit()


def test_fault_f11_a_run_that_is_cancelled_at_any_moment_ends_its_calls_once_and_takes_no_other(tmp_path: Path) -> None:
    here = site(tmp_path)

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime:
            async with runtime.run("ops") as run:
                await called(run, "read")
            for n in range(30):
                async with runtime.run("ops") as run:
                    calls = [asyncio.create_task(called(run, "write", n)) for _ in range(3)]
                    for _ in range(n):
                        await asyncio.sleep(0.0002)
                    assert await run.cancel() is RunState.CANCELLED
                    codes = {(await call).code for call in calls}
                    assert codes <= {None, "cancelled", "run_over"}
                    assert (await called(run, "write", 1_000)).code == "run_over"
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert here.arrived().count("write 1000") == 0
    assert {state for state, _ in here.actions().values()} <= ENDS
    here.sound_audit()


def test_fault_f11_who_gives_up_at_the_moment_the_run_is_cancelled_is_not_made_to_go_on(tmp_path: Path) -> None:
    here = site(tmp_path, silent_on=["tools/call"])

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            call = asyncio.create_task(called(run, "write", tool_call_id="c"))
            await until(lambda: len(here.arrived()) == 1)
            await run.cancel()
            # The call has been told by its run and has not run since.
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(main())
    assert here.actions()["c"] == ("cancelled", "cancelled")
    here.sound_audit()
