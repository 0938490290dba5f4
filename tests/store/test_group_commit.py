"""What the journal's thread writes together, when callers are told, and what a database in trouble costs them."""

import sqlite3
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from remit.core.audit import verify
from remit.core.call_ports import Started
from remit.errors import StoreError
from remit.store.journal_connection import JournalConnection
from remit.store.migrations import HEAD
from remit.store.session import Statement
from remit.store.sqlite import SqliteFile
from tests.faults.processes import until
from tests.store.calls import SECONDS, Site, a_call, ended, intent, site


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


class Locked:
    """Holds the writers' lock of a database until told otherwise."""

    def __init__(self, path: Path):
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


def count(path: Path, rows: str) -> int:
    """The rows that everybody sees now."""
    connection = sqlite3.connect(path)
    (number,) = connection.execute(f"SELECT count(*) FROM {rows}").fetchone()
    connection.close()
    return number


def test_calls_that_wait_together_are_committed_together_in_bounded_batches(here: Site) -> None:
    seen: list[int] = []
    stamp = here.stamp
    with here.journal("r1") as journal:
        held = Locked(here.path)
        begun = [journal.begin(intent(a_call(here, stamp=stamp))) for _ in range(600)]
        for each in begun:
            each.add_done_callback(lambda _: seen.append(count(here.path, "actions")))
        held.release()
        assert [each.result(SECONDS) for each in begun] == [Started()] * 600
    # What is visible when a caller is told changes with every commit, so these were three.
    assert seen == [256] * 256 + [512] * 256 + [600] * 88


def test_nobody_is_told_before_the_commit(here: Site) -> None:
    seen: list[int] = []
    with here.journal("r1") as journal:
        for _ in range(5):
            future = journal.begin(intent(a_call(here)))
            future.add_done_callback(lambda _: seen.append(count(here.path, "audit_events WHERE kind = 'call_intent'")))
            future.result(SECONDS)
    assert seen == [1, 2, 3, 4, 5]


