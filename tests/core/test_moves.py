"""What `moved` comes to: each kind of thing by case, what keeps and what is refused, and what the file itself must not say."""

from dataclasses import replace

import pytest

from remit.core.definition import Definition
from remit.core.desired import Desired, DesiredAssistant, DesiredServer, Move
from remit.core.diagnostics import Source
from remit.core.envelope import MOST_RESTRICTIVE, Envelope, EnvelopePatch, Surface
from remit.core.identity import HttpEndpoint, StdioEndpoint
from remit.core.live import Listed, Live
from remit.core.lock import Lock
from remit.core.model import apply_operations
from remit.core.moved_entries import check_entries
from remit.core.moves import resolve_moves, with_workspace
from remit.core.operations import (
    Attach,
    DeleteAssistant,
    Origin,
    Reason,
    Refresh,
    RegisterServer,
    RenameServer,
    RiskCode,
    SetEnvelope,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.plan import DriftKind, HoldReason, MovedWorkspace, Plan
from remit.core.recorded import Recorded, WorkspaceRecord
from remit.core.subjects import InvalidAddress, read_endpoint_subject, read_subject
from remit.reconcile.outcome import ExitCode, plan_exit
from tests.states import (
    LINE,
    OTHER_WORKSPACE,
    OWNER,
    WORKSPACE,
    assistant,
    attachment,
    definition,
    desired,
    listed,
    locked,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
)

OLD, NEW = server("old"), server("new", HttpEndpoint("https://old.example.com/mcp"))
KNOWN = registration(OLD)
SEARCH = attachment(KNOWN, "search")
OPS = recorded_assistant()
LOCKED = EnvelopePatch(surface=Surface.LOCKED, side_effecting=False)


def move(before: str, after: str, line: int = 5) -> Move:
    return Move(before=read_endpoint_subject(before), after=read_subject(after), source=Source("mcp.yaml", line, 5))


def moving(*parts: DesiredServer | DesiredAssistant | Move) -> Desired:
    declared = [part for part in parts if not isinstance(part, Move)]
    return replace(desired(*declared), moved=tuple(part for part in parts if isinstance(part, Move)))


def codes(made: Plan) -> list[str]:
    return [each.code for each in made.problems]


# --- servers -----------------------------------------------------------------------------------------------------------


def test_a_server_under_another_name_and_origin_is_renamed_as_one_group_with_what_it_lists() -> None:
    there = server("new", HttpEndpoint("https://new.example.com/mcp"))
    wanted = moving(there, assistant("ops", select("new", "search")), move("server.old", "server.new"))
    known = recorded(KNOWN, OPS, SEARCH)
    (rename,) = plan(wanted, known, {"new": listed("search")}).operations
    assert isinstance(rename, RenameServer)
    assert (rename.server_id, rename.reason, [each.code for each in rename.risks]) == (
        KNOWN.server_id,
        Reason.MOVED,
        [RiskCode.ENDPOINT_CHANGE],
    )
    changed = plan(wanted, known, {"new": listed(search=definition("Finds more."))})
    assert [(type(each.operation), each.because) for each in changed.held] == [
        (RenameServer, (HoldReason.ENDPOINT_GROUP,)),
        (Refresh, (HoldReason.LIVE_NOT_ACCEPTED, HoldReason.ENDPOINT_GROUP)),
    ]
    assert plan(wanted, known, {}).held[0].because == (HoldReason.ENDPOINT_UNLISTED,)


@pytest.mark.parametrize(
    ("before", "endpoint"),
    [
        ("HTTPS://Old.example.com:443/mcp", HttpEndpoint("https://old.example.com/mcp")),
        ("python -m 'old server'", StdioEndpoint(("python", "-m", "old server"))),
    ],
    ids=["url", "command"],
)
def test_a_server_moves_from_what_it_was_reached_at(before: str, endpoint: HttpEndpoint | StdioEndpoint) -> None:
    known = registration(server("tickets", endpoint))
    wanted = moving(server("tickets", HttpEndpoint("https://new.example.com/mcp")), move(before, "server.tickets"))
    (update,) = plan(wanted, recorded(known), {"tickets": listed()}).operations
    assert isinstance(update, UpdateServer)
    assert (update.server_id, update.reason) == (known.server_id, Reason.ENDPOINT_CHANGED)


def test_without_the_entry_another_origin_is_another_server() -> None:
    wanted = desired(server("old", HttpEndpoint("https://new.example.com/mcp")))
    assert [type(each) for each in plan(wanted, recorded(KNOWN), {"old": listed()}).operations] == [
        RegisterServer,
        UnregisterServer,
    ]


def test_two_registrations_never_become_one() -> None:
    both = recorded(KNOWN, registration(server("new")), OPS, SEARCH)
    made = plan(moving(server("new"), assistant("ops"), move("server.old", "server.new")), both, {"new": listed()})
    assert (made.operations, codes(made), made.complete) == ((), ["moved-ambiguous"], False)
    assert made.vetoes == made.problems


# --- tools -------------------------------------------------------------------------------------------------------------

TOOL = move("tool.old/search", "tool.old/find")


def tools(
    *include: str, envelope: EnvelopePatch | None = None, policy: dict[str, EnvelopePatch] | None = None
) -> Desired:
    return moving(server("old", envelope=envelope, tools=policy), assistant("ops", select("old", *include)), TOOL)


@pytest.mark.parametrize("include", ["find", "*"])
def test_a_tool_that_reads_as_before_moves_by_the_file_alone(include: str) -> None:
    made = plan(tools(include), recorded(KNOWN, OPS, SEARCH), {"old": listed("find")})
    (refresh,) = made.operations
    assert isinstance(refresh, Refresh)
    assert (refresh.moved_to, refresh.origin, refresh.reason, refresh.tool.canonical_id, made.held) == (
        "find",
        Origin.FILE,
        Reason.MOVED,
        SEARCH.canonical_id,
        (),
    )


def test_a_tool_that_reads_otherwise_waits_and_keeps_its_place() -> None:
    made = plan(tools("find"), recorded(KNOWN, OPS, SEARCH), {"old": listed(find=definition("Finds more."))})
    assert (made.operations, [each.because for each in made.held]) == ((), [(HoldReason.LIVE_NOT_ACCEPTED,)])


@pytest.mark.parametrize("live", [listed("search"), listed()], ids=["still listed", "gone"])
def test_a_tool_whose_new_name_is_not_listed_is_drift_and_never_a_detach(live: Listed) -> None:
    made = plan(tools("find"), recorded(KNOWN, OPS, SEARCH), {"old": live})
    assert (made.operations, [each.kind for each in made.drift]) == ((), [DriftKind.VANISHED])
    assert "find" in made.drift[0].detail


def test_the_old_name_under_a_glob_is_attached_only_once_the_tool_has_moved() -> None:
    live = {"old": listed("search", "find")}
    made = plan(tools("*"), recorded(KNOWN, OPS, SEARCH), live)
    assert [type(each) for each in made.operations] == [Refresh]
    assert made.held == ()
    after = apply_operations(recorded(KNOWN, OPS, SEARCH), made.operations, workspace=WORKSPACE, owner=OWNER)
    assert [type(each.operation) for each in plan(tools("*"), after, live).held] == [Attach]


def test_an_assistant_that_has_both_names_is_refused() -> None:
    made = plan(tools("find"), recorded(KNOWN, OPS, SEARCH, attachment(KNOWN, "find")), {"old": listed("find")})
    assert (made.operations, codes(made)) == ((), ["moved-ambiguous"])


def test_a_looser_policy_comes_in_the_plan_after_the_move() -> None:
    wanted, live = tools("find", envelope=LOCKED), {"old": listed("find")}
    before = recorded(KNOWN, OPS, SEARCH)
    made = plan(wanted, before, live)
    assert [type(each) for each in made.operations] == [Refresh]
    assert codes(made) == ["alias-historic", "moved-policy-kept"]
    after = apply_operations(before, made.operations, workspace=WORKSPACE, owner=OWNER)
    (loosened,) = plan(wanted, after, live).operations
    assert isinstance(loosened, SetEnvelope)


def test_a_policy_left_under_the_old_name_still_holds() -> None:
    strict = EnvelopePatch(surface=Surface.HUMAN_CONTROLLED)
    wanted, live = tools("find", envelope=LOCKED, policy={"search": strict}), {"old": listed("find")}
    before = recorded(KNOWN, OPS, replace(SEARCH, envelope=Envelope(
        surface=Surface.HUMAN_CONTROLLED, side_effecting=False, reversible=False, required_permission=None
    )))  # fmt: skip
    made = plan(wanted, before, live)
    after = apply_operations(before, made.operations, workspace=WORKSPACE, owner=OWNER)
    assert plan(wanted, after, live).operations == ()


def test_a_tighter_policy_comes_with_the_move() -> None:
    loose = replace(SEARCH, envelope=replace(MOST_RESTRICTIVE, surface=Surface.OPEN))
    made = plan(tools("find"), recorded(KNOWN, OPS, loose), {"old": listed("find")})
    assert [type(each) for each in made.operations] == [SetEnvelope, Refresh]


def test_with_a_lock_a_tool_moves_only_to_what_it_approves() -> None:
    known, live = recorded(KNOWN, OPS, SEARCH), {"old": listed("find")}
    approved = plan(tools("find"), known, live, lock=locked("old", find=definition()))
    assert [type(each) for each in approved.operations] == [Refresh]
    lacking = plan(tools("find"), known, live, lock=locked("old", search=definition()))
    assert [each.because for each in lacking.held] == [(HoldReason.NOT_IN_LOCK,)]


# --- assistants and workspaces -----------------------------------------------------------------------------------------


def test_an_assistant_is_renamed_before_anything_else_is_done_to_it() -> None:
    wanted = moving(
        OLD,
        assistant("dev", select("old", "search", "find"), permissions=("read",)),
        move("assistant.ops", "assistant.dev"),
    )
    before = recorded(KNOWN, OPS, SEARCH)
    made = plan(wanted, before, {"old": listed("search", "find")})
    rename, fields, attach = made.operations
    assert isinstance(rename, UpdateAssistant)
    assert isinstance(fields, UpdateAssistant)
    assert isinstance(attach, Attach)
    assert (rename.assistant, rename.renamed_to, rename.reason) == ("ops", "dev", Reason.MOVED)
    assert (fields.assistant, fields.after, attach.tool.assistant) == ("dev", ("read",), "dev")
    after = apply_operations(before, made.operations, workspace=WORKSPACE, owner=OWNER)
    assert [each.name for each in after.assistants] == ["dev"]
    assert {each.assistant for each in after.attachments} == {"dev"}


def test_a_plan_of_one_server_renames_the_assistant_too() -> None:
    wanted = moving(OLD, assistant("dev", select("old", "search")), move("assistant.ops", "assistant.dev"))
    made = plan(wanted, recorded(KNOWN, OPS, SEARCH), {"old": listed("search")}, scope=["old"])
    assert [type(each) for each in made.operations] == [UpdateAssistant]


@pytest.mark.parametrize(
    ("known", "code"),
    [
        (recorded(recorded_assistant("dev"), OPS), "moved-ambiguous"),
        (recorded(recorded_assistant("ops", workspace=OTHER_WORKSPACE)), "moved-elsewhere"),
    ],
    ids=["taken", "another workspace's"],
)
def test_an_assistant_that_cannot_move_refuses_the_plan(known: Recorded, code: str) -> None:
    made = plan(moving(assistant("dev"), move("assistant.ops", "assistant.dev")), known)
    assert (made.operations, codes(made)) == ((), [code])


def workspaces(known: Recorded, **owners: str) -> Recorded:
    rows = {
        name: WorkspaceRecord(name=name, owner=owner, lineage=f"line-{name}", serial=3)
        for name, owner in owners.items()
    }
    return replace(known, workspaces=rows)


def test_a_workspace_moves_with_all_its_rows_and_plans_nothing_else() -> None:
    wanted = moving(OLD, assistant("ops", select("old", "search")), move("workspace.demo", f"workspace.{WORKSPACE}"))
    here = workspaces(recorded(KNOWN, OPS, SEARCH), **{WORKSPACE: OWNER})
    before = with_workspace(here, WORKSPACE, "demo")
    made = plan(wanted, before, {"old": listed("search")})
    assert (made.operations, made.has_changes) == ((), True)
    assert made.moved_workspace == MovedWorkspace(
        name="demo", servers=1, assistants=1, attachments=1, source=wanted.moved[0].source
    )
    assert with_workspace(before, "demo", WORKSPACE) == replace(
        here, workspaces={WORKSPACE: replace(here.workspaces[WORKSPACE], name=WORKSPACE)}
    )


@pytest.mark.parametrize(
    ("owners", "code"),
    [
        ({"demo": OWNER, WORKSPACE: OWNER}, "moved-ambiguous"),
        ({"demo": "stranger"}, "moved-elsewhere"),
        ({}, "moved-done"),
    ],
)
def test_a_workspace_moves_only_into_a_name_that_is_free(owners: dict[str, str], code: str) -> None:
    made = plan(moving(OLD, move("workspace.demo", f"workspace.{WORKSPACE}")), workspaces(Recorded(), **owners))
    assert (codes(made), made.moved_workspace) == ([code], None)


def test_what_comes_along_is_counted_without_what_others_have_there() -> None:
    theirs = attachment(KNOWN, "find", assistant="web", workspace=OTHER_WORKSPACE)
    rows = recorded(KNOWN, OPS, recorded_assistant("web", workspace=OTHER_WORKSPACE), SEARCH, theirs)
    before = with_workspace(workspaces(rows, **{WORKSPACE: OWNER}), WORKSPACE, "demo")
    made = plan(moving(OLD, move("workspace.demo", f"workspace.{WORKSPACE}")), before, {"old": listed("search")})
    assert made.moved_workspace is not None
    assert (made.moved_workspace.servers, made.moved_workspace.assistants, made.moved_workspace.attachments) == (
        1,
        1,
        1,
    )


@pytest.mark.parametrize("lifted", ["server", "assistant", "renamed server", "neither"])
def test_no_protection_is_lifted_in_the_plan_that_moves_its_workspace(lifted: str) -> None:
    rows = recorded(replace(KNOWN, protect=True), replace(OPS, protect=True), SEARCH)
    before = with_workspace(workspaces(rows, **{WORKSPACE: OWNER}), WORKSPACE, "demo")
    name = "new" if lifted == "renamed server" else "old"
    declared = replace(OLD, name=name, protect=None if "server" in lifted else LINE)
    ops = replace(assistant("ops", select(name, "search")), protect=None if lifted == "assistant" else LINE)
    away = move("workspace.demo", f"workspace.{WORKSPACE}")
    renaming = () if name == "old" else (move("server.old", "server.new"),)
    live: Live = {name: listed("search")}
    made = plan(moving(declared, ops, away, *renaming), before, live)
    kept = plan(moving(declared, ops, *renaming), rows, live)
    address = {"neither": [], "assistant": ["assistant.ops"]}.get(lifted, ["server.old"])
    assert [(each.code, each.address) for each in made.vetoes] == [("protected", each) for each in address]
    assert kept.vetoes == ()


# --- entries that are done, and entries that never fit -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("server.gone", "server.old"),
        ("https://gone.example.com/", "server.old"),
        ("tool.old/gone", "tool.old/search"),
        ("assistant.gone", "assistant.ops"),
    ],
)
def test_an_entry_with_nothing_left_to_do_is_a_note(before: str, after: str) -> None:
    wanted = moving(OLD, assistant("ops", select("old", "search")), move(before, after))
    made = plan(wanted, recorded(KNOWN, OPS, SEARCH), {"old": listed("search")})
    assert (made.operations, codes(made), made.complete) == ((), ["moved-done"], True)
    assert (made.problems[0].source, made.problems[0].hint) == (Source("mcp.yaml", 5, 5), None)


