"""Connections of calls to servers of 2026-07-28: they hear of changed tools on a subscription, and nothing waits for it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from remit.core.live import Listed
from remit.core.remote_ports import RemoteResult
from remit.upstream.calling import McpServerConnection
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.calls import a_call, connections, contract_of, lines, recorded, tools_of, until
from tests.upstream.support import KeptEvents, alive
from tests.upstream.test_watching import Changing, sdk_server, tool

SECONDS = 10.0


async def settles(connection: McpServerConnection, tools: list[str]) -> None:
    """Ask for the contract until it has these tools. One is kept for a minute, so this takes a word of the server's."""
    async with asyncio.timeout(SECONDS):
        while tools_of(await contract_of(connection)) != tools:  # noqa: ASYNC110 (another process makes it so)
            await asyncio.sleep(0.01)


def on_changing(
    folder: Path, use: Callable[[McpServerConnection, Changing], Awaitable[None]], **options: Any
) -> tuple[Changing, list[str], float]:
    """The server after `use` on a connection to it, the messages that it got, and how long closing took."""
    changing = Changing(folder, **{"era": "modern", "tools": [tool("a")], "methods": str(folder / "methods")} | options)

    async def main() -> float:
        async with connections(sink=KeptEvents()) as every, asyncio.timeout(SECONDS):
            await use(every.of(recorded(changing.endpoint)), changing)
            began = time.monotonic()
        return time.monotonic() - began

    seconds = asyncio.run(main())
    assert not alive(changing.pid())
    return changing, lines(folder / "methods"), seconds


def test_a_change_that_is_announced_on_a_subscription_is_listed_at_the_next_question(tmp_path: Path):
    async def use(connection: McpServerConnection, changing: Changing) -> None:
        assert tools_of(await contract_of(connection)) == ["a"]
        # The subscription began beside the first listing, so what changed in between is in the second one.
        await until(lambda: "subscriptions/listen" in lines(tmp_path / "methods"))
        await settled_listings(connection, changing, 2)
        changing.set(tools=[tool("b")])
        await settles(connection, ["b"])
        assert isinstance(await connection.call(a_call()), RemoteResult)

    changing, methods, _ = on_changing(tmp_path, use)
    assert (changing.starts(), changing.listings(), methods.count("subscriptions/listen")) == (1, 3, 1)


async def settled_listings(connection: McpServerConnection, changing: Changing, count: int) -> None:
    async with asyncio.timeout(SECONDS):
        while changing.listings() < count:
            await contract_of(connection)
            await asyncio.sleep(0.01)
    for _ in range(3):
        await contract_of(connection)
    assert changing.listings() == count


@pytest.mark.parametrize(
    "options",
    [{"listens": False}, {"honours": False}, {"listens": "never"}, {"announce": False}, {"era": "legacy"}],
    ids=["it knows none", "it delivers nothing", "it never answers", "it announces none", "the other era"],
)
def test_where_no_subscription_is_to_be_had_nothing_changes(options: dict[str, Any], tmp_path: Path):
    async def use(connection: McpServerConnection, changing: Changing) -> None:
        first = await contract_of(connection)
        asks = options.keys() & {"listens", "honours"}
        await until(lambda: ("subscriptions/listen" in lines(tmp_path / "methods")) == bool(asks))
        for _ in range(3):
            assert isinstance(await connection.call(a_call()), RemoteResult)
            assert await contract_of(connection) == first

    changing, methods, seconds = on_changing(tmp_path, use, **options)
    assert (changing.starts(), changing.listings(), methods.count("tools/call"), seconds < 2) == (1, 1, 3, True)


def test_a_server_that_ends_every_subscription_at_once_is_asked_once_and_costs_no_listing_a_call(tmp_path: Path):
    async def use(connection: McpServerConnection, changing: Changing) -> None:
        await contract_of(connection)
        await until(lambda: "subscriptions/listen" in lines(tmp_path / "methods"))
        for _ in range(20):
            await contract_of(connection)
            await asyncio.sleep(0.01)

    changing, methods, _ = on_changing(tmp_path, use, ends=True)
    assert (changing.listings() <= 3, methods.count("subscriptions/listen")) == (True, 1)


def test_a_connection_that_is_replaced_does_not_wait_for_its_subscription(tmp_path: Path):
    changing = Changing(tmp_path, era="modern", tools=[tool("a")], methods=str(tmp_path / "methods"))

    async def main() -> None:
        async with connections() as every, asyncio.timeout(SECONDS):
            server = recorded(changing.endpoint)
            await contract_of(every.of(server))
            await until(lambda: "subscriptions/listen" in lines(tmp_path / "methods"))
            before = changing.pid()
            changed = replace(server, connection=replace(server.connection, timeout_seconds=4.0))
            assert isinstance((await contract_of(every.of(changed))).live, Listed)
            await until(lambda: not alive(before))

    asyncio.run(main())


@pytest.mark.parametrize("refusal", [Raw(401), Raw(403), Raw(404), Raw(500)], ids=["401", "403", "404", "500"])
def test_a_subscription_that_is_refused_over_http_costs_no_session(refusal: Raw):
    with HttpServer(era="modern", answer_on={"subscriptions/listen": refusal}) as it:
        it.capabilities = {"tools": {"listChanged": True}}

        async def main() -> None:
            async with connections() as every, asyncio.timeout(SECONDS):
                connection = every.of(recorded(it.url))
                first = await contract_of(connection)
                await until(lambda: "subscriptions/listen" in it.methods())
                for _ in range(3):
                    assert isinstance(await connection.call(a_call()), RemoteResult)
                    assert await contract_of(connection) == first

        asyncio.run(main())
        found = [it.methods().count(method) for method in ("server/discover", "tools/list", "subscriptions/listen")]
    assert found == [1, 1, 1]


def test_the_sdks_own_server_over_http_is_heard_by_the_connection_of_calls():
    bus = InMemorySubscriptionBus()
    with sdk_server(bus) as (mcp, url, loop, _):

        async def main() -> None:
            async with connections() as every, asyncio.timeout(SECONDS):
                connection = every.of(recorded(url))
                await settles(connection, ["one"])
                mcp.add_tool(lambda: "two", name="two", description="The second tool.")
                while len(tools_of(await contract_of(connection))) < 2:
                    # Whoever subscribes a moment later hears the next word.
                    asyncio.run_coroutine_threadsafe(bus.publish(ToolsListChanged()), loop)
                    await asyncio.sleep(0.01)

        asyncio.run(main())
