"""Streamable HTTP of the handshake era: what nobody waits for, or waits for any more, is in nobody's way."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from remit.core.events import EventKind
from remit.core.identity import HttpEndpoint, Transport
from remit.core.remote_ports import RemoteResult
from remit.upstream.asides import Asides
from remit.upstream.calling import McpServerConnection
from remit.upstream.outgoing import Outgoing
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.calls import a_call, connections, contract_of, recorded, until
from tests.upstream.support import KeptEvents

SECONDS = 10.0


def over_http(it: HttpServer, use: Callable[[McpServerConnection], Awaitable[None]]) -> None:
    """Run `use` on the connection of calls to a server, listed already."""

    async def main() -> None:
        async with connections() as every, asyncio.timeout(SECONDS):
            connection = every.of(recorded(it.url))
            await contract_of(connection)
            await use(connection)

    asyncio.run(main())


def test_a_cancellation_that_the_server_does_not_take_holds_up_no_other_call():
    with HttpServer(era="legacy", stall_on=["tools/call"]) as it:
        it.held_on = {"notifications/cancelled"}

        async def use(connection: McpServerConnection) -> None:
            given_up = asyncio.create_task(connection.call(a_call(n=1)))
            await until(lambda: "tools/call" in it.methods())
            given_up.cancel()
            await until(lambda: "notifications/cancelled" in it.methods())
            it.stall_on.clear()
            assert isinstance(await connection.call(a_call(n=2)), RemoteResult)
            assert not it.go_on.is_set()

        over_http(it, use)


def test_a_request_that_was_given_up_gives_its_connection_back_also_where_the_server_never_answers_it():
    streaming = Raw(200, b"event: message\ndata: {", "text/event-stream", then=b"never")
    with HttpServer(era="legacy", stall_on=["tools/call"]) as it:

        async def use(connection: McpServerConnection) -> None:
            given_up = [asyncio.create_task(connection.call(a_call(n=1)))]
            await until(lambda: it.methods().count("tools/call") == 1)
            it.answer_on["tools/call"] = streaming
            given_up.append(asyncio.create_task(connection.call(a_call(n=2))))
            await until(lambda: it.methods().count("tools/call") == 2)
            it.answer_on.clear()
            it.stall_on.clear()
            for call in given_up:
                call.cancel()
            assert isinstance(await connection.call(a_call(n=3)), RemoteResult)
            await until(lambda: sorted(it.hung_up) == ["then", "tools/call"], SECONDS)
            assert isinstance(await connection.call(a_call(n=4)), RemoteResult)

        over_http(it, use)
        assert it.methods().count("initialize") == 1


@pytest.mark.parametrize("transport", [Transport.STREAMABLE_HTTP, Transport.SSE])
def test_a_cancellation_that_the_server_refuses_is_seen_in_the_trace(transport: Transport):
    sink = KeptEvents()
    with HttpServer(era="legacy", stall_on=["tools/call"]) as it:
        it.answer_on["notifications/cancelled"] = Raw(500, b"no", "text/plain")

        async def main() -> None:
            async with connections(sink=sink) as every, asyncio.timeout(SECONDS):
                url = it.url if transport is Transport.STREAMABLE_HTTP else it.url.replace("/mcp", "/sse")
                connection = every.of(recorded(HttpEndpoint(url, transport)))
                await contract_of(connection)
                given_up = asyncio.create_task(connection.call(a_call(n=1)))
                await until(lambda: "tools/call" in it.methods())
                given_up.cancel()
                await until(lambda: "noise local" in sink.sequence())

        asyncio.run(main())
    assert [event.body for event in sink.events if event.kind is EventKind.NOISE] == [
        {"untaken": "notifications/cancelled", "because": "the server answered 500 Internal Server Error: no"}
    ]


def test_a_handshake_whose_end_the_server_does_not_take_holds_nothing_up_for_ever():
    async def main() -> None:
        arrived = list[httpx2.Request]()

        async def send(request: httpx2.Request) -> None:
            arrived.append(request)
            await asyncio.Event().wait()

        asides = Asides(send, in_order_seconds=0.05)
        ended = httpx2.Request("POST", "http://it.example/")
        async with asyncio.timeout(SECONDS):
            await asides.take(ended, Outgoing("notifications/initialized", None))
            await asides.close()
        assert arrived == [ended]

    asyncio.run(main())


def test_nothing_overtakes_the_end_of_a_handshake():
    async def main() -> None:
        taken = asyncio.Event()

        async def send(request: httpx2.Request) -> None:
            await taken.wait()

        asides = Asides(send)
        posted = httpx2.Request("POST", "http://it.example/")
        ending = asyncio.create_task(asides.take(posted, Outgoing("notifications/initialized", None)))
        await asides.take(posted, Outgoing("notifications/cancelled", None, 1))
        assert not ending.done()
        taken.set()
        await asyncio.wait_for(ending, SECONDS)
        await asides.close()

    asyncio.run(main())
