"""A trace as a sequence of messages: in order, with time and direction, every text of a server escaped."""

from datetime import timedelta

from remit.core.canonical import JsonObject
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.render.trace_text import trace_document, trace_text, traces_document, traces_text
from tests.render.examples import NOON
from tests.render.governed_examples import HOSTILE, SAFE, controls_of

SENT, RECEIVED, LOCAL = Direction.SENT, Direction.RECEIVED, Direction.LOCAL


def event(
    number: int,
    kind: EventKind,
    direction: Direction,
    body: JsonObject,
    *,
    connection: str = "c-1",
    server: str = "issues",
    trace: str = "trace-1",
) -> ProtocolEvent:
    return ProtocolEvent(
        trace_id=trace,
        connection_id=connection,
        server=server,
        sequence=number,
        at=NOON + timedelta(milliseconds=10 * number - 10),
        kind=kind,
        direction=direction,
        body=body,
    )


def request(number: int, method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answer(number: int, result: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def notification(method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "method": method, "params": params}


INITIALIZE: JsonObject = {
    "protocolVersion": "2025-11-25",
    "clientInfo": {"name": "remit", "version": "0.1.0"},
    "capabilities": {},
}
IDENTITY: JsonObject = {
    "protocolVersion": "2025-11-25",
    "serverInfo": {"name": "issues", "version": "1.2"},
    "capabilities": {"tools": {"listChanged": True}, "logging": {}},
    "instructions": "Be kind.",
}
TOOLS: JsonObject = {"tools": [{"name": "create"}, {"name": "search"}], "nextCursor": "p2"}
CREATE: JsonObject = {"name": "create", "arguments": {"title": "broken"}}
PROGRESS: JsonObject = {"progressToken": 3, "progress": 1, "total": 4, "message": "working"}

STORY = (
    event(1, EventKind.OPEN, LOCAL, {"transport": "stdio", "command": ["python", "-m", "issues"]}),
    event(2, EventKind.HANDSHAKE, SENT, request(0, "initialize", INITIALIZE)),
    event(3, EventKind.HANDSHAKE, RECEIVED, answer(0, IDENTITY)),
    event(4, EventKind.HANDSHAKE, SENT, {"jsonrpc": "2.0", "method": "notifications/initialized"}),
    event(5, EventKind.HANDSHAKE, LOCAL, {"era": "legacy", "protocol_version": "2025-11-25"}),
    event(6, EventKind.PAGE, SENT, request(1, "tools/list", {})),
    event(7, EventKind.PAGE, RECEIVED, answer(1, TOOLS)),
    event(8, EventKind.PAGE, SENT, request(2, "tools/list", {"cursor": "p2"})),
    event(9, EventKind.PAGE, RECEIVED, answer(2, {"tools": []})),
    event(10, EventKind.CALL, SENT, request(3, "tools/call", CREATE)),
    event(11, EventKind.NOTIFICATION, RECEIVED, notification("notifications/progress", PROGRESS)),
    event(12, EventKind.CALL, RECEIVED, answer(3, {"content": [{"type": "text", "text": "done"}]})),
    event(13, EventKind.CALL, SENT, request(4, "tools/call", {"name": "search", "arguments": {}})),
    event(
        14,
        EventKind.NOTIFICATION,
        SENT,
        notification("notifications/cancelled", {"requestId": 4, "reason": "run over"}),
    ),
    event(15, EventKind.CALL, RECEIVED, {"jsonrpc": "2.0", "id": 4, "error": {"code": -32000, "message": "cancelled"}}),
    event(16, EventKind.NOTIFICATION, RECEIVED, {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
    event(17, EventKind.CLOSE, LOCAL, {"exit_code": 0}),
)


def test_a_whole_turn_is_drawn_in_order_with_time_direction_and_what_was_said():
    assert trace_text("trace-1", STORY, full=False, colour=False) == (
        "Trace trace-1  2026-11-30T12:00:00Z\n"
        '    +0.000s   *   issues  open: transport stdio command ["python","-m","issues"]\n'
        "    +0.010s  -->  issues  initialize #0  protocol 2025-11-25, client remit 0.1.0\n"
        "    +0.020s  <--  issues  answer #0 to initialize  protocol 2025-11-25, server issues 1.2, "
        'offers logging tools, instructions "Be kind."\n'
        "    +0.030s  -->  issues  notifications/initialized\n"
        "    +0.040s   *   issues  handshake: era legacy protocol_version 2025-11-25\n"
        "    +0.050s  -->  issues  tools/list #1\n"
        "    +0.060s  <--  issues  answer #1 to tools/list  2 tools: create, search; more from cursor p2\n"
        "    +0.070s  -->  issues  tools/list #2  from cursor p2\n"
        "    +0.080s  <--  issues  answer #2 to tools/list  0 tools\n"
        '    +0.090s  -->  issues  tools/call #3  create {"title":"broken"}\n'
        "    +0.100s  <--  issues  notifications/progress  1 of 4: working\n"
        '    +0.110s  <--  issues  answer #3 to tools/call  create ok: [{"text":"done","type":"text"}]\n'
        "    +0.120s  -->  issues  tools/call #4  search {}\n"
        "    +0.130s  -->  issues  notifications/cancelled  request #4: run over\n"
        "    +0.140s  <--  issues  answer #4 to tools/call  error -32000: cancelled\n"
        "    +0.150s  <--  issues  notifications/tools/list_changed\n"
        "    +0.160s   *   issues  close: exit_code 0\n"
        "17 events, 1 server\n"
    )


def test_the_modern_era_shows_versions_identity_and_abilities_of_the_probe():
    probed: JsonObject = {
        "supportedVersions": ["2026-07-28"],
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "m", "version": "2"}},
        "capabilities": {"tools": {}},
    }
    events = (
        event(1, EventKind.PROBE, SENT, request(0, "server/discover", {"_meta": {"x": 1}})),
        event(2, EventKind.PROBE, RECEIVED, answer(0, probed)),
    )
    assert trace_text("trace-1", events, full=False, colour=False).splitlines()[1:3] == [
        "    +0.000s  -->  issues  server/discover #0",
        "    +0.010s  <--  issues  answer #0 to server/discover  protocols 2026-07-28, server m 2, offers tools",
    ]


def test_long_arguments_are_cut_and_whole_only_in_full():
    events = (event(1, EventKind.CALL, SENT, request(3, "tools/call", {"name": "a", "arguments": {"t": "y" * 900}})),)
    cut, full = (trace_text("trace-1", events, full=full, colour=False) for full in (False, True))
    assert "yyy... (908 characters)" in cut
    assert "y" * 900 not in cut
    assert '\n            "t": "' + "y" * 900 + '"\n' in full


def test_what_opened_the_connection_before_the_turn_has_a_negative_time():
    events = (
        event(1, EventKind.OPEN, LOCAL, {}, trace="earlier"),
        event(101, EventKind.CALL, SENT, request(9, "tools/call", {"name": "a"})),
    )
    assert [line.split()[0] for line in trace_text("trace-1", events, full=False, colour=False).splitlines()[1:3]] == [
        "-1.000s",
        "+0.000s",
    ]


def test_two_connections_to_one_server_are_told_apart_and_their_numbers_do_not_mix():
    events = (
        event(1, EventKind.CALL, SENT, request(3, "tools/call", {"name": "a"})),
        event(2, EventKind.PAGE, SENT, request(3, "tools/list", {}), connection="c-2"),
        event(3, EventKind.PAGE, RECEIVED, answer(3, {"tools": []}), connection="c-2"),
        event(4, EventKind.CALL, RECEIVED, answer(3, {"content": [], "isError": True})),
    )
    lines = trace_text("trace-1", events, full=False, colour=False).splitlines()
    assert lines[3] == "    +0.020s  <--  issues (2)  answer #3 to tools/list  0 tools"
    assert lines[4] == "    +0.030s  <--  issues      answer #3 to tools/call  a tool error: []"


def test_a_servers_own_request_is_not_taken_for_ours_of_the_same_number():
    events = (
        event(1, EventKind.CALL, SENT, request(1, "tools/call", {"name": "a"})),
        event(2, EventKind.MESSAGE, RECEIVED, request(1, "roots/list", {"why": "x"})),
        event(3, EventKind.MESSAGE, SENT, answer(1, {"roots": []})),
    )
    assert trace_text("trace-1", events, full=False, colour=False).splitlines()[2:4] == [
        '    +0.010s  <--  issues  roots/list #1  {"why":"x"}',
        '    +0.020s  -->  issues  answer #1 to roots/list  {"roots":[]}',
    ]


def test_hostile_servers_forge_no_line_and_no_control_sequence():
    bodies: tuple[JsonObject, ...] = (
        {"jsonrpc": "2.0", "method": HOSTILE, "id": HOSTILE, "params": {HOSTILE: HOSTILE}},
        {"jsonrpc": "2.0", "id": HOSTILE, "error": {"code": HOSTILE, "message": HOSTILE}},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": HOSTILE, "message": HOSTILE}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": HOSTILE, "reason": HOSTILE}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": HOSTILE}},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": HOSTILE}, 7, None], "nextCursor": HOSTILE}},
        {HOSTILE: HOSTILE},
    )
    events = [event(1, EventKind.NOISE, LOCAL, {"line": HOSTILE}, server=HOSTILE)]
    events += [event(2, EventKind.MESSAGE, RECEIVED, body, server=HOSTILE) for body in bodies]
    cut, full = (trace_text("trace-1", events, full=full, colour=False) for full in (False, True))
    assert (controls_of(cut), controls_of(full)) == (set(), set())
    assert len(cut.splitlines()) == len(events) + 2
    assert f"noise: line {SAFE}" in cut
    assert not any(line.lstrip().startswith(("::", '"::')) for line in full.splitlines())


