"""The pipe to a child: what it took counts as handed over, whatever became of the messages behind it."""

import asyncio
import os

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from remit.upstream.recorder import Recorder
from remit.upstream.redaction import Redactor
from remit.upstream.stdio_transport import StdinSide
from remit.upstream.tap import WriteTap
from remit.upstream.tickets import Ticket
from tests.upstream.calls import until
from tests.upstream.support import NOON, KeptEvents


class Pipe:
    """A pipe to a child that reads as told, with a tap before it."""

    def __init__(self) -> None:
        self.reads, self.writes = os.pipe()
        os.set_blocking(self.reads, False)
        self.stdin = StdinSide()
        recorder = Recorder(
            server="it", connection_id="c", trace_id="t", clock=lambda: NOON, sink=KeptEvents(), redactor=Redactor()
        )
        self.tickets, self.tap = recorder.tickets, WriteTap(self.stdin, recorder)

    async def open(self) -> asyncio.WriteTransport:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(self.writes, "wb", 0)
        )
        self.stdin.open(asyncio.StreamWriter(transport, protocol, None, loop))
        return transport

    def send(self, number: int, size: int) -> "tuple[Ticket, asyncio.Task[None]]":
        ticket = Ticket()
        self.tickets.begin(number, ticket)
        params = {"padding": "x" * size}
        request = JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call", params=params)
        return ticket, asyncio.create_task(self.tap.send(SessionMessage(request)))

    async def read_line(self) -> bytes:
        """Everything up to the first end of a line, and not a byte more."""
        found = bytearray()

        def ended() -> bool:
            while not found.endswith(b"\n"):
                try:
                    found.extend(os.read(self.reads, 1))
                except BlockingIOError:
                    return False
            return True

        await until(ended)
        return bytes(found)


async def fails(sending: "asyncio.Task[None]") -> bool:
    try:
        await sending
    except anyio.BrokenResourceError:
        return True
    return False


def test_a_message_that_a_dying_child_has_read_is_not_called_unsent_for_the_one_behind_it():
    async def main() -> None:
        pipe = Pipe()
        await pipe.open()
        (first, sending), (second, waiting) = pipe.send(1, 150_000), pipe.send(2, 150_000)
        line = await pipe.read_line()
        os.close(pipe.reads)
        assert (len(line) > 150_000, await fails(sending), await fails(waiting)) == (True, False, True)
        assert (first.handed, second.handed) == (True, False)

    asyncio.run(main())


def test_of_what_a_child_does_not_read_one_message_waits_in_memory():
    async def main() -> None:
        pipe = Pipe()
        transport = await pipe.open()
        sent = [pipe.send(number, 150_000)[1] for number in range(20)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert transport.get_write_buffer_size() < 300_000
        for task in sent:
            task.cancel()
        await asyncio.gather(*sent, return_exceptions=True)
        transport.abort()
        os.close(pipe.reads)

    asyncio.run(main())
