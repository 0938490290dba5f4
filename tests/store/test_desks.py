"""Runs and approvals as people see and decide them, and the consumer's own actions."""

import json
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.approvals import APPROVED_FOR, PENDING_FOR, ApprovalState
from remit.core.call_ports import Started
from remit.core.calls import ActionKind, ActionState, RunState
from remit.core.governance import Decided, RunRow
from remit.errors import ApproverRefused, StoreError
from tests.store.calls import BINDING, SECONDS, Site, a_call, ended, intent, site

SECOND = timedelta(seconds=1)


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def run_of(site: Site, run_id: str = "r1") -> RunRow:
    found = site.governance.runs.run("local", run_id)
    assert found is not None
    return found


# --- runs ----------------------------------------------------------------------------------------------------------------


def test_a_run_is_listed_newest_first_without_its_actions_and_shown_with_them(here: Site) -> None:
    with here.journal("r1") as journal:
        here.clock.advance(SECOND)
        journal.ledger.start_run(replace(here.run("r2"), thread_id="thread"))
        journal.begin(intent(a_call(here, "r2"))).result(SECONDS)
        desk = here.governance.runs
        newest = RunRow(
            run_id="r2",
            owner="local",
            assistant="triage",
            principal="assistant:triage",
            thread_id="thread",
            trace_id="trace-r2",
            state=RunState.IN_PROGRESS,
            started_at=here.clock.now,
            ended_at=None,
        )
        assert desk.runs("local", limit=1) == (newest,)
        assert [each.run_id for each in desk.runs("local", limit=9)] == ["r2", "r1"]
        assert [each.state for each in run_of(here, "r2").actions] == [ActionState.IN_PROGRESS]


def test_a_run_of_another_owner_is_not_there(here: Site) -> None:
    with here.journal("r1"):
        desk = here.governance.runs
        assert (desk.runs("else", limit=9), desk.run("else", "r1"), desk.run("local", "r9")) == ((), None, None)
        assert desk.cancel_run("else", "r1", actor="user:eve", at=here.clock.now) is None
        assert run_of(here).state is RunState.IN_PROGRESS


def test_a_run_moves_along_its_table_and_an_end_stays_an_end(here: Site) -> None:
    with here.journal("r1") as journal:
        ledger, at = journal.ledger, here.clock.now
        moves = [RunState.QUEUED, RunState.REQUIRES_ACTION, RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED]
        assert [ledger.move_run("r1", state, actor="user:ana", at=at) for state in moves] == [
            RunState.IN_PROGRESS,
            RunState.REQUIRES_ACTION,
            RunState.COMPLETED,
            RunState.COMPLETED,
            RunState.COMPLETED,
        ]
        assert (run_of(here).state, run_of(here).ended_at) == (RunState.COMPLETED, at)
        assert ledger.run_states(["r1", "r9"]) == {"r1": RunState.COMPLETED}
        with pytest.raises(StoreError) as refused:
            ledger.move_run("r9", RunState.FAILED, actor="user:ana", at=at)
        assert refused.value.code == "run-unknown"
    assert here.kinds() == ["run_started", "run_ended"]


def test_a_run_is_started_once(here: Site) -> None:
    with here.journal("r1") as journal, pytest.raises(StoreError):
        journal.ledger.start_run(here.run("r1"))


def test_cancelling_a_run_ends_what_waits_in_it_and_leaves_calls_to_their_process(here: Site) -> None:
    with here.journal("r1", "r2") as journal:
        under_way, asking, done = a_call(here), a_call(here), a_call(here)
        shared = replace(BINDING, arguments="{}")
        for facts, approval in ((under_way, None), (done, None), (asking, BINDING), (a_call(here), shared)):
            journal.begin(intent(facts, approval=approval)).result(SECONDS)
        other = a_call(here, "r2")
        journal.begin(intent(other, approval=shared)).result(SECONDS)
        journal.end(ended(done)).result(SECONDS)
        handed_off = a_call(here)
        journal.ledger.hand_off(handed_off, '{"city":"Bonn"}')
        here.clock.advance(SECOND)
        cancelled = here.governance.runs.cancel_run("local", "r1", actor="user:ana", at=here.clock.now)
        assert cancelled is not None
        assert cancelled == run_of(here)
        assert (cancelled.state, cancelled.ended_at) == (RunState.CANCELLED, here.clock.now)
        states = {each.action_id: each.state.value for each in cancelled.actions}
        assert [states[each.action_id] for each in (under_way, done, asking, handed_off)] == [
            "in_progress",
            "completed",
            "cancelled",
            "cancelled",
        ]
        # A request that a call of another run waits for as well is still asked.
        asked = {each.binding.arguments: each.state.value for each in here.governance.approvals.approvals("local")}
        assert asked == {BINDING.arguments: "cancelled", "{}": "pending"}
        again = here.governance.runs.cancel_run("local", "r1", actor="user:bo", at=here.clock.now + SECOND)
        assert again == cancelled
        # The process that made the call still ends it, as what it became.
        assert journal.end(ended(under_way, ActionState.CANCELLED)).result(SECONDS) is True
    assert here.kinds("desk") == ["run_ended"]


