"""Every row of the decision table, by name, with the whole plan that it comes to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import pytest

from remit.core.acceptance import Acceptance
from remit.core.desired import Connection, Desired
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.envelope import MOST_RESTRICTIVE, Direction, EnvelopePatch
from remit.core.identity import CanonicalId, HttpEndpoint, ProviderName, canonical_id_of
from remit.core.live import Live, Observation, Unreachable, UnreachableReason
from remit.core.operations import (
    Attach,
    Change,
    ChangeClass,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Operation,
    Origin,
    Reason,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    Risk,
    RiskCode,
    SetEnvelope,
    ToolRef,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.plan import Deferred, DeferredReason, Drift, DriftKind, Held, Plan, Unmanaged
from remit.core.recorded import Recorded, RecordedAttachment, RecordedServer, WorkspaceRecord
from remit.core.servers import facts_of
from remit.core.table import TOOL_TABLE, Row, Seen, Stored, Wanted
from tests.states import (
    ALIAS,
    ASSISTANT,
    LINE,
    OTHER_WORKSPACE,
    OWNER,
    POLICY,
    SERVER,
    WORKSPACE,
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

GITHUB = server("github")
KNOWN = registration(GITHUB)
OPS = recorded_assistant()
SEARCH = attachment(KNOWN, "search")
DOWN = Unreachable(reason=UnreachableReason.TIMEOUT, detail="no answer in 30 s")
OFF = replace(GITHUB, enabled=False)
OTHER = definition("Finds other things.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Three states with their plan."""

    desired: Desired
    recorded: Recorded = field(default_factory=Recorded)
    live: Live = field(default_factory=dict[str, Observation])
    accept: tuple[Acceptance, ...] = ()
    allow_detach: int | None = None
    plan: Plan


def outcome(
    *operations: Operation,
    held: tuple[Held, ...] = (),
    problem: Diagnostic | None = None,
    drift: tuple[Drift, ...] = (),
    deferred: tuple[Deferred, ...] = (),
    unmanaged: Unmanaged | None = None,
    unchanged: int = 0,
    complete: bool = True,
) -> Plan:
    return Plan(
        workspace=WORKSPACE,
        owner=OWNER,
        operations=operations,
        held=held,
        problems=() if problem is None else (problem,),
        drift=drift,
        deferred=deferred,
        unmanaged=unmanaged or Unmanaged(),
        unchanged=unchanged,
        complete=complete and problem is None,
    )


def ref(of: RecordedAttachment | None = None, *, server_name: str = "github", to: str = "ops") -> ToolRef:
    of = of or SEARCH
    return ToolRef(
        assistant=to,
        server=server_name,
        server_id=of.server_id,
        remote_name=of.remote_name,
        provider_name=of.provider_name,
        canonical_id=of.canonical_id,
    )


def wanting(*names: str, of: str = "github", aliases: Mapping[str, str] | None = None) -> Desired:
    return desired(GITHUB, assistant("ops", select(of, *names, aliases=aliases)))


def deferred(name: str, *, attached: bool, reason: DeferredReason, detail: str) -> Deferred:
    return Deferred(
        address=f"tool.github/{name}",
        assistant="ops",
        server="github",
        remote_name=name,
        attached=attached,
        reason=reason,
        detail=detail,
    )


def drift(kind: DriftKind, detail: str) -> Drift:
    return Drift(
        address="assistant.ops/github__search",
        kind=kind,
        assistant="ops",
        server="github",
        remote_name="search",
        detail=detail,
    )


ATTACH_SEARCH = Attach(
    tool=ref(),
    definition=definition(),
    envelope=MOST_RESTRICTIVE,
    origin=Origin.FILE,
    reason=Reason.SELECTED_BY_NAME,
    source=LINE,
)
ELSEWHERE = registration(server("code", GITHUB.endpoint), workspace=OTHER_WORKSPACE)
TIGHT = EnvelopePatch(required_permission="search")
MOVED = HttpEndpoint("https://github.example.com/v2")
PERMITTED = recorded_assistant(permissions=("read",))

