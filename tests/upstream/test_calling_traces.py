"""The protocol trace of calls: each event under the turn that caused it, values left out where that is wanted."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.core.events import Direction, EventKind, ProtocolEvent
from tests.servers.http_server import HttpServer
from tests.upstream.calls import a_call, connections, contract_of, fault, limited, recorded, said, server_from, until
from tests.upstream.support import SECRET, KeptEvents, raw_server


def told(events: list[ProtocolEvent]) -> list[str]:
    return [f"{event.trace_id} {event.kind.value} {event.direction.value}" for event in events]


def test_events_belong_to_the_turn_that_caused_them_and_every_other_turn_is_linked():
    sink, links = KeptEvents(), list[tuple[str, str]]()

    async def main() -> None:
        async with connections(sink=sink, links=links) as every:
            connection = every.of(recorded(raw_server(era="modern", progress=1)))
            await contract_of(connection, trace_id="opened")
            for trace_id in ("opened", "first", "second", "first"):
                said(await connection.call(replace(a_call(), trace_id=trace_id)))

    asyncio.run(main())
    handshake = ["open local", "probe sent", "probe received", "handshake local", "page sent", "page received"]
    call = ["call sent", "notification received", "call received"]
    expected = [
        ("opened", handshake + call),
        ("first", call),
        ("second", call),
        ("first", call),
        ("opened", ["close local"]),
    ]
    assert told(sink.events) == [f"{trace} {event}" for trace, events in expected for event in events]
    assert links == [("first", "connection-1"), ("second", "connection-1")]
    assert [event.sequence for event in sink.events] == list(range(1, len(sink.events) + 1))


def test_calls_at_the_same_time_keep_their_traces_apart():
    sink = KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(progress=2)))
            await contract_of(connection)
            calls = (connection.call(replace(a_call(n=n), trace_id=f"turn-{n}")) for n in range(8))
            await asyncio.gather(*calls)

    asyncio.run(main())
    for n in range(8):
        mine = [event for event in sink.events if event.trace_id == f"turn-{n}"]
        ids = {str(event.body.get("id")) for event in mine if event.kind is EventKind.CALL}
        assert (len(mine), len(ids)) == (4, 1)


def test_a_cancelled_notification_and_a_late_answer_belong_to_the_call():
    sink = KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(call_seconds=0.3)))
            await contract_of(connection)
            assert fault(await connection.call(replace(limited(0.1, 5), trace_id="late"))) == ("timeout_idle", "lost")
            await until(lambda: told(sink.events)[-1].endswith("call received"))

    asyncio.run(main())
    mine = [event for event in sink.events if event.trace_id == "late"]
    assert told(mine) == ["late call sent", "late notification sent", "late call received"]


def test_each_opening_is_a_connection_of_its_own_in_the_trace_of_the_turn_that_caused_it():
    sink, links = KeptEvents(), list[tuple[str, str]]()

    async def main() -> None:
        async with connections(sink=sink, links=links) as every:
            connection = every.of(recorded(raw_server(die_on={"tools/call": 1})))
            for trace_id in ("one", "two"):
                assert fault(await connection.call(replace(a_call(), trace_id=trace_id))) == ("server_gone", "lost")
                await until(lambda: sink.events[-1].kind is EventKind.CLOSE)

    asyncio.run(main())
    opened = [(e.trace_id, e.connection_id, e.sequence) for e in sink.events if e.kind is EventKind.OPEN]
    assert (opened, links) == ([("one", "connection-1", 1), ("two", "connection-2", 1)], [])


def test_a_shared_listing_belongs_to_the_turn_that_asked_first():
    sink = KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server()))
            said(await connection.call(replace(a_call(), trace_id="caller")))
            await asyncio.gather(*(contract_of(connection, trace_id=trace) for trace in ("asks", "joins")))

    asyncio.run(main())
    assert [e.trace_id for e in sink.events if e.kind is EventKind.PAGE] == ["asks", "asks"]


def test_a_call_whose_values_are_not_kept_leaves_digests_and_sizes():
    sink = KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(progress=1)))
            answer = await connection.call(replace(a_call(patient="dummy-patient"), full_record=False))
            assert said(answer)["arguments"] == {"patient": "dummy-patient"}
            said(await connection.call(a_call(patient="dummy-other")))

    asyncio.run(main())
    calls = [event.body for event in sink.events if event.kind is EventKind.CALL]
    sent, received = calls[0], calls[1]
    assert "dummy-patient" not in sink.text()
    assert "dummy-other" in sink.text()
    params, result = sent["params"], received["result"]
    assert isinstance(params, dict)
    assert isinstance(result, dict)
    assert (sent["method"], params["name"], sorted(params)) == ("tools/call", "echo", ["bytes", "name", "sha256"])
    assert (received["id"], sorted(result), len(str(result["sha256"]))) == (sent["id"], ["bytes", "sha256"], 64)
    progress = next(e.body for e in sink.events if e.kind is EventKind.NOTIFICATION)
    assert "working" not in json.dumps(progress)


WORDS = "dummy-patient is ill"
SAID: dict[str, dict[str, Any]] = {
    "a log message": {"frames": [{"method": "notifications/message", "params": {"data": WORDS, "name": WORDS}}]},
    "an unknown notification": {"frames": [{"method": WORDS, "params": {"x": 1}}]},
    "a question": {"frames": [{"id": WORDS, "method": "sampling/createMessage", "params": {"messages": [WORDS]}}]},
    "an answer to nobody": {"frames": [{"id": 9999, "result": {"x": WORDS}}]},
    "an error to nobody": {"frames": [{"id": WORDS, "error": {"code": -32000, "message": WORDS}}]},
    "an answer with words for a flag": {"frames": [{"id": "{id}", "result": {"isError": WORDS, "content": []}}]},
    "progress with words for numbers": {
        "frames": [
            {"method": "notifications/progress", "params": {"progressToken": 101, "total": WORDS, "name": WORDS}}
        ]
    },
    "a line that is no message": {"say": {"tools/call": f"called with {WORDS}\n"}},
    "stderr": {"stderr": f"called with {WORDS}\n"},
}


def recorded_of(path: Path, how: str, *kept: bool) -> str:
    """What is recorded of calls to a server that says these words with each of them."""
    sink, options = KeptEvents(), dict(SAID[how])
    if frames := options.get("frames"):
        options["frames"] = {"tools/call": [{"jsonrpc": "2.0", **frame} for frame in frames]}

    async def main() -> None:
        async with connections(sink=sink) as every:
            # The options are in a file, as the command is recorded.
            connection = every.of(recorded(server_from(path, **options)))
            for full in kept:
                await connection.call(replace(a_call(), full_record=full))

    asyncio.run(main())
    return sink.text()


@pytest.mark.parametrize("how", SAID)
def test_what_a_server_says_beside_a_call_whose_values_are_not_kept_leaves_no_words(how: str, tmp_path: Path):
    assert WORDS not in recorded_of(tmp_path / "options", how, False)
    assert WORDS in recorded_of(tmp_path / "options", how, True)


def test_a_question_beside_such_a_call_and_its_answer_are_still_seen_to_belong_together(tmp_path: Path):
    events = json.loads(recorded_of(tmp_path / "options", "a question", False))
    asked = next(event for event in events if event.get("method") == "sampling/createMessage")
    answered = [event for event in events if event.get("id") == asked["id"] and "error" in event]
    assert (asked["id"].startswith("sha256:"), len(answered)) == (True, 1)


def test_what_belongs_to_no_call_leaves_no_words_either_once_a_connection_had_values_that_are_not_kept(tmp_path: Path):
    assert WORDS not in recorded_of(tmp_path / "options", "a log message", False, True)


def test_an_rpc_error_of_a_call_whose_values_are_not_kept_leaves_its_code():
    sink = KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(error_on={"tools/call": [-32000, "dummy-patient is ill"]})))
            await connection.call(replace(a_call(), full_record=False))

    asyncio.run(main())
    received = [e.body for e in sink.events if e.kind is EventKind.CALL and e.direction is Direction.RECEIVED]
    error = received[0]["error"]
    assert isinstance(error, dict)
    assert (error["code"], "message" in error) == (-32000, False)


def test_a_secret_is_masked_in_errors_progress_and_events():
    sink, seen = KeptEvents(), list[str]()

    async def keep(progress: object) -> None:
        seen.append(str(progress))

    async def main() -> None:
        params = {"progressToken": "{id}", "progress": 1, "message": f"with {SECRET}"}
        frame = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        refused = {"tools/call": [-32000, f"bad token {SECRET}"]}
        async with connections(sink=sink, environ={"IT": SECRET}) as every:
            server = raw_server(frames={"tools/call": [frame]}, error_on=refused)
            connection = every.of(recorded(server, env={"TOKEN": "${env:IT}"}))
            answer = await connection.call(replace(a_call(said=SECRET), on_progress=keep))
            assert "bad token ***" in str(answer)
            await until(lambda: len(seen) == 1)

    asyncio.run(main())
    assert ("with ***" in seen[0], SECRET in sink.text() + str(seen)) == (True, False)


def test_notifications_of_no_request_are_recorded_up_to_a_limit():
    sink = KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(frames={"tools/call": [LOG] * 600})))
            for _ in range(3):
                said(await connection.call(a_call()))

    asyncio.run(main())
    noted = [event for event in sink.events if event.kind is EventKind.NOTIFICATION]
    assert (len(noted), noted[-1].body) == (1_000 + 1, {"left_out": 800})


def test_a_flood_of_requests_of_the_server_is_answered_and_recorded_up_to_a_limit_and_costs_no_call(
    tmp_path: Path,
):
    sink = KeptEvents()
    pings = "".join(json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}) + "\n" for n in range(20_000))

    async def main() -> None:
        async with connections(sink=sink) as every:
            # The server reads nothing while it writes, so the answers wait for it.
            said(await every.of(recorded(server_from(tmp_path / "options", say={"tools/call": pings}))).call(a_call()))

    asyncio.run(main())
    asked = [
        event for event in sink.events if event.kind is EventKind.MESSAGE and event.direction is Direction.RECEIVED
    ]
    answers = [event for event in sink.events if event.kind is EventKind.MESSAGE and event.direction is Direction.SENT]
    (left_out,) = [event.body["left_out"] for event in sink.events if "left_out" in event.body]
    assert (len(asked) + int(str(left_out)), len(answers) <= len(asked) <= 1_000) == (20_000, True)


@pytest.mark.parametrize("apart", [False, True], ids=["one piece", "many pieces"])
def test_each_request_of_a_server_is_recorded_once_and_answered_however_they_are_cut(apart: bool):
    sink = KeptEvents()
    pings = [{"jsonrpc": "2.0", "id": f"p{n}", "method": "ping"} for n in range(20)]
    whole = "".join(json.dumps(ping) + "\n" for ping in pings)
    options: dict[str, Any] = {"frames": {"tools/call": pings}} if apart else {"say": {"tools/call": whole}}

    def of(direction: Direction) -> list[object]:
        return [
            event.body["id"] for event in sink.events if (event.kind, event.direction) == (EventKind.MESSAGE, direction)
        ]

    async def main() -> None:
        async with connections(sink=sink) as every:
            said(await every.of(recorded(raw_server(**options))).call(a_call()))
            await until(lambda: len(of(Direction.SENT)) == 20)

    asyncio.run(main())
    numbers = [ping["id"] for ping in pings]
    assert (of(Direction.RECEIVED), sorted(of(Direction.SENT), key=str)) == (numbers, sorted(numbers))


LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}


def test_a_sink_gets_the_events_of_http_calls_too():
    sink = KeptEvents()

    async def main() -> None:
        with HttpServer(era="modern") as it:
            async with connections(sink=sink) as every:
                await every.of(recorded(it.url)).call(a_call())

    asyncio.run(main())
    assert told(sink.events)[-3:] == ["trace-call call sent", "trace-call call received", "trace-call close local"]
