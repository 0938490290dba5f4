"""What holds for any desired, recorded and live state, whatever their order and whatever servers say."""

from collections import Counter
from dataclasses import fields, replace
from random import Random
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.core.acceptance import Acceptance, acceptance_of
from remit.core.aliases import RESERVED_NAMES, fold
from remit.core.codes import PLAN_CODES
from remit.core.desired import Desired
from remit.core.envelope import MOST_RESTRICTIVE, UNSET, Envelope, EnvelopePatch, resolve_envelope
from remit.core.identity import ProviderName, RemoteName, ServerId
from remit.core.model import apply_operations
from remit.core.operations import (
    Attach,
    Detach,
    Operation,
    OpName,
    Origin,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    SetEnvelope,
    UnregisterServer,
    UpdateServer,
)
from remit.core.plan import DeferredReason, DriftKind, Held, HoldReason, Plan
from remit.core.recorded import Recorded, RecordedAttachment
from remit.core.selector import Selector
from tests.core.generated import PATCHES, States, shuffled, states
from tests.states import OWNER, WORKSPACE, plan

EXAMPLES = settings(max_examples=120)
Key: TypeAlias = tuple[str, str, ServerId, RemoteName]


def planned(each: States, *, allow_detach: int | None = None) -> Plan:
    return plan(each.desired, each.recorded, each.live, allow_detach=allow_detach)


def applied(each: States, outcome: Plan) -> Recorded:
    return apply_operations(each.recorded, outcome.operations, workspace=WORKSPACE, owner=OWNER)


def all_accepted(each: States) -> Plan:
    first = planned(each)
    accept = [acceptance_of(one.operation) for one in first.held if isinstance(one.operation, Attach | Refresh)]
    # A detach that waits with an endpoint runs only when that is accepted, so detaches are counted after it.
    second = plan(each.desired, each.recorded, each.live, accept=accept)
    agreed = sum(isinstance(one, Detach) for one in second.operations)
    return plan(each.desired, each.recorded, each.live, accept=accept, allow_detach=agreed)


def detaches(outcome: Plan) -> frozenset[Operation]:
    """Those that run and those that wait, as only whether one runs may depend on a listing."""
    every = (*outcome.operations, *(each.operation for each in outcome.held))
    return frozenset(each for each in every if isinstance(each, Detach))


def key_of(each: RecordedAttachment) -> Key:
    return each.assistant_owner, each.assistant, each.server_id, each.remote_name


def names_by_key(known: Recorded) -> dict[Key, ProviderName]:
    """The aliases that apply gave, whatever somebody wrote into the database since."""
    return {key_of(each): each.with_approved_alias().provider_name for each in known.attachments}


def reserved(desired: Desired) -> frozenset[str]:
    return frozenset(map(fold, (*RESERVED_NAMES, *desired.reserved_names)))


@EXAMPLES
@given(states(), st.integers(0, 2**32))
def test_a_plan_depends_on_the_states_and_not_on_the_order_they_are_written_in(each: States, order: int) -> None:
    assert planned(shuffled(each, order)) == planned(each)


@EXAMPLES
@given(states())
def test_the_same_states_give_the_same_plan(each: States) -> None:
    assert planned(each) == planned(each)


@EXAMPLES
@given(states(), states())
def test_nothing_a_server_says_or_fails_to_say_detaches_a_tool(each: States, other: States) -> None:
    assert detaches(planned(replace(each, live=other.live))) == detaches(planned(each))
    assert detaches(planned(replace(each, live={}))) == detaches(planned(each))


@EXAMPLES
@given(states(), st.integers(0, 2**32))
def test_no_tool_goes_before_what_takes_its_place_is_there(each: States, seed: int) -> None:
    random = Random(seed)
    held = [one.operation for one in planned(each).held if isinstance(one.operation, Attach | Refresh)]
    some = [acceptance_of(one) for one in held if random.random() < 0.5]
    partly = plan(each.desired, each.recorded, each.live, accept=some)
    for outcome in (planned(each), partly, all_accepted(each)):
        assert gone_without_replacement(each, applied(each, outcome)) == []


