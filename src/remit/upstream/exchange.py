"""Requests of ours and their answers on one session, matched by number.

Decides which answer is whose, what a cancelled request says to the server, and that the end of the session ends every
request. Handshakes stay the SDK's; the requests after it do not go through its dispatcher, which spends two streams, a span
and three scopes on each (0.1 ms with 2.3.0, a third of what a governed call may add to a bare one).
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from remit.upstream.tap import WriteTap
from remit.upstream.tickets import CANCELLED, request_key

__all__ = ["Exchange", "SessionOver"]

_FAREWELL_SECONDS = 5.0
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)


class SessionOver(Exception):
    """The session ended before the answer came."""


class Exchange:
    """The requests of one session that wait for their answer. For one event loop; nothing is sent once it was ended."""

    def __init__(self, write: WriteTap):
        self._write = write
        self._waiting: dict[int | str, asyncio.Future[JSONRPCResponse | JSONRPCError | None]] = {}
        self._farewells: set[asyncio.Task[None]] = set()
        self._is_over = False

    async def ask(
        self, number: int, method: str, params: Mapping[str, Any], headers: Mapping[str, str]
    ) -> JSONRPCResponse | JSONRPCError:
        """The answer to a request. Raises SessionOver; where the awaiting task is cancelled, the server is told."""
        if self._is_over:
            raise SessionOver
        answer: asyncio.Future[JSONRPCResponse | JSONRPCError | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        # Without params rather than with none: `"params": null` is no JSON-RPC.
        given = {"params": dict(params)} if params else {}
        request = JSONRPCRequest(jsonrpc="2.0", id=number, method=method, **given)
        try:
            await self._write.send(SessionMessage(request, ClientMessageMetadata(headers=dict(headers))))
            received = await answer
        except _GONE:
            raise SessionOver from None
        except asyncio.CancelledError:
            # Also where the message was still being handed over: a server ignores a number that it never saw. Where the
            # answer came at the same moment there is nothing to cancel any more.
            if not answer.done() or answer.cancelled():
                self._tell_cancelled(number)
            raise
        finally:
            del self._waiting[number]
        if received is None:
            raise SessionOver
        return received

    def take(self, message: JSONRPCMessage) -> bool:
        """Give an answer to whoever waits for it; False where nobody does."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return False
        key = request_key(message.id)
        answer = None if key is None else self._waiting.get(key)
        if answer is None:
            return False
        if not answer.done():
            answer.set_result(message)
        return True

    def end(self) -> None:
        """The session is over: nobody gets an answer any more."""
        self._is_over = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(None)

    async def close(self) -> None:
        """End, and forget the words that could not be said any more."""
        self.end()
        for task in self._farewells:
            task.cancel()

    def _tell_cancelled(self, number: int) -> None:
        if not self._is_over:
            task = asyncio.get_running_loop().create_task(self._farewell(number))
            self._farewells.add(task)
            task.add_done_callback(self._farewells.discard)

    async def _farewell(self, number: int) -> None:
        params = {"requestId": number, "reason": "caller cancelled"}
        with suppress(*_GONE, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._write.send(
                    SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=CANCELLED, params=params))
                )
