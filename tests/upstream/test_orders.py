"""What a server sends in one piece comes to the same in two, and an answer counts whatever happens right after it."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from remit.core.canonical import JsonObject
from remit.core.events import ProtocolEvent
from remit.core.identity import Endpoint, HttpEndpoint, Transport
from remit.upstream.client import RemoteMcpClient
from remit.upstream.faults import Fault
from remit.upstream.http_transport import UpstreamHttp, open_http
from remit.upstream.references import ResolvedHttp, resolve_connection
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.calls import until
from tests.upstream.support import KeptEvents, client_for, raw_server, server, sources

SECONDS = 10.0
FIRST = 101
"""The number of the first request after a handshake."""

GOOD = json.dumps({"jsonrpc": "2.0", "id": FIRST, "result": {"content": [{"type": "text", "text": "good"}]}}).encode()
BROKEN = b'{"jsonrpc": "2.0", "id": 101, "resu'
WRONG = b'{"jsonrpc": "2.0", "id": 101, "outcome": {}}'
NOTICE = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}'

PIECES = pytest.mark.parametrize("pieces", [1, 2], ids=["one piece", "two pieces"])


def event(payload: bytes) -> bytes:
    return b"event: message\ndata: " + payload + b"\n\n"


def with_client(
    endpoint: Endpoint, use: Callable[[RemoteMcpClient], Coroutine[Any, Any, Any]], sink: KeptEvents | None = None
) -> Any:
    """What `use` comes to on a client that is connected."""

    async def main() -> Any:
        resolved = resolve_connection(server(endpoint), sources()).endpoint
        http: UpstreamHttp | None = open_http(resolved) if isinstance(resolved, ResolvedHttp) else None
        client = client_for(endpoint, sink=sink, http=http)
        try:
            async with asyncio.timeout(SECONDS):
                await client.connect()
                return await use(client)
        finally:
            await client.close()
            if http is not None:
                await http.aclose()

    return asyncio.run(main())


async def outcome(request: Coroutine[Any, Any, JsonObject]) -> str:
    """ "good" where a result came, else why there is none."""
    try:
        result = await request
    except Fault as fault:
        return fault.message
    return "good" if "content" in result else "no content"


def call(client: RemoteMcpClient) -> Coroutine[Any, Any, JsonObject]:
    return client.call_tool("echo", {}, timeout=SECONDS)


NOT_VALID = "the answer to tools/call is no valid JSON-RPC message"
ANOTHER = "the answer is a message to nobody, or to another request"
REFUSAL = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "what?"}}'
BODIES = {
    "JSON, broken and good": ("application/json", BROKEN, b"\n" + GOOD, NOT_VALID),
    "JSON, good and good": ("application/json", GOOD, b"\n" + GOOD, NOT_VALID),
    "JSON, to another request": ("application/json", GOOD.replace(b"101", b"999"), b" ", ANOTHER),
    "JSON, no answer at all": ("application/json", NOTICE, b" ", ANOTHER),
    "JSON, a refusal under no number": (
        "application/json",
        REFUSAL[:30],
        REFUSAL[30:],
        "tools/call was answered with error",
    ),
    "events, broken and good": ("text/event-stream", event(BROKEN), event(GOOD), NOT_VALID),
    "events, wrong and good": ("text/event-stream", event(WRONG), event(GOOD), NOT_VALID),
    "events, good and broken": ("text/event-stream", event(GOOD), event(BROKEN), "good"),
    "events, notices and good": ("text/event-stream", event(NOTICE) * 500, event(GOOD), "good"),
    "an event cut in the middle": ("text/event-stream", event(GOOD)[:40], event(GOOD)[40:], "good"),
    "an event without its end": ("text/event-stream", event(GOOD)[:40], event(GOOD)[40:-1], "the server ended during"),
}


@PIECES
@pytest.mark.parametrize(("kind", "first", "second", "expected"), BODIES.values(), ids=BODIES)
def test_an_http_answer_is_the_same_however_it_is_cut(
    kind: str, first: bytes, second: bytes, expected: str, pieces: int
):
    whole = Raw(200, first + second, kind) if pieces == 1 else Raw(200, first, kind, then=second)
    with HttpServer(era="legacy", answer_on={"tools/call": whole}) as it:

        async def use(client: RemoteMcpClient) -> str:
            before = client.received
            asked = asyncio.create_task(outcome(call(client)))
            # The second piece goes out when the first one has arrived, or is not waited for any more.
            await until(lambda: client.received >= before + len(first))
            it.go_on.set()
            return await asked

        assert with_client(HttpEndpoint(it.url), use).startswith(expected)


STREAMS = {
    "broken and good": (BROKEN, GOOD, "an event is cut off or not valid JSON: ", 2),
    "wrong and good": (WRONG, GOOD, NOT_VALID, 1),
    "good and broken": (GOOD, BROKEN, "good", 2),
    "no message and good": (b"hello", GOOD, "good", 1),
    "notices and good": ((NOTICE + b"\n\nevent: message\ndata: ") * 500 + NOTICE, GOOD, "good", 1),
}


@PIECES
@pytest.mark.parametrize(("first", "second", "expected", "sessions"), STREAMS.values(), ids=STREAMS)
def test_a_stream_of_all_answers_is_the_same_however_it_is_cut(
    first: bytes, second: bytes, expected: str, sessions: int, pieces: int
):
    with HttpServer(era="legacy", stall_on=["tools/call"]) as it:

        async def use(client: RemoteMcpClient) -> str:
            (stream,) = it.streams.values()
            asked = asyncio.create_task(outcome(call(client)))
            await until(lambda: "tools/call" in it.methods())
            before = client.received
            stream.put(event(first) + (event(second) if pieces == 1 else b""))
            await until(lambda: client.received > before)
            if pieces == 2:
                stream.put(event(second))
            found = await asked
            it.stall_on.clear()
            # Where the stream ends it may do so at any moment of the next request; the one after has another session.
            await outcome(client.list_page(timeout=SECONDS))
            assert (await client.list_page(timeout=SECONDS))["tools"]
            return found

        endpoint = HttpEndpoint(it.url.replace("/mcp", "/sse"), Transport.SSE)
        assert with_client(endpoint, use).startswith(expected)
        assert it.methods().count("initialize") == sessions


def test_every_request_of_a_stream_that_ends_at_a_broken_event_learns_why():
    with HttpServer(era="legacy", stall_on=["tools/call"]) as it:

        async def use(client: RemoteMcpClient) -> list[str]:
            (stream,) = it.streams.values()
            asked = [asyncio.create_task(outcome(call(client))) for _ in range(3)]
            await until(lambda: it.methods().count("tools/call") == 3)
            stream.put(event(BROKEN))
            return await asyncio.gather(*asked)

        found = with_client(HttpEndpoint(it.url.replace("/mcp", "/sse"), Transport.SSE), use)
    assert [text[:37] for text in found] == ["an event is cut off or not valid JSON"] * 3


LINES = {
    "broken and good": (BROKEN, "a line on stdout is cut off or not valid JSON: "),
    "wrong and good": (WRONG, NOT_VALID),
    "no message and good": (b"hello", "good"),
    "notices and good": (b"\n".join([NOTICE] * 500), "good"),
}


@PIECES
@pytest.mark.parametrize(("first", "expected"), LINES.values(), ids=LINES)
def test_lines_of_a_server_are_the_same_however_they_are_cut(first: bytes, expected: str, pieces: int, tmp_path: Path):
    go_on = tmp_path / "go on"
    said = first.decode() + "\n" + (GOOD.decode() + "\n" if pieces == 1 else "")

    async def use(client: RemoteMcpClient) -> str:
        before = client.received
        asked = asyncio.create_task(outcome(call(client)))
        await until(lambda: client.received >= before + len(said))
        go_on.touch()
        return await asked

    endpoint = raw_server(say={"tools/call": said}, held_by=str(go_on))
    assert with_client(endpoint, use).startswith(expected)


class Slow(KeptEvents):
    """A sink that takes its time, so that the session falls behind what the server wrote."""

    def record(self, event: ProtocolEvent) -> None:
        until_then = time.monotonic() + 0.002
        while time.monotonic() < until_then:
            pass
        super().record(event)


@pytest.mark.parametrize("held", [False, True], ids=["its stdout ends", "its stdout is held"])
def test_the_answer_of_a_server_that_exits_right_after_it_counts(held: bool, tmp_path: Path):
    notices = (NOTICE.decode() + "\n") * 300
    options: dict[str, Any] = {"children": str(tmp_path / "children")} if held else {}

    async def use(client: RemoteMcpClient) -> str:
        return await outcome(call(client))

    endpoint = raw_server(say={"tools/call": notices}, exit_after=["tools/call"], **options)
    assert with_client(endpoint, use, Slow()) == "good"


def test_the_end_of_stderr_is_told_also_where_it_is_long_and_the_server_exits_at_once():
    async def use(client: RemoteMcpClient) -> str:
        return await outcome(call(client))

    endpoint = raw_server(stderr_on={"tools/call": 400_000}, die_on={"tools/call": 3})
    assert with_client(endpoint, use).endswith("xthe reason")
