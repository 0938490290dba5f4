"""One server under watch: a listing whenever it is asked for, and a sign when the last one is old.

Decides how a server's changes are noticed. One that announces `tools.listChanged` is listed on a connection that is kept:
before 2026-07-28 it says `notifications/tools/list_changed` there, since then only on a `subscriptions/listen` stream, which
is opened before the listing so that no change falls between the two. Any other server, and one that refuses the stream, is
listed on a connection that is closed at once, as `plan` does. Pauses between listings are the caller's.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass

from remit.core.canonical import JsonObject
from remit.core.desired import DesiredServer
from remit.core.identity import HttpEndpoint, Transport
from remit.core.live import Era, Listed, Unreachable, UnreachableReason
from remit.core.ports import ListingTarget
from remit.core.watch_ports import Attention
from remit.upstream.circuit import Circuit
from remit.upstream.client import RemoteMcpClient
from remit.upstream.connector import Opened
from remit.upstream.contracts import ContractKeeper
from remit.upstream.faults import Fault, fault_of, unreachable_of
from remit.upstream.inbox import Request
from remit.upstream.opening import ResolvingConnector, Surroundings
from remit.upstream.schema_check import SchemaChecker
from remit.upstream.sdk_session import Negotiated
from remit.upstream.subscriptions import LISTEN, WANTED, announces, delivers
from remit.upstream.tickets import Ticket

__all__ = ["McpWatchedServer", "McpWatchers"]

_FOR_EVER = 30 * 24 * 3600.0
"""Seconds that one subscription stream may last; the end of it is a reason to list again, nothing more."""

_GRACE = 5.0


class McpWatchers:
    """Implements core.watch_ports.WatcherFactory, under the trace `trace_id`; belongs to one event loop."""

    def __init__(self, surroundings: Surroundings, *, trace_id: str):
        self._surroundings = surroundings
        self._trace_id = trace_id
        self._checker = SchemaChecker()

    def watch(self, target: ListingTarget) -> "McpWatchedServer":
        """One server; nothing is opened before the first listing."""
        return McpWatchedServer(target, self._surroundings, trace_id=self._trace_id, checker=self._checker)


class _Signalling:
    """Sessions of a server whose end is told; of a connection that was left on purpose it is not."""

    def __init__(self, sessions: ResolvingConnector, on_end: Callable[[], None]):
        self._sessions = sessions
        self._on_end = on_end
        self.left = False

    @property
    def received(self) -> int:
        return self._sessions.received

    def notes(self) -> tuple[str, ...]:
        return self._sessions.notes()

    def mask(self, text: str) -> str:
        return self._sessions.redactor.text(text)

    def open(
        self, seconds: float, on_end: Callable[[], None], trace_id: str | None = None
    ) -> AbstractAsyncContextManager[Opened]:
        def ended() -> None:
            on_end()
            if not self.left:
                self._on_end()

        return self._sessions.open(seconds, ended, trace_id)

    def give_up(self) -> None:
        self._sessions.give_up()

    def kill(self) -> None:
        self._sessions.kill()


@dataclass(slots=True)
class _Connection:
    """A connection that is kept as long as it is worth it."""

    sessions: _Signalling
    client: RemoteMcpClient
    listings: ContractKeeper
    stream: "asyncio.Task[None] | None" = None
    delivers: bool = False

    async def leave(self, *, hurry: bool = False) -> None:
        self.sessions.left = True
        self.listings.close()
        if self.stream is not None:
            self.stream.cancel()
        await self.client.close(hurry=hurry)


class McpWatchedServer:
    """Implements core.watch_ports.WatchedServer."""

    def __init__(self, target: ListingTarget, surroundings: Surroundings, *, trace_id: str, checker: SchemaChecker):
        self._server = target.server
        self._remembered = target.remembered_era
        self._surroundings = surroundings
        self._trace_id = trace_id
        self._checker = checker
        self._old = asyncio.Event()
        self._kept: _Connection | None = None
        self._attention = Attention.POLLING

    @property
    def attention(self) -> Attention:
        """How changes are noticed, as the newest listing settled it."""
        return self._attention

    async def changed(self) -> None:
        """Return once a push, the end of the connection or of the subscription says that the newest listing is old."""
        await self._old.wait()

    async def list_now(self) -> Listed | Unreachable:
        """Every page. Bounded by twice the server's `start_timeout_seconds`, plus the few seconds of an ending."""
        # What comes from here on may or may not be in this listing, so it asks for another one.
        self._old.clear()
        kept = self._kept = self._kept or self._opened()
        observation = await self._listed(kept)
        if isinstance(observation, Listed):
            self._remembered = observation.era
        if isinstance(observation, Unreachable) or self._attention is Attention.POLLING:
            self._kept = None
            silent = isinstance(observation, Unreachable) and observation.reason is UnreachableReason.TIMEOUT
            await kept.leave(hurry=silent)
        return observation

    async def close(self) -> None:
        """End the connection and a child process; bounded, and fine to repeat."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.leave()

    async def _listed(self, kept: _Connection) -> Listed | Unreachable:
        try:
            negotiated = await kept.client.connect()
            self._attention = await self._attending(kept, negotiated)
        except Exception as error:  # noqa: BLE001 (an outage is an answer, never an exception)
            found = unreachable_of(fault_of(error, "listing"))
            return Unreachable(reason=found.reason, detail=kept.sessions.mask(found.detail))
        seconds = self._server.connection.start_timeout_seconds
        contract = await kept.listings.contract(max_age=0.0, timeout=seconds + _GRACE, trace_id=self._trace_id)
        return contract.live

    def _opened(self) -> _Connection:
        server, connection = self._server, self._server.connection
        sessions = ResolvingConnector(
            server,
            self._surroundings,
            trace_id=self._trace_id,
            remembered=self._remembered,
            on_list_changed=self._old.set,
        )
        signalling = _Signalling(sessions, self._old.set)
        client = RemoteMcpClient(
            signalling, name=server.name, start_seconds=connection.start_timeout_seconds, circuit=Circuit((0.0,))
        )
        listings = ContractKeeper(
            client,
            seconds=connection.start_timeout_seconds,
            page_seconds=connection.timeout_seconds,
            checker=self._checker,
            clock=self._surroundings.clock,
        )
        return _Connection(signalling, client, listings)

    async def _attending(self, kept: _Connection, negotiated: Negotiated) -> Attention:
        if not announces(negotiated.capabilities):
            return Attention.POLLING
        if negotiated.era is Era.LEGACY:
            return Attention.PUSH_AND_POLLING if _streams_apart(self._server) else Attention.PUSH
        if kept.stream is None or kept.stream.done():
            await self._subscribe(kept)
        return Attention.SUBSCRIPTION if kept.delivers else Attention.POLLING

    async def _subscribe(self, kept: _Connection) -> None:
        """Open a subscription stream and wait until the server said what it delivers on it, or that there is none."""
        told = asyncio.Event()
        kept.delivers = False

        def acknowledged(params: JsonObject) -> None:
            kept.delivers = delivers(params)
            if told.is_set():
                # The client repeated the request on a new session, and nobody heard what was said in between.
                self._old.set()
            told.set()

        kept.stream = asyncio.create_task(self._hold_stream(kept, acknowledged))
        waiting = asyncio.create_task(told.wait())
        seconds = self._server.connection.timeout_seconds
        try:
            await asyncio.wait({kept.stream, waiting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()

    async def _hold_stream(self, kept: _Connection, acknowledged: Callable[[JsonObject], None]) -> None:
        ticket = Ticket(trace_id=self._trace_id, on_acknowledged=acknowledged)
        with suppress(Fault):
            await kept.client.ask(Request(method=LISTEN, params=WANTED, ticket=ticket, total=_FOR_EVER))
        # However it ended, nothing that the server says from now on is heard.
        if kept.delivers and not kept.sessions.left:
            self._old.set()


def _streams_apart(server: DesiredServer) -> bool:
    """Whether pushes come on a stream of their own, whose end the SDK repairs twice and then tells nobody."""
    endpoint = server.endpoint
    return isinstance(endpoint, HttpEndpoint) and endpoint.transport is not Transport.SSE
