"""Runs: one line each, and one run with its actions."""

from dataclasses import replace
from datetime import timedelta

from remit.core.calls import ActionKind, ActionState, RunState
from remit.core.governance import ActionRow, RunRow
from remit.render.runs_text import one_run_document, run_text, runs_document, runs_text
from tests.render.examples import NOON
from tests.render.governed_examples import HOSTILE, SAFE, controls_of

ACTION = ActionRow(
    action_id="act-1",
    tool_call_id="call-1",
    kind=ActionKind.MCP,
    provider_name="issues__create",
    state=ActionState.UNKNOWN,
    code="server_gone",
    started_at=NOON - timedelta(seconds=20),
    ended_at=NOON - timedelta(seconds=19.79),
    approval_id="4f1c0d9e",
    output=HOSTILE,
)
RUN = RunRow(
    run_id="run-1",
    owner="acme",
    assistant="ops",
    principal="assistant:ops",
    thread_id=None,
    trace_id="trace-1",
    state=RunState.IN_PROGRESS,
    started_at=NOON - timedelta(seconds=65),
    ended_at=None,
)


def test_each_run_is_one_line():
    over = replace(RUN, run_id="run-0", state=RunState.COMPLETED, ended_at=RUN.started_at + timedelta(seconds=1.5))
    assert runs_text("acme", [RUN, over], now=NOON, colour=False) == (
        "Runs of owner acme\n"
        "  run-1  in_progress  assistant ops  by assistant:ops  2026-11-30T11:58:55Z  for 1m 5s so far  trace trace-1\n"
        "  run-0  completed    assistant ops  by assistant:ops  2026-11-30T11:58:55Z  took 1.50s        trace trace-1\n"
    )
    assert runs_text("acme", [], now=NOON, colour=False).splitlines()[1] == "  none yet"


def test_one_run_shows_its_actions_with_state_code_and_the_start_of_their_output():
    assert run_text(replace(RUN, thread_id="t-9", actions=(ACTION,)), now=NOON, colour=False) == (
        "Run run-1  in_progress\n"
        "  assistant   ops, of owner acme\n"
        "  started by  assistant:ops\n"
        "  started at  2026-11-30T11:58:55Z, for 1m 5s so far\n"
        "  thread      t-9\n"
        "  trace       trace-1\n"
        "  actions     1\n"
        "    issues__create  mcp  unknown  server_gone  took 0.21s  call call-1  approval 4f1c0d9e\n"
        f"      {SAFE}\n"
    )


def test_hostile_ids_and_names_forge_nothing():
    bad = replace(ACTION, tool_call_id=HOSTILE, provider_name=HOSTILE, code=HOSTILE, approval_id=HOSTILE)
    run = replace(RUN, run_id=HOSTILE, principal=HOSTILE, thread_id=HOSTILE, trace_id=HOSTILE, actions=(bad,))
    for text, lines in ((run_text(run, now=NOON, colour=False), 9), (runs_text("a", [run], now=NOON, colour=False), 2)):
        assert (controls_of(text), len(text.splitlines())) == (set(), lines)


def test_the_documents_are_closed_and_versioned():
    run = {
        "run_id": "run-1",
        "owner": "acme",
        "assistant": "ops",
        "principal": "assistant:ops",
        "thread_id": None,
        "trace_id": "trace-1",
        "state": "in_progress",
        "started_at": "2026-11-30T11:58:55Z",
        "ended_at": None,
    }
    action = {
        "action_id": "act-1",
        "tool_call_id": "call-1",
        "kind": "mcp",
        "provider_name": "issues__create",
        "state": "unknown",
        "code": "server_gone",
        "started_at": "2026-11-30T11:59:40Z",
        "ended_at": "2026-11-30T11:59:40Z",
        "approval_id": "4f1c0d9e",
        "output": HOSTILE,
    }
    assert runs_document("acme", [RUN]) == {"format_version": "1.0", "owner": "acme", "runs": [run]}
    assert one_run_document("acme", replace(RUN, actions=(ACTION,)), changed=True) == {
        "format_version": "1.0",
        "owner": "acme",
        "changed": True,
        "run": {**run, "actions": [action]},
    }