@pytest.mark.parametrize(
    ("written", "meant", "file"),
    [
        ("server.odl", "server.old", moving(server("new"), assistant("ops"), move("server.odl", "server.new"))),
        (
            "https://old.exampel.com/mcp",
            "https://old.example.com/mcp",
            moving(server("new"), assistant("ops"), move("https://old.exampel.com/mcp", "server.new")),
        ),
        ("assistant.opz", "assistant.ops", moving(OLD, assistant("team"), move("assistant.opz", "assistant.team"))),
        (
            "tool.old/serch",
            "tool.old/search",
            moving(OLD, assistant("ops", select("old", "find")), move("tool.old/serch", "tool.old/find")),
        ),
    ],
    ids=["server", "endpoint", "assistant", "named-tool"],
)
def test_a_mistyped_entry_names_what_goes_and_was_probably_meant(written: str, meant: str, file: Desired) -> None:
    made = plan(file, recorded(KNOWN, OPS, SEARCH), {"old": listed("find"), "new": listed("find")})
    [note] = [each for each in made.problems if each.code == "moved-done"]
    assert written in note.message
    assert note.hint == f"did you mean {meant}, which goes with this plan?"


CARRIED_OUT = move("tool.old/serch", "tool.old/find")


@pytest.mark.parametrize(
    ("file", "tools"),
    [
        (moving(OLD, assistant("ops", select("old", "find")), CARRIED_OUT), ("search", "find")),
        (moving(OLD, assistant("ops", select("old", "find", "search")), CARRIED_OUT), ("find",)),
    ],
    ids=["the like one goes", "the like one is listed no more"],
)
def test_an_entry_that_was_carried_out_is_told_to_be_no_mistake(file: Desired, tools: tuple[str, ...]) -> None:
    made = plan(file, recorded(KNOWN, OPS, SEARCH, attachment(KNOWN, "find")), {"old": listed(*tools)})
    assert [each.hint for each in made.problems if each.code == "moved-done"] == [None]