def gone_without_replacement(each: States, after: Recorded) -> list[Key]:
    """Attachments that are gone while the file selects their tool of an enabled server of the name that theirs had."""
    names = {one.server_id: one.name for one in each.recorded.servers if one.workspace == WORKSPACE}
    ids = {one.name: one.server_id for one in after.servers if one.workspace == WORKSPACE}
    enabled = {one.name for one in each.desired.servers if one.enabled}
    selectors = {
        (one.name, selection.server): Selector.of(selection)
        for one in each.desired.assistants
        for selection in one.selections
        if selection.server in enabled
    }
    present = {key_of(one) for one in after.attachments}
    own = (key_of(one) for one in each.recorded.attachments if one.workspace == WORKSPACE)
    lost: list[Key] = []
    for key in own:
        owner, assistant, server_id, remote_name = key
        selector = selectors.get((assistant, names.get(server_id, "")))
        if key not in present and selector is not None and selector.pattern_for(remote_name) is not None:
            successor = ids.get(names[server_id])
            if (owner, assistant, successor, remote_name) not in present:
                lost.append(key)
    return lost


@EXAMPLES
@given(states(), states())
def test_an_alias_never_changes_while_its_attachment_lives_unless_the_file_names_another(
    each: States, later: States
) -> None:
    before = applied(each, all_accepted(each))
    then = replace(later, recorded=before)
    outcome = all_accepted(then)
    old, new = names_by_key(before), names_by_key(applied(then, outcome))
    declared = {
        (OWNER, operation.tool.assistant, operation.tool.server_id, operation.tool.remote_name): operation.after
        for operation in outcome.operations
        if isinstance(operation, RenameAlias)
    }
    living = old.keys() & new.keys()
    assert {key: new[key] for key in living} == {key: declared.get(key, old[key]) for key in living}
    assert set(declared.values()) <= {
        alias.provider_name
        for one in then.desired.assistants
        for selection in one.selections
        for alias in selection.aliases.values()
    }


def first_set(layers: tuple[EnvelopePatch, ...]) -> Envelope:
    values: dict[str, object] = {}
    for field in fields(Envelope):
        values[field.name] = getattr(MOST_RESTRICTIVE, field.name)
        for layer in reversed(layers):
            if getattr(layer, field.name) is not UNSET:
                values[field.name] = getattr(layer, field.name)
    return Envelope(**values)  # pyright: ignore[reportArgumentType] (the values come from a patch's fields of these names)


@given(PATCHES, PATCHES, PATCHES)
def test_each_envelope_field_is_the_first_value_set_among_tool_server_default_and_built_in(
    tool: EnvelopePatch, server: EnvelopePatch, default: EnvelopePatch
) -> None:
    assert resolve_envelope(tool, server, default) == first_set((tool, server, default))


@EXAMPLES
@given(states())
def test_every_planned_policy_is_the_one_the_file_asks_for(each: States) -> None:
    servers = {one.name: one for one in each.desired.servers}
    for operation in all_accepted(each).operations:
        if isinstance(operation, Attach | SetEnvelope):
            server = servers[operation.tool.server]
            entry = server.tools.get(operation.tool.remote_name)
            layers = () if entry is None else (entry.patch,)
            wanted = first_set((*layers, server.envelope, each.desired.default_envelope))
            assert (operation.envelope if isinstance(operation, Attach) else operation.after) == wanted


@EXAMPLES
@given(states())
def test_after_an_apply_of_everything_nothing_is_left_to_do(each: States) -> None:
    first = all_accepted(each)
    assert first.vetoes == ()
    second = all_accepted(replace(each, recorded=applied(each, first)))
    assert second.operations == ()
    assert waiting(second) == waiting(first)
    # What stays held needs a server: a listing of a new endpoint, a tool to take another's place, the approved definition back.
    reasons = {reason for held in first.held for reason in held.because}
    missing = {HoldReason.ENDPOINT_UNLISTED, HoldReason.NOT_REPLACED}
    loosened = {HoldReason.LOOSENED_WHILE_DRIFTED, HoldReason.LOOSENED_WHILE_UNCHECKED}
    assert reasons - {*missing, *loosened} <= ({HoldReason.ENDPOINT_GROUP} if missing & reasons else set())


