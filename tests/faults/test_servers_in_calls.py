"""A server that dies, hangs or flaps under governed calls: each call ends once, in time, and is never sent twice."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from remit.core.calls import RunState
from remit.runtime.abi import ToolResultEnvelope
from tests.cli.workspace import Workspace, tool
from tests.faults.live import called, patient, site
from tests.faults.processes import ROOT, ended_within
from tests.upstream.calls import until

SECONDS = 40


def test_fault_f9_a_server_killed_in_mid_call_leaves_unknown_what_has_side_effects_and_nobody_sends_it_again(
    tmp_path: Path,
) -> None:
    here = site(tmp_path, silent_on=["tools/call"])

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            pending = [
                asyncio.create_task(called(run, "write", n, tool_call_id=f"w{n}", idempotency_key=f"key {n}"))
                for n in range(3)
            ]
            await until(lambda: len(here.arrived()) == 3)
            os.kill(here.pids()[-1], signal.SIGKILL)
            began = time.monotonic()
            results = await asyncio.gather(*pending)
            assert time.monotonic() - began < 1
            assert {(each.code, each.metadata["outcome"]) for each in results} == {("server_gone", "unknown")}
            here.serve()
            again = [await called(run, "write", n, idempotency_key=f"key {n}") for n in range(3)]
            assert [each.code for each in again] == ["outcome_unknown"] * 3
            assert not (await called(run, "write", 9, tool_call_id="w9")).is_error

    asyncio.run(main())
    assert sorted(here.arrived()) == ["write 0", "write 1", "write 2", "write 9"]
    assert {here.actions()[f"w{n}"] for n in range(3)} == {("unknown", "server_gone")}
    here.sound_audit()


def test_fault_f9_what_has_no_side_effects_is_sent_once_more_within_the_same_deadline_and_then_given_up(
    tmp_path: Path,
) -> None:
    here = site(tmp_path, die_on={"tools/call": 9})

    async def main() -> ToolResultEnvelope:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            return await called(run, "read", tool_call_id="r")

    assert asyncio.run(main()).code == "server_gone"
    assert (here.arrived(), here.actions()["r"]) == (["read 0", "read 0"], ("failed", "server_gone"))
    assert here.sound_audit() == [("call_intent", "r"), ("call_outcome", "r")]


def test_what_was_suspended_while_its_call_was_out_is_not_sent_once_more(tmp_path: Path) -> None:
    here = site(tmp_path, silent_on=["tools/call"])

    async def main() -> ToolResultEnvelope:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            call = asyncio.create_task(called(run, "read", tool_call_id="r"))
            await until(lambda: len(here.arrived()) == 1)
            assert here.at.run("suspend", "server.work").code == 0
            os.kill(here.pids()[-1], signal.SIGKILL)
            return await call

    assert asyncio.run(main()).code == "suspended"
    assert (here.arrived(), here.actions()["r"]) == (["read 0"], ("failed", "suspended"))
    assert here.sound_audit() == [("call_intent", "r"), ("call_outcome", "r")]


def test_fault_f10_every_call_of_a_server_that_hangs_ends_by_its_own_deadline_and_is_recorded(tmp_path: Path) -> None:
    here = site(tmp_path, idle=1, total=20)

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            assert not (await called(run, "read")).is_error
            os.kill(here.pids()[-1], signal.SIGSTOP)
            began = time.monotonic()
            results = await asyncio.gather(
                *(called(run, "write", n, tool_call_id=f"idle{n}") for n in range(20)),
                *(called(run, "write", n, tool_call_id=f"late{n}", timeout_seconds=0.5) for n in range(20)),
            )
            assert time.monotonic() - began < 3
            assert [each.code for each in results] == ["timeout_idle"] * 20 + ["timeout_absolute"] * 20
            os.kill(here.pids()[-1], signal.SIGCONT)

    asyncio.run(main())
    assert {state for name, (state, _) in here.actions().items() if name[:4] in ("idle", "late")} == {"unknown"}
    assert ended_within(3, here.pids()) == []
    here.sound_audit()


@pytest.mark.slow
def test_fault_f10_more_calls_than_may_wait_are_refused_unsent_and_a_cancelled_run_ends_all_the_others(
    tmp_path: Path,
) -> None:
    here = site(tmp_path, silent_on=["tools/call"])

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            calls = [asyncio.create_task(called(run, "write", n, tool_call_id=f"c{n}")) for n in range(1_020)]
            refused = set[str | None]()
            for ended in asyncio.as_completed(calls[:]):
                refused.add((await ended).code)
                if sum(call.done() for call in calls) == 20:
                    break
            assert refused == {"queue_full"}
            assert await run.cancel() is RunState.CANCELLED
            results = await asyncio.gather(*calls)
            assert sorted({str(each.code) for each in results}) == ["cancelled", "queue_full"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    states = list(here.actions().values())
    assert (states.count(("cancelled", "cancelled")), states.count(("failed", "queue_full"))) == (1_000, 20)
    here.sound_audit()


def test_fault_f10_a_crash_inside_the_connection_ends_its_calls_at_once_and_the_next_one_opens_it_again(
    tmp_path: Path,
) -> None:
    here = site(tmp_path, silent_on=["tools/call"])

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            pending = [asyncio.create_task(called(run, "write", n, tool_call_id=f"c{n}")) for n in range(5)]
            await until(lambda: len(here.arrived()) == 5)
            (owner,) = [each for each in asyncio.all_tasks() if each.get_name() == "remit-upstream-work"]
            here.serve()
            began = time.monotonic()
            owner.cancel()
            assert {each.code for each in await asyncio.gather(*pending)} == {"server_gone"}
            assert time.monotonic() - began < 2
            # What asks while the connection is on its way down is told so; it was not sent.
            while (result := await called(run, "write", 9)).is_error:
                assert result.code == "contract_unknown"

    asyncio.run(main())
    assert sorted(here.arrived()) == [f"write {n}" for n in (0, 1, 2, 3, 4, 9)]
    assert {here.actions()[f"c{n}"] for n in range(5)} == {("unknown", "server_gone")}
    assert ended_within(3, here.pids()) == []
    here.sound_audit()


def test_fault_f16_a_flapping_server_is_left_alone_then_tried_by_one_call_and_taken_back(tmp_path: Path) -> None:
    here = site(tmp_path, die_on={"tools/call": 9})

    async def main() -> None:
        async with asyncio.timeout(SECONDS), patient(here, 0, 0, 0, 0, 0.7) as runtime, runtime.run("ops") as run:
            deaths = [await called(run, "write", n) for n in range(5)]
            assert [each.code for each in deaths] == ["server_gone"] * 5
            here.serve()
            began = time.monotonic()
            refused = await asyncio.gather(*(called(run, "write", 10 + n) for n in range(10)))
            assert {each.code for each in refused} == {"contract_unknown"}
            assert ("5 failures in a row" in refused[0].content, len(here.pids())) == (True, 5)
            assert time.monotonic() - began < 0.7
            while (result := await called(run, "write", 20)).code == "contract_unknown":
                assert time.monotonic() - began < 5
            assert not result.is_error
            assert not any(
                each.is_error for each in await asyncio.gather(*(called(run, "write", 30) for _ in range(10)))
            )

    asyncio.run(main())
    assert sorted(here.arrived()) == sorted([*(f"write {n}" for n in range(5)), "write 20", *["write 30"] * 10])
    assert len(here.pids()) == 6
    here.sound_audit()


def test_fault_f16_of_many_calls_that_come_when_the_pause_is_over_one_is_the_probe_and_the_others_stay_home(
    tmp_path: Path,
) -> None:
    here = site(tmp_path, die_on={"tools/call": 9})
    release = tmp_path / "release"

    async def main() -> None:
        async with asyncio.timeout(SECONDS), patient(here, 0) as runtime, runtime.run("ops") as run:
            for n in range(5):
                await called(run, "write", n)
            here.serve(held_by=str(release))
            calls = {asyncio.create_task(called(run, "write", 10 + n)) for n in range(10)}
            await until(lambda: sum(call.done() for call in calls) == 9, SECONDS)
            assert {call.result().code for call in calls if call.done()} == {"circuit_open"}
            release.touch()
            assert sum(result.is_error for result in await asyncio.gather(*calls)) == 9
            assert not (await called(run, "write", 20)).is_error

    asyncio.run(main())
    assert len(here.arrived()) == 7
    here.sound_audit()


@pytest.mark.slow
@pytest.mark.parametrize("hostile", [{"endless_on": ["tools/call"]}, {"progress_flood": 30}], ids=["endless", "flood"])
def test_fault_f15_one_hostile_server_of_twenty_costs_the_others_nothing_under_a_ceiling_of_files_and_memory(
    tmp_path: Path, hostile: dict[str, Any]
) -> None:
    here = Workspace(tmp_path)
    names = [f"s{n:02}" for n in range(20)]
    servers = "".join(f"    - {{name: {name}, command: {{server:{name}}}}}\n" for name in names)
    servers = servers.replace("name: s07,", "name: s07, timeout_seconds: 1, call_timeout_seconds: 1,")
    attached = "".join(f"      - server: {name}\n        include: [a]\n" for name in names)
    for name in names:
        here.serve(name, tool("a"), **(hostile if name == "s07" else {}))
    here.write(
        "version: 1\nmcp:\n  default_envelope: {surface: locked}\n"
        f"  servers:\n{servers}assistants:\n  - name: ops\n    tools:\n{attached}"
    )
    assert here.apply().code == 0
    program = [sys.executable, "-m", "tests.faults.many", str(tmp_path), *names]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    crowded, free = json.loads(ended.stdout)
    assert set(crowded) == set(free) == set(names)
    assert (crowded.pop("s07") is None, free.pop("s07") is None) == (False, False)
    # With too few files for twenty servers some cannot be started, and that is all.
    assert set(crowded.values()) == {None, "contract_unknown"}
    assert set(free.values()) == {None}
