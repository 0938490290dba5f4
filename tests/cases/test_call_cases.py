"""Field cases C-18 to C-22, C-27, C-28 and C-30 through the whole runtime."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from remit.core.calls import ActionState, FailureCode, RunState
from remit.core.remote_ports import Progress
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.runtime.run import Run
from tests.cli.workspace import clean_environment
from tests.runtime.live import ECHO, EFFECT, Live, applied, ran, result_of
from tests.servers.http_server import LOST, Raw
from tests.upstream.calls import until
from tests.upstream.support import alive

LEGACY = {"era": "legacy", "sessions": True}
FORGOTTEN = {"404": LOST, "400": Raw(400, b"no valid session", "text/plain")}
CALL = ("http__echo", '{"q": "x"}')


def tools(*names: str) -> list[Mapping[str, Any]]:
    return [{**ECHO, "name": name} for name in names]


def calls_of(live: Live) -> list[str]:
    """The session of every call that reached the HTTP server."""
    return [seen.headers["mcp-session-id"] for seen in live.http.seen if seen.method == "tools/call"]


@pytest.mark.parametrize("words", FORGOTTEN)
def test_case_c18_a_forgotten_session_is_renewed_once_and_the_audit_says_so(tmp_path: Path, words: str) -> None:
    async def work(live: Live) -> tuple[list[str | None], Run]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            codes = [result_of(await run.call(*CALL)).code]
            live.http.lost = FORGOTTEN[words]
            live.http.known.clear()
            codes += [result_of(await run.call(*CALL)).code for _ in range(2)]
            return codes, run

    with applied(tmp_path, envelope=EFFECT, http=LEGACY) as live:
        codes, run = ran(work(live))
        first, lost, renewed, later = calls_of(live)
        audit = live.audit(run)
    assert codes == [None] * 3
    # The call that met the forgotten session was not carried out: its repetition is the only one.
    assert (lost, renewed == first, later) == (first, False, renewed)
    assert [kind for kind, _ in audit].count("session_renewed") == 1
    assert [
        (body["remit.attempts"], body.get("remit.session_renewed")) for kind, body in audit if "outcome" in kind
    ] == [
        (1, None),
        (2, True),
        (1, None),
    ]


def test_case_c18_a_session_forgotten_again_is_an_error_and_later_calls_work(tmp_path: Path) -> None:
    async def work(live: Live) -> tuple[list[ToolResultEnvelope], Run]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            await run.call(*CALL)
            live.http.on_tool["echo"] = LOST
            failed = result_of(await run.call(*CALL))
            live.http.on_tool.clear()
            return [failed, result_of(await run.call(*CALL))], run

    with applied(tmp_path, envelope=EFFECT, http=LEGACY) as live:
        (failed, later), run = ran(work(live))
        assert (failed.code, "session" in failed.content, later.code) == ("unreachable", True, None)
        assert len(calls_of(live)) == 4
        assert [action.state for action in live.actions(run)] == [
            ActionState.COMPLETED,
            ActionState.FAILED,
            ActionState.COMPLETED,
        ]


def test_case_c19_only_the_flag_decides_whether_a_call_failed(tmp_path: Path) -> None:
    refused = {
        "content": [{"type": "text", "text": "db refused"}],
        "structuredContent": {"answer": 42},
        "isError": True,
    }
    fine = {"content": [{"type": "text", "text": "Error: 0 rows is fine"}], "isError": False}
    with applied(tmp_path, tools=tools("refused", "fine")) as live:
        live.http.on_tool |= {"refused": {"result": refused}, "fine": {"result": fine}}
        (first, second), run = live.called(("http__refused", "{}"), ("http__fine", "{}"))
        audit = live.audit(run)
    assert (first.is_error, first.code, first.content, first.structured_content) == (
        True,
        None,
        "db refused",
        {"answer": 42},
    )
    assert (second.is_error, second.content) == (False, "Error: 0 rows is fine")
    assert [
        (body["remit.outcome"], body["remit.transport"], body["remit.tool"], body["remit.state"])
        for kind, body in audit
        if kind == "call_outcome"
    ] == [("error", "answered", "error", "failed"), ("ok", "answered", "ok", "completed")]


def test_case_c20_progress_extends_the_silence_reaches_caller_and_trace_and_no_further(tmp_path: Path) -> None:
    heard = list[float]()
    slow = {"progress": 16, "progress_every": 0.1}

    async def work(live: Live) -> tuple[list[ToolResultEnvelope], Run]:
        async def on_progress(progress: Progress) -> None:
            heard.append(progress.progress)

        async with live.runtime() as runtime, runtime.run("ops") as run:
            await run.call("stdio__echo", "{}")
            whole = await run.call("stdio__slow", "{}", on_progress=on_progress)
            cut = await run.call("stdio__slow", "{}", timeout_seconds=0.8)
            return [result_of(whole), result_of(cut)], run

    limits = {"stdio": {"timeout_seconds": 1.0, "call_timeout_seconds": 30}}
    with applied(tmp_path, tools=tools("echo", "slow"), stdio={"on_tool": {"slow": slow}}, entries=limits) as live:
        (whole, cut), run = ran(work(live))
        assert (whole.code, cut.code) == (None, "timeout_absolute")
        assert (heard == sorted(heard), heard[-1], len(heard) > 3) == (True, 16, True)
        tokens = [call["_meta"]["progressToken"] for call in live.calls("stdio")]
        assert len(set(tokens)) == 3
        events = live.governance.traces.trace(run.trace_id)
    notes = [event.body["params"] for event in events if event.body.get("method") == "notifications/progress"]
    assert [note["progress"] for note in notes if isinstance(note, dict)][:16] == list(range(1, 17))


def test_case_c21_a_server_that_never_answers_blocks_nobody(tmp_path: Path) -> None:
    async def work(live: Live) -> tuple[list[float], list[ToolResultEnvelope], Run]:
        took = list[float]()
        async with live.runtime() as runtime, runtime.run("ops") as run:
            call = asyncio.create_task(run.call("stdio__silent", "{}"))
            await until(lambda: len(live.calls("stdio")) == 1)
            began = time.monotonic()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            took.append(time.monotonic() - began)
            await until(lambda: live.messages("stdio")[-1]["method"] == "notifications/cancelled")
            began = time.monotonic()
            limited = result_of(await run.call("stdio__silent", "{}", timeout_seconds=0.5))
            took.append(time.monotonic() - began)
            dying = asyncio.create_task(run.call("stdio__silent", "{}"))
            await until(lambda: len(live.calls("stdio")) == 3)
            os.kill(int(live.lines("pids")[0]), signal.SIGKILL)
            began = time.monotonic()
            gone = result_of(await dying)
            took.append(time.monotonic() - began)
            return took, [limited, gone, result_of(await run.call("stdio__echo", "{}"))], run

    silent = {"on_tool": {"silent": {"silent_on": ["tools/call"]}}}
    with applied(tmp_path, tools=tools("silent", "echo"), envelope=EFFECT, stdio=silent) as live:
        took, (limited, gone, after), run = ran(work(live))
        assert (took[0] < 0.3, took[1] < 1.0, took[2] < 1.0) == (True, True, True)
        assert (limited.code, gone.code, after.code) == ("timeout_absolute", "server_gone", None)
        assert [word in limited.content for word in ("'stdio'", "'silent'", "0.5")] == [True] * 3
        assert [(action.state, action.code) for action in live.actions(run)] == [
            (ActionState.CANCELLED, "cancelled"),
            (ActionState.UNKNOWN, "timeout_absolute"),
            (ActionState.UNKNOWN, "server_gone"),
            (ActionState.COMPLETED, None),
        ]
        assert [kind for kind, _ in live.audit(run)] == ["call_intent", "call_outcome"] * 4
        assert live.actions(run)[0].output is None


def test_case_c21_whenever_a_caller_gives_up_its_call_has_one_end(tmp_path: Path) -> None:
    async def work(live: Live) -> Run:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            for number in range(40):
                # From before the first listing to after the answer.
                call = asyncio.create_task(run.call("http__echo", "{}", tool_call_id=f"c{number}"))
                await asyncio.wait({call}, timeout=number * 0.001)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
            return run

    with applied(tmp_path, envelope=EFFECT) as live:
        run = ran(work(live))
        actions = live.actions(run)
        ends = {ActionState.CANCELLED, ActionState.COMPLETED}
        assert {action.state for action in actions} <= ends
        kinds = [kind for kind, _ in live.audit(run)]
        # Whoever gave up before a decision could be made left a cancelled call too.
        assert len(actions) == kinds.count("call_outcome") + kinds.count("call_denied") >= 38
        assert kinds.count("call_intent") == kinds.count("call_outcome") >= len(live.calls("http"))


def test_case_c21_a_run_that_is_cancelled_while_its_call_waits_for_a_listing_ends_at_once(tmp_path: Path) -> None:
    async def work(live: Live) -> tuple[ToolResultEnvelope, float]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            call = asyncio.create_task(run.call("stdio__echo", "{}"))
            await until(lambda: bool(live.messages("stdio")))
            began = time.monotonic()
            assert await run.cancel() is RunState.CANCELLED
            return result_of(await call), time.monotonic() - began

    with applied(tmp_path) as live:
        live.stdio(silent_on=["server/discover", "initialize"])
        result, took = ran(work(live))
    assert (result.code, took < 1.0) == ("run_over", True)


def test_case_c22_sessions_of_different_tasks_close_in_any_order_and_a_server_that_is_down_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(live: Live) -> list[ToolResultEnvelope]:
        async with live.runtime() as runtime:
            done = asyncio.Event()
            results = list[ToolResultEnvelope]()

            async def one(name: str, *, last: bool) -> None:
                async with runtime.run("ops") as run:
                    results.append(result_of(await run.call(name, "{}")))
                    if last:
                        await done.wait()
                done.set()

            # Opened in this order, left in the same one and not in its reverse.
            await asyncio.gather(one("stdio__echo", last=False), one("http__echo", last=True))
        live.http.stop()
        async with live.runtime() as runtime, runtime.run("ops") as run:
            results.append(result_of(await run.call("http__echo", "{}")))
            results.append(result_of(await run.call("stdio__echo", "{}")))
        return results

    with applied(tmp_path) as live:
        results = ran(work(live))
    assert [result.code for result in results] == [None, None, "contract_unknown", None]
    assert "connection refused" in results[2].content.lower()
    # An OpenTelemetry SDK that another test left in this process has its own complaints.
    assert [record for record in caplog.records if not record.name.startswith("opentelemetry")] == []


UNDER_WAY = """
import asyncio, signal, sys
import remit