SCENARIOS: Mapping[Row, Scenario] = {
    Row.ATTACH: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS),
        live={"github": listed("search", "other")},
        plan=outcome(ATTACH_SEARCH),
    ),
    Row.NOT_ADVERTISED: Scenario(
        desired=wanting("serach"),
        recorded=recorded(KNOWN, OPS),
        live={"github": listed("search")},
        plan=outcome(
            problem=Diagnostic(
                code="tool-not-advertised",
                message="github lists no tool 'serach'",
                address="tool.github/serach",
                source=LINE,
                hint="did you mean 'search'?",
            )
        ),
    ),
    Row.UNUSABLE: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS),
        live={"github": listed(quarantined=["search"])},
        plan=outcome(
            problem=Diagnostic(
                code="tool-quarantined",
                message="github lists 'search' in a form that cannot be used: the root refers to itself",
                address="tool.github/search",
                source=LINE,
                hint="it has to be mended on the server; leave it out of `include` until then",
            )
        ),
    ),
    Row.DEFER: Scenario(
        desired=wanting("search", "get_*"),
        recorded=recorded(KNOWN, OPS),
        live={"github": DOWN},
        plan=outcome(
            deferred=tuple(
                deferred(name, attached=False, reason=DeferredReason.UNREACHABLE, detail="timeout: no answer in 30 s")
                for name in ("get_*", "search")
            ),
            complete=False,
        ),
    ),
    Row.KEEP: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"github": listed("search")},
        plan=outcome(unchanged=1),
    ),
    Row.REFRESH: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"github": listed(search=OTHER)},
        accept=(Acceptance("tool.github/search", OTHER.definition_digest),),
        plan=outcome(
            Refresh(
                tool=ref(),
                before=definition(),
                after=OTHER,
                changes=(Change(path=(), change_class=ChangeClass.TEXT),),
                classes=frozenset({ChangeClass.TEXT}),
                origin=Origin.LIVE,
                reason=Reason.DEFINITION_CHANGED,
                source=LINE,
            )
        ),
    ),
    Row.VANISHED: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"github": listed(other=definition(query={"type": "string"}))},
        plan=outcome(drift=(drift(DriftKind.VANISHED, "not in the complete listing"),)),
    ),
    Row.OUT_OF_SERVICE: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"github": listed(quarantined=["search"])},
        plan=outcome(drift=(drift(DriftKind.QUARANTINED, "empty_ref: the root refers to itself"),)),
    ),
    Row.STALE: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"github": DOWN},
        plan=outcome(
            deferred=(
                deferred(
                    "search", attached=True, reason=DeferredReason.UNREACHABLE, detail="timeout: no answer in 30 s"
                ),
            ),
            complete=False,
        ),
    ),
    Row.SWITCHED_OFF: Scenario(
        desired=desired(OFF, assistant("ops", select("github", "search"))),
        recorded=recorded(registration(OFF), OPS, SEARCH),
        plan=outcome(unchanged=1),
    ),
    Row.DETACH: Scenario(
        desired=wanting("other"),
        recorded=recorded(KNOWN, OPS, SEARCH, attachment(KNOWN, "other")),
        live={"github": DOWN},
        plan=outcome(
            Detach(
                tool=ref(),
                definition=definition(),
                envelope=MOST_RESTRICTIVE,
                reason=Reason.NO_LONGER_SELECTED,
            ),
            deferred=(
                deferred(
                    "other", attached=True, reason=DeferredReason.UNREACHABLE, detail="timeout: no answer in 30 s"
                ),
            ),
            complete=False,
        ),
    ),
    Row.NOTHING: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"github": listed("search", "never_wanted")},
        plan=outcome(unchanged=1),
    ),
    Row.SET_ENVELOPE: Scenario(
        desired=desired(
            server("github", tools={"search": TIGHT}),
            assistant("ops", select("github", "search"), permissions=("search",)),
        ),
        recorded=recorded(KNOWN, recorded_assistant(permissions=("search",)), SEARCH),
        live={"github": listed("search")},
        plan=outcome(
            SetEnvelope(
                tool=ref(),
                before=MOST_RESTRICTIVE,
                after=replace(MOST_RESTRICTIVE, required_permission="search"),
                direction=Direction.TIGHTENED,
                reason=Reason.POLICY_CHANGED,
                source=POLICY,
            )
        ),
    ),
    Row.RENAME_ALIAS: Scenario(
        desired=wanting("search", aliases={"search": "find"}),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"github": listed("search")},
        plan=outcome(
            RenameAlias(
                tool=ref(),
                after=ProviderName("find"),
                reason=Reason.ALIAS_DECLARED,
                risks=(Risk(RiskCode.ALIAS_RENAMED, "models and stored conversations know it as github__search"),),
                source=ALIAS,
            )
        ),
    ),
    Row.REGISTER_SERVER: Scenario(
        desired=desired(GITHUB),
        live={"github": listed("search")},
        plan=outcome(
            RegisterServer(server_id=KNOWN.server_id, facts=facts_of(KNOWN), reason=Reason.DECLARED, source=SERVER)
        ),
    ),
    Row.UPDATE_SERVER: Scenario(
        desired=desired(server("github", connection=Connection(timeout_seconds=5))),
        recorded=recorded(KNOWN),
        live={"github": DOWN},
        plan=outcome(
            UpdateServer(
                server_id=KNOWN.server_id,
                before=facts_of(KNOWN),
                after=replace(facts_of(KNOWN), connection=Connection(timeout_seconds=5)),
                changes=(Change(path=("timeout_seconds",), before=30.0, after=5),),
                reason=Reason.CONNECTION_CHANGED,
                source=SERVER,
            ),
            complete=False,
        ),
    ),
    Row.RENAME_SERVER: Scenario(
        desired=desired(server("hub", GITHUB.endpoint, namespace="github"), assistant("ops", select("hub", "search"))),
        recorded=recorded(KNOWN, OPS, SEARCH),
        live={"hub": listed("search")},
        plan=outcome(
            RenameServer(
                server_id=KNOWN.server_id,
                before=facts_of(KNOWN),
                after=replace(facts_of(KNOWN), name="hub"),
                changes=(Change(path=("name",), before="github", after="hub"),),
                reason=Reason.NAME_CHANGED,
                source=SERVER,
            ),
            unchanged=1,
        ),
    ),
    Row.UNREGISTER_SERVER: Scenario(
        desired=desired(assistant("ops")),
        recorded=recorded(KNOWN, OPS, SEARCH),
        allow_detach=1,
        plan=outcome(
            Detach(
                tool=ref(),
                definition=definition(),
                envelope=MOST_RESTRICTIVE,
                reason=Reason.SERVER_REMOVED,
            ),
            UnregisterServer(server_id=KNOWN.server_id, before=facts_of(KNOWN), reason=Reason.NO_LONGER_SELECTED),
        ),
    ),
    Row.CREATE_ASSISTANT: Scenario(
        desired=desired(assistant("ops", permissions=("read",))),
        plan=outcome(CreateAssistant(assistant="ops", permissions=("read",), reason=Reason.DECLARED, source=ASSISTANT)),
    ),
    Row.UPDATE_ASSISTANT: Scenario(
        desired=desired(assistant("ops", permissions=("write",))),
        recorded=recorded(PERMITTED),
        plan=outcome(
            UpdateAssistant(
                assistant="ops",
                before=("read",),
                after=("write",),
                reason=Reason.FIELDS_CHANGED,
                risks=(Risk(RiskCode.MIXED, "may write; may no longer read"),),
                source=ASSISTANT,
            )
        ),
    ),
    Row.DELETE_ASSISTANT: Scenario(
        desired=desired(GITHUB),
        recorded=recorded(KNOWN, PERMITTED, SEARCH),
        live={"github": listed("search")},
        allow_detach=1,
        plan=outcome(
            Detach(
                tool=ref(),
                definition=definition(),
                envelope=MOST_RESTRICTIVE,
                reason=Reason.ASSISTANT_REMOVED,
            ),
            DeleteAssistant(assistant="ops", permissions=("read",), reason=Reason.ASSISTANT_REMOVED),
        ),
    ),
    Row.KEEP_ASSISTANT: Scenario(
        desired=desired(GITHUB),
        recorded=recorded(KNOWN, recorded_assistant(foreign_functions=("developed",)), SEARCH),
        live={"github": listed("search")},
        allow_detach=1,
        plan=outcome(
            Detach(
                tool=ref(),
                definition=definition(),
                envelope=MOST_RESTRICTIVE,
                reason=Reason.ASSISTANT_REMOVED,
            ),
            unmanaged=Unmanaged(functions=1),
        ),
    ),
    Row.DATABASE_DRIFT: Scenario(
        desired=wanting("search"),
        recorded=recorded(KNOWN, OPS, replace(SEARCH, function_text=None)),
        live={"github": DOWN},
        plan=outcome(
            Refresh(
                tool=ref(),
                before=definition(),
                after=definition(),
                changes=(),
                classes=frozenset(),
                origin=Origin.FILE,
                reason=Reason.DATABASE_DRIFT,
                risks=(
                    Risk(
                        RiskCode.DATABASE_DRIFT, "the rows were changed outside remit; the approved state is restored"
                    ),
                ),
                source=LINE,
            ),
            deferred=(
                deferred(
                    "search", attached=True, reason=DeferredReason.UNREACHABLE, detail="timeout: no answer in 30 s"
                ),
            ),
            complete=False,
        ),
    ),
    Row.REGISTERED_ELSEWHERE: Scenario(
        desired=wanting("search"),
        recorded=recorded(ELSEWHERE, OPS),
        live={"github": listed("search")},
        plan=outcome(
            problem=Diagnostic(
                code="registered-elsewhere",
                message="workspace 'acme-web' already registered this endpoint as 'code'",
                address="server.github",
                source=SERVER,
                hint=(
                    "remove it there, or set `instance:` here if it is meant to be registered twice (other credentials)"
                ),
            ),
            unmanaged=Unmanaged(servers=1),
        ),
    ),
    Row.NOT_OWNER: Scenario(
        desired=wanting("search"),
        recorded=recorded(registration(GITHUB, owner="stranger"), OPS),
        live={"github": listed("search")},
        plan=outcome(
            problem=Diagnostic(
                code="not-owner",
                message="the registration belongs to 'stranger', this file to 'local'",
                address="server.github",
                source=SERVER,
                hint="set `owner: stranger` if that is meant, or use another name",
            )
        ),
    ),
    Row.STILL_USED: Scenario(
        desired=desired(assistant("ops")),
        recorded=recorded(
            KNOWN,
            OPS,
            recorded_assistant("web", workspace=OTHER_WORKSPACE),
            attachment(KNOWN, "search", assistant="web", workspace=OTHER_WORKSPACE),
        ),
        plan=outcome(
            problem=Diagnostic(
                code="still-used",
                message="the registration cannot be deleted: workspace acme-web has tools of it attached",
                address="server.github",
                hint="declare the server again, or detach its tools in workspace acme-web first",
            ),
            unmanaged=Unmanaged(assistants=1, attachments=1),
        ),
    ),
    Row.UNMANAGED: Scenario(
        desired=wanting("search"),
        recorded=recorded(
            KNOWN,
            recorded_assistant(foreign_functions=("developed", "delivered")),
            SEARCH,
            registration(server("jira"), workspace=OTHER_WORKSPACE),
            recorded_assistant("web", workspace=OTHER_WORKSPACE),
            attachment(registration(server("jira")), "create", assistant="web", workspace=OTHER_WORKSPACE),
            attachment(registration(server("jira")), "create", workspace=OTHER_WORKSPACE),
        ),
        live={"github": listed("search")},
        plan=outcome(unmanaged=Unmanaged(servers=1, assistants=1, attachments=2, functions=2), unchanged=1),
    ),
}


