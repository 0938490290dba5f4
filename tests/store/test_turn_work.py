"""What a commit of the journal costs: statements, each of which lets go of the interpreter and has to get it back."""

import sqlite3
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from remit.core.call_ports import CallIdUsed, CallIntent, RunClosed, Started
from remit.core.calls import ActionState, RunState
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.store.journal_writer import JournalWriter, Work
from remit.store.sqlite import SqliteFile
from remit.store.trace_queue import Rows, event_row
from tests.store.calls import Site, a_call, ended, intent, site

BEGIN, LOOK, SAVE, ACTIONS, AUDIT, EVENTS, COMMIT = 1, 1, 1, 1, 1, 1, 1


class Statements:
    """Counts the statements that this thread hands to SQLite."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def counting(self) -> Generator[None]:
        self.count, before = 0, sys.getprofile()
        sys.setprofile(self._seen)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _seen(self, _frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and isinstance(called.__self__, sqlite3.Cursor | sqlite3.Connection):
            self.count += called.__name__ in ("execute", "executemany")


class Turns:
    """One journal's turns, one at a time in this thread."""

    def __init__(self, here: Site):
        ids = (f"id-{n}" for n in range(1_000_000))
        self._writer = JournalWriter(
            SqliteFile(here.path),
            writer="here",
            new_id=lambda: next(ids),
            clock=here.clock,
            heartbeat_seconds=float("inf"),
        )
        assert self._writer.try_to_begin()
        self._writer.open()
        self.statements = Statements()
        self.write([lambda writers: writers.runs.start(here.run("r1"))])

    def write(self, items: Sequence[Work], events: Rows = ()) -> Sequence[Any]:
        """The results of one turn, whose statements are counted."""
        with self.statements.counting():
            assert self._writer.try_to_begin()
            return self._writer.write(items, events, [])

    def close(self) -> None:
        self._writer.disconnect()


def begins(intents: Sequence[CallIntent]) -> Sequence[Work]:
    return [lambda writers, each=each: writers.calls.begin(each) for each in intents]


def events(here: Site, count: int) -> Rows:
    return [
        event_row(
            ProtocolEvent(
                trace_id="trace-r1",
                connection_id="c",
                server="up",
                sequence=number,
                at=here.clock(),
                kind=EventKind.CALL,
                direction=Direction.SENT,
                body={"id": number},
            )
        )
        for number in range(count)
    ]


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


@pytest.mark.parametrize("calls", [1, 16])
def test_a_commit_takes_the_same_few_statements_however_many_calls_begin_and_end_in_it(here: Site, calls: int) -> None:
    stamp = here.stamp
    with closing(Turns(here)) as turns:
        turns.write(begins([intent(a_call(here, stamp=stamp))]))
        begun = [intent(a_call(here, stamp=stamp)) for _ in range(calls)]
        assert turns.write(begins(begun), events(here, 2 * calls)) == [Started()] * calls
        assert turns.statements.count == BEGIN + LOOK + SAVE + ACTIONS + AUDIT + EVENTS + COMMIT
        ends = [ended(each.facts) for each in begun]
        results = turns.write([lambda writers, each=each: writers.calls.end(each) for each in ends])
        assert results == [True] * calls
        assert turns.statements.count == BEGIN + LOOK + SAVE + ACTIONS + AUDIT + COMMIT


def test_what_another_connection_wrote_is_read_again_and_nothing_else_is(here: Site) -> None:
    stamp = here.stamp
    with closing(Turns(here)) as turns:
        turns.write(begins([intent(a_call(here, stamp=stamp))]))
        turns.write(begins([intent(a_call(here, stamp=stamp))]))
        alone = turns.statements.count
        with closing(sqlite3.connect(here.path)) as other:
            other.execute("UPDATE runs SET state = 'cancelled' WHERE run_id = 'r1'")
            other.commit()
        assert turns.write(begins([intent(a_call(here, stamp=stamp))])) == [RunClosed(RunState.CANCELLED)]
        # Its schema, its instance, the head of its chain and the run, which answers before anything is written.
        assert turns.statements.count == alone - ACTIONS - AUDIT + 4


def test_an_id_that_was_used_costs_its_batch_a_second_try_and_the_others_nothing(here: Site) -> None:
    stamp = here.stamp
    with closing(Turns(here)) as turns:
        first = intent(a_call(here, stamp=stamp, tool_call_id="same"))
        assert turns.write(begins([first])) == [Started()]
        again = [intent(a_call(here, stamp=stamp, tool_call_id=name)) for name in ("a", "same", "b")]
        assert turns.write(begins(again)) == [Started(), CallIdUsed(ActionState.IN_PROGRESS), Started()]
        twice = [intent(a_call(here, stamp=stamp, tool_call_id=name)) for name in ("c", "c")]
        assert turns.write(begins(twice)) == [Started(), CallIdUsed(ActionState.IN_PROGRESS)]
    assert here.kinds() == ["run_started"] + ["call_intent"] * 4
