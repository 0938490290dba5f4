"""What `removed` lets through and what it keeps in service, what `protect` refuses, and what a later file adopts."""

from dataclasses import replace

import pytest

from remit.core.desired import Desired, DesiredAssistant, DesiredServer, Removal
from remit.core.diagnostics import Source
from remit.core.identity import HttpEndpoint, RemoteName
from remit.core.model import apply_operations
from remit.core.moved_entries import check_entries
from remit.core.operations import (
    Attach,
    DeleteAssistant,
    Detach,
    Reason,
    Refresh,
    RenameServer,
    RiskCode,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.ownership import released_workspace
from remit.core.plan import Plan
from remit.core.recorded import Recorded
from remit.core.subjects import read_subject
from tests.states import (
    LINE,
    OWNER,
    SERVER,
    WORKSPACE,
    assistant,
    attachment,
    desired,
    listed,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
)

GITHUB, JIRA = server("github"), server("jira")
KNOWN, OTHER = registration(GITHUB), registration(JIRA)
OPS = recorded_assistant()
TOOLS = tuple(attachment(KNOWN, name) for name in "abcdef")
FULL = recorded(KNOWN, OTHER, OPS, *TOOLS, attachment(OTHER, "x"))
PLACE = Source("mcp.yaml", 5, 5)


def removing(*parts: DesiredServer | DesiredAssistant | str, keep: bool = False) -> Desired:
    declared = [part for part in parts if not isinstance(part, str)]
    named = (part for part in parts if isinstance(part, str))
    removed = tuple(Removal(subject=read_subject(each), source=PLACE, keep=keep) for each in named)
    return replace(desired(*declared), removed=removed)


def vetoes(made: Plan) -> list[tuple[str, str | None]]:
    return [(each.code, each.address) for each in made.vetoes]


LIVE = {"github": listed(*"abcdef"), "jira": listed("x")}
ONLY_JIRA = (JIRA, assistant("ops", select("jira", "x")))


def test_a_named_server_goes_with_all_its_tools_and_nothing_else_is_lifted() -> None:
    assert [code for code, _ in vetoes(plan(removing(*ONLY_JIRA), FULL, LIVE))] == ["too-many-detaches"] * 3
    made = plan(removing(*ONLY_JIRA, "server.github"), FULL, LIVE)
    assert (vetoes(made), {type(each) for each in made.operations}) == ([], {Detach, UnregisterServer})
    elsewhere = plan(removing(*ONLY_JIRA, "server.other"), FULL, LIVE)
    assert [code for code, _ in vetoes(elsewhere)] == ["too-many-detaches"] * 3


@pytest.mark.parametrize(
    "names",
    [
        [f"tool.github/{name}" for name in "abc"],
        [f"assistant.ops/github__{name}" for name in "abc"],
        ["tool.github/a", "assistant.ops/github__b", "tool.github/c"],
    ],
    ids=["tools", "attachments", "both"],
)
def test_named_tools_do_not_count_against_the_limit(names: list[str]) -> None:
    wanted = removing(GITHUB, JIRA, assistant("ops", select("github", *"ef"), select("jira", "x")), *names)
    assert [type(each) for each in plan(wanted, FULL, LIVE).operations] == [Detach] * 4
    assert vetoes(plan(wanted, FULL, LIVE)) == []


def test_an_assistant_may_go_empty_if_everything_it_loses_is_named() -> None:
    bare = (GITHUB, assistant("ops"))
    known = recorded(KNOWN, OPS, TOOLS[0])
    assert vetoes(plan(removing(*bare), known, LIVE)) == [("assistant-emptied", "assistant.ops")]
    assert vetoes(plan(removing(*bare, "tool.github/a"), known, LIVE)) == []


def test_a_file_that_asks_for_nothing_names_everything_that_goes() -> None:
    known = recorded(KNOWN, OPS, TOOLS[0])
    assert vetoes(plan(removing("assistant.ops"), known))[0][0] == "desired-emptied"
    assert vetoes(plan(removing("assistant.ops", "server.github"), known)) == []


def test_an_entry_that_nothing_is_recorded_for_is_a_note() -> None:
    made = plan(
        removing(*ONLY_JIRA, "server.gone", "assistant.ops/jira__x"), recorded(OTHER, OPS, attachment(OTHER, "x")), LIVE
    )
    assert [(each.code, each.address, each.source) for each in made.problems] == [
        ("removed-still-declared", "assistant.ops/jira__x", PLACE),
        ("removed-done", "server.gone", PLACE),
    ]


@pytest.mark.parametrize("name", ["server.github", "assistant.ops", "tool.github/a", "tool.github/fetch"])
def test_an_address_that_is_still_declared_is_an_error_of_the_file(name: str) -> None:
    wanted = removing(GITHUB, assistant("ops", select("github", "a", "f*")), name)
    assert [each.code for each in check_entries(wanted)] == ["removed-still-declared"]


@pytest.mark.parametrize(
    ("names", "code"), [(("workspace.a",), "removed-kind"), (("server.a", "server.a"), "named-twice")]
)
def test_entries_name_single_things_and_each_once(names: tuple[str, ...], code: str) -> None:
    wanted = replace(
        desired(),
        removed=tuple(
            Removal(subject=read_subject(name), source=Source("mcp.yaml", line, 5))
            for line, name in enumerate(names, 5)
        ),
    )
    assert [each.code for each in check_entries(wanted)] == [code]


# --- keep ---------------------------------------------------------------------------------------------------------------


def after(known: Recorded, made: Plan) -> Recorded:
    return apply_operations(known, made.operations, workspace=WORKSPACE, owner=OWNER)


def owners(known: Recorded) -> set[str]:
    return {each.workspace for each in (*known.servers, *known.assistants, *known.attachments)}


def test_what_is_kept_is_released_whole_and_adopted_whole() -> None:
    known = recorded(KNOWN, OPS, *TOOLS)
    made = plan(removing("server.github", "assistant.ops", keep=True), known)
    assert vetoes(made) == []
    assert [type(each) for each in made.operations] == [UpdateServer, UpdateAssistant, *[Refresh] * 6]
    assert {each.reason for each in made.operations} == {Reason.RELEASED}
    released = after(known, made)
    assert owners(released) == {released_workspace(OWNER)}
    wanted = desired(GITHUB, assistant("ops", select("github", *"abcdef")))
    adopting = plan(wanted, released, LIVE)
    assert {each.reason for each in adopting.operations} == {Reason.ADOPTED}
    adopted = after(released, adopting)
    assert owners(adopted) == {WORKSPACE}
    assert plan(wanted, adopted, LIVE).operations == ()
    assert {each.canonical_id for each in adopted.attachments} == {each.canonical_id for each in TOOLS}


def test_a_file_adopts_only_what_it_selects() -> None:
    known = recorded(KNOWN, OPS, *TOOLS)
    released = after(known, plan(removing("server.github", "assistant.ops", keep=True), known))
    adopting = plan(desired(GITHUB, assistant("ops", select("github", "a"))), released, LIVE)
    assert [each.tool.remote_name for each in adopting.operations if isinstance(each, Refresh)] == ["a"]
    assert adopting.unmanaged.attachments == len(TOOLS)


def test_a_released_server_under_another_name_is_renamed_as_it_is_adopted() -> None:
    known = recorded(KNOWN)
    released = after(known, plan(removing("server.github", keep=True), known))
    hub = server("hub", GITHUB.endpoint)
    (rename,) = plan(desired(hub), released, {"hub": listed()}).operations
    assert isinstance(rename, RenameServer)
    assert after(released, plan(desired(hub), released, {"hub": listed()})).servers[0].workspace == WORKSPACE


def test_a_released_tool_keeps_its_name() -> None:
    known = recorded(KNOWN, OPS, attachment(KNOWN, "a", alias="jira__x"))
    wanted = removing(JIRA, assistant("ops", select("jira", "x")), "server.github", keep=True)
    assert [each.code for each in plan(wanted, known, LIVE).problems] == []
    names = {
        each.tool.remote_name: each.tool.provider_name
        for each in plan(wanted, known, LIVE).operations
        if isinstance(each, Attach)
    }
    assert names[RemoteName("x")].startswith("jira__x_")


def test_a_second_server_of_a_name_is_not_released_beside_the_first() -> None:
    first = replace(KNOWN, workspace=released_workspace(OWNER))
    second = registration(server("github", JIRA.endpoint))
    made = plan(removing("server.github", keep=True), recorded(first, second))
    assert ([each.code for each in made.problems], made.operations) == (["released-already"], ())


def test_a_server_whose_tools_were_released_is_still_used() -> None:
    known = recorded(KNOWN, OPS, TOOLS[0])
    released = after(known, plan(removing(GITHUB, assistant("ops"), "tool.github/a", keep=True), known, LIVE))
    made = plan(desired(assistant("ops")), released)
    assert "still-used" in [each.code for each in made.problems]
    assert not any(isinstance(each, UnregisterServer) for each in made.operations)


# --- protect ------------------------------------------------------------------------------------------------------------


def protected(known: Recorded) -> Recorded:
    return replace(
        known,
        servers=tuple(replace(each, protect=True) for each in known.servers),
        assistants=tuple(replace(each, protect=True) for each in known.assistants),
    )


GUARDED = protected(recorded(KNOWN, OPS, TOOLS[0]))


@pytest.mark.parametrize(
    ("wanted", "refused"),
    [
        (removing("server.github", "assistant.ops"), ["assistant.ops", "server.github"]),
        (removing(GITHUB, "assistant.ops"), ["assistant.ops", "server.github"]),
        (removing(GITHUB, assistant("ops"), "tool.github/a"), ["assistant.ops", "server.github"]),
    ],
    ids=["both gone", "assistant gone", "emptied"],
)
def test_nothing_but_an_earlier_apply_lifts_a_protection(wanted: Desired, refused: list[str]) -> None:
    made = plan(wanted, GUARDED, LIVE, allow_detach=1)
    assert sorted(vetoes(made)) == [("protected", address) for address in refused]


def test_a_refusal_names_the_place_while_there_is_one() -> None:
    line = Source("mcp.yaml", 12, 7)
    still = removing(replace(GITHUB, protect=line), assistant("ops"))
    places = {each.address: each.source for each in plan(still, GUARDED, LIVE, allow_detach=1).vetoes}
    assert places["server.github"] == line
    assert plan(removing(assistant("ops")), GUARDED, allow_detach=1).vetoes[-1].source is None


def test_a_server_that_another_one_replaces_under_its_name_is_protected_too() -> None:
    made = plan(desired(server("github", JIRA.endpoint)), protected(recorded(KNOWN)), {"github": listed()})
    assert vetoes(made) == [("protected", "server.github")]
    assert made.vetoes[0].source == SERVER


def test_lifting_is_an_operation_of_its_own_and_what_stays_may_change() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "a")))
    lifting = plan(wanted, GUARDED, LIVE)
    lifted_risk = [RiskCode.PROTECTION_LIFTED]
    assert [(type(each), [risk.code for risk in each.risks]) for each in lifting.operations] == [
        (UpdateServer, lifted_risk),
        (UpdateAssistant, lifted_risk),
    ]
    lifted = after(GUARDED, lifting)
    gone = plan(removing("server.github", "assistant.ops"), lifted)
    assert (vetoes(gone), {type(each) for each in gone.operations}) == (
        [],
        {Detach, DeleteAssistant, UnregisterServer},
    )