def test_a_server_and_an_assistant_under_their_new_names_are_told_to_be_no_mistake() -> None:
    entries = (move("server.odl", "server.new"), move("assistant.opz", "assistant.team"))
    wanted = moving(server("new"), assistant("team"), *entries)
    known = recorded(KNOWN, OPS, registration(server("new")), recorded_assistant("team"))
    made = plan(wanted, known, {"new": listed()})
    assert {type(each) for each in made.operations} == {DeleteAssistant, UnregisterServer}
    assert [each.hint for each in made.problems if each.code == "moved-done"] == [None, None]


def test_what_stays_is_not_said_to_go_with_the_plan() -> None:
    file = moving(OLD, assistant("ops", select("old", "*")), move("tool.old/serch", "tool.old/find"))
    made = plan(file, recorded(KNOWN, OPS, SEARCH), {"old": listed("find")})
    assert [each.kind for each in made.drift] == [DriftKind.VANISHED]
    assert [each.hint for each in made.problems if each.code == "moved-done"] == [None]


def test_a_mistyped_workspace_names_the_one_that_was_probably_meant() -> None:
    wanted = moving(OLD, move("workspace.dmeo", f"workspace.{WORKSPACE}"))
    first = plan(wanted, workspaces(recorded(KNOWN), demo=OWNER, other="stranger"), {"old": listed()})
    later = plan(wanted, workspaces(recorded(KNOWN), demo=OWNER, **{WORKSPACE: OWNER}), {"old": listed()})
    assert [each.hint for made in (first, later) for each in made.problems if each.code == "moved-done"] == [
        "did you mean workspace.demo?",
        None,
    ]


