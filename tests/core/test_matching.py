"""Which registration a declared server is, what becomes of registrations, and who has to wait."""

from dataclasses import replace
from typing import Any

import pytest

from remit.core.desired import (
    BearerAuth,
    ClientCredentialsAuth,
    Connection,
    DesiredServer,
    PrivateKeyJwtAuth,
    ProtocolPin,
    Tls,
)
from remit.core.diagnostics import Diagnostic
from remit.core.identity import (
    HttpEndpoint,
    ServerId,
    StdioEndpoint,
    Transport,
    identity_key_of,
    server_id_of,
)
from remit.core.matching import (
    Ambiguous,
    ForeignOwner,
    Known,
    Match,
    Matching,
    RegisteredElsewhere,
    Unknown,
    match_servers,
)
from remit.core.operations import Change, Reason, RegisterServer, Risk, RiskCode, UnregisterServer, UpdateServer
from remit.core.recorded import Recorded, RecordedServer
from remit.core.servers import facts_document, facts_of, judge_servers
from tests.states import (
    OTHER_WORKSPACE,
    OWNER,
    SERVER,
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

HERE = HttpEndpoint("https://github.example.com/mcp")
PATH = HttpEndpoint("https://github.example.com/v2")
AWAY = HttpEndpoint("https://elsewhere.example.com/mcp")
GITHUB = server("github", HERE)
KNOWN = registration(GITHUB)
HUB = registration(server("hub", PATH))


def new_id(declared: DesiredServer, *used: ServerId) -> ServerId:
    return server_id_of(OWNER, identity_key_of(declared.endpoint, declared.instance), frozenset(used))


MOVED, GONE = server("github", PATH), server("github", AWAY)
FOREIGN = registration(GITHUB, owner="stranger")
TAKEN = registration(server("code", PATH), workspace=OTHER_WORKSPACE)
STDIO = server("local", StdioEndpoint(("run", "a")))
STDIO_KNOWN = registration(STDIO)
OTHER_ARGUMENTS = server("local", StdioEndpoint(("run", "b")))
OTHER_COMMAND = server("local", StdioEndpoint(("walk", "a")))
INSTANCE = server("github", HERE, instance="prod")


@pytest.mark.parametrize(
    ("declared", "known", "match", "unclaimed"),
    [
        (GITHUB, recorded(KNOWN), Known(GITHUB, KNOWN), ()),
        (MOVED, recorded(KNOWN), Known(MOVED, KNOWN), ()),
        (INSTANCE, recorded(KNOWN), Known(INSTANCE, KNOWN), ()),
        (STDIO, recorded(STDIO_KNOWN), Known(STDIO, STDIO_KNOWN), ()),
        (OTHER_ARGUMENTS, recorded(STDIO_KNOWN), Known(OTHER_ARGUMENTS, STDIO_KNOWN), ()),
        (OTHER_COMMAND, recorded(STDIO_KNOWN), Unknown(OTHER_COMMAND, new_id(OTHER_COMMAND)), (STDIO_KNOWN,)),
        (GONE, recorded(KNOWN), Unknown(GONE, new_id(GONE)), (KNOWN,)),
        (server("new", HERE), recorded(KNOWN), Known(server("new", HERE), KNOWN), ()),
        (MOVED, recorded(KNOWN, HUB), Ambiguous(MOVED, (KNOWN, HUB)), ()),
        (server("github", PATH), recorded(HUB), Known(server("github", PATH), HUB), ()),
        (server("hub", AWAY), recorded(HUB), Unknown(server("hub", AWAY), new_id(GONE)), (HUB,)),
        (server("code", PATH), recorded(TAKEN), RegisteredElsewhere(server("code", PATH), TAKEN, None), ()),
        (MOVED, recorded(KNOWN, TAKEN), RegisteredElsewhere(MOVED, TAKEN, KNOWN), ()),
        (GITHUB, recorded(FOREIGN), ForeignOwner(GITHUB, FOREIGN), ()),
        (server("new", HERE), recorded(FOREIGN), Unknown(server("new", HERE), new_id(GITHUB)), ()),
        (
            server("hub", HERE),
            recorded(registration(server("hub", HERE), workspace=OTHER_WORKSPACE, owner="stranger")),
            Unknown(server("hub", HERE), new_id(GITHUB)),
            (),
        ),
    ],
    ids=[
        "the same name and identity",
        "the same name at the same origin",
        "the same name, another instance",
        "the same command",
        "the same program with other arguments",
        "another program",
        "the same name at another origin is another server",
        "the same identity under another name",
        "one by its name, another by its endpoint",
        "renamed to a name that is free",
        "another origin again",
        "registered by another workspace",
        "moved to what another workspace registered",
        "the name belongs to another owner",
        "a registration of another owner in this workspace is nobody's to rename",
        "another owner may register the same endpoint",
    ],
)
def test_a_declared_server_matches(
    declared: DesiredServer, known: Recorded, match: Match, unclaimed: tuple[RecordedServer, ...]
) -> None:
    assert match_servers(desired(declared), known) == Matching({declared.name: match}, unclaimed)


def test_an_endpoint_under_a_name_that_is_still_declared_is_no_rename() -> None:
    both = server("github", AWAY), server("new", HERE)
    assert match_servers(desired(*both), recorded(KNOWN)) == Matching(
        {"github": Unknown(both[0], new_id(GONE)), "new": Unknown(both[1], new_id(GITHUB, KNOWN.server_id))}, (KNOWN,)
    )


def test_the_id_of_a_deleted_registration_is_never_given_again() -> None:
    first = new_id(GITHUB)
    second = new_id(GITHUB, first)
    third = new_id(GITHUB, first, second)
    assert len({first, second, third}) == 3
    matching = match_servers(desired(GITHUB), recorded(used=(first, second)))
    assert matching.matches == {"github": Unknown(GITHUB, third)}


# --- what changes ------------------------------------------------------------------------------------------------------

BEARER = BearerAuth(token="${env:TOKEN}")
CREDENTIALS = ClientCredentialsAuth(
    token_url="https://id.example.com/token", client_id="remit", client_secret="${env:SECRET}", scopes=("read",)
)
KEY = PrivateKeyJwtAuth(token_url="https://id.example.com/token", client_id="remit", private_key="${file:key.pem}")
SAFE = Tls(ca_file="ca.pem")


@pytest.mark.parametrize(
    ("connection", "path", "before", "after"),
    [
        (Connection(env={"A": "${env:A}"}), "env", {}, {"A": "${env:A}"}),
        (Connection(headers={"X-A": "1"}), "headers", {}, {"X-A": "1"}),
        (Connection(protocol=ProtocolPin.LEGACY), "protocol", "auto", "legacy"),
        (Connection(start_timeout_seconds=5.0), "start_timeout_seconds", 60.0, 5.0),
        (Connection(allow_private_network=True), "allow_private_network", False, True),
        (Connection(tls=SAFE), "tls", None, {"ca_file": "ca.pem", "client_cert": None, "client_key": None}),
        (Connection(auth=BEARER), "auth", None, {"type": "bearer", "token": "${env:TOKEN}"}),
        (
            Connection(auth=CREDENTIALS),
            "auth",
            None,
            {
                "type": "oauth_client_credentials",
                "token_url": "https://id.example.com/token",
                "client_id": "remit",
                "client_secret": "${env:SECRET}",
                "scopes": ["read"],
            },
        ),
        (
            Connection(auth=KEY),
            "auth",
            None,
            {
                "type": "private_key_jwt",
                "token_url": "https://id.example.com/token",
                "client_id": "remit",
                "private_key": "${file:key.pem}",
                "algorithm": "RS256",
                "key_id": None,
                "scopes": [],
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_a_changed_connection_is_an_update_with_the_changed_key(
    connection: Connection, path: str, before: object, after: object
) -> None:
    made = plan(desired(replace(GITHUB, connection=connection)), recorded(KNOWN), {"github": listed()})
    assert made.operations == (
        UpdateServer(
            server_id=KNOWN.server_id,
            before=facts_of(KNOWN),
            after=replace(facts_of(KNOWN), connection=connection),
            changes=(Change(path=(path,), before=before, after=after),),  # pyright: ignore[reportArgumentType] (JSON)
            reason=Reason.CONNECTION_CHANGED,
            source=SERVER,
        ),
    )


@pytest.mark.parametrize(
    ("known", "declared", "reason", "risks"),
    [
        ({"protect": True}, {}, Reason.FIELDS_CHANGED, ["protection-lifted"]),
        ({}, {"protect": SERVER}, Reason.FIELDS_CHANGED, []),
        ({}, {"namespace": "hub"}, Reason.FIELDS_CHANGED, ["namespace-changed"]),
        ({}, {"enabled": False}, Reason.FIELDS_CHANGED, []),
        (
            {"protect": True},
            {"connection": Connection(timeout_seconds=5)},
            Reason.CONNECTION_CHANGED,
            ["protection-lifted"],
        ),
        (
            {"protect": True},
            {"endpoint": PATH, "namespace": "hub"},
            Reason.ENDPOINT_CHANGED,
            ["endpoint-change", "protection-lifted", "namespace-changed"],
        ),
        ({"protect": True}, {"name": "hub"}, Reason.NAME_CHANGED, ["protection-lifted"]),
    ],
)
def test_what_changes_beside_the_connection_is_called_so_and_looked_at_first(
    known: dict[str, Any], declared: dict[str, Any], reason: Reason, risks: list[str]
) -> None:
    wanted = replace(GITHUB, **declared)
    made = plan(desired(wanted), recorded(replace(KNOWN, **known)), {wanted.name: listed()})
    assert [(each.reason, [risk.code for risk in each.risks]) for each in made.operations] == [(reason, risks)]


def test_an_assistant_whose_protection_is_lifted_is_looked_at_first() -> None:
    known = replace(recorded_assistant(), protect=True)
    made = plan(desired(assistant("ops")), recorded(known))
    assert [[risk.code for risk in each.risks] for each in made.operations] == [["protection-lifted"]]


@pytest.mark.parametrize(
    ("known", "declared", "paths", "words"),
    [
        (GITHUB, MOVED, ["url"], f"{HERE.url} -> {PATH.url}"),
        (GITHUB, INSTANCE, ["instance"], f"{HERE.url} -> {HERE.url}"),
        (GITHUB, server("github", replace(HERE, transport=Transport.SSE)), ["transport"], f"{HERE.url} -> {HERE.url}"),
        (STDIO, OTHER_ARGUMENTS, ["command"], "run a -> run b"),
        (STDIO, server("local", StdioEndpoint(("run", "a"), "sub")), ["cwd"], "run a -> run a (in sub)"),
    ],
    ids=["path", "instance", "transport", "arguments", "folder"],
)
def test_a_changed_endpoint_is_an_update_with_a_risk(
    known: DesiredServer, declared: DesiredServer, paths: list[str], words: str
) -> None:
    made = plan(desired(declared), recorded(registration(known)), {declared.name: listed()})
    assert [
        (each.reason, each.risks, [change.path[0] for change in each.changes])
        for each in made.operations
        if isinstance(each, UpdateServer)
    ] == [(Reason.ENDPOINT_CHANGED, (Risk(RiskCode.ENDPOINT_CHANGE, words),), paths)]


def test_the_facts_of_a_registration_have_the_keys_of_the_file() -> None:
    assert facts_document(facts_of(STDIO_KNOWN)) == {
        "name": "local",
        "namespace": "local",
        "transport": "stdio",
        "command": ["run", "a"],
        "cwd": None,
        "url": None,
        "instance": None,
        "enabled": True,
        "protect": False,
        "env": {},
        "headers": {},
        "auth": None,
        "tls": None,
        "protocol": "auto",
        "timeout_seconds": 30.0,
        "call_timeout_seconds": 300.0,
        "start_timeout_seconds": 60.0,
        "allow_private_network": False,
    }


def test_two_claimants_are_a_problem_and_everything_of_both_stays() -> None:
    known = recorded(KNOWN, HUB, recorded_assistant(), attachment(KNOWN, "a"), attachment(HUB, "b"))
    made = plan(desired(MOVED, assistant("ops", select("github", "c"))), known, {"github": listed("c")})
    assert (made.operations, made.held, made.unchanged, made.complete) == ((), (), 2, False)
    assert made.problems == (
        Diagnostic(
            code="ambiguous-match",
            message=(
                f"two registrations could be meant: 'github' ({KNOWN.server_id}) by its name, "
                f"'hub' ({HUB.server_id}) by its endpoint"
            ),
            address="server.github",
            source=SERVER,
            hint="keep 'hub' declared until the change of 'github' is applied, or give it `instance:`",
        ),
    )


# --- who waits ---------------------------------------------------------------------------------------------------------

USED = attachment(KNOWN, "search", assistant="web", workspace=OTHER_WORKSPACE)


def taken(name: str, what: str, holder: RecordedServer) -> Diagnostic:
    return Diagnostic(
        code="server-taken",
        message=f"its {what} belongs to registration {holder.name!r} ({holder.server_id}), which this plan cannot change",
        address=f"server.{name}",
        source=SERVER,
        hint=f"change or remove {holder.name!r} in an apply before this one, or give this server another {what}",
    )


def test_a_server_waits_for_a_name_that_another_workspace_keeps_in_use() -> None:
    made = plan(desired(GONE), recorded(KNOWN, USED), {"github": listed()})
    assert made.operations == ()
    assert [each for each in made.problems if each.code != "still-used"] == [taken("github", "name", KNOWN)]


def test_a_limited_plan_takes_no_endpoint_from_a_server_outside_it() -> None:
    wanted = desired(server("new", HERE), server("github", PATH))
    made = plan(wanted, recorded(KNOWN), {}, scope=["new"])
    assert (made.operations, made.problems) == ((), (taken("new", "endpoint", KNOWN),))
    whole = plan(wanted, recorded(KNOWN), {"github": listed(), "new": listed()})
    assert [type(each) for each in whole.operations] == [RegisterServer, UpdateServer]


def test_a_limited_plan_takes_no_name_from_a_registration_outside_it() -> None:
    made = judge_servers(desired(GITHUB), recorded(HUB), match_servers(desired(GITHUB), recorded(HUB)), frozenset())
    assert (made.operations, made.problems, made.blocked) == ([], [], set())
    limited = plan(desired(GITHUB), recorded(HUB), {}, scope=["github"])
    assert [type(each) for each in limited.operations] == [RegisterServer]


def test_who_waits_for_a_waiting_server_waits_too() -> None:
    first, second = server("hub", HERE), server("third", PATH)
    wanted = desired(server("github", AWAY), first, second)
    made = plan(wanted, recorded(KNOWN, HUB, USED), {})
    assert made.operations == ()
    assert [each for each in made.problems if each.code == "server-taken"] == [
        taken("github", "name", KNOWN),
        taken("hub", "endpoint", KNOWN),
        taken("third", "endpoint", HUB),
    ]


def test_a_limited_plan_unregisters_only_what_it_names() -> None:
    known = recorded(KNOWN, HUB, recorded_assistant(), attachment(KNOWN, "a"), attachment(HUB, "b"))
    made = plan(desired(assistant("ops")), known, scope=["hub"], allow_detach=1)
    assert [each.server_id for each in made.operations if isinstance(each, UnregisterServer)] == [HUB.server_id]
    assert (len(made.operations), made.unchanged) == (2, 0)


def test_a_limited_plan_neither_updates_nor_deletes_assistants_and_creates_only_those_it_attaches_to() -> None:
    wanted = desired(
        GITHUB,
        server("hub", PATH),
        assistant("ops", permissions=("read",)),
        assistant("new", select("hub", "b")),
        assistant("later", select("github", "a")),
    )
    known = recorded(KNOWN, HUB, recorded_assistant(), recorded_assistant("gone"))
    made = plan(wanted, known, {"github": listed("a"), "hub": listed("b")}, scope=["hub"])
    assert [(each.op.value, getattr(each, "assistant", None)) for each in made.operations] == [
        ("create_assistant", "new"),
        ("attach", None),
    ]


def test_a_limited_plan_is_complete_without_the_servers_it_leaves_out() -> None:
    wanted = desired(GITHUB, server("hub", PATH), assistant("ops", select("github", "a"), select("hub", "b")))
    known = recorded(KNOWN, HUB, recorded_assistant(), attachment(KNOWN, "a"), attachment(HUB, "b"))
    made = plan(wanted, known, {"hub": listed("b")}, scope=["hub"])
    assert (made.operations, made.deferred, made.unchanged, made.complete) == ((), (), 1, True)