def test_a_protected_assistant_may_lose_one_of_two_tools() -> None:
    known = protected(recorded(KNOWN, OPS, *TOOLS[:2]))
    wanted = replace(
        desired(replace(GITHUB, protect=LINE), replace(assistant("ops", select("github", "a")), protect=LINE))
    )
    made = plan(wanted, known, LIVE)
    assert ([type(each) for each in made.operations], vetoes(made)) == ([Detach], [])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("server.githab", "server.github"),
        ("tool.github/aa", "tool.github/a"),
        ("assistant.opz", "assistant.ops"),
        ("assistant.ops/github_a", "assistant.ops/github__a"),
        ("server.jira2", None),
        ("tool.jira/xx", None),
    ],
)
def test_a_mistyped_entry_names_what_goes_and_was_probably_meant(written: str, meant: str | None) -> None:
    known = recorded(KNOWN, OTHER, OPS, TOOLS[0], recorded_assistant("web"), attachment(OTHER, "x", assistant="web"))
    wanted = removing(JIRA, assistant("web", select("jira", "x")), written)
    [note] = [each for each in plan(wanted, known, LIVE).problems if each.code == "removed-done"]
    assert note.hint == (None if meant is None else f"did you mean {meant}, which goes with this plan?")


def test_an_entry_that_is_done_is_told_to_be_no_mistake() -> None:
    known = recorded(OTHER, recorded_assistant("web"), attachment(OTHER, "x", assistant="web"))
    wanted = removing(JIRA, assistant("web", select("jira", "x")), "server.jire", "assistant.wep", "tool.jira/y")
    assert [(each.code, each.hint) for each in plan(wanted, known, LIVE).problems] == [("removed-done", None)] * 3


def test_what_is_held_is_not_said_to_go_with_the_plan() -> None:
    elsewhere = HttpEndpoint("https://elsewhere.example.com/mcp")
    wanted = removing(server("github", elsewhere), assistant("ops", select("github", "a")), "tool.github/aa")
    made = plan(wanted, recorded(KNOWN, OPS, TOOLS[0]), {"github": listed("b")})
    assert (made.operations, Detach in {type(each.operation) for each in made.held}) == ((), True)
    assert [each.hint for each in made.problems if each.code == "removed-done"] == [None]
