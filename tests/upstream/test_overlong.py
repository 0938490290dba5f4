"""What is over a byte limit costs the one request that it answers; its session and whoever else waits on it live."""

import asyncio
import json
import re
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.canonical import JsonObject
from remit.core.identity import Endpoint, HttpEndpoint, Transport
from remit.core.live import UnreachableReason
from remit.upstream.client import RemoteMcpClient
from remit.upstream.events_stream import EventCutter
from remit.upstream.faults import Fault
from remit.upstream.http_transport import UpstreamHttp, open_http
from remit.upstream.lines import MAX_LINE, LineSplitter
from remit.upstream.overlong import MAX_DISCARDED, MAX_OUTLINE, Outline, Overlong
from remit.upstream.references import ResolvedHttp, resolve_connection
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.support import KeptEvents, client_for, raw_server, server, sources

OVER_LINE = 5_000_000
OVER_EVENT = 17_000_000
OVER_BODY = 68_000_000
NOTICE = (
    b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "' + b"x" * OVER_EVENT + b'"}}\n\n'
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def outline_of(document: bytes, size: int = 1) -> Outline:
    outline = Outline()
    for at in range(0, len(document), size):
        outline.feed(document[at : at + size])
    return outline


@given(st.dictionaries(st.text(), JSON, max_size=5), st.integers(1, 9), st.booleans())
def test_an_outline_is_the_object_with_nothing_nested_in_it_however_the_bytes_arrive(
    document: dict[str, Any], size: int, escaped: bool
):
    text = json.dumps(document, ensure_ascii=escaped).encode("utf-8", "replace")
    flat = {name: None if isinstance(value, dict | list) else value for name, value in json.loads(text).items()}
    assert outline_of(text, size).members() == flat


@pytest.mark.parametrize(
    ("document", "answered"),
    [
        (b'{"jsonrpc": "2.0", "id": 7, "result": {"id": 8}}', 7),
        (b'{"result": {"id": 8, "a": [{"id": 9}]}, "jsonrpc": "2.0", "id": "seven"}', "seven"),
        (b'{"result": {"a": "\\"}, \\"id\\": 8, {"}, "\\u0069d": 7}', 7),
        (b'{"id": 8, "error": {}, "id": 7}', 7),
        (b'{"id": {"id": 8}, "result": {}}', None),
        (b'{"id": true, "result": {}}', None),
        (b'{"result": {"id": 8}}', None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "roots/list", "params": {}}', None),
    ],
)
def test_only_an_id_of_the_outermost_level_says_which_request_is_answered(document: bytes, answered: int | str | None):
    found = Overlong(size=1, limit=0, members=outline_of(document).members())
    assert found.request_id == answered


@pytest.mark.parametrize(
    ("document", "nobody"),
    [
        (b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}', True),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "roots/list"}', True),
        (b'{"level": "debug", "text": "no message at all"}', True),
        (b'{"id": 7, "result": {}}', False),
        (b'{"id": null, "error": {}}', False),
        (b'{"result": {}}', False),
        (b"no object", False),
    ],
)
def test_what_may_be_the_answer_to_somebody_is_never_just_dropped(document: bytes, nobody: bool):
    assert Overlong(size=1, limit=0, members=outline_of(document).members()).answers_nobody is nobody


@pytest.mark.parametrize(
    "document",
    [b"text", b'loading {"id": 1}', b'{"id": 1} {"id": 2}', b'{"id": 1} 2', b"[1]", b'"id"', b"}", b'{"id": 1}}'],
)
def test_what_is_no_single_object_is_known_at_once(document: bytes):
    outline = outline_of(document)
    assert (outline.unreadable, outline.members()) == (True, None)


@pytest.mark.parametrize("document", [b"", b'{"id": 1', b'{"id": 1, "result": {"a": "', b'{"id": 1]', b'{"id" 1}'])
def test_what_is_cut_off_or_no_json_has_no_outline(document: bytes):
    assert outline_of(document).members() is None


def test_an_outline_that_grows_or_costs_too_much_is_given_up():
    wide, deep = outline_of(b'{"id": 1, "a": "' + b"x" * MAX_OUTLINE), outline_of(b'{"a":' + b"[" * 1_100_000, 65_536)
    assert (wide.unreadable, deep.unreadable) == (True, True)


