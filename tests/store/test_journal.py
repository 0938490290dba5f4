"""Single calls through the journal: what begins, what does not, how it ends, and what of it is in the database."""

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.audit import AuditFact, AuditKind
from remit.core.call_ports import (
    CallIdUsed,
    CallJournal,
    GrantsMoved,
    KeyConflict,
    Replayed,
    RunClosed,
    RunLedger,
    Started,
    StillRunning,
    StoredOutcome,
)
from remit.core.calls import ActionKind, ActionState, CallOutcome, FailureCode, RunState, ToolOutcome, TransportOutcome
from remit.core.governance import ActionRow, Suspension, SuspensionTarget
from remit.errors import StoreError
from tests.store.calls import SECONDS, Site, a_call, ended, intent, refusal, site


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def test_the_journal_and_its_ledger_are_the_ones_that_core_asks_for(here: Site) -> None:
    with here.journal() as journal:
        ports: tuple[CallJournal, RunLedger] = (journal, journal.ledger)
        assert ports == (journal, journal.ledger)


def test_a_call_is_in_progress_once_begun_and_completed_once_ended(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        assert journal.begin(intent(facts)).result(SECONDS) == Started()
        assert here.action(facts.action_id) == ("in_progress", None)
        here.clock.advance(timedelta(seconds=1))
        assert journal.end(ended(facts, at=here.clock.now)).result(SECONDS) is True
        run = here.governance.runs.run("local", "r1")
        assert run is not None
        assert run.actions == (
            ActionRow(
                action_id=facts.action_id,
                tool_call_id=facts.tool_call_id,
                kind=ActionKind.MCP,
                provider_name="github__search",
                state=ActionState.COMPLETED,
                code=None,
                started_at=facts.at,
                ended_at=here.clock.now,
                approval_id=None,
                output="two issues",
            ),
        )
        assert here.kinds() == ["run_started", "call_intent", "call_outcome"]


def test_a_call_of_a_run_that_is_over_does_not_begin_and_leaves_nothing(here: Site) -> None:
    with here.journal("r1") as journal:
        journal.ledger.move_run("r1", RunState.CANCELLED, actor="user:ana", at=here.clock.now)
        assert journal.begin(intent(a_call(here))).result(SECONDS) == RunClosed(RunState.CANCELLED)
    assert here.kinds() == ["run_started", "run_ended"]


def test_a_call_of_a_run_that_nobody_started_is_an_error(here: Site) -> None:
    with here.journal() as journal, pytest.raises(StoreError) as refused:
        journal.begin(intent(a_call(here, "nowhere"))).result(SECONDS)
    assert refused.value.code == "run-unknown"


@pytest.mark.parametrize("of", ["suspend", "resume"])
def test_grants_that_moved_since_they_were_read_stop_begin_and_refusal_alike(here: Site, of: str) -> None:
    target = SuspensionTarget(server_id="mcp_github")
    suspension = Suspension(target=target, address="server.github", actor="user:ana", at=here.clock.now, reason=None)
    desk = here.governance.suspensions
    if of == "resume":
        desk.suspend("local", suspension)
    with here.journal("r1") as journal:
        facts = a_call(here)
        if of == "suspend":
            desk.suspend("local", suspension)
        else:
            desk.resume("local", target, actor="user:ana", at=here.clock.now)
        assert journal.begin(intent(facts)).result(SECONDS) == GrantsMoved()
        assert journal.refuse(refusal(facts)).result(SECONDS) is False
        anew = replace(facts, stamp=here.stamp)
        assert journal.refuse(refusal(anew)).result(SECONDS) is True
        assert here.kinds() == ["run_started", "call_denied"]


def test_grants_of_an_assistant_that_is_gone_have_moved(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here, assistant="nobody")
        assert journal.begin(intent(facts)).result(SECONDS) == GrantsMoved()


def test_a_refusal_keeps_a_failed_action_with_its_code(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        assert journal.refuse(refusal(facts, FailureCode.PERMISSION_DENIED)).result(SECONDS) is True
        assert here.action(facts.action_id) == ("failed", "permission_denied")


def test_a_tool_call_id_has_one_action_and_its_second_call_is_told_so_and_costs_nobody_else(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here)
        again = a_call(here, tool_call_id=first.tool_call_id)
        other = a_call(here)
        futures = [journal.begin(intent(each)) for each in (first, again, other)]
        assert (futures[0].result(SECONDS), futures[2].result(SECONDS)) == (Started(), Started())
        assert futures[1].result(SECONDS) == CallIdUsed(ActionState.IN_PROGRESS)
        # Refused for another reason, it is noted, and the action stays that of the call under way.
        assert journal.refuse(refusal(again, FailureCode.CALL_IN_FLIGHT)).result(SECONDS) is True
        assert here.action(first.action_id) == ("in_progress", None)


# --- keys --------------------------------------------------------------------------------------------------------------


def test_a_key_is_in_flight_then_answers_with_the_stored_outcome(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here)
        assert journal.begin(intent(first, key="k")).result(SECONDS) == Started()
        assert journal.begin(intent(a_call(here), key="k")).result(SECONDS) == StillRunning(first.action_id)
        journal.end(ended(first)).result(SECONDS)
        stored = StoredOutcome(action_id=first.action_id, state=ActionState.COMPLETED, result={"content": "two issues"})
        assert journal.begin(intent(a_call(here), key="k")).result(SECONDS) == Replayed(stored)
    with here.journal("r2") as later:
        assert later.begin(intent(a_call(here, "r2"), key="k")).result(SECONDS) == Replayed(stored)


def test_the_first_of_several_calls_with_one_key_in_one_batch_is_the_only_one_that_starts(here: Site) -> None:
    with here.journal("r1") as journal:
        begun = [journal.begin(intent(a_call(here), key="k")) for _ in range(20)]
        kinds = sorted(type(each.result(SECONDS)).__name__ for each in begun)
    assert kinds == ["Started", *["StillRunning"] * 19]


def test_a_key_that_was_used_for_another_call_is_a_conflict_under_way_and_afterwards(here: Site) -> None:
    with here.journal("r1") as journal:
        first = a_call(here)
        journal.begin(intent(first, key="k")).result(SECONDS)
        assert journal.begin(intent(a_call(here), key="k", fingerprint="else")).result(SECONDS) == KeyConflict()
        journal.end(ended(first)).result(SECONDS)
        assert journal.begin(intent(a_call(here), key="k", fingerprint="else")).result(SECONDS) == KeyConflict()


def test_one_key_of_two_principals_is_two_keys(here: Site) -> None:
    with here.journal("r1") as journal:
        mine, theirs = a_call(here), a_call(here, principal="user:bo")
        assert journal.begin(intent(mine, key="k")).result(SECONDS) == Started()
        assert journal.begin(intent(theirs, key="k")).result(SECONDS) == Started()


def test_an_unknown_outcome_is_replayed_as_unknown_without_a_result(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts, key="k")).result(SECONDS)
        lost = ended(
            facts,
            ActionState.UNKNOWN,
            outcome=CallOutcome.UNKNOWN,
            code=FailureCode.SERVER_GONE,
            transport=TransportOutcome.LOST,
            tool=ToolOutcome.NONE,
        )
        assert journal.end(lost).result(SECONDS) is True
        stored = StoredOutcome(action_id=facts.action_id, state=ActionState.UNKNOWN, result=None)
        assert journal.begin(intent(a_call(here), key="k")).result(SECONDS) == Replayed(stored)


def test_a_result_with_numbers_that_json_lacks_is_replayed_all_the_same(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts, key="k")).result(SECONDS)
        odd = {"structured_content": float("inf"), "content": "\ud800\0"}
        assert journal.end(ended(facts, result=odd, output="\ud800\0")).result(SECONDS) is True
        replayed = journal.begin(intent(a_call(here), key="k")).result(SECONDS)
        assert isinstance(replayed, Replayed)
        assert replayed.outcome.result == odd


