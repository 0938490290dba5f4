"""A file that was lost since the last apply refuses what it would take back, and nothing else."""

from dataclasses import replace

import pytest

from remit.core.contributing import contributors_after, vanished_files
from remit.core.desired import Desired, DesiredAssistant, DesiredServer
from remit.core.envelope import EnvelopePatch, Surface
from remit.core.identity import HttpEndpoint
from remit.core.operations import OpName
from remit.core.plan import Plan
from remit.core.planner import PlanRequest, make_plan
from remit.core.recorded import Recorded, WorkspaceRecord
from tests.states import (
    OWNER,
    WORKSPACE,
    assistant,
    attachment,
    desired,
    listed,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
    whole_change,
)

GITHUB, JIRA = server("github"), server("jira")
TOOLS = [attachment(registration(GITHUB), name, alias=f"github__{name}") for name in ("a", "b", "c", "d")]
OPS = assistant("ops", select("github", "a", "b", "c", "d"))


def known(*files: str) -> Recorded:
    """Four tools of one server, applied from these files."""
    row = WorkspaceRecord(name=WORKSPACE, owner=OWNER, lineage="l", serial=1, files=files)
    return replace(recorded(registration(GITHUB), recorded_assistant(), *TOOLS), workspaces={WORKSPACE: row})


def asked(*parts: DesiredServer | DesiredAssistant, files: tuple[str, ...] = ("mcp.yaml",)) -> Desired:
    return replace(desired(*parts), contributors=files)


def planned(wanted: Desired, state: Recorded, *allowed: str) -> Plan:
    names = {"github": "abcd", "jira": "x"}
    live = {each.name: listed(*names[each.name]) for each in wanted.servers}
    return make_plan(wanted, state, live, PlanRequest(diff=whole_change, allow_missing=frozenset(allowed)))


def lost(plan: Plan) -> list[str]:
    return [each.message.split(" ")[0] for each in plan.vetoes if each.code == "files-vanished"]


LOSSES = {
    "a detach": asked(GITHUB, assistant("ops", select("github", "a", "b", "c"))),
    "a changed policy": asked(server("github", envelope=EnvelopePatch(surface=Surface.LOCKED)), OPS),
    "a changed server": asked(replace(GITHUB, enabled=False), OPS),
    "a changed assistant": asked(GITHUB, replace(OPS, permissions=("p",))),
}


@pytest.mark.parametrize("wanted", LOSSES.values(), ids=LOSSES.keys())
def test_a_lost_file_refuses_a_plan_that_takes_back_or_changes_something(wanted: Desired) -> None:
    state = known("a.yaml", "b.yaml", "mcp.yaml")
    assert lost(planned(wanted, state)) == ["a.yaml", "b.yaml"]
    assert lost(planned(wanted, state, "a.yaml")) == ["b.yaml"]
    assert planned(wanted, state, "a.yaml", "b.yaml").vetoes == ()
    assert planned(wanted, known("mcp.yaml")).vetoes == ()


def test_a_file_that_was_renamed_or_merged_takes_nothing_back_and_passes() -> None:
    state = known("mcp.d/a.yaml", "mcp.yaml")
    assert planned(asked(GITHUB, OPS, files=("mcp.d/b.yaml", "mcp.yaml")), state).problems == ()
    more = asked(GITHUB, JIRA, assistant("ops", select("github", *"abcd"), select("jira", "x")))
    assert (len(planned(more, state).operations), planned(more, state).vetoes) == (2, ())


def test_what_waits_for_acceptance_counts_as_taken_back() -> None:
    moved = replace(GITHUB, endpoint=HttpEndpoint("https://github.example.com/v2"))
    request = PlanRequest(diff=whole_change)
    plan = make_plan(asked(moved, OPS), known("envs/prod.yaml", "mcp.yaml"), {}, request)
    assert (plan.operations, [each.operation.op for each in plan.held]) == ((), [OpName.UPDATE_SERVER])
    assert lost(plan) == ["envs/prod.yaml"]


def test_nobody_is_refused_where_either_side_is_not_known() -> None:
    wanted = LOSSES["a detach"]
    assert planned(wanted, known()).vetoes == ()
    assert planned(replace(wanted, contributors=()), known("a.yaml")).vetoes == ()
    assert vanished_files(wanted, Recorded()) == ()


@pytest.mark.parametrize(
    ("before", "scoped", "after"),
    [
        (("a.yaml", "mcp.yaml"), False, ("mcp.yaml",)),
        (("a.yaml", "mcp.yaml"), True, None),
        (("a.yaml",), True, ("a.yaml", "mcp.yaml")),
        (("mcp.yaml",), False, None),
        ((), False, ("mcp.yaml",)),
    ],
)
def test_a_scoped_apply_forgets_no_file(before: tuple[str, ...], scoped: bool, after: tuple[str, ...] | None) -> None:
    assert contributors_after(asked(GITHUB), known(*before), scoped=scoped) == after
