"""Faults F4, F6, F8, F12 and F14 at the journal of calls: killed processes, lost replies, full disks, races."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from remit.core.approvals import ApprovalState
from remit.core.audit_review import review
from remit.core.call_ports import Replayed, Started, StoredOutcome
from remit.core.calls import ActionState
from remit.errors import StoreError
from remit.store.access import Access
from remit.store.journal import Journal
from remit.store.journal_writer import JournalWriter
from remit.store.sqlite import SqliteFile
from remit.store.trace_queue import TraceQueue
from tests.faults.processes import ROOT, until
from tests.store.calls import BINDING, SECONDS, Site, a_call, ended, intent, new_id, site


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


@contextmanager
def calling(here: Site, mode: str, argument: str = "") -> "Generator[subprocess.Popen[str]]":
    """A process of tests/faults/calling.py, killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.calling", str(here.path), mode, argument],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def lines(process: "subprocess.Popen[str]", until: Callable[[list[str]], bool]) -> list[str]:
    """What the process says, up to where that is enough; all of it where the process ends before."""
    assert process.stdout is not None
    said: list[str] = []
    while not until(said) and (line := process.stdout.readline()):
        said.append(line.strip())
    return said


def start(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def rows(here: Site, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(here.path)
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def states(here: Site) -> dict[str, str]:
    """The state of every action."""
    return dict(rows(here, "SELECT action_id, state FROM actions"))


def noted(here: Site, *kinds: str) -> list[str]:
    """The actions that events of these kinds are about."""
    return [
        json.loads(event.body)["remit.action_id"]
        for event in here.governance.audit.audit_events()
        if event.kind in kinds
    ]


def assert_coherent(here: Site) -> None:
    """Every action has its intent and every end its event, once; and the trail is sound."""
    found = states(here)
    over = [action for action, state in found.items() if state != "in_progress"]
    assert sorted(noted(here, "call_intent")) == sorted(found)
    assert sorted(noted(here, "call_outcome", "call_recovered")) == sorted(over)
    assert review(here.governance.audit.audit_events()).is_sound


# --- killed processes --------------------------------------------------------------------------------------------------------


def test_fault_f12_calls_in_flight_of_a_killed_process_become_unknown_and_are_never_sent_again(here: Site) -> None:
    with calling(here, "flight", "50") as process:
        said = lines(process, lambda said: said[-1:] == ["all"])
        process.send_signal(signal.SIGKILL)
        process.wait(SECONDS)
    in_flight = said[:-1]
    assert states(here) == dict.fromkeys(in_flight, "in_progress")
    with here.journal("r1") as journal:
        assert states(here) == dict.fromkeys(in_flight, "unknown")
        assert sorted(noted(here, "call_recovered")) == sorted(in_flight)
        again = [journal.begin(intent(a_call(here, stamp=here.stamp), key=f"key-{number}")) for number in (0, 49)]
        assert [future.result(SECONDS) for future in again] == [
            Replayed(StoredOutcome(action_id=action, state=ActionState.UNKNOWN, result=None))
            for action in (in_flight[0], in_flight[49])
        ]
        assert rows(here, "SELECT DISTINCT state FROM runs WHERE run_id <> 'r1'") == [("failed",)]
        assert_coherent(here)


@pytest.mark.parametrize("after", [1, 40, 400])
def test_fault_f6_a_process_killed_in_the_middle_of_calls_leaves_nothing_half_written(here: Site, after: int) -> None:
    with calling(here, "flood") as process:
        said = lines(process, lambda said: len(said) >= after)
        process.send_signal(signal.SIGKILL)
        said += lines(process, lambda _: False)
        process.wait(SECONDS)
    begun = {line.split()[1] for line in said if line.startswith("begun ")}
    over = {line.split()[1] for line in said if line.startswith("ended ")}
    found = states(here)
    # Whoever was told that its intent is durable finds it; and whoever was told of the end finds the end.
    assert begun <= set(found)
    assert {found[action] for action in over} <= {"completed"}
    assert_coherent(here)
    with here.journal():
        assert "in_progress" not in states(here).values()
        assert_coherent(here)


def test_fault_f8_an_outcome_whose_reply_was_lost_is_read_by_its_key(here: Site) -> None:
    with calling(here, "reply-lost", "operation-7") as process:
        said = lines(process, lambda _: False)
        assert process.wait(SECONDS) == -signal.SIGKILL
    with here.journal("r1") as journal:
        stored = StoredOutcome(action_id=said[0], state=ActionState.COMPLETED, result={"content": "two issues"})
        again = journal.begin(intent(a_call(here), key="operation-7")).result(SECONDS)
        assert again == Replayed(stored)
        assert_coherent(here)


# --- several processes ---------------------------------------------------------------------------------------------------------


def test_twenty_racing_consumers_in_four_processes_use_one_approval_once(here: Site) -> None:
    with here.journal("r1") as journal:
        asking = a_call(here)
        journal.begin(intent(asking, approval=BINDING)).result(SECONDS)
    decided = here.governance.approvals.decide_approval(
        "local",
        f"approval-of-{asking.action_id}",
        ApprovalState.APPROVED,
        approver="user:ana",
        reason=None,
        at=here.clock.now,
    )
    assert decided is not None
    assert decided.changed
    with (
        calling(here, "consume", "5") as one,
        calling(here, "consume", "5") as two,
        calling(here, "consume", "5") as three,
        calling(here, "consume", "5") as four,
    ):
        processes = (one, two, three, four)
        for process in processes:
            assert lines(process, lambda said: len(said) == 1) == ["ready"]
        for process in processes:
            start(process)
        answers = [answer for process in processes for answer in lines(process, lambda said: len(said) == 5)]
    assert sorted(answers) == [*["ApprovalWaiting"] * 19, "Started"]


def test_two_processes_write_one_chain_without_a_gap_and_without_a_fork(here: Site) -> None:
    with calling(here, "note", "200") as one, calling(here, "note", "200") as two:
        for process in (one, two):
            assert lines(process, lambda said: len(said) == 1) == ["ready"]
        for process in (one, two):
            start(process)
        assert [lines(process, lambda said: len(said) == 1) for process in (one, two)] == [["done"], ["done"]]
        assert [process.wait(SECONDS) for process in (one, two)] == [0, 0]
    found = review(here.governance.audit.audit_events())
    (chain,) = (chain for chain in found.chains if chain.writer == "shared")
    facts = [event.seq for event in here.governance.audit.audit_events() if event.kind == "contract_drift"]
    assert (found.is_sound, chain.events, chain.head.seq, len(facts)) == (True, chain.head.seq, chain.events, 400)


# --- full disks ------------------------------------------------------------------------------------------------------------------


class Disk:
    """A disk that holds so many pages for connections that are opened from now on."""

    def __init__(self, path: Path):
        self.file = SqliteFile(path)
        self.pages = 1_000_000
        event.listen(self.file.writer, "connect", self._limit)

    def _limit(self, connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {self.pages}")


@contextmanager
def journal_on(disk: Disk, here: Site) -> Generator[Journal]:
    writer = JournalWriter(disk.file, writer="here", new_id=new_id, clock=here.clock, heartbeat_seconds=5.0)
    journal = Journal(writer, Access(disk.file), busy_seconds=SECONDS, traces=TraceQueue())
    journal.start()
    try:
        yield journal
    finally:
        disk.pages = 1_000_000
        journal.close()


def codes(futures: "list[Future[Any]]") -> set[str]:
    """How futures ended: `done`, or the code of their error."""
    errors = [future.exception(SECONDS) for future in futures]
    return {
        "done" if error is None else error.code if isinstance(error, StoreError) else str(error) for error in errors
    }


@pytest.mark.parametrize("spare", [0, 1, 2, 4, 8])
def test_fault_f14_on_a_full_disk_no_call_goes_out_and_there_is_room_for_calls_when_there_is_room(
    here: Site, spare: int
) -> None:
    with here.journal("r1"):
        pass
    stamp = here.stamp
    size = here.path.stat().st_size // 4096
    disk = Disk(here.path)
    disk.pages = size + spare
    with journal_on(disk, here) as journal:
        journal.ledger.start_run(here.run("r2"))
        full = False
        for _ in range(200):
            futures = [journal.begin(intent(a_call(here, "r2", stamp=stamp))) for _ in range(8)]
            ended_as = codes(futures)
            assert ended_as in ({"done"}, {"database-full"})
            assert_coherent(here)
            if ended_as == {"database-full"}:
                full = True
                break
        assert full
        disk.pages = 1_000_000
        facts = a_call(here, "r2", stamp=stamp)
        assert journal.begin(intent(facts)).result(SECONDS) == Started()
        assert journal.end(ended(facts)).result(SECONDS) is True
    assert_coherent(here)


def test_fault_f14_an_outcome_that_finds_no_room_is_kept_once_there_is_room(here: Site) -> None:
    disk = Disk(here.path)
    with journal_on(disk, here) as journal:
        journal.ledger.start_run(here.run("r1"))
        facts = a_call(here)
        journal.begin(intent(facts, key="k")).result(SECONDS)
        # The limit counts for a connection that is opened, so this one is made to open another.
        disk.pages = 1
        away = here.path.with_name("away.db")
        here.path.rename(away)
        assert codes([journal.end(ended(facts))]) == {"no-database"}
        away.rename(here.path)
        assert codes([journal.end(ended(facts, output="x" * 100_000))]) == {"database-full"}
        assert states(here) == {facts.action_id: "in_progress"}
        disk.pages = 1_000_000
        until(lambda: states(here) == {facts.action_id: "completed"})
        again = journal.begin(intent(a_call(here), key="k")).result(SECONDS)
        assert isinstance(again, Replayed)
    assert_coherent(here)


def test_fault_f14_an_outcome_is_kept_on_the_way_out_if_there_is_room_by_then(here: Site) -> None:
    disk = Disk(here.path)
    with journal_on(disk, here) as journal:
        journal.ledger.start_run(here.run("r1"))
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        away = here.path.with_name("away.db")
        here.path.rename(away)
        assert codes([journal.end(ended(facts))]) == {"no-database"}
        away.rename(here.path)
    assert states(here) == {facts.action_id: "completed"}
    assert_coherent(here)
