"""Requests of ours on one session: whose an answer is, what a cancelled one says, what the end of the session ends."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import anyio
import pytest
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from opentelemetry.sdk.trace import TracerProvider

from remit.core.events import Direction, EventKind
from remit.upstream.exchange import Exchange, SessionOver
from remit.upstream.recorder import Recorder
from remit.upstream.redaction import Redactor
from remit.upstream.tap import WriteTap
from tests.upstream.calls import a_call, connections, recorded, said
from tests.upstream.support import NOON, KeptEvents, raw_server


class Line:
    """Keeps what is sent; says that nobody takes it once it is cut."""

    def __init__(self) -> None:
        self.sent: list[SessionMessage] = []
        self.cut = False

    async def send(self, item: SessionMessage, /) -> None:
        if self.cut:
            raise anyio.BrokenResourceError
        self.sent.append(item)

    async def aclose(self) -> None:
        self.cut = True


def on(line: Line) -> Exchange:
    recorder = Recorder(
        server="it",
        connection_id="c",
        trace_id="t",
        clock=lambda: NOON,
        sink=KeptEvents(),
        redactor=Redactor(),
    )
    return Exchange(WriteTap(line, recorder))


def ask(exchange: Exchange, number: int, **params: Any) -> "asyncio.Task[JSONRPCResponse | JSONRPCError]":
    return asyncio.create_task(exchange.ask(number, "tools/call", params, {"mcp-method": "tools/call"}))


def test_each_answer_goes_to_its_own_request_also_where_its_number_comes_back_as_text():
    async def main() -> None:
        exchange = on(Line())
        first, second = ask(exchange, 101), ask(exchange, 102)
        await asyncio.sleep(0)
        refusal = JSONRPCError(jsonrpc="2.0", id="101", error=ErrorData(code=-32602, message="no"))
        result = JSONRPCResponse(jsonrpc="2.0", id=102, result={"content": []})
        assert [exchange.take(result), exchange.take(refusal)] == [True, True]
        assert (await first, await second) == (refusal, result)

    asyncio.run(main())


@pytest.mark.parametrize("request_id", [100, "x", 101])
def test_what_answers_nobody_is_left_to_the_session(request_id: int | str):
    async def main() -> None:
        exchange = on(Line())
        asked = ask(exchange, 101)
        await asyncio.sleep(0)
        assert exchange.take(JSONRPCResponse(jsonrpc="2.0", id=101, result={}))
        await asked
        assert not exchange.take(JSONRPCResponse(jsonrpc="2.0", id=request_id, result={}))
        assert not exchange.take(JSONRPCNotification(jsonrpc="2.0", method="notifications/message"))

    asyncio.run(main())


def test_a_request_goes_out_as_it_is_with_its_headers_and_without_params_where_there_are_none():
    async def main() -> None:
        line = Line()
        exchange = on(line)
        asked = [ask(exchange, 101, name="echo"), ask(exchange, 102)]
        await asyncio.sleep(0)
        exchange.end()
        await asyncio.gather(*asked, return_exceptions=True)
        assert [item.message.model_dump(exclude_unset=True) for item in line.sent] == [
            {"jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": {"name": "echo"}},
            {"jsonrpc": "2.0", "id": 102, "method": "tools/call"},
        ]
        assert line.sent[0].metadata == ClientMessageMetadata(headers={"mcp-method": "tools/call"})

    asyncio.run(main())


def test_a_cancelled_request_is_taken_back_at_the_server_and_its_late_answer_is_nobodys():
    async def main() -> None:
        line = Line()
        exchange = on(line)
        asked = ask(exchange, 101)
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.sleep(0)
        request, taken_back = (item.message for item in line.sent)
        assert isinstance(request, JSONRPCRequest)
        assert taken_back == JSONRPCNotification(
            jsonrpc="2.0", method="notifications/cancelled", params={"requestId": 101, "reason": "caller cancelled"}
        )
        assert not exchange.take(JSONRPCResponse(jsonrpc="2.0", id=101, result={}))

    asyncio.run(main())


@pytest.mark.parametrize("answered", [False, True], ids=["the cancellation", "the answer"])
def test_of_an_answer_and_a_cancellation_that_cross_the_first_one_counts(answered: bool):
    async def main() -> None:
        line = Line()
        exchange = on(line)
        asked = ask(exchange, 101)
        await asyncio.sleep(0)
        answer = JSONRPCResponse(jsonrpc="2.0", id=101, result={})
        if answered:
            assert exchange.take(answer)
        asked.cancel()
        if not answered:
            exchange.take(answer)
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.sleep(0)
        # A server that has answered has nothing to take back.
        assert len(line.sent) == (1 if answered else 2)

    asyncio.run(main())


def test_the_end_of_the_session_ends_every_request_and_refuses_later_ones():
    async def main() -> None:
        line = Line()
        exchange = on(line)
        asked = [ask(exchange, 101), ask(exchange, 102)]
        await asyncio.sleep(0)
        exchange.end()
        late = ask(exchange, 103)
        outcomes = await asyncio.gather(*asked, late, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [SessionOver] * 3
        assert len(line.sent) == 2

    asyncio.run(main())


def test_a_request_that_nobody_takes_ends_as_the_session_does():
    async def main() -> None:
        line = Line()
        line.cut = True
        with pytest.raises(SessionOver):
            await ask(on(line), 101)

    asyncio.run(main())


def test_the_trace_that_a_host_is_in_goes_on_at_the_server():
    async def main() -> str:
        kept = KeptEvents()
        tracer = TracerProvider().get_tracer("host")
        async with connections(sink=kept) as every:
            connection = every.of(recorded(raw_server()))
            said(await connection.call(a_call()))
            with tracer.start_as_current_span("turn") as span:
                said(await connection.call(a_call()))
        outside, inside = (
            cast("Mapping[str, Any]", event.body["params"])["_meta"]
            for event in kept.events
            if event.kind is EventKind.CALL and event.direction is Direction.SENT
        )
        assert "traceparent" not in outside
        trace_id = format(span.get_span_context().trace_id, "032x")
        assert inside["traceparent"].split("-")[1] == trace_id
        return trace_id

    assert asyncio.run(main())