# --- the consumer's actions -------------------------------------------------------------------------------------------------


def test_the_run_waits_for_every_output_of_the_consumer_and_goes_on_after_the_last(here: Site) -> None:
    with here.journal("r1") as journal:
        ledger, calls = journal.ledger, [a_call(here, provider_name="weather") for _ in range(2)]
        assert [ledger.hand_off(each, '{"city":"Bonn"}') for each in calls] == [True, True]
        assert run_of(here).state is RunState.REQUIRES_ACTION
        first, second = (each.tool_call_id for each in calls)
        at = here.clock.now
        assert ledger.take_output("r1", first, "sunny \ud800", is_error=False, at=at) is True
        assert ledger.take_output("r1", first, "rain", is_error=False, at=at) is False
        assert run_of(here).state is RunState.REQUIRES_ACTION
        assert ledger.take_output("r1", second, "no such city", is_error=True, at=at) is True
        found = run_of(here)
        assert found.state is RunState.IN_PROGRESS
        assert [(each.kind, each.state, each.output) for each in found.actions] == [
            (ActionKind.CONSUMER, ActionState.COMPLETED, "sunny \ud800"),
            (ActionKind.CONSUMER, ActionState.FAILED, "no such city"),
        ]


def test_an_mcp_call_goes_out_while_the_run_waits_for_its_consumer(here: Site) -> None:
    with here.journal("r1") as journal:
        journal.ledger.hand_off(a_call(here), "{}")
        assert journal.begin(intent(a_call(here))).result(SECONDS) == Started()


def test_a_call_handed_off_twice_is_one_action_and_another_call_cannot_take_its_id(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here, provider_name="weather")
        again = a_call(here, provider_name="weather", tool_call_id=first.tool_call_id)
        assert [journal.ledger.hand_off(each, '{"city":"Bonn"}') for each in (first, again)] == [True, True]
        assert [each.action_id for each in run_of(here).actions] == [first.action_id]
        with pytest.raises(StoreError) as refused:
            journal.ledger.hand_off(again, '{"city":"Ulm"}')
        assert refused.value.code == "action-exists"


@pytest.mark.parametrize(
    ("end", "code"),
    [(RunState.FAILED, "run_over"), (RunState.COMPLETED, "run_over"), (RunState.CANCELLED, "cancelled")],
)
def test_what_the_consumer_owes_a_run_ends_with_it_and_what_a_person_owes_waits(
    here: Site, end: RunState, code: str
) -> None:
    with here.journal("r1", "r2") as journal:
        owed, owed_to_another, done = (a_call(here, run) for run in ("r1", "r2", "r1"))
        for each in (owed, owed_to_another, done):
            journal.ledger.hand_off(each, "{}")
        journal.ledger.take_output("r1", done.tool_call_id, "sunny", is_error=False, at=here.clock.now)
        asking = a_call(here)
        journal.begin(intent(asking, approval=BINDING)).result(SECONDS)
        here.clock.advance(SECOND)
        journal.ledger.move_run("r1", end, actor="user:ana", at=here.clock.now)
        assert here.action(owed.action_id) == ("cancelled", code)
        assert {each.ended_at for each in run_of(here).actions if each.action_id == owed.action_id} == {here.clock.now}
        assert here.action(owed_to_another.action_id) == ("requires_action", None)
        assert here.action(done.action_id) == ("completed", None)
        if end is not RunState.CANCELLED:
            assert here.action(asking.action_id) == ("requires_action", "approval_required")


def test_what_the_consumer_owes_a_run_of_a_dead_process_ends_with_it(here: Site) -> None:
    owed = a_call(here)
    with here.journal("r1") as journal:
        journal.ledger.hand_off(owed, "{}")
        journal.ledger.move_run("r1", RunState.IN_PROGRESS, actor="user:ana", at=here.clock.now)
    assert run_of(here).state is RunState.FAILED
    assert here.action(owed.action_id) == ("cancelled", "run_over")


