"""A server that another one replaces under its name: it serves until the other was listed, and then both change at once."""

from dataclasses import replace

import pytest

from remit.core.acceptance import Acceptance
from remit.core.addresses import address_of
from remit.core.desired import Desired, DesiredServer
from remit.core.envelope import MOST_RESTRICTIVE
from remit.core.identity import HttpEndpoint
from remit.core.live import Live, Observation, Skipped, SkipReason, Unreachable, UnreachableReason
from remit.core.operations import (
    Change,
    Detach,
    Operation,
    Reason,
    RegisterServer,
    RenameServer,
    Risk,
    RiskCode,
    ToolRef,
    UnregisterServer,
)
from remit.core.plan import Held, HoldReason, Plan
from remit.core.servers import facts_of
from tests.states import (
    OTHER_WORKSPACE,
    SERVER,
    assistant,
    attachment,
    definition,
    desired,
    listed,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
)

HERE, AWAY = HttpEndpoint("https://github.example.com/mcp"), HttpEndpoint("https://elsewhere.example.com/mcp")
THIRD = HttpEndpoint("https://third.example.com/mcp")
OLD, NEW = registration(server("github", HERE)), registration(server("github", AWAY))
OPS = recorded_assistant()
SEARCH = attachment(OLD, "search")
OTHER = definition("Finds other things.")
DOWN = Unreachable(reason=UnreachableReason.REFUSED, detail="connection refused")
UNLISTED, GROUP = HoldReason.ENDPOINT_UNLISTED, HoldReason.ENDPOINT_GROUP
RISK = Risk(RiskCode.ENDPOINT_CHANGE, f"another server takes the name: {HERE.url} -> {AWAY.url}")

REGISTER = RegisterServer(
    server_id=NEW.server_id, facts=facts_of(NEW), reason=Reason.DECLARED, risks=(RISK,), source=SERVER
)
DETACH = Detach(
    tool=ToolRef(
        assistant="ops",
        server="github",
        server_id=OLD.server_id,
        remote_name=SEARCH.remote_name,
        provider_name=SEARCH.provider_name,
        canonical_id=SEARCH.canonical_id,
    ),
    definition=definition(),
    envelope=MOST_RESTRICTIVE,
    reason=Reason.SERVER_REPLACED,
)
UNREGISTER = UnregisterServer(server_id=OLD.server_id, before=facts_of(OLD), reason=Reason.NO_LONGER_SELECTED)


def wanting(*names: str, of: DesiredServer | None = None) -> Desired:
    return desired(of or server("github", AWAY), assistant("ops", select("github", *names)))


def shown(operation: Operation) -> tuple[str, str]:
    return operation.op.value, address_of(operation)


def running(made: Plan) -> list[tuple[str, str]]:
    return [shown(each) for each in made.operations]


def waiting(made: Plan) -> list[tuple[str, str, HoldReason]]:
    return [(*shown(each.operation), reason) for each in made.held for reason in each.because]


@pytest.mark.parametrize("observation", [DOWN, Skipped(SkipReason.CACHE_ONLY), Skipped(SkipReason.NEVER_LISTED)])
def test_the_old_server_serves_until_the_new_one_was_listed(observation: Observation) -> None:
    made = plan(wanting("search"), recorded(OLD, OPS, SEARCH), {"github": observation})
    assert (made.operations, made.vetoes, made.complete) == ((), (), False)
    assert made.held == tuple(Held(operation=each, because=(UNLISTED,)) for each in (REGISTER, DETACH, UNREGISTER))


def test_a_listed_server_takes_the_place_of_the_old_one_in_one_plan() -> None:
    made = plan(wanting("search"), recorded(OLD, OPS, SEARCH), {"github": listed("search")})
    [attach] = [each for each in made.operations if each.op == "attach"]
    assert made.operations == (REGISTER, DETACH, attach, UNREGISTER)
    assert (address_of(attach), made.held, made.vetoes) == ("assistant.ops/github__search", (), ())


def test_a_disabled_server_takes_the_place_of_the_old_one_unseen() -> None:
    made = plan(
        wanting("search", of=replace(server("github", AWAY), enabled=False)),
        recorded(OLD, OPS, SEARCH),
        {"github": DOWN},
        allow_detach=1,
    )
    assert (running(made), made.held) == ([shown(REGISTER), shown(DETACH), shown(UNREGISTER)], ())


def test_only_what_is_still_selected_waits_with_a_replaced_server() -> None:
    known = recorded(
        OLD, OPS, recorded_assistant("gone"), SEARCH, attachment(OLD, "read"), attachment(OLD, "x", assistant="gone")
    )
    made = plan(wanting("search"), known, {"github": DOWN}, allow_detach=2)
    detaches = [(address_of(each), each.reason) for each in made.operations if isinstance(each, Detach)]
    assert detaches == [
        ("assistant.gone/github__x", Reason.ASSISTANT_REMOVED),
        ("assistant.ops/github__read", Reason.SERVER_REMOVED),
    ]
    assert waiting(made) == [(*shown(each), UNLISTED) for each in (REGISTER, DETACH, UNREGISTER)]


def test_a_server_that_nobody_replaces_goes_with_its_tools() -> None:
    made = plan(desired(assistant("ops", select("github", "search"))), recorded(OLD, OPS, SEARCH), allow_detach=1)
    assert made.operations == (replace(DETACH, reason=Reason.SERVER_REMOVED), UNREGISTER)


