"""What `remit runs` prints: the runs of an owner, and one run with its actions. Decides layout only."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, TypedDict

from remit.core.calls import ActionKind, ActionState, RunState
from remit.core.governance import ActionRow, RunRow
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import Painter, Style, aligned
from remit.render.shapes import FORMAT_VERSION
from remit.render.spans import span, timestamp, took

__all__ = [
    "ActionDocument",
    "OneRunDocument",
    "RunDocument",
    "RunWithActionsDocument",
    "RunsDocument",
    "one_run_document",
    "run_text",
    "runs_document",
    "runs_text",
]

_CUT = 120
_WIDEST = 64


class RunDocument(TypedDict):
    """One run."""

    run_id: str
    owner: str
    assistant: str
    principal: str
    thread_id: str | None
    trace_id: str
    state: Annotated[str, RunState]
    started_at: str
    ended_at: str | None


class ActionDocument(TypedDict):
    """One tool call of a run; `output` is null where there is none yet, or where it is not kept."""

    action_id: str
    tool_call_id: str
    kind: Annotated[str, ActionKind]
    provider_name: str
    state: Annotated[str, ActionState]
    code: str | None
    started_at: str
    ended_at: str | None
    approval_id: str | None
    output: str | None


class RunsDocument(TypedDict):
    """The newest runs of an owner, newest first."""

    format_version: str
    owner: str
    runs: list[RunDocument]


class RunWithActionsDocument(RunDocument):
    """One run with its actions, in the order they were started."""

    actions: list[ActionDocument]


class OneRunDocument(TypedDict):
    """One run; `changed` is whether this command cancelled it."""

    format_version: str
    owner: str
    changed: bool
    run: RunWithActionsDocument


def runs_document(owner: str, runs: Sequence[RunRow]) -> RunsDocument:
    """`{format_version, owner, runs[]}`."""
    return {"format_version": FORMAT_VERSION, "owner": well_formed(owner), "runs": [_run(each) for each in runs]}


def one_run_document(owner: str, run: RunRow, *, changed: bool = False) -> OneRunDocument:
    """`{format_version, owner, changed, run{..., actions[]}}`."""
    return {
        "format_version": FORMAT_VERSION,
        "owner": well_formed(owner),
        "changed": changed,
        "run": {**_run(run), "actions": [_action(each) for each in run.actions]},
    }


def _run(run: RunRow) -> RunDocument:
    return {
        "run_id": well_formed(run.run_id),
        "owner": well_formed(run.owner),
        "assistant": well_formed(run.assistant),
        "principal": well_formed(run.principal),
        "thread_id": None if run.thread_id is None else well_formed(run.thread_id),
        "trace_id": well_formed(run.trace_id),
        "state": run.state.value,
        "started_at": timestamp(run.started_at),
        "ended_at": None if run.ended_at is None else timestamp(run.ended_at),
    }


def _action(action: ActionRow) -> ActionDocument:
    return {
        "action_id": well_formed(action.action_id),
        "tool_call_id": well_formed(action.tool_call_id),
        "kind": action.kind.value,
        "provider_name": well_formed(action.provider_name),
        "state": action.state.value,
        "code": action.code,
        "started_at": timestamp(action.started_at),
        "ended_at": None if action.ended_at is None else timestamp(action.ended_at),
        "approval_id": action.approval_id,
        "output": None if action.output is None else well_formed(action.output),
    }


# -- text --------------------------------------------------------------------------------------------------------------

_STYLES = {
    RunState.REQUIRES_ACTION.value: Style.CHANGE,
    RunState.FAILED.value: Style.REMOVE,
    ActionState.UNKNOWN.value: Style.DANGER,
}


def runs_text(owner: str, runs: Sequence[RunRow], *, now: datetime, colour: bool) -> str:
    """A line for each run, newest first; ends with a newline."""
    head = Painter(colour=colour)(Style.HEAD, f"Runs of owner {escape_terminal(owner)}")
    rows = [
        [
            escape_terminal(each.run_id),
            each.state.value,
            f"assistant {escape_terminal(each.assistant)}",
            f"by {escape_terminal(each.principal)}",
            timestamp(each.started_at),
            _lasted(each.started_at, each.ended_at, now),
            f"trace {escape_terminal(each.trace_id)}",
        ]
        for each in runs
    ]
    return "\n".join([head, *(f"  {line}" for line in aligned(rows, widest=_WIDEST) or ["none yet"])]) + "\n"


def run_text(run: RunRow, *, now: datetime, colour: bool) -> str:
    """One run with a line for each of its actions and the start of each output; ends with a newline."""
    paint = Painter(colour=colour)
    state = paint(_STYLES.get(run.state.value, Style.QUIET), run.state.value)
    facts = [
        ["assistant", f"{escape_terminal(run.assistant)}, of owner {escape_terminal(run.owner)}"],
        ["started by", escape_terminal(run.principal)],
        ["started at", f"{timestamp(run.started_at)}, {_lasted(run.started_at, run.ended_at, now)}"],
        *([["thread", escape_terminal(run.thread_id)]] if run.thread_id is not None else []),
        ["trace", escape_terminal(run.trace_id)],
        ["actions", str(len(run.actions))],
    ]
    lines = [f"{paint(Style.HEAD, f'Run {escape_terminal(run.run_id)}')}  {state}"]
    lines += [f"  {line}" for line in aligned(facts, widest=_WIDEST)]
    for action in run.actions:
        lines += _action_lines(action, now, paint)
    return "\n".join(lines) + "\n"


def _action_lines(action: ActionRow, now: datetime, paint: Painter) -> Iterator[str]:
    words = [
        escape_terminal(action.provider_name),
        action.kind.value,
        paint(_STYLES.get(action.state.value, Style.QUIET), action.state.value),
        *([escape_terminal(action.code)] if action.code else []),
        _lasted(action.started_at, action.ended_at, now),
        f"call {escape_terminal(action.tool_call_id)}",
        *([f"approval {escape_terminal(action.approval_id)}"] if action.approval_id else []),
    ]
    yield f"    {'  '.join(words)}"
    if action.output is not None:
        yield f"      {escape_terminal(action.output, limit=_CUT)}"


def _lasted(started: datetime, ended: datetime | None, now: datetime) -> str:
    return f"for {span(now - started)} so far" if ended is None else f"took {took(ended - started)}"
