"""Whether a call that failed can have run: nothing that may have reached the server is called unsent, nor sent twice."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.core.desired import BearerAuth
from remit.core.remote_ports import Delivery, RemoteAnswer, RemoteError, RemoteFault, RemoteResult
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.calls import (
    a_call,
    connections,
    contract_of,
    fault,
    limited,
    lines,
    recorded,
    said,
    tools_of,
    until,
)
from tests.upstream.support import KeptEvents, alive, raw_server

EVENTS = "text/event-stream"
FORGOTTEN = {
    "404": Raw(404, b"no such session", "text/plain"),
    "400 text": Raw(400, b"no valid session", "text/plain"),
    "400 json": Raw(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}'),
}


async def over_http(it: HttpServer, **limits: float) -> RemoteAnswer:
    async with connections() as every:
        connection = every.of(recorded(it.url))
        await contract_of(connection)
        return await connection.call(limited(limits.get("idle", 10.0), limits.get("total", 20.0)))


OWN_WORDS = (
    b'{"error":"order placed, but the session store is full"}',
    b"the session was booked",
    b"session limit reached",
)
"""Answers 400 in which a tool speaks of sessions of its own."""


@pytest.mark.parametrize("words", OWN_WORDS)
def test_a_400_that_speaks_of_some_other_session_is_lost_and_the_call_is_not_sent_again(words: bytes):
    with HttpServer(era="legacy", sessions=True, on_tool={"echo": Raw(400, words)}) as it:
        answer = asyncio.run(over_http(it))
        assert isinstance(answer, RemoteFault)
        assert (answer.delivery, answer.session_lost) == (Delivery.LOST, False)
        assert it.methods().count("tools/call") == 1


@pytest.mark.parametrize("words", FORGOTTEN)
def test_case_c18_a_forgotten_session_is_renewed_and_the_call_is_repeated_once(words: str):
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True) as it:
            it.lost = FORGOTTEN[words]
            async with connections() as every:
                connection = every.of(recorded(it.url))
                await contract_of(connection)
                it.known.clear()
                answers = await asyncio.gather(*(connection.call(a_call(n=n)) for n in range(5)))
                assert {getattr(answer, "renewed", answer) for answer in answers} == {True}
                later = await connection.call(a_call())
                assert isinstance(later, RemoteResult)
                assert (later.renewed, it.methods().count("initialize")) == (False, 2)

    asyncio.run(main())


def test_case_c18_a_session_forgotten_twice_is_an_error_and_later_calls_work():
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True) as it:
            async with connections() as every:
                connection = every.of(recorded(it.url))
                await contract_of(connection)
                it.answer_on["tools/call"] = Raw(404)
                answer = await connection.call(a_call())
                assert isinstance(answer, RemoteFault)
                assert (fault(answer), answer.session_lost) == (("unreachable", "not_sent"), False)
                assert it.methods().count("tools/call") == 2
                it.answer_on.clear()
                assert isinstance(await connection.call(a_call()), RemoteResult)

    asyncio.run(main())


@pytest.mark.parametrize("words", FORGOTTEN)
def test_case_c18_a_pinned_call_is_not_repeated_but_asks_for_its_contract_anew(words: str):
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True) as it:
            it.lost = FORGOTTEN[words]
            async with connections() as every:
                connection = every.of(recorded(it.url))
                before = await contract_of(connection)
                it.known.clear()
                it.tools = [{"name": "other", "inputSchema": {"type": "object"}}]
                answer = await connection.call(replace(a_call(), session=before.session))
                assert isinstance(answer, RemoteFault)
                assert (fault(answer), answer.session_lost) == (("unreachable", "not_sent"), True)
                assert it.methods().count("tools/call") == 1
                after = await contract_of(connection)
                assert (tools_of(after), after.session != before.session) == (["other"], True)
                assert isinstance(await connection.call(replace(a_call(), session=after.session)), RemoteResult)

    asyncio.run(main())


def test_a_call_pinned_to_the_session_of_a_dead_server_is_not_sent_to_the_next_one(tmp_path: Path):
    pids, methods, sink = tmp_path / "pids", tmp_path / "methods", KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(pids=str(pids), methods=str(methods))))
            before = await contract_of(connection)
            os.kill(int(lines(pids)[0]), signal.SIGKILL)
            await until(lambda: "close local" in sink.sequence())
            answer = await connection.call(replace(a_call(), session=before.session))
            assert isinstance(answer, RemoteFault)
            assert (answer.delivery.value, answer.session_lost) == ("not_sent", True)
            after = await contract_of(connection)
            said(await connection.call(replace(a_call(), session=after.session)))

    asyncio.run(main())
    assert lines(methods).count("tools/call") == 1


HTTP_ANSWERS: dict[str, tuple[Raw, tuple[str, str], str]] = {
    "401": (Raw(401), ("unreachable", "not_sent"), "401 Unauthorized"),
    "403": (Raw(403), ("unreachable", "not_sent"), "403 Forbidden"),
    "404": (Raw(404), ("unreachable", "not_sent"), "404 Not Found"),
    "405": (Raw(405), ("unreachable", "not_sent"), "405 Method Not Allowed"),
    "413": (Raw(413), ("unreachable", "not_sent"), "413 Request Entity Too Large"),
    "429": (Raw(429, headers={"retry-after": "1000000000"}), ("unreachable", "not_sent"), "429 Too Many Requests"),
    "409": (Raw(409), ("unreachable", "lost"), "409 Conflict"),
    "500": (Raw(500, b"<h1>oops</h1>", "text/html"), ("unreachable", "lost"), "500 Internal Server Error"),
    "503": (Raw(503), ("unreachable", "lost"), "503 Service Unavailable"),
    "202": (Raw(202), ("result_invalid", "lost"), "202 Accepted"),
    "html": (Raw(200, b"<h1>log in</h1>", "text/html"), ("result_invalid", "lost"), "text/html"),
    "type": (Raw(200, b"hello", "text/plain"), ("result_invalid", "lost"), "text/plain"),
    "json": (Raw(200, b"[1, 2]"), ("result_invalid", "lost"), "no valid JSON-RPC"),
    "cut": (Raw(200, b'{"jsonrpc', claimed=500), ("server_gone", "lost"), "broke"),
    "sse cut": (Raw(200, b"event: message\n", EVENTS, claimed=-1), ("server_gone", "lost"), "ended"),
    "sse noise": (Raw(200, b"data: {nope\n\n", EVENTS, claimed=-1), ("result_invalid", "lost"), "no valid JSON-RPC"),
    "elsewhere": (Raw(302, headers={"location": "http://127.0.0.2/"}), ("result_invalid", "lost"), "redirects"),
    "looks like an error": (Raw(503, b'{"error":{"code":503,"message":"busy"}}'), ("unreachable", "lost"), "503"),
    "error of nothing": (Raw(500, b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}'), ("unreachable", "lost"), "500"),
    "empty": (Raw(200, b"", "text/plain"), ("result_invalid", "lost"), "text/plain"),
    "201": (Raw(201, b"made", "text/plain"), ("result_invalid", "lost"), "text/plain"),
    "304": (Raw(304), ("unreachable", "lost"), "304 Not Modified"),
    "headers": (
        Raw(200, b"{}", headers={f"x-{n}": "y" for n in range(10_000)}),
        ("result_invalid", "lost"),
        "JSON-RPC",
    ),
}


@pytest.mark.parametrize("kind", HTTP_ANSWERS)
def test_input_62_each_wrong_answer_is_an_error_of_its_own_and_the_call_goes_out_once(kind: str):
    raw, outcome, words = HTTP_ANSWERS[kind]

    async def main() -> None:
        with HttpServer(era="modern") as it:
            it.answer_on["tools/call"] = raw
            answer = await over_http(it)
            assert (fault(answer), words in str(answer)) == (outcome, True), answer
            assert it.methods().count("tools/call") == 1

    asyncio.run(main())


def test_input_62_an_rpc_error_under_an_http_error_is_the_servers_answer():
    async def main() -> None:
        with HttpServer(era="modern") as it:
            it.answer_on["tools/call"] = Raw(
                400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}'
            )
            assert await over_http(it) == RemoteError(rpc_code=-32602, message="bad")

    asyncio.run(main())


def test_input_62_an_answer_that_never_comes_ends_by_the_limit():
    async def main() -> None:
        with HttpServer(era="modern", stall_on=["tools/call"]) as it:
            began = time.monotonic()
            assert fault(await over_http(it, idle=0.3)) == ("timeout_idle", "lost")
            assert time.monotonic() - began < 2

    asyncio.run(main())


def test_a_server_that_stops_listening_was_not_sent_anything_and_is_reached_again_when_it_is_back():
    async def main() -> None:
        async with connections() as every:
            with HttpServer(era="modern") as it:
                connection = every.of(recorded(it.url))
                assert isinstance(await connection.call(a_call()), RemoteResult)
                port = it.port
            assert fault(await connection.call(a_call()))[1] in ("not_sent", "lost")
            assert fault(await connection.call(a_call())) == ("unreachable", "not_sent")
            with HttpServer(era="modern", port=port):
                assert isinstance(await connection.call(a_call()), RemoteResult)

    asyncio.run(main())


def test_after_a_401_the_credentials_are_read_again(tmp_path: Path):
    token = tmp_path / "token"
    token.write_text("dummy-token-one")

    async def main() -> None:
        with HttpServer(era="modern", bearer="dummy-token-one") as it:
            async with connections(environ={"REMIT_SECRET_DIRS": str(tmp_path)}) as every:
                connection = every.of(recorded(it.url, auth=BearerAuth(token=f"${{file:{token}}}")))
                assert isinstance(await connection.call(a_call()), RemoteResult)
                it.bearer = "dummy-token-two"
                token.write_text("dummy-token-two")
                assert fault(await connection.call(a_call())) == ("unreachable", "not_sent")
                assert isinstance(await connection.call(a_call()), RemoteResult)

    asyncio.run(main())


def test_input_57_answers_to_nobody_are_dropped_and_each_call_gets_its_own():
    def answer(request_id: Any, text: str) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request_id, "result": {"structuredContent": {"arguments": text}}}

    frames = [answer(9999, "wrong"), answer("wrong", "wrong"), answer(None, "wrong"), answer("{id}", "right")]

    async def main() -> None:
        async with connections() as every:
            # The server's own answer comes after the one in the frames: a duplicate.
            connection = every.of(recorded(raw_server(frames={"tools/call": frames})))
            for _ in range(3):
                assert said(await connection.call(a_call(n=1))) == {"arguments": "right"}
            assert tools_of(await contract_of(connection)) == ["echo"]

    asyncio.run(main())


def test_input_57_an_id_that_comes_back_as_text_is_the_same_id():
    async def main() -> None:
        frame = {"jsonrpc": "2.0", "id": "101", "result": {"structuredContent": {"by": "text"}}}
        async with connections() as every:
            connection = every.of(recorded(raw_server(frames={"tools/call": [frame]}, silent_on=["tools/call"])))
            assert said(await connection.call(a_call())) == {"by": "text"}

    asyncio.run(main())


NOT_THE_NUMBER: Sequence[object] = (
    77,
    0,
    -102,
    "zz",
    "",
    "0102",
    " 102",
    "102 ",
    "+102",
    "1_02",
    "\uff11\uff10\uff12",
    102.0,
    True,
    None,
)
"""Ids under which nothing was asked; the call has the number 102, as the listing before it has 101."""


def stray(request_id: object, text: str = "stray") -> bytes:
    answer = {
        "jsonrpc": "2.0",
        "id": request_id,
        "result": {"content": [{"type": "text", "text": text}], "resultType": "complete"},
    }
    return b"event: message\ndata: " + json.dumps(answer).encode() + b"\n\n"


@pytest.mark.parametrize("number", [*NOT_THE_NUMBER, 102, "102"], ids=repr)
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_input_57_an_answer_on_the_stream_of_a_call_is_its_answer_under_its_own_number_only(era: str, number: object):
    async def main() -> None:
        sink = KeptEvents()
        with HttpServer(era=era, sse=True) as it:
            it.before["tools/call"] = stray(number)
            async with connections(sink=sink) as every:
                connection = every.of(recorded(it.url))
                await contract_of(connection)
                answer = await connection.call(a_call(n=1))
        assert isinstance(answer, RemoteResult), answer
        is_ours = number in (102, "102") and type(number) in (int, str)
        assert ("stray" in str(answer.result)) == is_ours
        assert ("an answer to another request" in sink.text()) == (not is_ours)

    asyncio.run(main())


def test_input_57_a_stream_that_was_resumed_brings_no_other_answer_either():
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True) as it:
            begun = b"id: e-1\nretry: 300\ndata:\n\n"
            async with connections() as every, asyncio.timeout(10):
                connection = every.of(recorded(it.url))
                await contract_of(connection)
                it.answer_on["tools/call"] = Raw(200, begun, EVENTS, claimed=-1)
                call = asyncio.create_task(connection.call(a_call(n=1)))
                await until(lambda: "tools/call" in it.methods())
                it.answer_at["/mcp"] = Raw(200, stray(77) + stray(102, "right"), EVENTS, claimed=-1)
                answer = await call
                resumed = [seen.headers.get("last-event-id") for seen in it.seen if seen.verb == "GET"]
        assert isinstance(answer, RemoteResult), answer
        assert ("right" in str(answer.result), "e-1" in resumed) == (True, True)

    asyncio.run(main())


@pytest.mark.parametrize("number", NOT_THE_NUMBER, ids=repr)
def test_input_57_a_line_under_any_other_number_is_nobodys_answer(number: object):
    async def main() -> None:
        frames = [{"jsonrpc": "2.0", "id": number, "result": {"structuredContent": {"arguments": "stray"}}}]
        async with connections() as every:
            connection = every.of(recorded(raw_server(frames={"tools/call": frames})))
            await contract_of(connection)
            assert said(await connection.call(a_call(n=1)))["arguments"] == {"n": 1}

    asyncio.run(main())


@pytest.mark.parametrize("number", NOT_THE_NUMBER, ids=repr)
def test_input_57_a_body_under_any_other_number_is_no_answer(number: object):
    async def main() -> None:
        body = stray(number).partition(b"data: ")[2]
        with HttpServer(era="modern", answer_on={"tools/call": Raw(200, body)}) as it:
            assert fault(await over_http(it)) == ("result_invalid", "lost")

    asyncio.run(main())


def test_input_57_an_answer_that_comes_after_the_call_was_given_up_reaches_no_later_call():
    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(call_seconds=0.3)))
            await contract_of(connection)
            assert fault(await connection.call(limited(0.1, 5, n=1))) == ("timeout_idle", "lost")
            assert said(await connection.call(a_call(n=2)))["arguments"] == {"n": 2}

    asyncio.run(main())


@pytest.mark.parametrize("result", [None, [], "text", 7])
def test_input_57_what_is_no_result_object_is_an_invalid_result(result: object):
    async def main() -> None:
        frame = {"jsonrpc": "2.0", "id": "{id}", "result": result}
        async with connections() as every:
            connection = every.of(recorded(raw_server(frames={"tools/call": [frame]}, silent_on=["tools/call"])))
            assert fault(await connection.call(a_call())) == ("result_invalid", "lost")

    asyncio.run(main())


def test_input_60_banners_and_bad_bytes_cost_no_call_anything():
    async def main() -> None:
        async with connections() as every:
            noise = {"say": {"tools/call": "a banner\n" * 2_000}, "bytes": {"tools/call": "fffe806162630a"}}
            connection = every.of(recorded(raw_server(**noise)))
            for n in range(3):
                assert said(await connection.call(a_call(n=n)))["arguments"] == {"n": n}

    asyncio.run(main())


def test_input_60_a_half_line_ends_the_session_and_the_next_call_has_another(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        async with connections() as every:
            half = {"tools/call": '{"jsonrpc": "2.0", "id": 1, "res\n'}
            server = raw_server(say=half, silent_on=["tools/call"], pids=str(pids))
            connection = every.of(recorded(server))
            answer = await connection.call(a_call())
            assert (fault(answer), "cut off" in str(answer)) == (("result_invalid", "lost"), True)
            assert tools_of(await contract_of(connection)) == ["echo"]

    asyncio.run(main())
    assert len(lines(pids)) == 2


def test_input_60_a_result_over_the_limit_fails_with_size_and_limit_and_costs_nobody_else():
    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server()))
            large, small = await asyncio.gather(
                connection.call(a_call(padding=5_000_000)), connection.call(a_call(n=1))
            )
            assert fault(large) == ("result_too_large", "lost")
            assert "the limit is 4194304" in str(large)
            assert said(small)["arguments"] == {"n": 1}

    asyncio.run(main())


STDIO_DEATHS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "exits at once": ({"die_on": {"server/discover": 3, "initialize": 3}}, ("unreachable", "not_sent")),
    "is silent": ({"silent_on": ["server/discover", "initialize"]}, ("unreachable", "not_sent")),
    "dies mid-call": ({"die_on": {"tools/call": 4}}, ("server_gone", "lost")),
    "closes stdout": ({"close_on": ["tools/call"]}, ("server_gone", "lost")),
    "dies, floods stderr": ({"die_on": {"tools/call": 5}, "stderr": "e" * 100_000}, ("server_gone", "lost")),
    "ignores SIGTERM": ({"silent_on": ["tools/call"], "stay": True}, ("timeout_idle", "lost")),
}


@pytest.mark.parametrize("kind", STDIO_DEATHS)
def test_input_61_each_way_to_fail_is_a_typed_error_in_time_and_leaves_no_process(tmp_path: Path, kind: str):
    options, outcome = STDIO_DEATHS[kind]
    pids, children = tmp_path / "pids", tmp_path / "children"

    # A child would hold stdout open.
    family = {} if "close_on" in options else {"children": str(children)}

    async def main() -> None:
        async with connections() as every:
            server = recorded(raw_server(**options, **family, pids=str(pids)), start_timeout_seconds=2.0)
            began = time.monotonic()
            answer = await every.of(server).call(limited(1.0, 5.0))
            assert (fault(answer), time.monotonic() - began < 4.5) == (outcome, True), answer
            assert len(str(answer)) < 3_000

    asyncio.run(main())
    assert lines(pids) != []
    assert [pid for pid in lines(pids) + lines(children) if alive(int(pid))] == []


def test_input_61_a_child_gets_the_declared_environment_and_none_of_ours():
    async def main() -> None:
        async with connections(environ={"OUR_TOKEN": "dummy-token-value"}) as every:
            connection = every.of(recorded(raw_server(environ=True), env={"MORE": "1"}))
            names = set(said(await connection.call(a_call()))["environ"])
            assert names - {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"} == {"MORE"}

    asyncio.run(main())


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


UNSENDABLE: dict[str, dict[str, Any]] = {
    "half a pair": {"x": "\ud800"},
    "nan": {"x": float("nan")},
    "digits": {"x": 10**5000},
    "levels": nested(253),
    "recursion": nested(2_000),
    "object": {"x": object()},
}


@pytest.mark.parametrize("kind", UNSENDABLE)
def test_arguments_that_cannot_be_written_down_are_refused_and_cost_the_session_nothing(kind: str):
    async def main() -> None:
        with HttpServer(era="modern") as it:
            async with connections() as every:
                for server in (recorded(it.url, server_id="http"), recorded(raw_server(), server_id="stdio")):
                    connection = every.of(server)
                    before = await contract_of(connection)
                    refused = await connection.call(replace(a_call(), arguments=UNSENDABLE[kind]))
                    assert fault(refused) == ("invalid_arguments", "not_sent")
                    deepest = replace(a_call(), arguments=nested(240), session=before.session)
                    assert isinstance(await connection.call(deepest), RemoteResult)

    asyncio.run(main())
