"""Connections of one process for governed calls: one client, so one child process, for each registration.

Decides when a registration's connection is replaced and what a call's answer is; sessions, limits and reconnecting are the
client's, listings those of remit.upstream.contracts. Implements core.remote_ports. To be used from one event loop only.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence

from remit.core.calls import FailureCode
from remit.core.canonical import JsonObject
from remit.core.identity import ServerId
from remit.core.live import Era
from remit.core.recorded import RecordedServer
from remit.core.remote_ports import Delivery, RemoteAnswer, RemoteCall, RemoteContract, RemoteFault, RemoteResult
from remit.upstream.bodies import can_be_sent
from remit.upstream.circuit import PAUSES, Circuit
from remit.upstream.client import CLOSE_SECONDS, RemoteMcpClient
from remit.upstream.contracts import ContractKeeper
from remit.upstream.faults import Fault, breaks_connection
from remit.upstream.inbox import Request
from remit.upstream.opening import ResolvingConnector, Surroundings
from remit.upstream.outcomes import failure_of
from remit.upstream.progress import ProgressRelay, listen
from remit.upstream.redaction import Redactor
from remit.upstream.references import resolve_connection
from remit.upstream.schema_check import SchemaChecker
from remit.upstream.subscriptions import Subscriber
from remit.upstream.tickets import Ticket

__all__ = ["DRAIN_SECONDS", "McpConnections", "McpServerConnection"]

DRAIN_SECONDS = 30.0
"""Seconds that the calls of a replaced connection may still take."""

_CLOSING_SECONDS = CLOSE_SECONDS + 2.0


class McpServerConnection:
    """The connection to one registration as it was recorded, opened at the first use and again after each end."""

    def __init__(
        self,
        server: RecordedServer,
        surroundings: Surroundings,
        *,
        numbers: Iterator[int],
        checker: SchemaChecker,
        link: Callable[[str, str], None],
        pauses: Sequence[float] = PAUSES,
    ):
        connection = server.connection
        self._server = server
        self._sessions = sessions = ResolvingConnector(
            server,
            surroundings,
            trace_id="",
            remembered=Era(server.era) if server.era in tuple(Era) else None,
            on_list_changed=self._outdate,
        )
        self._client = RemoteMcpClient(
            sessions,
            name=server.name,
            start_seconds=connection.start_timeout_seconds,
            circuit=Circuit(pauses),
            numbers=numbers,
            link=link,
            beside=Subscriber(on_gap=self._outdate, seconds=connection.timeout_seconds).hold,
        )
        self._contracts = ContractKeeper(
            self._client,
            seconds=connection.start_timeout_seconds,
            page_seconds=connection.timeout_seconds,
            checker=checker,
            clock=surroundings.clock,
        )
        self._relays: set[asyncio.Task[None]] = set()

    def fits(self, server: RecordedServer) -> bool:
        """Whether the registration is still recorded as it was when this connection was made."""
        mine = self._server
        return mine is server or (
            mine.endpoint == server.endpoint
            and mine.connection == server.connection
            and mine.instance == server.instance
        )

    async def contract(self, *, max_age: float, timeout: float, trace_id: str) -> RemoteContract:
        """A complete listing on the session that calls use, at most `max_age` seconds old, made anew within `timeout`."""
        return await self._contracts.contract(max_age=max_age, timeout=timeout, trace_id=trace_id)

    def known(self) -> RemoteContract | None:
        """The newest listing of the session that is open now, whatever its age; None where there is none. No network."""
        return self._contracts.known()

    async def call(self, call: RemoteCall) -> RemoteAnswer:
        """Carry a call out. Cancelling the awaiting task cancels the call on the server and returns at once."""
        if not can_be_sent(call.arguments):
            message = (
                f"server {self._server.name!r}, tool {call.remote_name!r}: the arguments are no JSON that can be sent"
            )
            return RemoteFault(code=FailureCode.INVALID_ARGUMENTS, message=message, delivery=Delivery.NOT_SENT)
        ticket = Ticket(trace_id=call.trace_id, full=call.full_record)
        relay = listen(ticket, call.on_progress)
        try:
            return await self._carried_out(call, ticket)
        except asyncio.CancelledError:
            if relay is not None:
                relay.drop()
            raise
        except Exception as error:  # noqa: BLE001 (the promise of this method: nothing escapes)
            message = f"server {self._server.name!r}, tool {call.remote_name!r}: {type(error).__name__} inside remit"
            delivery = Delivery.LOST if ticket.handed else Delivery.NOT_SENT
            return RemoteFault(code=FailureCode.INTERNAL_ERROR, message=message, delivery=delivery)
        finally:
            self._let_finish(relay)

    def masked(self, value: JsonObject) -> JsonObject:
        """A JSON object without the secrets of the newest session, a fetched token included."""
        return self._sessions.redactor.object(value)

    def refuse(self) -> None:
        """Open nothing any more."""
        self._client.refuse()

    async def close(self) -> None:
        """End the session, what waits for it, and a child process; bounded, and fine to repeat."""
        self._contracts.close()
        for task in self._relays:
            task.cancel()
        await self._client.close()

    async def retire(self) -> None:
        """Let the calls that are under way finish, then close."""
        await self._client.until_idle(DRAIN_SECONDS)
        await self.close()

    def _outdate(self) -> None:
        self._contracts.outdate()

    async def _carried_out(self, call: RemoteCall, ticket: Ticket) -> RemoteAnswer:
        request = Request(
            method="tools/call",
            params={"name": call.remote_name, "arguments": call.arguments},
            input_schema=call.input_schema,
            ticket=ticket,
            total=call.total_seconds,
            idle=call.idle_seconds,
            session=call.session,
        )
        try:
            answer = await self._client.ask(request)
        except Fault as fault:
            if breaks_connection(fault):
                # Whoever answers next may be another server with other tools.
                self._contracts.outdate()
            return failure_of(fault, call, server=self._server.name, handed=ticket.handed)
        return RemoteResult(
            result=answer.result,
            era=answer.negotiated.era.value,
            protocol_version=answer.negotiated.protocol_version,
            renewed=answer.renewed,
        )

    def _let_finish(self, relay: ProgressRelay | None) -> None:
        if relay is not None:
            relay.end()
            if relay.task is not None and not relay.task.done():
                self._relays.add(relay.task)
                relay.task.add_done_callback(self._relays.discard)


class McpConnections:
    """The connections of one process. Implements core.remote_ports.Connections.

    Each protocol event is of the trace of the turn that caused it; `link` is told (trace id, connection id) when a turn
    uses a connection that another trace opened. All methods belong to one event loop.
    """

    def __init__(
        self, surroundings: Surroundings, *, link: Callable[[str, str], None], pauses: Sequence[float] = PAUSES
    ):
        self._surroundings = surroundings
        self._link = link
        self._pauses = pauses
        self._checker = SchemaChecker()
        # One count for all, so that the number of a session never fits the session of another connection.
        self._numbers = itertools.count(1)
        self._connections: dict[ServerId, McpServerConnection] = {}
        self._leaving: dict[asyncio.Task[None], McpServerConnection] = {}
        self._closed = False

    def of(self, server: RecordedServer) -> McpServerConnection:
        """The connection of a registration; where its entry changed, a new one, and the old one is closed beside."""
        known = self._connections.get(server.server_id)
        if known is not None and known.fits(server):
            return known
        if known is not None and not self._closed:
            task = asyncio.get_running_loop().create_task(known.retire())
            self._leaving[task] = known
            task.add_done_callback(lambda done: self._leaving.pop(done, None))
        made = self._connections[server.server_id] = McpServerConnection(
            server,
            self._surroundings,
            numbers=self._numbers,
            checker=self._checker,
            link=self._link,
            pauses=self._pauses,
        )
        if self._closed:
            made.refuse()
        return made

    def known(self, server: RecordedServer) -> RemoteContract | None:
        """The newest listing of the session that is open for a registration as it is given; opens and replaces nothing."""
        found = self._connections.get(server.server_id)
        return found.known() if found is not None and found.fits(server) else None

    def masked(self, server: RecordedServer, value: JsonObject) -> JsonObject:
        """A JSON object without the secrets of the connections that were opened, and of what `server` refers to now."""
        for connection in (*self._connections.values(), *self._leaving.values()):
            value = connection.masked(value)
        try:
            resolved = resolve_connection(server, self._surroundings.sources)
        except Fault:
            # Nothing goes out to a server with a reference that has no value.
            return value
        return Redactor(resolved.secrets).object(value)

    async def close(self) -> None:
        """End every connection and child process; bounded, and fine to repeat. Later calls are refused as unreachable."""
        self._closed = True
        every = [*self._connections.values(), *self._leaving.values()]
        closing = {asyncio.create_task(connection.close()) for connection in every} | set(self._leaving)
        if closing:
            _, late = await asyncio.wait(closing, timeout=_CLOSING_SECONDS)
            for task in late:
                task.cancel()