ENTRIES: dict[str, tuple[list[Move], list[str]]] = {
    "fits": ([move("server.gone", "server.old")], []),
    "other kind": ([move("server.gone", "assistant.ops")], ["moved-kinds"]),
    "tool of another server": ([move("tool.gone/search", "tool.old/search")], ["moved-server"]),
    "server from a tool": ([move("tool.old/search", "server.old")], ["moved-kinds"]),
    "undeclared": ([move("server.gone", "server.lost")], ["moved-undeclared"]),
    "unselected tool": ([move("tool.old/gone", "tool.old/lost")], ["moved-undeclared"]),
    "another workspace": ([move("workspace.a", "workspace.b")], ["moved-undeclared"]),
    "still declared": ([move("server.other", "server.old")], ["moved-still-declared"]),
    "endpoint still declared": ([move("https://other.example.com/mcp", "server.old")], ["moved-still-declared"]),
    "tool still selected": ([move("tool.old/search", "tool.old/find")], ["moved-still-declared"]),
    "one to": ([move("server.a", "server.old", 5), move("server.b", "server.old", 6)], ["named-twice"]),
    "one from": ([move("server.a", "server.old", 5), move("server.a", "server.other", 6)], ["named-twice"]),
    "chain": (
        [move("assistant.a", "assistant.b", 5), move("assistant.b", "assistant.ops", 6)],
        ["moved-undeclared", "moved-chain"],
    ),
    "itself": ([move("server.old", "server.old")], ["moved-chain"]),
    "cycle": (
        [move("server.old", "server.other", 5), move("server.other", "server.old", 6)],
        ["moved-still-declared", "moved-still-declared", "moved-chain", "moved-chain"],
    ),
}


