"""Watched servers: how changes are noticed in both eras, and what becomes of the connection."""

import asyncio
import functools
import json
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from remit.core.identity import HttpEndpoint, StdioEndpoint, Transport
from remit.core.live import Era, Listed, Unreachable, UnreachableReason
from remit.core.ports import ListingTarget
from remit.core.watch_ports import Attention
from remit.upstream.watching import McpWatchedServer, McpWatchers
from tests.servers.http_server import HttpServer
from tests.upstream.support import SERVERS, KeptEvents, alive, names, server, surroundings

SECONDS = 10.0
P = ParamSpec("P")


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class Changing:
    """A server on disk whose options are replaced while it runs."""

    def __init__(self, folder: Path, **options: Any):
        self.file = folder / "server.json"
        self.pids, self.listed = folder / "pids", folder / "listed"
        self.options = {"pids": str(self.pids), "listed": str(self.listed), **options}
        self.set()

    def set(self, **options: Any) -> None:
        self.options |= options
        partial = self.file.with_suffix(".new")
        partial.write_text(json.dumps(self.options), "utf-8")
        partial.replace(self.file)

    @property
    def endpoint(self) -> StdioEndpoint:
        return StdioEndpoint(("{python}", str(SERVERS / "changing_stdio.py"), f"@{self.file}"))

    def pid(self) -> int:
        return int(self.pids.read_text("utf-8").split()[-1])

    def starts(self) -> int:
        return len(self.pids.read_text("utf-8").split())

    def listings(self) -> int:
        return len(self.listed.read_text("utf-8").split())


