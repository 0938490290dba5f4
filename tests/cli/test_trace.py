"""`remit trace`: what went over the wire in one turn."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from remit.core.canonical import JsonObject
from remit.core.events import Direction, EventKind, ProtocolEvent
from tests.cli.governed import HOST, OWNER, Rows
from tests.cli.workspace import Workspace

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def event(trace: str, number: int, kind: EventKind, direction: Direction, body: JsonObject) -> ProtocolEvent:
    return ProtocolEvent(
        trace_id=trace,
        connection_id=f"connection-of-{trace}",
        server="issues",
        sequence=number,
        at=NOON + timedelta(milliseconds=number),
        kind=kind,
        direction=direction,
        body=body,
    )


@pytest.fixture
def traced(rows: Rows) -> Rows:
    call: JsonObject = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "a\x1b[2J", "arguments": {}},
    }
    rows.record(
        event("trace-one", 1, EventKind.OPEN, Direction.LOCAL, {"transport": "stdio"}),
        event("trace-one", 2, EventKind.CALL, Direction.SENT, call),
        event("trace-two", 1, EventKind.OPEN, Direction.LOCAL, {}),
    )
    return rows


def test_a_trace_is_drawn_in_order_and_escaped(here: Workspace, traced: Rows):
    ended = here.run("trace", "show", "trace-one")
    assert ended.code == 0
    assert ended.out.splitlines()[1:] == [
        "    +0.000s   *   issues  open: transport stdio",
        r"    +0.001s  -->  issues  tools/call #1  a\x1b[2J {}",
        "2 events, 1 server",
    ]
    assert '          "arguments": {}' in here.run("trace", "show", "trace-one", "--full").out


def test_the_document_holds_every_message_whole(here: Workspace, traced: Rows):
    document = here.run("trace", "show", "trace-one", "--format", "json").document
    assert (document["format_version"], document["trace_id"]) == ("1.0", "trace-one")
    assert [each["sequence"] for each in document["events"]] == [1, 2]
    assert document["events"][1]["body"]["params"] == {"name": "a\x1b[2J", "arguments": {}}


def test_traces_are_listed(here: Workspace, traced: Rows):
    listed = here.run("trace", "list", "--format", "json").document["traces"]
    assert sorted((each["trace_id"], each["events"]) for each in listed) == [("trace-one", 2), ("trace-two", 1)]
    assert "trace-one  2026-11-30T12:00:00Z  2 events" in here.run("trace", "list").out
    assert len(here.run("trace", "list", "--limit", "1", "--format", "json").document["traces"]) == 1


def test_an_unknown_trace_is_refused_with_the_one_that_was_meant(here: Workspace, traced: Rows):
    ended = here.run("trace", "show", "trace-on")
    assert (ended.code, "did you mean trace-one?" in ended.err) == (64, True)


def test_a_turn_in_which_nothing_went_over_the_wire_points_to_what_was_decided(here: Workspace, traced: Rows):
    run = traced.start()
    ended = here.run("trace", "show", run)
    assert (ended.code, ended.out) == (0, f"Trace {run}\n0 events, 0 servers\n")
    assert ended.err == f"No message is kept of it; what was decided: remit audit tail --trace {run}\n"


def test_what_the_file_keeps_no_longer_is_dropped_on_demand(here: Workspace, rows: Rows):
    for days in (8, 2):
        rows.record(aged(days))
    told = here.run("trace", "prune")
    assert (told.code, told.out) == (0, "dropped what is older than 7 days: 1 protocol event\n")
    assert here.run("trace", "prune").out == "dropped what is older than 7 days: nothing was\n"
    dropped = here.run("trace", "prune", "--days", "1", "--format", "json").document
    assert dropped == {
        "format_version": "1.0",
        "owner": OWNER,
        "days": 1,
        "dropped": {"protocol_events": 1, "outputs": 0, "results": 0, "approvals": 0},
    }
    assert here.run("trace", "list", "--format", "json").document["traces"] == []


def aged(days: int) -> ProtocolEvent:
    """An event so old."""
    return replace(event(f"old-{days}", 1, EventKind.OPEN, Direction.LOCAL, {}), at=HOST.clock() - timedelta(days=days))


def test_nothing_is_dropped_where_nobody_can_say_how_long_it_is_kept(here: Workspace, rows: Rows):
    rows.record(aged(100))
    here.write("version: [")
    ended = here.run("trace", "prune")
    assert (ended.code, "pass --days" in ended.err) == (64, True)
    assert len(here.run("trace", "list", "--format", "json").document["traces"]) == 1
    assert here.run("trace", "prune", "--days", "0").out == "dropped what is older than 0 days: 1 protocol event\n"


@pytest.mark.parametrize("days", ["-1", "3651", "x", "nan"])
def test_a_number_of_days_that_is_none_is_a_usage_error(here: Workspace, days: str):
    assert here.run("trace", "prune", "--days", days).code == 64


def test_a_trace_is_read_without_a_valid_file(here: Workspace, traced: Rows):
    here.write("version: [")
    assert here.run("trace", "show", "trace-one").code == 0