def waiting(outcome: Plan) -> list[Held]:
    """What is held, under no alias: one that was renamed meanwhile is the same attachment."""
    return sorted((nameless(held) for held in outcome.held), key=repr)


def nameless(held: Held) -> Held:
    operation = held.operation
    if not isinstance(operation, SetEnvelope | Refresh):
        return held
    return replace(held, operation=replace(operation, tool=replace(operation.tool, provider_name=ProviderName(""))))


@EXAMPLES
@given(states())
def test_aliases_stay_unique_on_each_assistant_and_none_becomes_reserved(each: States) -> None:
    for outcome in (planned(each), all_accepted(each)):
        after = applied(each, outcome)
        given_names = Counter(
            (owner, name, fold(alias)) for (owner, name, _, _), alias in names_by_key(after).items()
        ) + Counter((one.owner, one.name, fold(name)) for one in after.assistants for name in one.foreign_functions)
        assert given_names.total() == len(given_names)
        before = names_by_key(each.recorded)
        fresh = {name for key, name in names_by_key(after).items() if before.get(key) != name}
        assert not {fold(name) for name in fresh} & reserved(each.desired)


@EXAMPLES
@given(states(), st.none() | st.sets(st.sampled_from(("alpha", "beta", "Gamma X"))))
def test_two_registrations_never_share_a_name_or_an_endpoint(each: States, scope: set[str] | None) -> None:
    limited = plan(each.desired, each.recorded, each.live, scope=scope)
    for outcome in (limited, all_accepted(each)):
        after = applied(each, outcome)
        assert len({(one.workspace, one.name) for one in after.servers}) == len(after.servers)
        assert len({(one.owner, one.identity_key) for one in after.servers}) == len(after.servers)


@EXAMPLES
@given(states())
def test_no_attachment_outlives_its_assistant_or_its_registration(each: States) -> None:
    for outcome in (planned(each), all_accepted(each)):
        after = applied(each, outcome)
        assistants = {(one.owner, one.name) for one in after.assistants}
        servers = {one.server_id for one in after.servers}
        own = [one for one in after.attachments if one.workspace == WORKSPACE]
        assert [one for one in own if (one.assistant_owner, one.assistant) not in assistants] == []
        assert [one for one in own if one.server_id not in servers] == []


@EXAMPLES
@given(states())
def test_an_apply_touches_no_row_of_another_workspace(each: States) -> None:
    after = applied(each, all_accepted(each))
    assert foreign_rows(after) == foreign_rows(each.recorded)


def foreign_rows(known: Recorded) -> object:
    """Rows of others as sets; an assistant's revision counts what anybody changed about its tools."""
    return (
        {one for one in known.attachments if one.workspace != WORKSPACE},
        {replace(one, revision=0) for one in known.assistants if one.workspace != WORKSPACE},
        {(one.server_id, one.name, one.workspace) for one in known.servers if one.workspace != WORKSPACE},
    )


@EXAMPLES
@given(states())
def test_what_nobody_accepted_reaches_no_model(each: States) -> None:
    outcome = planned(each)
    assert [one for one in outcome.operations if one.origin is Origin.LIVE] == []
    approved = {key_of(one): one.definition.definition_digest for one in each.recorded.attachments}
    after = applied(each, outcome)
    for one in after.attachments:
        if (known := approved.get(key_of(one))) is not None:
            assert one.definition.definition_digest == known
    served = {key_of(one): one for one in each.recorded.attachments}
    for one in after.attachments:
        before = served.get(key_of(one))
        if before is not None and one.function_text != before.function_text:
            assert one.is_coherent