def test_there_is_a_scenario_for_every_row() -> None:
    assert set(SCENARIOS) == set(Row)


@pytest.mark.parametrize("row", Row, ids=lambda row: row.name.lower())
def test_every_row_comes_to_exactly_its_plan(row: Row) -> None:
    each = SCENARIOS[row]
    assert plan(each.desired, each.recorded, each.live, accept=each.accept, allow_detach=each.allow_detach) == each.plan


def test_the_table_has_an_answer_to_every_question() -> None:
    assert set(TOOL_TABLE) == set(product(Wanted, Stored, Seen))


def test_a_first_plan_registers_creates_and_attaches_in_the_order_that_keeps_every_constraint() -> None:
    made = plan(wanting("search"), live={"github": listed("search")})
    assert made == outcome(
        RegisterServer(server_id=KNOWN.server_id, facts=facts_of(KNOWN), reason=Reason.DECLARED, source=SERVER),
        CreateAssistant(assistant="ops", permissions=(), reason=Reason.DECLARED, source=ASSISTANT),
        ATTACH_SEARCH,
    )


def test_a_workspace_of_another_owner_is_refused_as_a_whole() -> None:
    stranger = WorkspaceRecord(name=WORKSPACE, owner="stranger", lineage="line", serial=3)
    known = replace(recorded(KNOWN, OPS, SEARCH), workspaces={WORKSPACE: stranger})
    assert plan(desired(), known) == outcome(
        problem=Diagnostic(
            code="not-owner",
            message="workspace 'acme-ops' belongs to 'stranger', this file to 'local'",
            address="workspace.acme-ops",
            hint="set `owner: stranger` if that is meant, or choose another `workspace:`",
        ),
        unchanged=1,
    )