def test_messages_that_are_none_of_the_protocol_are_shown_as_json():
    bodies: tuple[JsonObject, ...] = (
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 7, "clientInfo": "nobody"}},
        {"id": 1, "result": "odd"},
        {"id": 2, "method": "tools/call", "params": {"name": ["n"]}},
        {"id": 2, "result": {}},
        {"id": 3, "result": None},
        {"error": "none"},
    )
    events = [
        event(number, EventKind.MESSAGE, SENT if "method" in body else RECEIVED, body)
        for number, body in enumerate(bodies, 1)
    ]
    words = [
        line.partition("issues  ")[2] for line in trace_text("t", events, full=False, colour=False).splitlines()[1:-1]
    ]
    assert words == [
        "initialize #1  protocol 7, client null",
        'answer #1 to initialize  "odd"',
        'tools/call #2  ["n"] {}',
        'answer #2 to tools/call  ["n"] ok: {}',
        "answer #3  null",
        "answer #null  error null: null",
    ]


def test_errors_cancellations_and_noise_stand_out_in_colour_only_there():
    coloured = trace_text("trace-1", STORY, full=False, colour=True).splitlines()
    assert [number for number, line in enumerate(coloured) if "\x1b[1;31m" in line] == [14, 15]


def test_traces_are_listed_with_their_start_and_size():
    assert traces_text([("trace-1", NOON, 17)], colour=False) == "Traces\n  trace-1  2026-11-30T12:00:00Z  17 events\n"
    assert traces_text([], colour=False) == "Traces\n  none are kept\n"


def test_the_documents_are_closed_and_versioned():
    assert trace_document("trace-1", STORY[:1]) == {
        "format_version": "1.0",
        "trace_id": "trace-1",
        "events": [
            {
                "trace_id": "trace-1",
                "connection_id": "c-1",
                "server": "issues",
                "sequence": 1,
                "at": "2026-11-30T12:00:00.000000Z",
                "kind": "open",
                "direction": "local",
                "body": {"transport": "stdio", "command": ["python", "-m", "issues"]},
            }
        ],
    }
    assert traces_document([("trace-1", NOON, 17)]) == {
        "format_version": "1.0",
        "traces": [{"trace_id": "trace-1", "started_at": "2026-11-30T12:00:00Z", "events": 17}],
    }