@EXAMPLES
@given(states(), st.integers(0, 2**32))
def test_an_acceptance_lets_nothing_through_but_what_it_names(each: States, seed: int) -> None:
    random = Random(seed)
    held = [one.operation for one in planned(each).held]
    offered = [one for one in held if isinstance(one, Attach | Refresh)]
    accepted: list[Acceptance] = [acceptance_of(one) for one in offered if random.random() < 0.5]
    outcome = plan(each.desired, each.recorded, each.live, accept=accepted)
    through = {acceptance_of(one) for one in outcome.operations if isinstance(one, Attach | Refresh)}
    by_file = {acceptance_of(one) for one in planned(each).operations if isinstance(one, Attach | Refresh)}
    own_group = {acceptance_of(one) for one in offered if one.origin is Origin.FILE}
    assert through <= by_file | own_group | set(accepted)


def servers_of(operation: Operation) -> frozenset[str]:
    match operation:
        case Attach(tool=tool) | Detach(tool=tool) | Refresh(tool=tool):
            return frozenset({tool.server})
        case SetEnvelope(tool=tool) | RenameAlias(tool=tool):
            return frozenset({tool.server})
        case RegisterServer(facts=facts) | UnregisterServer(before=facts) | UpdateServer(after=facts):
            return frozenset({facts.name})
        case RenameServer(after=after):
            return frozenset({after.name})
        case _:
            return frozenset()


@EXAMPLES
@given(states(), st.sets(st.sampled_from(("alpha", "beta", "Gamma X"))))
def test_a_limited_plan_does_what_the_whole_one_does_about_its_servers_and_nothing_else(
    each: States, scope: set[str]
) -> None:
    limited = plan(each.desired, each.recorded, each.live, scope=scope)
    assert {name for one in limited.operations for name in servers_of(one)} <= scope
    inside = {one for one in detaches(planned(each)) if servers_of(one) <= scope}
    if any(problem.code == "server-taken" for problem in limited.problems):
        assert detaches(limited) <= inside
    else:
        assert detaches(limited) == inside


@EXAMPLES
@given(states())
def test_every_problem_has_an_explanation_and_every_attachment_is_accounted_for(each: States) -> None:
    outcome = planned(each)
    assert {problem.code for problem in outcome.problems} <= set(PLAN_CODES)
    own = [one for one in each.recorded.attachments if one.workspace == WORKSPACE]
    assert outcome.unchanged <= len(own)
    assert outcome.unmanaged.attachments == len(each.recorded.attachments) - len(own)


def test_the_generated_worlds_hold_everything_a_plan_can_hold() -> None:
    seen: set[str] = set()

    @settings(max_examples=600, database=None, derandomize=True)
    @given(states())
    def look(each: States) -> None:
        outcome = planned(each)
        seen.update(operation.op for operation in outcome.operations)
        seen.update(problem.code for problem in outcome.problems)
        seen.update(reason for held in outcome.held for reason in held.because)
        seen.update(drift.kind for drift in outcome.drift)
        seen.update(deferred.reason for deferred in outcome.deferred)

    look()
    # Worlds with a lock are drawn in test_lock_properties.py.
    locks = {
        *(HoldReason.NOT_IN_LOCK, HoldReason.UNLIKE_LOCK, DriftKind.CHANGED),
        *("not-in-lock", "lock-missing", "lock-alias-historic"),
    }
    # Moves, releases and bindings need entries and records of their own: test_moves.py, test_removals.py, test_binding.py.
    moves = {
        code
        for code in PLAN_CODES
        if code.startswith(("moved-", "removed-", "released-", "bound-", "older-", "commit-", "environment-"))
    }
    elsewhere = {"accept-mismatch", "desired-emptied", "files-vanished", "not-owner", "protected", *locks, *moves}
    assert seen == {*OpName, *HoldReason, *DriftKind, *DeferredReason, *PLAN_CODES} - elsewhere