@given(st.data())
def test_an_event_over_the_limit_is_discarded_and_its_neighbours_are_read_however_the_bytes_arrive(data: st.DataObject):
    end = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    lines = [b"event: message", b'data:{"result": {"id": 8,', b"database: no", b'data: "a": "b"}, "id": 7}', b"", b""]
    large, small = end.join(lines), b"data: a" + end * 2
    whole, cutter, cut = small + large + small, EventCutter(20), list[bytes | Overlong]()
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        cut.extend(cutter.feed(whole[:size]))
        whole = whole[size:]
    first, found, last = cut
    assert isinstance(found, Overlong)
    assert isinstance(last, bytes)
    assert (first, found.members, last.strip()) == (small, {"id": 7, "result": None}, small.strip())


class Endless:
    """Pieces of a message that never ends, counted."""

    def __init__(self, start: bytes):
        self.start = start
        self.fed = 0

    def into(self, feed: Callable[[bytes], Iterator[object]], ended: Callable[[], object]) -> int:
        """Feed until somebody has enough; gives the most memory that it took, in bytes."""
        tracemalloc.start()
        piece = self.start
        while not ended():
            assert list(feed(piece)) == []
            self.fed += len(piece)
            piece = b"x" * 65_536
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak


def test_a_line_that_never_ends_takes_no_more_memory_than_its_limit_and_is_given_up():
    splitter, endless = LineSplitter(), Endless(b'{"id": 1, "result": {"a": "')
    peak = endless.into(splitter.feed, lambda: splitter.lost)
    assert (peak < 2 * MAX_LINE, endless.fed < MAX_DISCARDED + 70_000) == (True, True)


def test_an_event_that_never_ends_takes_no_more_memory_than_its_limit_and_is_given_up():
    cutter, endless = EventCutter(MAX_LINE), Endless(b'data: {"id": 1, "result": {"a": "')
    peak = endless.into(cutter.feed, lambda: cutter.lost)
    assert (peak < 4 * MAX_LINE, endless.fed < MAX_DISCARDED + 70_000) == (True, True)


# --- real servers -----------------------------------------------------------------------------------------------------


@contextmanager
def http_server(kind: str) -> Generator[tuple[HttpServer, Endpoint]]:
    """A server of a kind: JSON, events, or legacy SSE."""
    with HttpServer(era="legacy", sse=kind == "events") as it:
        sse = HttpEndpoint(it.url.replace("/mcp", "/sse"), Transport.SSE)
        yield it, sse if kind == "legacy SSE" else HttpEndpoint(it.url)


def with_client(
    endpoint: Endpoint, sink: KeptEvents, use: Callable[[RemoteMcpClient], Any], seconds: float = 30
) -> tuple[str, ...]:
    """Run `use` on a client of the endpoint; gives the notes of the connection."""

    async def main() -> tuple[str, ...]:
        resolved = resolve_connection(server(endpoint), sources()).endpoint
        http: UpstreamHttp | None = open_http(resolved) if isinstance(resolved, ResolvedHttp) else None
        client = client_for(endpoint, sink=sink, http=http)
        try:
            async with asyncio.timeout(seconds):
                await use(client)
            return client.notes()
        finally:
            await client.close()
            if http is not None:
                await http.aclose()

    return asyncio.run(main())


async def refusal(request: "asyncio.Task[JsonObject]") -> Fault:
    with pytest.raises(Fault) as caught:
        await request
    return caught.value


@pytest.mark.parametrize("id_last", [False, True], ids=["id first", "id last"])
def test_an_answer_over_the_cap_on_stdio_fails_its_request_and_the_others_of_its_session_live(id_last: bool):
    sink = KeptEvents()

    async def use(client: RemoteMcpClient) -> None:
        await client.connect()
        large = asyncio.create_task(client.call_tool("echo", {"padding": OVER_LINE}, timeout=20))
        small = asyncio.create_task(client.call_tool("echo", {"n": 1}, timeout=20))
        fault = await refusal(large)
        assert fault.reason is UnreachableReason.TOO_LARGE
        assert re.fullmatch(r"a line on stdout has 5000\d{3} bytes; the limit is 4194304", fault.message)
        assert "content" in await small
        assert (await client.list_page(timeout=20))["tools"]

    notes = with_client(raw_server(id_last=id_last, call_seconds=0.1), sink, use)
    assert (notes, sink.sequence().count("open local")) == ((), 1)


