"""What holds for any states and any lock: nothing gets past it, and what it was drafted from goes through it."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remit.core.addresses import tool_address
from remit.core.codes import PLAN_CODES
from remit.core.diagnostics import Severity
from remit.core.live import AS_LOCKED, Listed, Live, Skipped, SkipReason
from remit.core.lock import Lock
from remit.core.lock_review import check_lock, lock_changes
from remit.core.locking import LockDraft, draft_lock
from remit.core.model import apply_operations
from remit.core.operations import Attach, Detach, Origin, Reason, Refresh
from remit.core.plan import DriftKind, HoldReason, Plan
from remit.core.planner import PlanRequest
from remit.core.recorded import Recorded, WorkspaceRecord
from remit.core.selector import Selector
from tests.core.generated import States, shuffled, states
from tests.core.test_planning_properties import gone_without_replacement
from tests.states import OWNER, WORKSPACE, plan, whole_change

EXAMPLES = settings(max_examples=100)
BY_LOCK = {HoldReason.NOT_IN_LOCK, HoldReason.UNLIKE_LOCK}


def drafted(each: States, live: Live | None = None, old: Lock | None = None) -> LockDraft:
    request = PlanRequest(diff=whole_change, lock=old)
    return draft_lock(each.desired, each.recorded, each.live if live is None else live, request, None)


def through(each: States, lock: Lock) -> Plan:
    """The plan by a lock, with as many detaches agreed to as there are."""
    first = plan(each.desired, each.recorded, each.live, lock=lock)
    agreed = sum(isinstance(one, Detach) for one in first.operations)
    return plan(each.desired, each.recorded, each.live, lock=lock, allow_detach=agreed)


def applied(each: States, outcome: Plan) -> Recorded:
    return apply_operations(each.recorded, outcome.operations, workspace=WORKSPACE, owner=OWNER)


@EXAMPLES
@given(states(), states())
def test_nothing_enters_but_what_the_lock_has(each: States, other: States) -> None:
    lock = drafted(each, other.live).lock
    outcome = plan(each.desired, each.recorded, each.live, lock=lock)
    assert [one for one in outcome.operations if one.origin is Origin.LIVE] == []
    for one in outcome.operations:
        if isinstance(one, Attach | Refresh) and one.reason is not Reason.DATABASE_DRIFT:
            definition = one.definition if isinstance(one, Attach) else one.after
            tool = lock.of_assistant(one.tool.assistant)[one.tool.server][one.tool.remote_name]
            listing = each.live[one.tool.server]
            assert tool.definition == definition
            if isinstance(listing, Listed):
                assert definition in [offered.definition for offered in listing.tools]
            else:
                assert isinstance(listing, Skipped)
                assert listing.reason in AS_LOCKED


@EXAMPLES
@given(states(), states())
def test_a_lock_changes_no_detach(each: States, other: States) -> None:
    def detaches(outcome: Plan) -> set[object]:
        every = (*outcome.operations, *(held.operation for held in outcome.held))
        return {one for one in every if isinstance(one, Detach)}

    by_lock = plan(each.desired, each.recorded, each.live, lock=drafted(each, other.live).lock)
    assert detaches(by_lock) == detaches(plan(each.desired, each.recorded, each.live))


@EXAMPLES
@given(states(), states())
def test_no_lock_takes_a_tool_before_what_takes_its_place_is_there(each: States, other: States) -> None:
    for lock in (Lock(), drafted(each, other.live).lock, drafted(each).lock):
        outcome = plan(each.desired, each.recorded, each.live, lock=lock)
        assert gone_without_replacement(each, applied(each, outcome)) == []


@EXAMPLES
@given(states())
def test_a_lock_drafted_from_what_servers_say_holds_nothing_and_fits_the_file(each: States) -> None:
    draft = drafted(each)
    outcome = through(each, draft.lock)
    reasons = {reason for held in outcome.held for reason in held.because}
    assert not reasons & BY_LOCK
    assert DriftKind.CHANGED not in {one.kind for one in outcome.drift}
    # A name that no server lists or that clashes has no entry, which the draft's own plan says.
    explained = {"tool-not-advertised", "tool-quarantined", "alias-clash"} & {one.code for one in draft.plan.problems}
    unseen = draft.unlisted or any(not one.enabled for one in each.desired.servers)
    found = {one.code for one in check_lock(each.desired, draft.lock, each.recorded)}
    assert found <= ({"lock-incomplete", "lock-alias"} if explained or unseen else set())


@EXAMPLES
@given(states(), states())
def test_nothing_that_is_listed_and_selected_is_left_out_of_a_lock_in_silence(each: States, other: States) -> None:
    for old in (None, drafted(each, other.live).lock):
        draft = drafted(each, old=old)
        told = {problem.address for problem in draft.plan.problems if problem.severity is not Severity.NOTE}
        silent = {*draft.unlisted, *(server.name for server in each.desired.servers if not server.enabled)}
        for assistant in () if draft.refusals else each.desired.assistants:
            for selection in assistant.selections:
                listing, selector = draft.live.get(selection.server), Selector.of(selection)
                tools = draft.lock.of_assistant(assistant.name).get(selection.server, {})
                if selection.server in silent or not isinstance(listing, Listed):
                    continue
                wanted = {tool.remote_name for tool in listing.tools if selector.pattern_for(tool.remote_name)}
                left_out = {tool_address(selection.server, name) for name in wanted - tools.keys()}
                assert left_out <= told


@EXAMPLES
@given(states())
def test_a_lock_drafted_again_after_its_apply_is_the_same(each: States) -> None:
    draft = drafted(each)
    # An apply may free a name that clashed before, so that another tool can be locked after it.
    assume("alias-clash" not in {one.code for one in draft.plan.problems})
    # A text that somebody edited in the database is locked only once it is mended.
    assume(all(one.is_definition_intact for one in each.recorded.attachments))
    outcome = through(each, draft.lock)
    after = replace(each, recorded=applied(each, outcome))
    again = drafted(after, old=draft.lock)
    assert lock_changes(draft.lock, again.lock, each.desired, whole_change) == ()
    assert [one for one in through(after, again.lock).operations if isinstance(one, Attach | Refresh)] == []


@EXAMPLES
@given(states(), states(), st.integers(0, 2**32))
def test_a_plan_by_a_lock_and_a_draft_depend_on_no_order(each: States, other: States, order: int) -> None:
    lock = drafted(each, other.live).lock
    mixed = shuffled(each, order)
    assert plan(mixed.desired, mixed.recorded, mixed.live, lock=lock) == plan(
        each.desired, each.recorded, each.live, lock=lock
    )
    assert drafted(mixed).lock == drafted(each).lock


@EXAMPLES
@given(states(), states())
def test_offline_nothing_is_drift_and_nothing_is_held_by_the_lock(each: States, other: States) -> None:
    lock = drafted(each, other.live).lock
    offline: Live = {server.name: Skipped(SkipReason.OFFLINE) for server in each.desired.servers}
    outcome = plan(each.desired, each.recorded, offline, lock=lock)
    assert outcome.drift == ()
    assert not {reason for held in outcome.held for reason in held.because} & BY_LOCK


def test_the_worlds_with_a_lock_hold_everything_that_a_lock_can_lead_to() -> None:
    seen: set[str] = set()
    record = WorkspaceRecord(name=WORKSPACE, owner=OWNER, lineage="line", serial=1, lock_used=True)

    @settings(max_examples=200, database=None, derandomize=True)
    @given(states(), states())
    def look(each: States, other: States) -> None:
        used = replace(each.recorded, workspaces={WORKSPACE: record})
        for lock in (None, Lock(), drafted(each, other.live).lock):
            outcome = plan(each.desired, used, each.live, lock=lock)
            seen.update(problem.code for problem in outcome.problems)
            seen.update(reason for held in outcome.held for reason in held.because)
            seen.update(drift.kind for drift in outcome.drift)
            assert {problem.code for problem in outcome.problems} <= set(PLAN_CODES)

    look()
    assert seen >= {*BY_LOCK, DriftKind.CHANGED, "not-in-lock", "lock-missing"}