def test_nothing_is_handed_off_and_nothing_taken_once_the_run_is_over(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.ledger.hand_off(facts, "{}")
        here.governance.runs.cancel_run("local", "r1", actor="user:ana", at=here.clock.now)
        assert journal.ledger.hand_off(a_call(here), "{}") is False
        assert journal.ledger.take_output("r1", facts.tool_call_id, "late", is_error=False, at=here.clock.now) is False
        assert [(each.state, each.output) for each in run_of(here).actions] == [(ActionState.CANCELLED, None)]


def test_the_process_that_cancels_its_own_run_ends_what_waits_in_it_as_anybody_else_would(here: Site) -> None:
    with here.journal("r1") as journal:
        asking, handed_off, at = a_call(here), a_call(here), here.clock.now
        journal.begin(intent(asking, approval=BINDING)).result(SECONDS)
        journal.ledger.hand_off(handed_off, "{}")
        assert journal.ledger.move_run("r1", RunState.CANCELLED, actor="user:ana", at=at) is RunState.CANCELLED
        assert journal.ledger.take_output("r1", handed_off.tool_call_id, "late", is_error=False, at=at) is False
        assert [each.state for each in run_of(here).actions] == [ActionState.CANCELLED, ActionState.CANCELLED]
        assert [each.state.value for each in here.governance.approvals.approvals("local")] == ["cancelled"]


def test_no_output_is_taken_for_a_run_that_failed(here: Site) -> None:
    with here.journal("r1") as journal:
        facts, at = a_call(here), here.clock.now
        journal.ledger.hand_off(facts, "{}")
        journal.ledger.move_run("r1", RunState.FAILED, actor="user:ana", at=at)
        assert journal.ledger.take_output("r1", facts.tool_call_id, "late", is_error=False, at=at) is False


def test_the_output_of_a_call_of_ours_cannot_be_posted_by_the_consumer(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts, approval=BINDING)).result(SECONDS)
        posted = journal.ledger.take_output("r1", facts.tool_call_id, "forged", is_error=False, at=here.clock.now)
        assert (posted, here.action(facts.action_id)[0]) == (False, "requires_action")


# --- approvals ---------------------------------------------------------------------------------------------------------------


def ask(site: Site, *bindings: str, principal: str = "assistant:triage") -> list[str]:
    """Requests for these arguments, oldest first, a second apart."""
    with site.journal(f"run-{len(bindings)}") as journal:
        ids: list[str] = []
        for arguments in bindings:
            site.clock.advance(SECOND)
            facts = a_call(site, f"run-{len(bindings)}", principal=principal)
            binding = replace(BINDING, arguments=arguments, principal=principal)
            journal.begin(intent(facts, approval=binding)).result(SECONDS)
            ids.append(f"approval-of-{facts.action_id}")
        return ids


def decide(
    site: Site, approval_id: str, state: ApprovalState, *, owner: str = "local", approver: str = "user:ana"
) -> Decided | None:
    return site.governance.approvals.decide_approval(
        owner, approval_id, state, approver=approver, reason="seen", at=site.clock.now
    )


def test_the_queue_is_shown_newest_first_by_state_and_by_owner(here: Site) -> None:
    first, second, third = ask(here, "1", "2", "3")
    decide(here, first, ApprovalState.DENIED)
    decide(here, second, ApprovalState.APPROVED)
    desk = here.governance.approvals
    assert [each.approval_id for each in desk.approvals("local")] == [third, second, first]
    shown = {
        state.value: [each.approval_id for each in desk.approvals("local", states=[state])] for state in ApprovalState
    }
    assert {state: ids for state, ids in shown.items() if ids} == {
        "pending": [third],
        "approved": [second],
        "denied": [first],
    }
    both = desk.approvals("local", states=[ApprovalState.PENDING, ApprovalState.DENIED])
    assert [each.approval_id for each in both] == [third, first]
    assert (desk.approvals("else"), desk.approval("else", first), desk.approval("local", "none")) == ((), None, None)


def test_what_ran_out_is_shown_as_expired_whether_or_not_anybody_marked_it(here: Site) -> None:
    pending, approved = ask(here, "1", "2")
    decide(here, approved, ApprovalState.APPROVED)
    desk = here.governance.approvals
    here.clock.advance(APPROVED_FOR)
    assert [each.state.value for each in desk.approvals("local")] == ["expired", "pending"]
    here.clock.advance(PENDING_FOR)
    assert [each.approval_id for each in desk.approvals("local", states=[ApprovalState.EXPIRED])] == [approved, pending]
    assert desk.approvals("local", states=[ApprovalState.PENDING, ApprovalState.APPROVED]) == ()
    found = desk.approval("local", pending)
    assert found is not None
    assert found.state is ApprovalState.EXPIRED