@pytest.mark.parametrize(
    ("kind", "padding", "size"),
    [
        ("JSON", OVER_BODY, r"an answer has 68000\d{3} bytes; the limit is 67108864"),
        ("events", OVER_EVENT, r"an event has 17000\d{3} bytes; the limit is 16777216"),
        ("legacy SSE", OVER_EVENT, r"an event has 17000\d{3} bytes; the limit is 16777216"),
    ],
    ids=["JSON", "events", "legacy SSE"],
)
def test_an_answer_over_the_cap_over_http_fails_its_request_and_the_others_of_its_session_live(
    kind: str, padding: int, size: str
):
    sink = KeptEvents()
    with http_server(kind) as (it, endpoint):
        it.stall_on = {"tools/list"}

        async def use(client: RemoteMcpClient) -> None:
            slow = asyncio.create_task(client.list_page(timeout=20))
            while "tools/list" not in it.methods():  # noqa: ASYNC110 (the server's thread tells nobody)
                await asyncio.sleep(0.01)
            fault = await refusal(asyncio.create_task(client.call_tool("echo", {"padding": padding}, timeout=20)))
            assert fault.reason is UnreachableReason.TOO_LARGE
            assert re.fullmatch(size, fault.message), fault.message
            assert not slow.done()
            assert "content" in await client.call_tool("echo", {}, timeout=20)
            it.go_on.set()
            assert (await slow)["tools"]

        assert with_client(endpoint, sink, use) == ()
        assert (it.methods().count("initialize"), sink.sequence().count("open local")) == (1, 1)


@pytest.mark.parametrize("kind", ["stdio", "events", "legacy SSE"])
def test_a_notification_over_the_cap_is_dropped_with_a_note_and_the_listing_is_whole(kind: str):
    async def use(client: RemoteMcpClient) -> None:
        assert (await client.list_page(timeout=20))["tools"]

    sink = KeptEvents()
    if kind == "stdio":
        notes = with_client(raw_server(notify={"tools/list": OVER_LINE}), sink, use)
    else:
        with http_server(kind) as (it, endpoint):
            it.before["tools/list"] = NOTICE
            notes = with_client(endpoint, sink, use)
    assert notes[0] == "messages that answer no request were dropped: 1"
    assert re.fullmatch(r"(a line on stdout|an event) has \d+ bytes; the limit is \d+", notes[1])
    assert sink.sequence().count("open local") == 1


@pytest.mark.parametrize("kind", ["JSON", "events", "legacy SSE"])
def test_a_large_answer_within_the_cap_arrives(kind: str):
    async def use(client: RemoteMcpClient) -> None:
        result: Any = await client.call_tool("echo", {"padding": 3_000_000}, timeout=20)
        assert len(result["content"][1]["text"]) == 3_000_000

    with http_server(kind) as (_, endpoint):
        assert with_client(endpoint, KeptEvents(), use) == ()


def test_an_answer_that_never_ends_ends_its_session_and_the_next_request_opens_another():
    sink = KeptEvents()

    async def use(client: RemoteMcpClient) -> None:
        await client.connect()
        fault = await refusal(asyncio.create_task(client.call_tool("echo", {}, timeout=20)))
        assert fault.reason is UnreachableReason.TOO_LARGE
        assert re.fullmatch(r"a line on stdout has at least 671\d{5} bytes; the limit is 4194304", fault.message)
        assert (await client.list_page(timeout=20))["tools"]

    with_client(raw_server(endless_on=["tools/call"]), sink, use)
    assert sink.sequence().count("open local") == 2


def test_an_event_for_nobody_ends_a_stream_of_one_request_with_it_and_a_stream_of_all_with_all():
    unreadable = b"data: " + b"x" * OVER_EVENT + b"\n\n"

    async def use(client: RemoteMcpClient) -> None:
        await client.connect()
        fault = await refusal(asyncio.create_task(client.call_tool("echo", {}, timeout=20)))
        assert fault.reason is UnreachableReason.TOO_LARGE
        assert re.fullmatch(r"an event has at least 16\d{6} bytes; the limit is 16777216", fault.message)
        assert (await client.list_page(timeout=20))["tools"]

    opened: list[int] = []
    for kind in ("events", "legacy SSE"):
        with http_server(kind) as (it, endpoint):
            it.before["tools/call"] = unreadable
            sink = KeptEvents()
            with_client(endpoint, sink, use)
            opened.append(sink.sequence().count("open local"))
    assert opened == [1, 2]


def test_what_a_legacy_server_says_to_a_request_beside_its_stream_is_nobodys():
    async def use(client: RemoteMcpClient) -> None:
        assert (await client.list_page(timeout=20))["tools"]

    with http_server("legacy SSE") as (it, endpoint):
        it.answer_on["tools/list"] = Raw(200, b"x" * OVER_BODY, "text/plain")
        assert with_client(endpoint, KeptEvents(), use) == ()
