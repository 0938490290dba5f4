"""The live contract: one complete listing on the calling session, shared, renewed when it must be, never a guess."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from remit.core.live import Unreachable, UnreachableReason
from remit.core.remote_ports import RemoteContract
from tests.servers.http_server import HttpServer
from tests.upstream.calls import a_call, connections, contract_of, lines, recorded, said, server_from, tools_of, until
from tests.upstream.support import KeptEvents, raw_server

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
TWO = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "other")]


def reason_of(contract: RemoteContract) -> UnreachableReason:
    assert isinstance(contract.live, Unreachable), contract
    return contract.live.reason


def test_callers_at_the_same_time_share_one_listing_and_later_ones_the_kept_one(tmp_path: Path):
    methods = tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(tools=TWO, page_size=1, methods=str(methods))))
            contracts = await asyncio.gather(*(contract_of(connection) for _ in range(20)))
            assert [tools_of(contract) for contract in contracts] == [["echo", "other"]] * 20
            assert await contract_of(connection) == contracts[0]

    asyncio.run(main())
    assert lines(methods).count("tools/list") == 2


def test_a_listing_older_than_asked_for_is_made_anew(tmp_path: Path):
    methods = tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(methods=str(methods))))
            first = await contract_of(connection, max_age=0)
            assert (await contract_of(connection, max_age=0)).session == first.session

    asyncio.run(main())
    assert lines(methods).count("tools/list") == 2


def test_a_caller_that_is_cancelled_does_not_cancel_the_listing_of_the_others():
    async def main() -> None:
        with HttpServer(era="modern", stall_on=["tools/list"]) as it:
            async with connections() as every:
                connection = every.of(recorded(it.url))
                first, second = (asyncio.create_task(contract_of(connection)) for _ in range(2))
                await until(lambda: "tools/list" in it.methods())
                first.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await first
                it.go_on.set()
                assert tools_of(await second) == ["echo"]
                assert it.methods().count("tools/list") == 1

    asyncio.run(main())


def test_a_caller_waits_no_longer_than_it_said_and_the_listing_goes_on():
    async def main() -> None:
        with HttpServer(era="modern", stall_on=["tools/list"]) as it:
            async with connections() as every:
                connection = every.of(recorded(it.url))
                began = time.monotonic()
                late = await connection.contract(max_age=60, timeout=0.3, trace_id="trace-1")
                assert (reason_of(late), time.monotonic() - began < 1) == (UnreachableReason.TIMEOUT, True)
                it.go_on.set()
                assert tools_of(await contract_of(connection)) == ["echo"]
                assert it.methods().count("tools/list") == 1

    asyncio.run(main())


def test_a_storm_of_changes_costs_one_listing_at_the_next_question(tmp_path: Path):
    methods = tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            storm = {"tools/call": [CHANGED] * 500}
            connection = every.of(recorded(raw_server(frames=storm, methods=str(methods))))
            await contract_of(connection)
            said(await connection.call(a_call()))
            await asyncio.gather(*(contract_of(connection) for _ in range(5)))
            await contract_of(connection)

    asyncio.run(main())
    assert lines(methods).count("tools/list") == 2


def test_a_change_during_a_listing_is_seen_by_whoever_asks_after_it():
    async def main() -> None:
        with HttpServer(era="legacy", sse=True) as it:
            event = b"event: message\ndata: " + json.dumps(CHANGED).encode() + b"\n\n"
            it.before["tools/call"] = event
            async with connections() as every:
                connection = every.of(recorded(it.url))
                assert tools_of(await contract_of(connection)) == ["echo"]
                it.stall_on.add("tools/list")
                first = asyncio.create_task(contract_of(connection, max_age=0))
                await until(lambda: it.methods().count("tools/list") == 2)
                await connection.call(a_call())
                second = asyncio.create_task(contract_of(connection))
                await asyncio.sleep(0)
                it.tools = TWO
                it.go_on.set()
                await first
                assert (tools_of(await second), it.methods().count("tools/list")) == (["echo", "other"], 3)

    asyncio.run(main())


def test_a_new_session_gets_a_new_listing_with_another_number(tmp_path: Path):
    pids, options, sink = tmp_path / "pids", tmp_path / "options", KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(server_from(options, pids=str(pids))))
            before = await contract_of(connection)
            server_from(options, pids=str(pids), tools=TWO)
            os.kill(int(lines(pids)[0]), signal.SIGKILL)
            await until(lambda: "close local" in sink.sequence())
            after = await contract_of(connection)
            assert (tools_of(before), tools_of(after)) == (["echo"], ["echo", "other"])
            assert before.session != after.session

    asyncio.run(main())


def test_the_numbers_of_sessions_of_two_connections_never_meet():
    async def main() -> None:
        async with connections() as every:
            a = await contract_of(every.of(recorded(raw_server(), server_id="a")))
            b = await contract_of(every.of(recorded(raw_server(), server_id="b")))
            assert a.session != b.session

    asyncio.run(main())


def test_an_empty_listing_after_a_full_one_is_an_outage_and_the_tools_may_come_back():
    async def main() -> None:
        with HttpServer(era="modern") as it:
            async with connections() as every:
                connection = every.of(recorded(it.url))
                assert tools_of(await contract_of(connection)) == ["echo"]
                it.tools = []
                assert reason_of(await contract_of(connection, max_age=0)) is UnreachableReason.EMPTY
                it.tools = TWO
                assert tools_of(await contract_of(connection, max_age=0)) == ["echo", "other"]

    asyncio.run(main())


def test_a_listing_that_fails_on_one_page_is_no_listing_and_is_not_kept():
    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(tools=TWO, page_size=1, error_on_page=2)))
            for _ in range(2):
                assert reason_of(await contract_of(connection)) is UnreachableReason.PROTOCOL

    asyncio.run(main())


def test_a_session_that_is_lost_costs_a_listing_a_second_walk_of_all_pages():
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True, tools=TWO, page_size=1) as it:
            async with connections() as every:
                connection = every.of(recorded(it.url))
                assert tools_of(await contract_of(connection)) == ["echo", "other"]
                it.known.clear()
                assert tools_of(await contract_of(connection, max_age=0)) == ["echo", "other"]
                assert it.methods().count("initialize") == 2

    asyncio.run(main())