def test_a_decision_is_kept_with_who_made_it_and_its_event(here: Site) -> None:
    (asked,) = ask(here, "1")
    before = here.governance.approvals.approval("local", asked)
    assert before is not None
    here.clock.advance(SECOND)
    after = replace(
        before,
        state=ApprovalState.APPROVED,
        approver="user:ana",
        decided_at=here.clock.now,
        reason="seen",
        expires_at=here.clock.now + APPROVED_FOR,
    )
    assert decide(here, asked, ApprovalState.APPROVED) == Decided(after, changed=True)
    assert here.governance.approvals.approval("local", asked) == after
    events = [event for event in here.governance.audit.audit_events() if event.writer == "desk"]
    (event,) = (event for event in events if event.kind != "checkpoint")
    body = json.loads(event.body)
    assert (event.kind, event.actor) == ("approval_decided", "user:ana")
    assert {name: body[name] for name in ("remit.approval_id", "remit.approval_state", "remit.binding_hash")} == {
        "remit.approval_id": asked,
        "remit.approval_state": "approved",
        "remit.binding_hash": before.binding_hash,
    }
    assert "1" not in body.values()


@pytest.mark.parametrize("second", [ApprovalState.APPROVED, ApprovalState.DENIED, ApprovalState.PENDING])
def test_a_decision_that_cannot_follow_changes_nothing(here: Site, second: ApprovalState) -> None:
    (asked,) = ask(here, "1")
    first = decide(here, asked, ApprovalState.DENIED)
    assert first is not None
    here.clock.advance(SECOND)
    assert decide(here, asked, second) == Decided(first.approval, changed=False)
    assert here.kinds("desk") == ["approval_decided"]


@pytest.mark.parametrize(
    ("requester", "approver"),
    [
        ("user:ana", "user:ana"),
        ("assistant:triage", "assistant:triage"),
        ("assistant:triage", "assistant:other"),
        ("assistant:triage", "service:ci"),
        ("assistant:triage", ""),
    ],
)
def test_whoever_calls_the_desk_nobody_approves_but_another_person(here: Site, requester: str, approver: str) -> None:
    (asked,) = ask(here, "1", principal=requester)
    with pytest.raises(ApproverRefused) as refused:
        decide(here, asked, ApprovalState.APPROVED, approver=approver)
    assert (refused.value.code, refused.value.exit_code, refused.value.place) == ("approver-refused", 3, asked)
    assert here.kinds("desk") == []
    approved = decide(here, asked, ApprovalState.APPROVED, approver="user:bo")
    assert approved is not None
    assert (approved.changed, approved.approval.approver) == (True, "user:bo")


def test_the_one_who_asked_may_take_the_request_back(here: Site) -> None:
    (asked,) = ask(here, "1", principal="user:ana")
    denied = decide(here, asked, ApprovalState.DENIED, approver="user:ana")
    assert denied is not None
    assert (denied.changed, denied.approval.state) == (True, ApprovalState.DENIED)


def test_whoever_calls_the_desk_a_request_that_was_altered_is_not_approved(here: Site) -> None:
    (asked,) = ask(here, "1")
    raw = sqlite3.connect(here.path)
    raw.execute("UPDATE approvals SET arguments = '2'")
    raw.commit()
    raw.close()
    with pytest.raises(StoreError) as refused:
        decide(here, asked, ApprovalState.APPROVED)
    assert (refused.value.code, refused.value.place) == ("approval-altered", asked)
    assert here.kinds("desk") == []


def test_nobody_decides_for_another_owner_or_about_what_is_not_there(here: Site) -> None:
    (asked,) = ask(here, "1")
    assert decide(here, asked, ApprovalState.APPROVED, owner="else") is None
    assert decide(here, "none", ApprovalState.APPROVED) is None
    assert here.kinds("desk") == []


def test_a_decision_that_comes_too_late_marks_the_request_as_expired(here: Site) -> None:
    (asked,) = ask(here, "1")
    here.clock.advance(PENDING_FOR)
    decided = decide(here, asked, ApprovalState.APPROVED)
    assert decided is not None
    assert (decided.changed, decided.approval.state) == (False, ApprovalState.EXPIRED)
    here.clock.advance(-PENDING_FOR)
    found = here.governance.approvals.approval("local", asked)
    assert found is not None
    assert found.state is ApprovalState.EXPIRED


def test_fault_f13_a_clock_set_back_before_the_request_lets_nobody_approve_but_everybody_deny(here: Site) -> None:
    (asked,) = ask(here, "1")
    here.clock.advance(-timedelta(days=1))
    approved = decide(here, asked, ApprovalState.APPROVED)
    denied = decide(here, asked, ApprovalState.DENIED)
    assert approved is not None
    assert denied is not None
    assert (approved.changed, denied.changed) == (False, True)