@pytest.mark.parametrize(("entries", "found"), ENTRIES.values(), ids=list(ENTRIES))
def test_entries_are_held_against_the_file(entries: list[Move], found: list[str]) -> None:
    wanted = moving(OLD, server("other"), assistant("ops", select("old", "search", "f*")), *entries)
    assert [each.code for each in check_entries(wanted)] == found


def test_two_entries_of_one_side_name_both_places() -> None:
    entries = (move("server.a", "server.old", 5), move("server.b", "server.old", 6))
    (found,) = check_entries(moving(OLD, *entries))
    assert found.source == Source("mcp.yaml", 6, 5)
    assert "mcp.yaml:5" in found.message


@pytest.mark.parametrize(
    "text", ["server.a b", "tool.a b/x/y", "assistant.ops", "assistant.ops/a__b", "workspace.acme"]
)
def test_an_address_is_read_as_it_is_spelled(text: str) -> None:
    assert str(read_subject(text)) == text


@pytest.mark.parametrize(
    "text", ["", "old", "sever.old", "tool.old", "server.", "assistant./x", "sever.my old", "https://u:p@x/"]
)
def test_a_text_that_is_no_address_is_never_taken_for_a_command(text: str) -> None:
    with pytest.raises(InvalidAddress):
        read_endpoint_subject(text)