def test_thirty_two_threads_share_a_journal_and_every_call_is_in_the_chain(here: Site) -> None:
    stamp = here.stamp
    with here.journal("r1") as journal:
        facts = [[a_call(here, stamp=stamp) for _ in range(10)] for _ in range(32)]
        errors: list[BaseException] = []

        def calls(mine: list[Any]) -> None:
            try:
                for each in mine:
                    assert journal.begin(intent(each)).result(SECONDS) == Started()
                    assert journal.end(ended(each)).result(SECONDS) is True
            except BaseException as error:  # noqa: BLE001 (a thread hands over what it failed with)
                errors.append(error)

        threads = [threading.Thread(target=calls, args=(mine,)) for mine in facts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert errors == []
        events = list(here.governance.audit.audit_events())
        assert verify(events) == ()
        assert [event.kind for event in events].count("call_outcome") == 320


# --- trouble -------------------------------------------------------------------------------------------------------------


def test_a_database_that_stays_locked_fails_what_waited_and_keeps_nothing_of_it(here: Site) -> None:
    with here.journal("r1", busy_seconds=0.3) as journal:
        held = Locked(here.path)
        facts = [a_call(here) for _ in range(3)]
        errors = [journal.begin(intent(each)).exception(SECONDS) for each in facts]
        assert [error.code for error in errors if isinstance(error, StoreError)] == ["database-locked"] * 3
        held.release()
        assert journal.begin(intent(facts[0])).result(SECONDS) == Started()
        assert count(here.path, "actions") == 1


def test_a_lock_that_ends_in_time_costs_nothing_but_the_wait(here: Site) -> None:
    with here.journal("r1") as journal:
        held = Locked(here.path)
        begun = journal.begin(intent(a_call(here)))
        assert not begun.done()
        held.release()
        assert begun.result(SECONDS) == Started()


def test_other_connections_write_between_batches(here: Site) -> None:
    with here.journal("r1") as journal:
        for number in range(20):
            journal.begin(intent(a_call(here))).result(SECONDS)
            raw = sqlite3.connect(here.path, timeout=SECONDS)
            raw.execute("UPDATE workspaces SET source = ?", (str(number),))
            raw.commit()
            raw.close()


def test_a_call_that_was_cancelled_before_its_turn_is_not_written(here: Site) -> None:
    with here.journal("r1") as journal:
        held = Locked(here.path)
        given_up, kept = a_call(here), a_call(here)
        futures = (journal.begin(intent(given_up)), journal.begin(intent(kept)))
        assert futures[0].cancel()
        held.release()
        assert futures[1].result(SECONDS) == Started()
        raw = sqlite3.connect(here.path)
        assert raw.execute("SELECT action_id FROM actions").fetchall() == [(kept.action_id,)]
        raw.close()


def test_the_end_of_a_call_is_written_although_whoever_sent_it_gave_up_waiting(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        held = Locked(here.path)
        given_up, other = journal.end(ended(facts)), journal.begin(intent(a_call(here, stamp=facts.stamp)))
        assert given_up.cancel()
        held.release()
        assert other.result(SECONDS) == Started()
        assert here.action(facts.action_id) == ("completed", None)


def test_an_end_that_the_lock_kept_out_is_written_when_the_lock_is_gone(here: Site) -> None:
    with here.journal("r1", busy_seconds=0.2) as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        held = Locked(here.path)
        error = journal.end(ended(facts)).exception(SECONDS)
        assert isinstance(error, StoreError)
        assert error.code == "database-locked"
        held.release()
        until(lambda: here.action(facts.action_id) == ("completed", None))
    assert here.kinds().count("call_outcome") == 1


def test_a_commit_of_the_journal_waits_for_the_disk(here: Site) -> None:
    connection = JournalConnection(SqliteFile(here.path))
    assert connection.try_to_begin()
    pragmas = [Statement(text(f"PRAGMA {name}")) for name in ("synchronous", "foreign_keys", "recursive_triggers")]
    assert [connection.session.rows(pragma, {}) for pragma in pragmas] == [[(2,)], [(1,)], [(1,)]]
    connection.close()


def test_a_database_that_is_gone_fails_calls_and_is_found_again_when_it_is_back(here: Site) -> None:
    with here.journal("r1") as journal:
        away = here.path.with_name("away.db")
        here.path.rename(away)
        error = journal.begin(intent(a_call(Site(away)))).exception(SECONDS)
        assert isinstance(error, StoreError)
        assert error.code == "no-database"
        away.rename(here.path)
        assert journal.begin(intent(a_call(here))).result(SECONDS) == Started()


def test_a_schema_that_becomes_newer_stops_a_journal_that_is_open(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        raw = sqlite3.connect(here.path)
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
        raw.commit()
        error = journal.begin(intent(facts)).exception(SECONDS)
        assert isinstance(error, StoreError)
        assert error.code == "database-newer"
        raw.execute("UPDATE alembic_version SET version_num = ?", [HEAD])
        raw.commit()
        raw.close()
        assert journal.begin(intent(facts)).result(SECONDS) == Started()


def test_a_journal_is_not_opened_on_a_database_that_is_locked_or_not_there(here: Site, tmp_path: Path) -> None:
    held = Locked(here.path)
    with pytest.raises(StoreError) as refused:
        here.opened(busy_seconds=0.1)
    held.release()
    assert refused.value.code == "database-locked"
    with pytest.raises(StoreError) as refused:
        Site(tmp_path / "nowhere.db").opened()
    assert refused.value.code == "no-database"


def test_calls_that_wait_when_the_journal_closes_are_written_first(here: Site) -> None:
    journal = here.opened()
    journal.ledger.start_run(here.run("r1"))
    held = Locked(here.path)
    begun = [journal.begin(intent(a_call(here))) for _ in range(5)]
    closing = threading.Thread(target=journal.close)
    closing.start()
    here.clock.advance(timedelta(seconds=1))
    held.release()
    closing.join(SECONDS)
    assert [each.result(0) for each in begun] == [Started()] * 5
    assert here.kinds()[:6] == ["run_started", *["call_intent"] * 5]