def test_the_result_is_kept_only_where_a_key_asks_for_it(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        journal.end(ended(facts, result={"content": "only here"})).result(SECONDS)
    with sqlite3.connect(here.path) as raw:
        assert "only here" not in "\n".join(raw.iterdump())
    raw.close()


def test_the_output_of_a_tool_that_is_recorded_as_a_digest_is_not_kept(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here, record_output=False)
        journal.begin(intent(facts)).result(SECONDS)
        journal.end(ended(facts)).result(SECONDS)
        run = here.governance.runs.run("local", "r1")
        assert run is not None
        assert [(each.state, each.output) for each in run.actions] == [(ActionState.COMPLETED, None)]


# --- ends --------------------------------------------------------------------------------------------------------------


def test_a_call_ends_once_and_whatever_comes_later_is_noted_as_late(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        cancelled = ended(facts, ActionState.CANCELLED, outcome=CallOutcome.CANCELLED, code=FailureCode.CANCELLED)
        assert journal.end(cancelled).result(SECONDS) is True
        assert journal.end(ended(facts)).result(SECONDS) is False
        assert here.action(facts.action_id) == ("cancelled", "cancelled")
        assert here.kinds() == ["run_started", "call_intent", "call_outcome", "call_late"]


def test_a_call_cannot_end_in_a_state_that_is_no_end(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        with pytest.raises(StoreError) as refused:
            journal.end(ended(facts, ActionState.REQUIRES_ACTION)).result(SECONDS)
        assert (refused.value.code, here.action(facts.action_id)) == ("state-move", ("in_progress", None))
        assert journal.end(ended(facts)).result(SECONDS) is True


def test_a_journal_that_is_closed_refuses_and_leaves_no_call_under_way(here: Site) -> None:
    journal = here.opened()
    journal.ledger.start_run(here.run("r1"))
    facts = a_call(here)
    journal.begin(intent(facts, key="k")).result(SECONDS)
    journal.close()
    journal.close()
    for late in (journal.begin(intent(a_call(here))), journal.end(ended(facts))):
        error = late.exception(SECONDS)
        assert isinstance(error, StoreError)
        assert error.code == "journal-closed"
    assert here.action(facts.action_id) == ("unknown", "outcome_unknown")
    assert here.kinds() == ["run_started", "call_intent", "call_recovered", "run_ended"]


# --- texts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["tool_call_id", "thread_id", "trace_id", "principal", "arguments_text"])
@pytest.mark.parametrize("odd", ["a\0b", "a\udc00b"], ids=["nul", "lone-surrogate"])
def test_a_text_that_no_database_keeps_fails_its_own_call_and_no_other(here: Site, field: str, odd: str) -> None:
    with here.journal("r1") as journal:
        bad, good = replace(a_call(here), **{field: odd}), a_call(here)
        futures = (journal.begin(intent(bad)), journal.begin(intent(good)), journal.refuse(refusal(bad)))
        assert futures[1].result(SECONDS) == Started()
        errors = (futures[0].exception(SECONDS), futures[2].exception(SECONDS))
        assert [error.code for error in errors if isinstance(error, StoreError)] == ["text-not-storable"] * 2


def test_a_fact_that_has_no_json_fails_alone_in_a_batch_that_is_kept(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        bad = AuditFact(
            kind=AuditKind.CONTRACT_DRIFT, at=here.clock.now, actor="user:ana", trace_id=None, body={"text": "\ud800"}
        )
        futures = (
            journal.begin(intent(facts)),
            journal.note(bad),
            journal.note(replace(bad, body={"n": float("nan")})),
            journal.note(replace(bad, body={"text": "fine"})),
        )
        assert (futures[0].result(SECONDS), futures[3].result(SECONDS)) == (Started(), None)
        assert [type(each.exception(SECONDS)) for each in futures[1:3]] == [StoreError, StoreError]
    assert here.kinds() == ["run_started", "call_intent", "contract_drift", "call_recovered", "run_ended"]


def test_a_failure_in_words_that_hold_anything_is_kept_in_the_audit(here: Site) -> None:
    with here.journal("r1") as journal:
        odd = replace(refusal(a_call(here)), message="at $.a\ud800\0: must be a string")
        assert journal.refuse(odd).result(SECONDS) is True
    bodies = [event.body for event in here.governance.audit.audit_events() if event.kind == "call_denied"]
    assert ["at $.a?\\u0000: must be a string" in body for body in bodies] == [True]
