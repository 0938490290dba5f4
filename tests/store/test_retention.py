"""What is kept of calls and for how long: contents go, keys and the audit trail stay."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.approvals import APPROVED_FOR, PENDING_FOR, ApprovalState
from remit.core.audit_review import review
from remit.core.call_ports import ApprovalRefused, KeyConflict, Replayed, Started, StoredOutcome
from remit.core.calls import ActionState, RunState
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.core.governance import Swept
from remit.errors import WorkspaceBusy
from remit.store.retention import AT_LEAST
from tests.store.calls import BINDING, SECONDS, Site, a_call, ended, intent, site
from tests.store.samples import NOW

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
WEEK = timedelta(days=7)


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def sweep(site: Site, kept: timedelta = WEEK, owner: str = "local") -> Swept:
    return site.governance.retention.sweep(owner, kept, lock_timeout=1)


def rows(site: Site, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(site.path)) as raw:
        return raw.execute(query).fetchall()


def record(site: Site, *events: ProtocolEvent, links: tuple[tuple[str, str], ...] = ()) -> None:
    with site.journal() as journal:
        for each in events:
            journal.record(each)
        for trace_id, connection_id in links:
            journal.link(trace_id, connection_id)


def event(sequence: int, trace: str = "t1", connection: str = "c1") -> ProtocolEvent:
    return ProtocolEvent(
        trace_id=trace,
        connection_id=connection,
        server="github",
        sequence=sequence,
        at=NOW + timedelta(seconds=sequence),
        kind=EventKind.CALL,
        direction=Direction.SENT,
        body={},
    )


# --- protocol events ---------------------------------------------------------------------------------------------------------


def test_old_events_are_dropped_with_the_links_to_connections_that_have_none_left(here: Site) -> None:
    record(here, event(1), event(2), event(100, "t2", "c2"), links=(("t2", "c1"), ("t3", "c2")))
    here.clock.now = NOW + timedelta(seconds=50) + WEEK
    assert sweep(here) == Swept(protocol_events=2)
    assert [trace for trace, _, _ in here.governance.traces.traces(limit=9)] == ["t2"]
    assert rows(here, "SELECT trace_id, connection_id FROM trace_links") == [("t3", "c2")]
    assert sweep(here) == Swept()


def test_many_events_are_dropped_in_parts_of_a_bounded_size(here: Site) -> None:
    record(here, *(event(1) for _ in range(1_100)), event(100))
    here.clock.now = NOW + timedelta(seconds=50) + WEEK
    parts = [sweep(here) for _ in range(4)]
    assert [(each.protocol_events, each.is_done) for each in parts] == [
        (500, False),
        (500, False),
        (100, True),
        (0, True),
    ]
    assert sum(parts, Swept()) == Swept(protocol_events=1_100)
    assert rows(here, "SELECT count(*) FROM protocol_events") == [(1,)]


def test_where_nothing_is_due_nobody_is_kept_waiting_and_where_something_is_the_wait_is_bounded(here: Site) -> None:
    record(here, event(1))
    with closing(sqlite3.connect(here.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert sweep(here) == Swept()
        here.clock.now = NOW + DAY + WEEK
        with pytest.raises(WorkspaceBusy):
            here.governance.retention.sweep("local", WEEK, lock_timeout=0)


# --- outputs -----------------------------------------------------------------------------------------------------------------


def outputs(site: Site) -> dict[str, str | None]:
    """The outputs of all actions, by run and tool call."""
    desk = site.governance.runs
    found = [desk.run("local", each.run_id) for each in desk.runs("local", limit=9)]
    return {f"{run.run_id} {each.tool_call_id}": each.output for run in found if run for each in run.actions}


def test_outputs_of_runs_that_ended_go_and_those_of_a_run_that_waits_stay(here: Site) -> None:
    with here.journal("over", "waits", "late") as journal:
        ledger = journal.ledger
        for run in ("over", "waits", "late"):
            call = a_call(here, run, tool_call_id="mcp")
            journal.begin(intent(call)).result(SECONDS)
            journal.end(ended(call)).result(SECONDS)
            ledger.hand_off(a_call(here, run, tool_call_id="own"), '{"city":"Bonn"}')
            ledger.take_output(run, "own", "sunny", is_error=False, at=here.clock.now)
        ledger.hand_off(a_call(here, "waits", tool_call_id="open"), "{}")
        ledger.move_run("over", RunState.COMPLETED, actor="user:ana", at=here.clock.now)
        here.clock.advance(2 * SECOND)
        ledger.move_run("late", RunState.FAILED, actor="user:ana", at=here.clock.now)
        here.clock.advance(WEEK - SECOND)
        assert sweep(here, owner="else") == Swept()
        assert sweep(here) == Swept(outputs=2)
        assert sweep(here) == Swept()
    kept = {"mcp": "two issues", "own": "sunny"}
    waiting = {f"waits {call}": text for call, text in kept.items()} | {"waits open": None}
    late = {f"late {call}": text for call, text in kept.items()}
    assert outputs(here) == {"over mcp": None, "over own": None} | waiting | late
    assert rows(here, "SELECT DISTINCT run_id FROM actions WHERE arguments IS NOT NULL ORDER BY 1") == [
        ("late",),
        ("waits",),
    ]


# --- keys --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kept", "until"), [(timedelta(0), AT_LEAST), (WEEK, WEEK)])
def test_a_stored_result_goes_after_a_day_at_the_earliest_and_its_key_never(
    here: Site, kept: timedelta, until: timedelta
) -> None:
    with here.journal("r1") as journal:
        call = a_call(here)
        journal.begin(intent(call, key="k")).result(SECONDS)
        journal.end(ended(call)).result(SECONDS)
        here.clock.advance(until)
        assert sweep(here, kept).results == 0
        known = StoredOutcome(action_id=call.action_id, state=ActionState.COMPLETED, result={"content": "two issues"})
        assert journal.begin(intent(a_call(here), key="k")).result(SECONDS) == Replayed(known)
        here.clock.advance(SECOND)
        assert sweep(here, kept).results == 1
        assert sweep(here, kept).results == 0
        here.clock.advance(1_000 * DAY)
        sweep(here, kept)
        # However much later: the same call is not carried out again, and another one cannot take its key.
        again = journal.begin(intent(a_call(here), key="k")).result(SECONDS)
        assert again == Replayed(replace(known, result=None))
        other = intent(a_call(here), key="k", fingerprint="other")
        assert journal.begin(other).result(SECONDS) == KeyConflict()


def test_the_result_of_a_call_that_is_under_way_for_long_is_kept_once_it_comes(here: Site) -> None:
    with here.journal("r1") as journal:
        call = a_call(here)
        journal.begin(intent(call, key="k")).result(SECONDS)
        here.clock.advance(10 * WEEK)
        assert sweep(here) == Swept()
        journal.end(ended(call, at=here.clock.now)).result(SECONDS)
        assert sweep(here) == Swept()
        again = journal.begin(intent(a_call(here), key="k")).result(SECONDS)
    assert isinstance(again, Replayed)
    assert again.outcome.result == {"content": "two issues"}


# --- approvals ---------------------------------------------------------------------------------------------------------------


def decide(site: Site, approval_id: str, state: ApprovalState) -> None:
    decided = site.governance.approvals.decide_approval(
        "local", approval_id, state, approver="user:ana", reason=None, at=site.clock.now
    )
    assert decided is not None
    assert decided.changed


def test_a_request_that_ran_out_of_time_is_marked_so_and_the_call_that_waited_ends(here: Site) -> None:
    with here.journal("r1") as journal:
        call = a_call(here)
        journal.begin(intent(call, approval=BINDING)).result(SECONDS)
        here.clock.advance(PENDING_FOR - SECOND)
        assert sweep(here) == Swept()
        assert here.action(call.action_id) == ("requires_action", "approval_required")
        here.clock.advance(SECOND)
        assert sweep(here) == Swept()
        assert here.action(call.action_id) == ("failed", "approval_required")
    assert rows(here, "SELECT state FROM approvals") == [("expired",)]


@pytest.mark.parametrize(("kept", "until"), [(timedelta(0), AT_LEAST), (WEEK, WEEK)])
def test_approvals_that_are_over_go_and_those_that_still_count_stay(
    here: Site, kept: timedelta, until: timedelta
) -> None:
    def ask(arguments: str) -> None:
        call = intent(a_call(here), approval=replace(BINDING, arguments=arguments))
        journal.begin(call).result(SECONDS)
        asked[arguments] = call.approval_id

    asked: dict[str, str] = {}
    with here.journal("r1") as journal:
        for arguments in ("denied", "used", "running"):
            ask(arguments)
        decide(here, asked["denied"], ApprovalState.DENIED)
        for arguments in ("used", "running"):
            decide(here, asked[arguments], ApprovalState.APPROVED)
            call = a_call(here)
            begun = journal.begin(intent(call, approval=replace(BINDING, arguments=arguments))).result(SECONDS)
            assert isinstance(begun, Started)
            if arguments == "used":
                journal.end(ended(call)).result(SECONDS)
        # A denial refuses the call for as long as the request would have waited, however little is to be kept.
        sweep(here, kept)
        refused = journal.begin(intent(a_call(here), approval=replace(BINDING, arguments="denied"))).result(SECONDS)
        assert isinstance(refused, ApprovalRefused)
        here.clock.advance(PENDING_FOR + until)
        assert sweep(here, kept).approvals == 1
        here.clock.advance(SECOND)
        ask("fresh")
        assert sweep(here, kept).approvals == 1
        left = {each.binding.arguments: each.state.value for each in here.governance.approvals.approvals("local")}
    assert left == {"running": "executing", "fresh": "pending"}


# --- what stays --------------------------------------------------------------------------------------------------------------


def test_no_sweep_touches_the_audit_trail_a_run_or_a_key(here: Site) -> None:
    with here.journal("r1") as journal:
        call = a_call(here)
        journal.begin(intent(call, key="k", approval=None)).result(SECONDS)
        journal.end(ended(call)).result(SECONDS)
        journal.begin(intent(a_call(here), approval=BINDING)).result(SECONDS)
        journal.record(event(1))
        journal.ledger.move_run("r1", RunState.COMPLETED, actor="user:ana", at=here.clock.now)
    before = list(here.governance.audit.audit_events())
    counts = (
        "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM actions), (SELECT count(*) FROM idempotency_records)"
    )
    kept = rows(here, counts)
    here.clock.advance(1_000 * DAY + APPROVED_FOR)
    swept = sweep(here, timedelta(0)) + sweep(here, timedelta(0))
    assert swept == Swept(protocol_events=1, outputs=1, results=1, approvals=1)
    assert list(here.governance.audit.audit_events()) == before
    assert review(before).is_sound
    assert rows(here, counts) == kept