def test_a_workspace_of_the_own_owner_is_planned() -> None:
    mine = WorkspaceRecord(name=WORKSPACE, owner=OWNER, lineage="line", serial=3)
    known = replace(recorded(KNOWN, OPS, SEARCH), workspaces={WORKSPACE: mine})
    assert plan(wanting("search"), known, {"github": listed("search")}) == outcome(unchanged=1)


def test_a_canonical_id_is_never_derived_again() -> None:
    historic = replace(SEARCH, canonical_id=CanonicalId("tool_historic"))
    assert historic.canonical_id != canonical_id_of(KNOWN.server_id, "search")
    made = plan(desired(assistant("ops")), recorded(KNOWN, OPS, historic))
    assert [each.tool.canonical_id for each in made.operations if isinstance(each, Detach)] == ["tool_historic"]


def test_a_registration_of_another_owner_that_no_file_declares_is_left_alone() -> None:
    strange: RecordedServer = registration(GITHUB, owner="stranger")
    assert plan(desired(assistant("ops")), recorded(strange, OPS)) == outcome()


def test_an_assistant_whose_tools_must_stay_for_now_stays_too() -> None:
    elsewhere = registration(server("code", MOVED), workspace=OTHER_WORKSPACE)
    made = plan(desired(server("github", MOVED)), recorded(KNOWN, elsewhere, OPS, SEARCH))
    assert [each.code for each in made.problems] == ["registered-elsewhere"]
    assert (made.operations, made.unchanged) == ((), 1)


def test_only_the_workspace_that_created_an_assistant_sets_its_fields() -> None:
    theirs = recorded_assistant(permissions=("read",), workspace=OTHER_WORKSPACE)
    made = plan(desired(assistant("ops", permissions=("write",))), recorded(theirs))
    assert made.operations == ()
    assert [(each.code, each.severity) for each in made.problems] == [("assistant-elsewhere", Severity.WARNING)]
