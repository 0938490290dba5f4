"""The live contract of one connection: a complete listing on the session that calls use, kept for a while.

Decides when a kept listing is good: read on the session that is open, young enough, and nothing came since that makes it
old (`tools/list_changed`, a subscription that began or ended, a broken connection). Callers at the same time share one
listing, and a storm of notifications costs one renewal, at the next question. A failure is never kept, and no caller's end
is the end of the others' listing.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from remit.core.canonical import JsonObject
from remit.core.live import Listed, Unreachable, UnreachableReason, judge_empty
from remit.core.remote_ports import RemoteContract
from remit.upstream.client import RemoteMcpClient
from remit.upstream.faults import Fault, fault_of, unreachable_of
from remit.upstream.http_transport import SESSION_LOST
from remit.upstream.inbox import Answer, Request
from remit.upstream.reading import read_listing
from remit.upstream.schema_check import SchemaChecker
from remit.upstream.tickets import Ticket

__all__ = ["NO_SESSION", "ContractKeeper"]

NO_SESSION = 0
"""The number of no session: what an unreachable server's contract was read on."""

_EXPLAIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Kept:
    contract: RemoteContract
    generation: int
    read_at: float


@dataclass(frozen=True, slots=True)
class _Flight:
    task: "asyncio.Task[RemoteContract]"
    generation: int


class ContractKeeper:
    """The listings of one client. `seconds` bounds the making of one, `page_seconds` each of its pages."""

    def __init__(
        self,
        client: RemoteMcpClient,
        *,
        seconds: float,
        page_seconds: float,
        checker: SchemaChecker,
        clock: Callable[[], datetime],
    ):
        self._client = client
        self._seconds = seconds
        self._page_seconds = page_seconds
        self._checker = checker
        self._clock = clock
        self._generation = 0
        self._tools = 0
        self._kept: _Kept | None = None
        self._flight: _Flight | None = None

    def outdate(self) -> None:
        """What is kept is old from now on."""
        self._generation += 1

    async def contract(self, *, max_age: float, timeout: float, trace_id: str) -> RemoteContract:
        """The kept listing or a new one; Unreachable where it is not had within `timeout` seconds. Never raises."""
        kept = self._kept
        if kept is not None and self._is_good(kept, max_age):
            return kept.contract
        try:
            async with asyncio.timeout(timeout):
                return await self._renewed(trace_id)
        except TimeoutError:
            detail = f"no complete listing within {timeout:g} s"
            return RemoteContract(live=Unreachable(reason=UnreachableReason.TIMEOUT, detail=detail), session=NO_SESSION)

    def known(self) -> RemoteContract | None:
        """The kept listing of the session that is open now, whatever its age; None where there is none."""
        kept = self._kept
        return None if kept is None or kept.contract.session != self._client.session else kept.contract

    def close(self) -> None:
        """End a listing that is under way."""
        if self._flight is not None:
            self._flight.task.cancel()

    def _is_good(self, kept: _Kept, max_age: float) -> bool:
        return (
            kept.generation == self._generation
            and kept.contract.session == self._client.session
            and time.monotonic() - kept.read_at <= max_age
        )

    async def _renewed(self, trace_id: str) -> RemoteContract:
        wanted = self._generation
        while True:
            flight = self._flight
            if flight is None or flight.task.done():
                task = asyncio.create_task(self._read(trace_id))
                flight = self._flight = _Flight(task, self._generation)
            # A listing that began before the tools changed is waited for, and another one made.
            await asyncio.wait({flight.task})
            if flight.task.cancelled():
                return _unreachable(Fault(UnreachableReason.PROTOCOL, "the connection is closed"))
            if flight.generation >= wanted:
                return flight.task.result()

    async def _read(self, trace_id: str) -> RemoteContract:
        began, generation = time.monotonic(), self._generation
        try:
            contract = await self._once_or_twice(trace_id, began + self._seconds)
        except Exception as error:  # noqa: BLE001 (an outage is an answer, never an exception)
            return _unreachable(fault_of(error, "listing"))
        if isinstance(contract.live, Listed):
            self._tools = len(contract.live.tools) + len(contract.live.quarantined)
            self._kept = _Kept(contract, generation, began)
        return contract

    async def _once_or_twice(self, trace_id: str, deadline: float) -> RemoteContract:
        try:
            return await self._whole(trace_id, deadline)
        except Fault as fault:
            if fault.code != SESSION_LOST:
                raise
        return await self._whole(trace_id, deadline)

    async def _whole(self, trace_id: str, deadline: float) -> RemoteContract:
        pages = _Pages(self._client, trace_id)
        opened = await pages.connect(deadline)
        listed = await read_listing(
            pages,
            opened.negotiated,
            deadline=deadline,
            page_seconds=self._page_seconds,
            checker=self._checker,
            clock=self._clock,
        )
        return RemoteContract(live=judge_empty(listed, self._tools, allowed=False), session=opened.session)


class _Pages:
    """The pages of one listing, all of one session."""

    def __init__(self, client: RemoteMcpClient, trace_id: str):
        self._client = client
        self._trace_id = trace_id
        self._session: int | None = None

    @property
    def received(self) -> int:
        return self._client.received

    def notes(self) -> tuple[str, ...]:
        return self._client.notes()

    async def connect(self, deadline: float) -> Answer:
        # The opening has its own deadline and says more about it, so this one comes a little later.
        seconds = deadline - time.monotonic() + _EXPLAIN_SECONDS
        answer = await self._client.ask(Request(ticket=Ticket(trace_id=self._trace_id), total=seconds))
        self._session = answer.session
        return answer

    async def list_page(self, cursor: str | None = None, *, timeout: float) -> JsonObject:
        params: JsonObject = {} if cursor is None else {"cursor": cursor}
        ticket = Ticket(trace_id=self._trace_id)
        request = Request(method="tools/list", params=params, ticket=ticket, total=timeout, session=self._session)
        return (await self._client.ask(request)).result


def _unreachable(fault: Fault) -> RemoteContract:
    return RemoteContract(live=unreachable_of(fault), session=NO_SESSION)
