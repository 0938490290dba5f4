"""A process that is stopped, killed or told to end while it calls tools: what becomes of its calls, and of its servers."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from remit.core.approvals import ApprovalState
from remit.runtime.abi import ToolResultEnvelope
from tests.faults.live import OWNER, Site, called, site
from tests.faults.processes import ROOT, ended_within, start_remit, until, waited

SECONDS = 40


@contextmanager
def calling(here: Site, calls: Sequence[dict[str, Any]], *, arrived: int) -> "Generator[subprocess.Popen[str]]":
    """A process that makes these calls, all of which wait for their answers by now."""
    words = [sys.executable, "-m", "tests.faults.caller", str(here.folder), json.dumps(calls)]
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        until(lambda: len(here.arrived()) == arrived or process.poll() is not None)
        assert process.poll() is None, waited(process)
        yield process
    finally:
        process.kill()
        process.communicate()


def write(number: int) -> dict[str, Any]:
    return {"tool": "write", "number": number, "id": f"w{number}", "key": f"key {number}"}


def endings(out: str) -> dict[str, dict[str, Any]]:
    """What the process printed of each call, by its id."""
    lines = [cast("dict[str, Any]", json.loads(line)) for line in out.splitlines() if line.startswith("{")]
    return {line["id"]: line for line in lines}


def repeated(here: Site, *numbers: int) -> list[ToolResultEnvelope]:
    """The same calls with the same keys, made by this process."""

    async def main() -> list[ToolResultEnvelope]:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            return [await called(run, "write", n, idempotency_key=f"key {n}") for n in numbers]

    return asyncio.run(main())


def grow_old(here: Site) -> None:
    """Let every open journal have been silent for a minute."""
    here.sql(
        "UPDATE instances SET heartbeat_seconds = heartbeat_seconds - 60, heartbeat_at = '2020-01-01T00:00:00.000000Z'"
    )


def test_fault_f4_a_process_that_slept_past_its_heartbeat_finds_its_calls_declared_unknown_and_its_outcome_is_late(
    tmp_path: Path,
) -> None:
    release = tmp_path / "release"
    here = site(tmp_path, held_by=str(release))
    with calling(here, [write(1)], arrived=1) as asleep:
        os.kill(asleep.pid, signal.SIGSTOP)
        # It waits for a real answer when it is stopped; half a minute of silence is a row in the database here.
        grow_old(here)
        release.touch()
        (result,) = repeated(here, 1)
        assert (result.code, result.metadata["state"]) == ("outcome_unknown", "unknown")
        assert here.actions()["w1"] == ("unknown", "outcome_unknown")
        os.kill(asleep.pid, signal.SIGCONT)
        code, out, err = waited(asleep)
    told = endings(out)["w1"]
    assert (code, err, told["code"]) == (0, "", None)
    assert told["metadata"]["not_recorded"] == "the call was declared unknown before its answer came"
    assert (here.arrived(), here.actions()["w1"]) == (["write 1"], ("unknown", "outcome_unknown"))
    kinds = [kind for kind, call in here.sound_audit() if call == "w1"]
    assert kinds == ["call_intent", "call_recovered", "call_late"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_fault_f12_f19_a_process_that_ends_under_load_leaves_no_call_open_no_child_and_nothing_to_be_sent_again(
    tmp_path: Path, number: signal.Signals
) -> None:
    here = site(tmp_path, silent_on=["tools/call"])
    with calling(here, [write(n) for n in range(8)], arrived=8) as process:
        process.send_signal(number)
        waited(process)
    assert ended_within(3, here.pids()) == []
    here.serve()
    killed = number is signal.SIGKILL
    results = repeated(here, *range(8))
    assert {each.code for each in results} == {"outcome_unknown"}
    assert sorted(here.arrived()) == [f"write {n}" for n in range(8)]
    ended = ("unknown", "outcome_unknown") if killed else ("cancelled", "cancelled")
    assert {state for name, state in here.actions().items() if name.startswith("w")} == {ended}
    assert [each.state.value for each in here.desks().runs.runs(OWNER, limit=9)] == [
        "completed",
        "failed" if killed else "cancelled",
    ]
    here.sound_audit()


def test_fault_f12_an_approval_that_a_killed_process_used_is_used_up_and_the_next_call_asks_again(
    tmp_path: Path,
) -> None:
    here = site(tmp_path, silent_on=["tools/call"])
    pay = {"tool": "pay", "number": 5, "id": "p", "key": None}

    async def asked() -> str:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            result = await called(run, "pay", 5)
            assert result.code == "approval_required"
            return str(result.metadata["approval_id"])

    first = asyncio.run(asked())
    approve(here, first)
    with calling(here, [pay], arrived=1) as process:
        process.kill()
        waited(process)
    second = asyncio.run(asked())
    states = {each.approval_id: each.state for each in here.desks().approvals.approvals(OWNER)}
    assert states == {first: ApprovalState.UNKNOWN, second: ApprovalState.PENDING}
    assert (here.arrived(), here.actions()["p"]) == (["pay 5"], ("unknown", "outcome_unknown"))
    here.sound_audit()


def approve(here: Site, approval_id: str) -> None:
    found = here.desks().approvals.approval(OWNER, approval_id)
    assert found is not None
    ended = here.at.run("approvals", "approve", approval_id, "--hash", found.binding_hash)
    assert ended.code == 0, ended.err


def test_another_process_cancels_a_run_and_the_server_is_told_within_a_second_or_so(tmp_path: Path) -> None:
    here = site(tmp_path, silent_on=["tools/call"])
    with calling(here, [write(n) for n in range(3)], arrived=3) as process:
        (run,) = here.desks().runs.runs(OWNER, limit=9)
        assert here.at.run("runs", "cancel", run.run_id).code == 0
        until(lambda: here.methods().count("notifications/cancelled") == 3)
        code, out, err = waited(process)
    assert (code, err, {each["code"] for each in endings(out).values()}) == (0, "", {"cancelled"})
    after = here.run(run.run_id)
    assert after.state.value == "cancelled"
    assert [(each.state.value, each.code, each.output) for each in after.actions] == [
        ("cancelled", "cancelled", None)
    ] * 3
    here.serve()
    assert [each.code for each in repeated(here, 0, 1, 2)] == ["outcome_unknown"] * 3
    assert len(here.arrived()) == 3
    here.sound_audit()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_fault_f19_remit_call_that_is_told_to_end_cancels_its_run_says_what_is_known_and_leaves_no_child(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    here = site(tmp_path, silent_on=["tools/call"])
    process = start_remit(here.at, "call", "ops", "work__write", "--args", '{"q": "1"}', "--key", "key 1")
    try:
        until(lambda: here.arrived() or process.poll() is not None)
    finally:
        process.send_signal(number)
    ended, out, err = waited(process)
    (run,) = here.desks().runs.runs(OWNER, limit=9)
    (action,) = here.run(run.run_id).actions
    assert (ended, "Traceback" in err) == (code, False)
    assert out.splitlines()[0] == "failed  assistant.ops/work__write  cancelled"
    assert [line for line in err.splitlines()[2:] if line] == [
        "The call may have been carried out: check before you repeat it.",
        f"Its action {action.action_id} is recorded as cancelled.",
        f"Look at it:   remit runs show {run.run_id}",
        "remit: interrupted",
    ]
    assert ended_within(3, here.pids()) == []
    assert run.state.value == "cancelled"
    assert (action.state.value, action.code, action.output) == ("cancelled", "cancelled", None)
    assert here.methods()[-1] == "notifications/cancelled"
    here.sound_audit()