def test_a_renamed_server_takes_a_name_only_when_it_was_listed() -> None:
    hub = registration(server("hub", AWAY, namespace="github"))
    known = recorded(OLD, hub, OPS, SEARCH)
    rename = RenameServer(
        server_id=hub.server_id,
        before=facts_of(hub),
        after=replace(facts_of(hub), name="github"),
        changes=(Change(path=("name",), before="hub", after="github"),),
        reason=Reason.NAME_CHANGED,
        risks=(RISK,),
        source=SERVER,
    )
    down, up = (plan(wanting("search"), known, {"github": each}) for each in (DOWN, listed("search")))
    assert down.operations == ()
    assert waiting(down) == [(*shown(each), UNLISTED) for each in (rename, DETACH, UNREGISTER)]
    assert up.held == ()
    assert running(up) == [shown(rename), shown(DETACH), ("attach", "assistant.ops/github__search"), shown(UNREGISTER)]


def test_who_needs_the_endpoint_of_a_replaced_server_waits_and_so_does_what_it_replaces() -> None:
    other = registration(server("jira", THIRD))
    wanted = desired(
        server("github", AWAY),
        server("jira", HERE),
        assistant("ops", select("github", "search"), select("jira", "a", "b")),
    )
    known = recorded(OLD, other, OPS, SEARCH, attachment(other, "a"))
    live: Live = {"github": DOWN, "jira": listed("a", "b")}
    made = plan(wanted, known, live)
    assert (running(made), made.vetoes) == ([], ())
    assert waiting(made) == [
        (*shown(REGISTER), UNLISTED),
        ("register_server", "server.jira", GROUP),
        (*shown(DETACH), UNLISTED),
        ("detach", "assistant.ops/jira__a", GROUP),
        ("attach", "assistant.ops/jira__a", GROUP),
        ("attach", "assistant.ops/jira__b", GROUP),
        (*shown(UNREGISTER), UNLISTED),
        ("unregister_server", "server.jira", GROUP),
    ]


def test_who_needs_an_alias_of_a_replaced_server_s_tool_waits_for_it() -> None:
    hub = registration(server("hub", THIRD))
    known = recorded(OLD, hub, OPS, attachment(OLD, "search", alias="find"), attachment(hub, "b"), attachment(hub, "c"))
    wanted = desired(
        server("github", AWAY),
        server("hub", THIRD),
        assistant(
            "ops",
            select("github", "search"),
            select("hub", "a", "b", "c", aliases={"b": "FIND", "a": "hub__b", "c": "free"}),
        ),
    )
    made = plan(wanted, known, {"github": DOWN, "hub": listed("a", "b", "c")})
    assert running(made) == [("rename_alias", "assistant.ops/hub__c")]
    assert waiting(made) == [
        (*shown(REGISTER), UNLISTED),
        ("detach", "assistant.ops/find", UNLISTED),
        ("rename_alias", "assistant.ops/hub__b", GROUP),
        ("attach", "assistant.ops/hub__b", GROUP),
        (*shown(UNREGISTER), UNLISTED),
    ]


def test_a_permission_waits_for_a_tool_of_a_server_that_still_serves() -> None:
    reading = replace(SEARCH, envelope=replace(MOST_RESTRICTIVE, required_permission="read"))
    wanted = desired(server("github", AWAY), assistant("ops", select("github", "search"), permissions=("read",)))
    made = plan(wanted, recorded(OLD, OPS, reading), {"github": DOWN})
    assert (running(made), waiting(made)[1]) == (
        [],
        ("update_assistant", "assistant.ops", HoldReason.LOOSENED_WHILE_UNCHECKED),
    )


def test_a_server_serves_while_the_one_that_takes_its_name_waits_for_another_workspace() -> None:
    taken = registration(server("hub", AWAY))
    theirs = attachment(taken, "a", assistant="web", workspace=OTHER_WORKSPACE)
    wanted = desired(server("hub", THIRD), server("github", AWAY), assistant("ops", select("github", "search")))
    made = plan(wanted, recorded(OLD, taken, OPS, SEARCH, theirs), {"github": listed("search"), "hub": listed()})
    assert (made.operations, made.held, made.unchanged) == ((), (), 1)
    assert [(each.code, each.address) for each in made.problems] == [
        ("server-taken", "server.github"),
        ("server-taken", "server.hub"),
        ("still-used", "server.hub"),
    ]


def test_an_accepted_refresh_of_one_endpoint_frees_the_whole_chain_behind_it() -> None:
    moved = HttpEndpoint("https://github.example.com/v2")
    jira = registration(server("jira", THIRD))
    wanted = desired(
        server("github", moved), server("jira", HERE), assistant("ops", select("github", "search"), select("jira", "a"))
    )
    known = recorded(OLD, jira, OPS, SEARCH, attachment(jira, "a"))
    live: Live = {"github": listed(search=OTHER), "jira": listed("a")}
    held = plan(wanted, known, live)
    free = plan(wanted, known, live, accept=[Acceptance("tool.github/search", OTHER.definition_digest)])
    assert (held.operations, free.held) == ((), ())
    assert running(free) == [shown(each.operation) for each in held.held]