def tool(name: str, description: str = "Does one thing.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def watched(endpoint: Any, **connection: Any) -> McpWatchedServer:
    watchers = McpWatchers(surroundings(KeptEvents()), trace_id="trace-1")
    return watchers.watch(ListingTarget(server=server(endpoint, **connection)))


async def changed(one: McpWatchedServer) -> None:
    async with asyncio.timeout(SECONDS):
        await one.changed()


def is_quiet(one: McpWatchedServer) -> bool:
    waiting = one.changed()
    try:
        waiting.send(None)
    except StopIteration:
        return False
    waiting.close()
    return True


@in_a_loop
async def test_a_push_of_the_handshake_era_makes_the_listing_old(tmp_path: Path) -> None:
    changing = Changing(tmp_path, tools=[tool("a")])
    one = watched(changing.endpoint)
    try:
        before = await one.list_now()
        changing.set(tools=[tool("b")])
        await changed(one)
        after = await one.list_now()
    finally:
        await one.close()
    assert (names(before), names(after), one.attention) == (["a"], ["b"], Attention.PUSH)
    assert (changing.starts(), changing.listings()) == (1, 2)
    assert not alive(changing.pid())


@in_a_loop
async def test_a_subscription_of_2026_07_28_makes_the_listing_old(tmp_path: Path) -> None:
    changing = Changing(tmp_path, era="modern", tools=[tool("a")])
    one = watched(changing.endpoint)
    try:
        before = await one.list_now()
        changing.set(tools=[tool("b")])
        await changed(one)
        after = await one.list_now()
    finally:
        await one.close()
    assert (names(before), names(after), one.attention) == (["a"], ["b"], Attention.SUBSCRIPTION)
    assert isinstance(after, Listed)
    assert after.era is Era.MODERN
    assert (changing.starts(), changing.listings()) == (1, 2)


@in_a_loop
async def test_a_subscription_that_ends_is_opened_again_before_the_next_listing(tmp_path: Path) -> None:
    changing = Changing(tmp_path, era="modern", tools=[tool("a")])
    one = watched(changing.endpoint)
    try:
        await one.list_now()
        changing.set(hang_up=True, push=0)
        await changed(one)
        await one.list_now()
        changing.set(hang_up=False, push=1, tools=[tool("b")])
        await changed(one)
        after = await one.list_now()
    finally:
        await one.close()
    assert (names(after), one.attention, changing.starts()) == (["b"], Attention.SUBSCRIPTION, 1)


@in_a_loop
async def test_a_server_that_delivers_nothing_on_a_subscription_is_polled(tmp_path: Path) -> None:
    changing = Changing(tmp_path, era="modern", honours=False)
    one = watched(changing.endpoint)
    assert isinstance(await one.list_now(), Listed)
    assert one.attention is Attention.POLLING
    assert not alive(changing.pid())


@in_a_loop
async def test_a_server_that_refuses_a_subscription_is_polled_and_nothing_is_left_open(tmp_path: Path) -> None:
    changing = Changing(tmp_path, era="modern", listens=False)
    one = watched(changing.endpoint)
    assert isinstance(await one.list_now(), Listed)
    assert one.attention is Attention.POLLING
    assert is_quiet(one)
    assert not alive(changing.pid())


@in_a_loop
async def test_a_server_that_announces_no_pushes_is_polled_on_fresh_connections(tmp_path: Path) -> None:
    changing = Changing(tmp_path, announce=False, tools=[tool("a")])
    one = watched(changing.endpoint)
    await one.list_now()
    assert is_quiet(one)
    await one.list_now()
    assert (one.attention, changing.starts()) == (Attention.POLLING, 2)


@in_a_loop
async def test_the_death_of_a_watched_server_makes_its_listing_old_and_the_next_listing_starts_it_again(
    tmp_path: Path,
) -> None:
    changing = Changing(tmp_path, tools=[tool("a")])
    one = watched(changing.endpoint)
    try:
        await one.list_now()
        os.kill(changing.pid(), signal.SIGKILL)
        await changed(one)
        after = await one.list_now()
    finally:
        await one.close()
    assert (names(after), changing.starts()) == (["a"], 2)


@in_a_loop
async def test_case_c08_a_listing_that_fails_is_unreachable_and_never_empty(tmp_path: Path) -> None:
    changing = Changing(tmp_path, tools=[tool("a")])
    one = watched(changing.endpoint)
    try:
        await one.list_now()
        changing.set(error="out of order")
        await changed(one)
        failed = await one.list_now()
        assert isinstance(failed, Unreachable)
        assert "out of order" in failed.detail
        assert not alive(changing.pid())
    finally:
        await one.close()


@in_a_loop
async def test_input_34_ten_thousand_pushes_are_one_sign(tmp_path: Path) -> None:
    changing = Changing(tmp_path, tools=[tool("a")], push=10_000)
    one = watched(changing.endpoint)
    try:
        await one.list_now()
        changing.set(tools=[tool("b")])
        listed = 1
        newest: list[str] = []
        async with asyncio.timeout(SECONDS):
            # The storm may still be arriving while the next listing is made; it never asks for more than one at a time.
            while not is_quiet(one) or listed == 1:
                await one.changed()
                newest = names(await one.list_now())
                listed += 1
    finally:
        await one.close()
    assert newest == ["b"]
    assert changing.listings() == listed < 50


@in_a_loop
async def test_streamable_http_of_the_handshake_era_is_polled_too_as_a_lost_stream_tells_nobody() -> None:
    with HttpServer(era="legacy") as there:
        there.capabilities = {"tools": {"listChanged": True}}
        one = watched(there.url, allow_private_network=True)
        try:
            assert isinstance(await one.list_now(), Listed)
            assert one.attention is Attention.PUSH_AND_POLLING
        finally:
            await one.close()


@contextmanager
def sdk_server(
    bus: InMemorySubscriptionBus,
) -> Generator[tuple[MCPServer, str, asyncio.AbstractEventLoop, uvicorn.Server]]:
    """A server on the official SDK over HTTP, in a thread with a loop of its own."""
    mcp = MCPServer("sdk", version="1.0", subscriptions=bus)
    mcp.add_tool(_one, name="one")
    http = uvicorn.Server(
        uvicorn.Config(
            mcp.streamable_http_app(), host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1
        )
    )
    started = threading.Event()
    ports: list[int] = []
    loop = asyncio.new_event_loop()
    startup = http.startup

    async def announce(sockets: object = None) -> None:
        await startup()
        ports.append(http.servers[0].sockets[0].getsockname()[1])
        started.set()

    http.startup = announce
    thread = threading.Thread(target=lambda: loop.run_until_complete(http.serve()), daemon=True)
    thread.start()
    assert started.wait(SECONDS)
    try:
        yield mcp, f"http://127.0.0.1:{ports[0]}/mcp", loop, http
    finally:
        http.should_exit = True
        thread.join(SECONDS)
        loop.close()


def _one() -> str:
    """The first tool."""
    return "one"


def _two() -> str:
    """The second tool."""
    return "two"


@in_a_loop
async def test_the_sdks_own_server_over_http_says_on_a_subscription_that_its_tools_changed() -> None:
    bus = InMemorySubscriptionBus()
    with sdk_server(bus) as (mcp, url, loop, _):
        one = watched(url, allow_private_network=True)
        try:
            before = names(await one.list_now())
            attention = one.attention
            mcp.add_tool(_two, name="two")
            asyncio.run_coroutine_threadsafe(bus.publish(ToolsListChanged()), loop)
            await changed(one)
            after = names(await one.list_now())
        finally:
            await one.close()
    assert (before, attention, after) == (["one"], Attention.SUBSCRIPTION, ["one", "two"])


@in_a_loop
async def test_a_subscription_whose_server_ends_makes_the_listing_old_and_the_server_unreachable() -> None:
    with sdk_server(InMemorySubscriptionBus()) as (_, url, _, http):
        one = watched(url, allow_private_network=True, start_timeout_seconds=2.0)
        try:
            await one.list_now()
            http.should_exit = True
            await changed(one)
            while isinstance(last := await one.list_now(), Listed):
                await changed(one)
        finally:
            await one.close()
    assert last.reason in (UnreachableReason.REFUSED, UnreachableReason.PROTOCOL)


@in_a_loop
async def test_a_push_over_the_sse_transport_makes_the_listing_old() -> None:
    with HttpServer(era="legacy") as there:
        there.capabilities = {"tools": {"listChanged": True}}
        one = watched(HttpEndpoint(there.url.replace("/mcp", "/sse"), Transport.SSE), allow_private_network=True)
        try:
            await one.list_now()
            attention = one.attention
            (stream,) = there.streams.values()
            stream.put(b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
            await changed(one)
            await one.list_now()
        finally:
            await one.close()
    assert attention is Attention.PUSH
    assert there.methods().count("initialize") == 1
