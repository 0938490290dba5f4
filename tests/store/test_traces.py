"""Protocol events: kept in full and in order, whatever they hold, bounded while they wait, and shown by trace."""

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.audit import AuditFact, AuditKind
from remit.core.canonical import JsonObject
from remit.core.events import Direction, EventKind, ProtocolEvent
from tests.faults.processes import until
from tests.store.calls import SECONDS, Site, a_call, intent, site
from tests.store.samples import NOW


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def event(
    sequence: int,
    kind: EventKind = EventKind.CALL,
    *,
    trace: str = "t1",
    connection: str = "c1",
    body: JsonObject | None = None,
) -> ProtocolEvent:
    return ProtocolEvent(
        trace_id=trace,
        connection_id=connection,
        server="github",
        sequence=sequence,
        at=NOW + timedelta(seconds=sequence),
        kind=kind,
        direction=Direction.SENT,
        body={"id": sequence} if body is None else body,
    )


def kept(site: Site) -> int:
    raw = sqlite3.connect(site.path)
    (count,) = raw.execute("SELECT count(*) FROM protocol_events").fetchone()
    raw.close()
    return count


def record(site: Site, *events: ProtocolEvent, links: tuple[tuple[str, str], ...] = ()) -> None:
    with site.journal() as journal:
        for each in events:
            journal.record(each)
        for trace_id, connection_id in links:
            journal.link(trace_id, connection_id)


def test_events_come_back_whole_in_order_of_time(here: Site) -> None:
    odd: JsonObject = {"text": "\ud800\0é\U0001f600", "deep": [{"n": 2**70, "x": 1.5, "none": None}]}
    events = [event(1, EventKind.OPEN), event(2, body=odd), event(3, EventKind.CLOSE)]
    record(here, events[2], events[0], events[1])
    assert here.governance.traces.trace("t1") == tuple(events)


def test_an_event_is_written_with_the_next_commit(here: Site) -> None:
    with here.journal("r1") as journal:
        journal.record(event(1))
        journal.begin(intent(a_call(here))).result(SECONDS)
        assert kept(here) == 1


def test_an_event_is_written_soon_when_nothing_else_is(here: Site) -> None:
    with here.journal() as journal:
        journal.record(event(1))
        until(lambda: kept(here) == 1)


def test_events_that_wait_when_the_journal_closes_are_written(here: Site) -> None:
    record(here, *(event(number) for number in range(1, 301)))
    assert kept(here) == 300


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"n": float("nan")}, id="not-a-number"),
        pytest.param({"a": object()}, id="an-object"),
    ],
)
def test_a_body_that_has_no_json_is_kept_as_that_fact_and_costs_the_others_nothing(
    here: Site, body: JsonObject
) -> None:
    record(here, event(1), event(2, body=body), event(3))
    found = here.governance.traces.trace("t1")
    assert [each.sequence for each in found] == [1, 2, 3]
    assert list(found[1].body) == ["remit.unencodable"]


def test_a_body_nested_too_deep_to_write_is_kept_as_that_fact(here: Site) -> None:
    deep: JsonObject = {}
    for _ in range(100_000):
        deep = {"x": deep}
    record(here, event(1, body=deep), event(2))
    found = here.governance.traces.trace("t1")
    assert [each.body for each in found] == [{"remit.unencodable": "RecursionError"}, {"id": 2}]


def test_names_that_no_database_keeps_are_made_storable(here: Site) -> None:
    record(here, replace(event(1), server="a\0b\ud800", connection_id="c\ud800"), event(2))
    found = here.governance.traces.trace("t1")
    assert [(each.server, each.connection_id) for each in found] == [("a�b?", "c?"), ("github", "c1")]


def test_numbers_given_twice_by_a_broken_connection_are_both_kept(here: Site) -> None:
    record(here, event(1), event(1))
    assert kept(here) == 2


def test_what_does_not_fit_is_counted_and_said_once(here: Site) -> None:
    journal = here.opened(trace_bytes=20_000)
    held = sqlite3.connect(here.path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    for number in range(1, 101):
        journal.record(event(number, body={"text": "x" * 1000}))
    held.execute("ROLLBACK")
    held.close()
    journal.close()
    found = here.governance.traces.trace("t1")
    whole = [each for each in found if each.kind is EventKind.CALL]
    (noise,) = (each for each in found if each.kind is EventKind.NOISE)
    assert 10 <= len(whole) <= 20
    assert (noise.body, noise.sequence, noise.direction) == (
        {"remit.lost_events": 100 - len(whole)},
        len(whole) + 1,
        Direction.LOCAL,
    )


def test_a_database_in_trouble_costs_no_events_while_they_fit(here: Site) -> None:
    with here.journal(busy_seconds=0.1) as journal:
        held = sqlite3.connect(here.path, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        journal.record(event(1))
        assert journal.note(_drift(here)).exception(SECONDS) is not None
        held.execute("ROLLBACK")
        held.close()
        until(lambda: kept(here) == 1)


def _drift(site: Site) -> AuditFact:
    return AuditFact(kind=AuditKind.CONTRACT_DRIFT, at=site.clock.now, actor="user:ana", trace_id=None, body={})


# --- traces ------------------------------------------------------------------------------------------------------------------


def test_a_trace_shows_the_connection_it_used_without_the_calls_of_others(here: Site) -> None:
    opening = [event(1, EventKind.OPEN), event(2, EventKind.HANDSHAKE), event(3, EventKind.PAGE)]
    others = [event(4), event(5, EventKind.NOTIFICATION, trace="t2"), event(6, trace="t2")]
    mine, closing = event(7, trace="t3"), event(8, EventKind.CLOSE)
    elsewhere = event(1, EventKind.OPEN, trace="t9", connection="c9")
    record(here, *opening, *others, mine, closing, elsewhere, links=(("t3", "c1"), ("t3", "c1")))
    assert here.governance.traces.trace("t3") == (*opening, mine, closing)
    assert here.governance.traces.trace("t1") == (*opening, others[0], closing)
    assert here.governance.traces.trace("t4") == ()


def test_traces_are_listed_newest_first(here: Site) -> None:
    record(here, event(1, trace="old"), event(2, trace="new"), event(3, trace="old"))
    traces = here.governance.traces
    first = NOW + timedelta(seconds=1)
    assert traces.traces(limit=9) == (("new", NOW + timedelta(seconds=2), 1), ("old", first, 2))
    assert traces.traces(limit=1) == (("new", NOW + timedelta(seconds=2), 1),)
