"""Legacy SSE: messages posted beside the stream of answers, each of which fails on its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import httpx2
import pytest
from mcp_types import JSONRPCError

from remit.core.identity import HttpEndpoint, Transport
from remit.core.live import Unreachable, UnreachableReason
from remit.core.remote_ports import RemoteResult
from remit.upstream.faults import Fault
from remit.upstream.marked_errors import fault_of_error
from remit.upstream.outgoing import Outgoing
from remit.upstream.posting import Posts
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.calls import a_call, connections, contract_of, fault, recorded, tools_of, until
from tests.upstream.support import KeptEvents

SECONDS = 10.0


def over_sse(it: HttpServer, use: Callable[[Any], Coroutine[Any, Any, None]], sink: KeptEvents | None = None) -> None:
    """Run `use` on the connection of calls to a server of legacy SSE, listed already."""

    async def main() -> None:
        async with connections(sink=sink) as every, asyncio.timeout(SECONDS):
            connection = every.of(recorded(HttpEndpoint(it.url.replace("/mcp", "/sse"), Transport.SSE)))
            await contract_of(connection)
            await use(connection)

    asyncio.run(main())


REFUSALS = {
    "500": (Raw(500, b"out of order", "text/plain"), ("unreachable", "lost")),
    "429": (Raw(429, b"slow down", "text/plain"), ("unreachable", "not_sent")),
    "413": (Raw(413, b"too much", "text/plain"), ("unreachable", "not_sent")),
    "a redirect away": (Raw(307, headers={"location": "https://it.example/"}), ("result_invalid", "lost")),
    "cut off": (Raw(202, b"Acc", claimed=100), ("server_gone", "lost")),
}


@pytest.mark.parametrize(("refusal", "outcome"), REFUSALS.values(), ids=REFUSALS)
def test_a_post_that_fails_costs_its_request_and_no_other_of_its_connection(refusal: Raw, outcome: tuple[str, str]):
    with HttpServer(era="legacy", stall_on=["tools/list"]) as it:
        it.go_on.set()

        async def use(connection: Any) -> None:
            it.go_on.clear()
            listing = asyncio.create_task(contract_of(connection, max_age=0.0))
            await until(lambda: it.methods().count("tools/list") == 2)
            it.answer_on["tools/call"] = refusal
            assert fault(await connection.call(a_call())) == outcome
            assert not listing.done()
            del it.answer_on["tools/call"]
            assert isinstance(await connection.call(a_call(n=1)), RemoteResult)
            it.go_on.set()
            assert tools_of(await listing) == ["echo"]

        sink = KeptEvents()
        over_sse(it, use, sink)
        assert (it.methods().count("initialize"), it.methods().count("tools/call")) == (1, 2)
        assert sink.sequence().count("call received") == 2


FORGOTTEN = {
    "404": Raw(404, b"Could not find session", "text/plain"),
    "400": Raw(400, b"No transport found for sessionId", "text/plain"),
}


@pytest.mark.parametrize("forgotten", FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_stream_whose_address_is_forgotten_is_opened_anew_and_the_call_is_repeated_once(forgotten: Raw):
    with HttpServer(era="legacy") as it:

        async def use(connection: Any) -> None:
            it.answer_at["/messages?session_id=1"] = forgotten
            answer = await connection.call(a_call())
            assert isinstance(answer, RemoteResult)
            assert answer.renewed

        over_sse(it, use)
        assert [seen.path for seen in it.seen if seen.method == "tools/call"] == [
            "/messages?session_id=1",
            "/messages?session_id=2",
        ]


def test_a_handshake_that_is_refused_says_how():
    refusal = Raw(503, b"warming up", "text/plain")
    with HttpServer(era="legacy", answer_on={"initialize": refusal}) as it:

        async def main() -> None:
            async with connections() as every, asyncio.timeout(SECONDS):
                connection = every.of(recorded(HttpEndpoint(it.url.replace("/mcp", "/sse"), Transport.SSE)))
                live = (await contract_of(connection)).live
                detail = "the server answered 503 Service Unavailable: warming up"
                assert live == Unreachable(reason=UnreachableReason.REFUSED, detail=detail)

        asyncio.run(main())


@pytest.mark.parametrize("receipt", [Raw(202), Raw(500)], ids=["202", "500"])
def test_an_answer_that_is_on_the_stream_before_its_post_is_answered_counts(receipt: Raw):
    with HttpServer(era="legacy", answer_on={"tools/call": receipt}) as it:
        it.early_on = {"tools/call"}

        async def use(connection: Any) -> None:
            assert isinstance(await connection.call(a_call(n=1)), RemoteResult)
            it.go_on.set()
            it.early_on.clear()
            assert tools_of(await contract_of(connection, max_age=0.0)) == ["echo"]

        sink = KeptEvents()
        over_sse(it, use, sink)
        assert sink.sequence().count("call received") == 1


def test_a_post_that_is_never_answered_holds_up_no_other_and_is_left_once_its_call_is_given_up():
    with HttpServer(era="legacy") as it:

        async def use(connection: Any) -> None:
            it.held_on = {"tools/call"}
            held = asyncio.create_task(connection.call(a_call(n=1)))
            await until(lambda: "tools/call" in it.methods())
            it.held_on.clear()
            assert isinstance(await connection.call(a_call(n=2)), RemoteResult)
            held.cancel()
            await until(lambda: "notifications/cancelled" in it.methods())
            await until(lambda: it.hung_up == ["tools/call"], SECONDS)

        over_sse(it, use)


# --- both orders of a failed POST and its answer, forced ----------------------------------------------------------------


class Line:
    """A stream that brings what it is given, and a way of posting that fails as told."""

    def __init__(self) -> None:
        self.parts: asyncio.Queue[bytes] = asyncio.Queue()
        self.outcome: asyncio.Future[Fault | None] = asyncio.get_running_loop().create_future()
        self.posts = Posts(self.send)

    async def send(self, request: httpx2.Request) -> Fault | None:
        return await self.outcome

    async def stream(self) -> AsyncIterator[bytes]:
        while part := await self.parts.get():
            yield part

    async def read(self) -> list[object]:
        """What comes, up to the end; a part that is a number is an answer to that request."""
        found: list[object] = []
        async for part in self.posts.beside(self.stream()):
            if isinstance(part, JSONRPCError):
                told = fault_of_error(part.error)
                found.append((part.id, told and told.message))
            else:
                self.posts.answered(int(part))
                found.append(part)
        await self.posts.close()
        return found


REQUEST = httpx2.Request("POST", "http://it.example/")
LOST = Fault(UnreachableReason.REFUSED, "the server answered 500")
UNSENT = Fault(UnreachableReason.REFUSED, "cannot connect", refused=True)


def read(steps: Callable[[Line], Coroutine[Any, Any, None]]) -> list[object]:
    """What is read of a line on which a request was posted and then these steps happen."""

    async def main() -> list[object]:
        async with asyncio.timeout(SECONDS):
            line = Line()
            reading = asyncio.create_task(line.read())
            await line.posts.take(REQUEST, Outgoing("tools/call", 1))
            await steps(line)
            return await reading

    return asyncio.run(main())


def test_a_failed_post_counts_where_no_answer_follows_on_the_stream():
    async def steps(line: Line) -> None:
        line.outcome.set_result(LOST)
        await until(lambda: not line.posts.waits)
        line.parts.put_nowait(b"")

    assert read(steps) == [(1, "the server answered 500")]


def test_an_answer_counts_also_where_it_comes_after_its_post_failed():
    async def steps(line: Line) -> None:
        line.outcome.set_result(LOST)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        line.parts.put_nowait(b"1")
        line.parts.put_nowait(b"")

    assert read(steps) == [b"1"]


def test_an_answer_counts_also_where_its_post_fails_after_it():
    async def steps(line: Line) -> None:
        line.parts.put_nowait(b"1")
        await until(line.parts.empty)
        line.outcome.set_result(LOST)
        line.parts.put_nowait(b"")

    assert read(steps) == [b"1"]


@pytest.mark.parametrize("ends_first", [False, True], ids=["the POST", "the stream"])
def test_a_post_that_nobody_took_is_known_not_to_be_carried_out_whichever_ends_first(ends_first: bool):
    async def steps(line: Line) -> None:
        if ends_first:
            line.parts.put_nowait(b"")
            await until(line.parts.empty)
        line.outcome.set_result(UNSENT)
        line.parts.put_nowait(b"")

    assert read(steps) == [(1, "cannot connect")]


def test_a_stream_that_is_closed_gives_up_what_is_posted_beside_it():
    async def main() -> None:
        line = Line()
        await line.posts.take(REQUEST, Outgoing("tools/call", 1))
        await asyncio.sleep(0)
        await line.posts.close()
        assert (line.outcome.cancelled(), line.posts.waits) == (True, False)

    asyncio.run(main())
