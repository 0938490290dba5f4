"""Calls that a human must approve: asked for once, used once, within their time, and for these very arguments."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.approvals import (
    APPROVED_FOR,
    PENDING_CAP,
    PENDING_FOR,
    Approval,
    ApprovalBinding,
    ApprovalState,
    new_request,
)
from remit.core.call_ports import ApprovalRefused, ApprovalWaiting, Begun, Started
from remit.core.calls import ActionState, CallOutcome, FailureCode
from remit.store.journal import Journal
from tests.store.calls import BINDING, SECONDS, Site, a_call, ended, intent, site

SECOND = timedelta(seconds=1)
APPROVED, DENIED, REVOKED = ApprovalState.APPROVED, ApprovalState.DENIED, ApprovalState.REVOKED


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def ask(site: Site, journal: Journal, binding: ApprovalBinding = BINDING, run_id: str = "r1") -> Begun:
    return journal.begin(intent(a_call(site, run_id), approval=binding)).result(SECONDS)


def waiting(begun: Begun) -> str:
    assert isinstance(begun, ApprovalWaiting)
    return begun.approval_id


def decide(site: Site, approval_id: str, state: ApprovalState, reason: str | None = None) -> bool:
    decided = site.governance.approvals.decide_approval(
        "local", approval_id, state, approver="user:ana", reason=reason, at=site.clock.now
    )
    assert decided is not None
    return decided.changed


def state(site: Site, approval_id: str) -> ApprovalState:
    found = site.governance.approvals.approval("local", approval_id)
    assert found is not None
    return found.state


def test_a_first_call_asks_and_its_repetition_waits_for_the_same_request(here: Site) -> None:
    with here.journal("r1", "r2") as journal:
        facts = a_call(here)
        begun = journal.begin(intent(facts, approval=BINDING)).result(SECONDS)
        asked = f"approval-of-{facts.action_id}"
        assert begun == ApprovalWaiting(asked, here.clock.now + PENDING_FOR)
        here.clock.advance(PENDING_FOR - SECOND)
        assert waiting(ask(here, journal, run_id="r2")) == asked
        assert here.action(facts.action_id) == ("requires_action", "approval_required")
        assert here.governance.approvals.approvals("local") == (
            Approval(
                approval_id=asked,
                binding_hash=BINDING.hash,
                request_digest=new_request(asked, BINDING, facts.at).request_digest,
                binding=BINDING,
                state=ApprovalState.PENDING,
                requested_at=facts.at,
                expires_at=facts.at + PENDING_FOR,
            ),
        )
        assert here.kinds()[2:] == ["approval_requested", "call_denied", "call_denied"]


def test_an_approved_call_goes_out_once_and_the_next_one_asks_again(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here)
        asked = waiting(journal.begin(intent(first, approval=BINDING)).result(SECONDS))
        assert decide(here, asked, APPROVED)
        used = a_call(here)
        assert journal.begin(intent(used, approval=BINDING)).result(SECONDS) == Started(asked)
        found = here.governance.approvals.approval("local", asked)
        assert found is not None
        assert (found.state, found.action_id, found.approver) == (
            ApprovalState.EXECUTING,
            used.action_id,
            "user:ana",
        )
        # The call that waited was told to ask again; it is not left waiting for what another one used.
        assert here.action(first.action_id) == ("failed", "approval_required")
        assert waiting(ask(here, journal)) != asked
        journal.end(ended(used)).result(SECONDS)
        assert state(here, asked) is ApprovalState.SUCCEEDED


@pytest.mark.parametrize(
    ("end", "then"),
    [
        (ActionState.COMPLETED, ApprovalState.SUCCEEDED),
        (ActionState.FAILED, ApprovalState.FAILED),
        (ActionState.CANCELLED, ApprovalState.FAILED),
        (ActionState.UNKNOWN, ApprovalState.UNKNOWN),
    ],
)
def test_an_approval_ends_as_its_call_does(here: Site, end: ActionState, then: ApprovalState) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
        decide(here, asked, APPROVED)
        facts = a_call(here)
        journal.begin(intent(facts, approval=BINDING)).result(SECONDS)
        journal.end(ended(facts, end, outcome=CallOutcome.UNKNOWN, code=FailureCode.SERVER_GONE)).result(SECONDS)
        assert state(here, asked) is then


def test_twenty_racing_consumers_of_one_approval_start_one_call(here: Site) -> None:
    with here.journal("r1") as first, here.journal(writer="there") as second:
        asked = waiting(ask(here, first))
        decide(here, asked, APPROVED)
        calls = [a_call(here) for _ in range(20)]
        begun = [
            (first, second)[number % 2].begin(intent(facts, approval=BINDING)) for number, facts in enumerate(calls)
        ]
        results = [each.result(SECONDS) for each in begun]
        assert [each for each in results if isinstance(each, Started)] == [Started(asked)]
        again = {each.approval_id for each in results if isinstance(each, ApprovalWaiting)}
        assert (len(results), len(again), asked in again) == (20, 1, False)


@pytest.mark.parametrize("field", ["arguments", "definition_digest", "envelope_digest", "principal", "identity_key"])
def test_an_approval_does_not_cover_a_call_that_differs_by_one_byte(here: Site, field: str) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
        decide(here, asked, APPROVED)
        other = replace(BINDING, **{field: getattr(BINDING, field) + "x"})
        assert waiting(ask(here, journal, other)) != asked
        assert ask(here, journal) == Started(asked)


def test_silence_is_a_denial_and_the_next_call_asks_anew(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here)
        asked = waiting(journal.begin(intent(first, approval=BINDING)).result(SECONDS))
        here.clock.advance(PENDING_FOR)
        assert not decide(here, asked, APPROVED)
        assert waiting(ask(here, journal)) != asked
        assert (state(here, asked), here.action(first.action_id)[0]) == (ApprovalState.EXPIRED, "failed")


def test_an_approval_that_ran_out_is_not_used(here: Site) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
        decide(here, asked, APPROVED)
        here.clock.advance(APPROVED_FOR)
        assert waiting(ask(here, journal)) != asked
        assert state(here, asked) is ApprovalState.EXPIRED


def test_an_approval_is_used_in_the_last_second_of_its_time(here: Site) -> None:
    with here.journal("r1") as journal:
        here.clock.advance(SECOND)
        asked = waiting(ask(here, journal))
        here.clock.advance(PENDING_FOR - SECOND)
        decide(here, asked, APPROVED)
        here.clock.advance(APPROVED_FOR - SECOND)
        assert ask(here, journal) == Started(asked)


def test_a_denial_stands_until_the_request_would_have_run_out(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here)
        asked = waiting(journal.begin(intent(first, approval=BINDING)).result(SECONDS))
        here.clock.advance(SECOND)
        assert decide(here, asked, DENIED, "not on a Friday \ud800")
        assert here.action(first.action_id) == ("failed", "approval_denied")
        refused = a_call(here)
        begun = journal.begin(intent(refused, approval=BINDING)).result(SECONDS)
        assert begun == ApprovalRefused(asked, DENIED, "not on a Friday \ud800")
        assert here.action(refused.action_id) == ("failed", "approval_denied")
        here.clock.advance(PENDING_FOR)
        assert waiting(ask(here, journal)) != asked
        assert state(here, asked) is DENIED


def test_a_revoked_approval_is_not_used(here: Site) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
        decide(here, asked, APPROVED)
        assert decide(here, asked, REVOKED)
        assert waiting(ask(here, journal)) != asked
    kinds = here.kinds("desk")
    assert kinds == ["approval_decided", "approval_decided"]


@pytest.mark.parametrize("back", [timedelta(seconds=1), timedelta(days=1)])
def test_fault_f13_a_clock_set_back_reopens_nothing(here: Site, back: timedelta) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
        decide(here, asked, APPROVED)
        here.clock.advance(-back)
        again = waiting(ask(here, journal))
        assert (again != asked, state(here, asked)) == (True, ApprovalState.SUPERSEDED)
        here.clock.advance(back)
        assert waiting(ask(here, journal)) not in ("", asked)


def test_fault_f13_an_approval_that_ran_out_stays_so_when_the_clock_is_set_back_into_its_window(here: Site) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
        decide(here, asked, APPROVED)
        here.clock.advance(APPROVED_FOR)
        assert waiting(ask(here, journal)) != asked
        here.clock.advance(-APPROVED_FOR)
        assert not isinstance(ask(here, journal), Started)
        assert state(here, asked) is ApprovalState.EXPIRED


def test_a_principal_with_a_hundred_requests_waiting_gets_no_further_one(here: Site) -> None:
    stamp = here.stamp
    with here.journal("r1") as journal:
        futures = [
            journal.begin(intent(a_call(here, stamp=stamp), approval=replace(BINDING, arguments=f'{{"n":{number}}}')))
            for number in range(PENDING_CAP + 1)
        ]
        *asked, last = [each.result(SECONDS) for each in futures]
        assert {type(each) for each in asked} == {ApprovalWaiting}
        assert last == ApprovalRefused("", DENIED, "100 requests of this principal wait for a human already")
        other = replace(BINDING, principal="assistant:other")
        assert waiting(ask(here, journal, other))
        # What ran out makes room.
        here.clock.advance(PENDING_FOR)
        assert waiting(ask(here, journal))
        states = {each.state for each in here.governance.approvals.approvals("local")}
        assert states == {ApprovalState.EXPIRED, ApprovalState.PENDING}


def test_the_queue_survives_a_restart(here: Site) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
    with here.journal("r2") as journal:
        assert waiting(ask(here, journal, run_id="r2")) == asked
        decide(here, asked, APPROVED)
    with here.journal("r3") as journal:
        assert ask(here, journal, run_id="r3") == Started(asked)


def test_a_call_that_dies_after_it_used_its_approval_leaves_it_unknown_and_used(here: Site) -> None:
    with here.journal("r1") as journal:
        asked = waiting(ask(here, journal))
        decide(here, asked, APPROVED)
        assert ask(here, journal) == Started(asked)
    with here.journal("r2") as journal:
        assert state(here, asked) is ApprovalState.UNKNOWN
        assert waiting(ask(here, journal, run_id="r2")) != asked


def test_a_call_that_waited_goes_out_under_its_own_id_once_it_is_approved(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here)
        asked = waiting(journal.begin(intent(first, approval=BINDING)).result(SECONDS))
        decide(here, asked, APPROVED)
        again = a_call(here, tool_call_id=first.tool_call_id)
        assert journal.begin(intent(again, approval=BINDING)).result(SECONDS) == Started(asked)
        run = here.governance.runs.run("local", "r1")
        assert run is not None
        assert [(each.action_id, each.state.value) for each in run.actions] == [(again.action_id, "in_progress")]
    # The attempt that the action took the place of is in the trail.
    assert here.kinds()[1:4] == ["approval_requested", "call_denied", "call_intent"]