async def main():
    task = asyncio.current_task()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        async with remit.Runtime.open(sys.argv[1]) as runtime, runtime.run("ops") as run:
            await run.call("http__echo", "{}")
            await run.call("stdio__silent", "{}")
    except asyncio.CancelledError:
        return 7

sys.exit(asyncio.run(main()))
"""


def test_case_c22_a_close_from_a_signal_handler_leaves_no_traceback_no_process_and_no_open_call(tmp_path: Path) -> None:
    silent = {"on_tool": {"silent": {"silent_on": ["tools/call"]}}}
    with applied(tmp_path, tools=tools("silent", "echo"), envelope=EFFECT, stdio=silent) as live:
        command = [sys.executable, "-c", UNDER_WAY, str(live.config)]
        process = subprocess.Popen(command, env=clean_environment(), stderr=subprocess.PIPE, text=True)

        async def work() -> None:
            await until(lambda: bool(live.calls("stdio")), seconds=20)

        ran(work())
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=15)
        (row,) = live.governance.runs.runs("acme", limit=5)
        run = live.governance.runs.run("acme", row.run_id)
        pids = [int(pid) for pid in live.lines("pids")]
    assert run is not None
    assert (process.returncode, said) == (7, "")
    assert run.state is RunState.CANCELLED
    assert [action.state for action in run.actions] == [ActionState.COMPLETED, ActionState.CANCELLED]
    assert (len(pids), [pid for pid in pids if alive(pid)]) == (1, [])


def test_case_c27_of_32_tools_the_selected_one_is_listed_and_no_other_can_be_called(tmp_path: Path) -> None:
    many = tools(*(f"tool_{number}" for number in range(32)))

    async def work(live: Live) -> tuple[list[str], list[bool], Run]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            names = [json.loads(json.dumps(each))["function"]["name"] for each in await run.tools()]
            others = [await run.call(f"http__tool_{number}", "{}") for number in range(1, 32)]
            await run.cancel()
            return names, [isinstance(other, HandOff) for other in others], run

    with applied(tmp_path, tools=many, assistants={"ops": {"http": ["tool_0"]}}) as live:
        names, handed_over, run = ran(work(live))
        assert (names, all(handed_over), live.untouched()) == (["http__tool_0"], True, True)
        assert [kind for kind, _ in live.audit(run)] == ["call_handed_off"] * 31


def test_case_c27_a_model_without_tools_is_a_state_with_reasons(tmp_path: Path) -> None:
    async def work(live: Live) -> tuple[list[Any], dict[str, FailureCode], str | None, list[Any]]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            assert live.here.run("suspend", "server.http").code == 0
            refused = result_of(await run.call("http__echo", "{}")).code
            withheld = await run.withheld()
            empty = await run.tools()
            assert live.here.run("resume", "server.http").code == 0
            return empty, withheld, refused, await run.tools()

    with applied(tmp_path, assistants={"ops": {"http": ["echo"]}}) as live:
        empty, withheld, refused, after = ran(work(live))
        assert live.untouched()
    assert (empty, withheld, refused) == ([], {"http__echo": FailureCode.SUSPENDED}, "suspended")
    assert len(after) == 1


def test_case_c28_a_tool_that_calls_itself_harmless_waits_for_a_person_all_the_same(tmp_path: Path) -> None:
    wipe = {**ECHO, "name": "wipe", "annotations": {"readOnlyHint": True, "destructiveHint": False}}
    with applied(tmp_path, tools=[wipe], envelope={}) as live:
        results, run = live.called(("stdio__wipe", "{}"), ("http__wipe", "{}"))
        assert [result.code for result in results] == ["approval_required"] * 2
        assert (live.calls("stdio"), live.calls("http")) == ([], [])
        assert [kind for kind, _ in live.audit(run)] == ["approval_requested", "call_denied"] * 2
        waiting = live.governance.approvals.approvals("acme")
        assert [(each.state.value, each.binding.reversible) for each in waiting] == [("pending", False)] * 2


def test_case_c30_one_record_says_who_called_what_and_keeps_the_three_outcomes_apart(tmp_path: Path) -> None:
    failing = {"content": [{"type": "text", "text": "no"}], "isError": True}
    answers: dict[str, Raw | Mapping[str, Any]] = {
        "ok": {"result": {"content": []}},
        "failed": {"result": failing},
        "refused": {"error": {"code": -32602, "message": "bad params"}},
        "lost": Raw(200, b"{", claimed=50),
    }
    planted = "dummy-planted-value"
    with applied(tmp_path, tools=tools(*answers), envelope=EFFECT) as live:
        live.http.on_tool |= answers
        _, run = live.called(*((f"http__{name}", json.dumps({"q": planted})) for name in answers))
        audit = live.audit(run)
        kept = live.governance.audit.audit_events(trace_id=run.trace_id)
        assert {event.actor for event in kept} == {"assistant:ops"}
        assert live.here.run("audit", "verify").code == 0
    assert [kind for kind, _ in audit] == ["call_intent", "call_outcome"] * 4
    outcomes = [body for kind, body in audit if kind == "call_outcome"]
    assert [
        (
            body["remit.transport"],
            body.get("rpc.response.status_code"),
            body["remit.tool"],
            body["remit.outcome"],
            body["remit.state"],
            body.get("error.type"),
        )
        for body in outcomes
    ] == [
        ("answered", None, "ok", "ok", "completed", None),
        ("answered", None, "error", "error", "failed", "tool_error"),
        ("answered", "-32602", "none", "error", "failed", "rpc_error"),
        ("lost", None, "none", "unknown", "unknown", "server_gone"),
    ]
    for (name, body), intent in zip(zip(answers, outcomes, strict=True), audit[::2], strict=True):
        said = {key: body[key] for key in ("remit.assistant", "remit.principal", "remit.server", "remit.remote_name")}
        assert said == {
            "remit.assistant": "ops",
            "remit.principal": "assistant:ops",
            "remit.server": "http",
            "remit.remote_name": name,
        }
        assert (body["gen_ai.tool.name"], body["remit.revision"]) == (f"http__{name}", 1)
        assert body["remit.action_id"] == intent[1]["remit.action_id"]
        assert 0 < body["remit.duration_ms"] < 60_000
    assert planted not in str(audit)
