"""Journals that live and journals that died: whose calls become unknown, when, and that late writes are refused."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Select, literal, select
from sqlalchemy.dialects import sqlite

from remit.core.call_ports import Replayed, Started, StillRunning, StoredOutcome
from remit.core.calls import ActionState, RunState
from remit.store.instances import Host, host_here, pid_start
from remit.store.runtime_tables import actions, audit_events, runs
from remit.store.session import word
from tests.faults.processes import until
from tests.store.calls import SECONDS, Site, a_call, ended, intent, site


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def execute(site: Site, statement: str, *values: object) -> list[tuple[object, ...]]:
    raw = sqlite3.connect(site.path)
    rows = raw.execute(statement, values).fetchall()
    raw.commit()
    raw.close()
    return rows


def ended_process() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(SECONDS)
    return process.pid


def test_a_journal_has_a_row_while_it_is_open_and_none_afterwards(here: Site) -> None:
    with here.journal():
        assert execute(here, "SELECT host, boot, pid, pid_start FROM instances") == [
            (host_here().name, host_here().boot, os.getpid(), pid_start(os.getpid()))
        ]
    assert execute(here, "SELECT * FROM instances") == []


def test_a_process_is_told_from_a_later_one_of_its_number_and_one_that_is_gone_from_both() -> None:
    assert pid_start(os.getpid()) == pid_start(os.getpid())
    assert pid_start(os.getpid()) != pid_start(1)
    assert pid_start(ended_process()) is None


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        pytest.param({"pid": -1}, True, id="its-process-is-gone"),
        pytest.param({"pid_start": "1"}, True, id="its-number-belongs-to-a-later-process"),
        pytest.param({"heartbeat_seconds": -40.0}, True, id="here-without-a-heartbeat-for-too-long"),
        pytest.param({"heartbeat_at": "2020-01-01T00:00:00.000000+00:00"}, False, id="here-with-the-clock-set-ahead"),
        pytest.param({"heartbeat_at": "2030-01-01T00:00:00.000000+00:00"}, False, id="here-with-the-clock-set-back"),
        pytest.param({"host": "else", "pid": -1}, False, id="elsewhere-with-a-process-that-is-not-here"),
        pytest.param({"boot": "else", "pid": -1}, False, id="another-boot-with-a-heartbeat"),
        pytest.param(
            {"host": "else", "heartbeat_at": "2026-11-30T11:59:00.000000+00:00"}, True, id="elsewhere-without-one"
        ),
    ],
)
def test_who_is_dead(here: Site, change: dict[str, object], dead: bool) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        values = dict(change)
        if values.get("pid") == -1:
            values["pid"] = ended_process()
        for column, value in values.items():
            relative = "heartbeat_seconds +" if column == "heartbeat_seconds" else ""
            execute(here, f"UPDATE instances SET {column} = {relative} ?", value)
        with here.journal(writer="there"):
            assert here.action(facts.action_id)[0] == ("unknown" if dead else "in_progress")


def test_fault_f4_a_journal_declared_dead_cannot_end_its_calls_and_goes_on_with_new_ones(here: Site) -> None:
    with here.journal("r1", "r2") as journal:
        facts = a_call(here)
        journal.begin(intent(facts, key="k")).result(SECONDS)
        execute(here, "UPDATE instances SET heartbeat_seconds = heartbeat_seconds - 40")
        with here.journal("r3", writer="there") as other:
            assert here.action(facts.action_id) == ("unknown", "outcome_unknown")
            assert journal.end(ended(facts)).result(SECONDS) is False
            assert here.action(facts.action_id) == ("unknown", "outcome_unknown")
            stored = StoredOutcome(action_id=facts.action_id, state=ActionState.UNKNOWN, result=None)
            assert other.begin(intent(a_call(here, "r3"), key="k")).result(SECONDS) == Replayed(stored)
            journal.ledger.start_run(here.run("r4"))
            anew = a_call(here, "r4")
            assert journal.begin(intent(anew)).result(SECONDS) == Started()
            assert journal.end(ended(anew)).result(SECONDS) is True
    assert here.kinds()[-5:-1] == ["call_late", "run_started", "call_intent", "call_outcome"]
    assert here.kinds("there")[:1] == ["call_recovered"]


def test_a_key_in_the_hands_of_a_dead_journal_is_answered_as_unknown_at_once(here: Site) -> None:
    with here.journal("r1") as mine, here.journal("r2", writer="there") as other:
        lost, beside = a_call(here, "r2"), a_call(here, "r2")
        other.begin(intent(lost, key="k")).result(SECONDS)
        other.begin(intent(beside)).result(SECONDS)
        assert mine.begin(intent(a_call(here), key="k")).result(SECONDS) == StillRunning(lost.action_id)
        execute(here, "UPDATE instances SET pid = ? WHERE id IN (SELECT instance FROM runs WHERE run_id = 'r2')", 1)
        stored = StoredOutcome(action_id=lost.action_id, state=ActionState.UNKNOWN, result=None)
        assert mine.begin(intent(a_call(here), key="k")).result(SECONDS) == Replayed(stored)
        assert here.action(beside.action_id) == ("unknown", "outcome_unknown")
        assert other.end(ended(lost)).result(SECONDS) is False
    assert here.kinds()[:4] == ["run_started", "call_recovered", "call_recovered", "run_ended"]


def test_a_run_of_a_dead_journal_fails_unless_a_living_one_works_in_it(here: Site) -> None:
    dead = here.opened()
    for run_id in ("alone", "shared", "over"):
        dead.ledger.start_run(here.run(run_id))
    dead.ledger.move_run("over", RunState.COMPLETED, actor="user:ana", at=here.clock.now)
    with here.journal(writer="there") as living:
        living.begin(intent(a_call(here, "shared"))).result(SECONDS)
        dead.close()
        states = {run.run_id: run.state.value for run in here.governance.runs.runs("local", limit=9)}
        assert states == {"alone": "failed", "shared": "in_progress", "over": "completed"}


def test_calls_without_any_row_of_their_journal_are_of_a_dead_one(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        execute(here, "DELETE FROM instances")
        with here.journal(writer="there"):
            assert here.action(facts.action_id) == ("unknown", "outcome_unknown")


def test_a_heartbeat_is_renewed_while_nothing_happens(here: Site) -> None:
    with here.journal(heartbeat_seconds=0.05):
        before = execute(here, "SELECT heartbeat_seconds FROM instances")
        until(lambda: execute(here, "SELECT heartbeat_seconds FROM instances") != before)


def test_a_journal_declared_dead_registers_anew_at_its_next_heartbeat(here: Site) -> None:
    with here.journal(heartbeat_seconds=0.05):
        before = execute(here, "SELECT id FROM instances")
        execute(here, "DELETE FROM instances")
        until(lambda: execute(here, "SELECT id FROM instances"))
        assert execute(here, "SELECT id FROM instances") != before


def test_another_machine_is_another_host_whatever_it_is_called() -> None:
    assert Host("a", "boot") != Host("a", "else")


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (actions.select().where(actions.c.state == word("in_progress")), "ix_actions_under_way"),
        (select(runs.c.run_id).where(runs.c.state == word("in_progress")), "ix_runs_under_way"),
        (
            select(audit_events.c.body).where(
                audit_events.c.writer == literal("here"), audit_events.c.kind == word("checkpoint")
            ),
            "ix_audit_events_checkpoint",
        ),
    ],
)
def test_looking_for_open_work_walks_over_open_work_only(here: Site, query: Select[object], index: str) -> None:
    """With a bound parameter in place of the word SQLite would scan every call that there ever was."""
    text = str(query.compile(dialect=sqlite.dialect()))
    plan = execute(here, f"EXPLAIN QUERY PLAN {text}", *["here"] * text.count("?"))
    assert [index in str(row[3]) for row in plan] == [True], plan