def test_moves_of_servers_are_found_under_the_moved_workspace() -> None:
    before = with_workspace(workspaces(recorded(KNOWN), **{WORKSPACE: OWNER}), WORKSPACE, "demo")
    wanted = moving(NEW, move("server.old", "server.new"), move("workspace.demo", f"workspace.{WORKSPACE}"))
    moves = resolve_moves(wanted, before)
    assert moves.workspace is not None
    assert (moves.workspace.name, moves.servers) == ("demo", {"new": KNOWN.server_id})
    assert (moves.problems, moves.done) == ([], [])


@pytest.mark.parametrize("offered", [definition(), definition("Finds other things.")])
@pytest.mark.parametrize("pattern", ["find", "*"])
def test_a_moved_tool_that_the_lock_does_not_have_is_held_as_what_the_file_asks_for(
    offered: Definition, pattern: str
) -> None:
    wanted = moving(OLD, assistant("ops", select("old", pattern)), move("tool.old/search", "tool.old/find"))
    made = plan(wanted, recorded(KNOWN, OPS, SEARCH), {"old": listed(find=offered)}, lock=Lock())
    [held] = made.held
    assert (held.because, held.operation.origin, held.operation.reason) == (
        (HoldReason.NOT_IN_LOCK,),
        Origin.FILE,
        Reason.MOVED,
    )
    assert plan_exit(made, detailed=False) is ExitCode.REFUSED


@pytest.mark.parametrize("pattern", ["search", "*"])
def test_a_changed_text_that_the_lock_does_not_have_is_held_as_what_the_server_said(pattern: str) -> None:
    wanted = desired(OLD, assistant("ops", select("old", pattern)))
    other = definition("Finds other things.")
    made = plan(wanted, recorded(KNOWN, OPS, SEARCH), {"old": listed(search=other)}, lock=Lock())
    assert [(each.because, each.operation.origin) for each in made.held] == [((HoldReason.NOT_IN_LOCK,), Origin.LIVE)]
    assert plan_exit(made, detailed=False) is ExitCode.OK
