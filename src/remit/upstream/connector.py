"""Opening a connection: the transport, the handshake, and the way back to the other era.

Decides the order of eras and what a failed probe means: an answer that says no keeps the connection and tries the other
era on it; a process that died or never answered is left, and a fresh one is spoken to in the other era first. An outage
(refused, unauthorised, unresolvable) is never an era verdict. Only the newest connection's end is recorded as CLOSE; a
FALLBACK stands for the end of the one before.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import TypeAlias, cast

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import McpHttpClientFactory
from mcp_types import JSONRPCMessage

from remit.core.canonical import JsonObject
from remit.core.desired import ProtocolPin
from remit.core.events import EventKind
from remit.core.identity import Transport
from remit.core.live import Era, UnreachableReason
from remit.upstream.event_body import MAX_SSE_EVENT
from remit.upstream.faults import SERVER_GONE, Fault, fault_of
from remit.upstream.http_transport import UpstreamHttp
from remit.upstream.recorder import Recorder
from remit.upstream.references import ResolvedConnection, ResolvedHttp, ResolvedStdio
from remit.upstream.sdk_session import Answered, Negotiated, SdkSession, quiet_sdk_logging
from remit.upstream.stdio_transport import StdioTransport
from remit.upstream.tap import ReadSide, ReadTap, WriteSide, WriteTap

__all__ = ["PROBE_SECONDS", "Connector", "Opened", "Ready", "always_ready"]

PROBE_SECONDS = 10.0
"""The longest a probe waits; a third of the start's time where that is less."""

_NOISE_KEPT = 5
_NOISE_LENGTH = 200
_STDERR_SHOWN = 2_000
_DETAIL = 500
_EXIT_SECONDS = 0.5
_ENTER_GRACE = 0.25

Ready: TypeAlias = Callable[[], Awaitable[None]]
"""What is awaited before each request, e.g. the renewal of a token; it raises Fault where the request must not go out."""


class Opened:
    """An open, negotiated session, and the connection that it is on.

    `ready` is awaited before each request on it and raises Fault where the request must not go out; `explain` makes a
    fault of a request say what the transport knows.
    """

    def __init__(
        self,
        session: SdkSession,
        negotiated: Negotiated,
        *,
        trace_id: str,
        connection_id: str,
        ready: Ready,
        explain: Callable[[Fault], Awaitable[Fault]],
    ):
        self.session = session
        self.negotiated = negotiated
        self.trace_id = trace_id
        self.connection_id = connection_id
        self.ready = ready
        self.explain = explain


async def always_ready() -> None:
    """Nothing has to happen before a request."""


class _End:
    """The end of one transport's stream; told to others only for the transport that became the session."""

    def __init__(self) -> None:
        self._ended = False
        self._tell: Callable[[], None] = lambda: None

    def reached(self) -> None:
        self._ended = True
        self._tell()

    def tell(self, listener: Callable[[], None]) -> None:
        self._tell = listener
        if self._ended:
            listener()


class Connector:
    """Opens sessions of one resolved connection, one at a time, and remembers the era that worked.

    `http` is the caller's client for an HTTP endpoint; it is used and never closed here. `ready` is awaited before the
    opening and before each request; `on_list_changed` is called whenever the server says that its tools changed.
    """

    def __init__(
        self,
        connection: ResolvedConnection,
        *,
        recorder: Recorder,
        environ: Mapping[str, str],
        http: httpx2.AsyncClient | None = None,
        pin: ProtocolPin = ProtocolPin.AUTO,
        remembered: Era | None = None,
        ready: Ready = always_ready,
        on_list_changed: Callable[[], None] = lambda: None,
    ):
        self._ready = ready
        self._on_list_changed = on_list_changed
        self._connection = connection
        self._recorder = recorder
        self._environ = environ
        self._http = http
        self._pin = pin
        self._remembered = remembered
        self._stdio: StdioTransport | None = None
        self._stdio_restarted = False
        self._received_before = 0
        self._noise: list[str] = []
        self._noise_count = 0
        self._dropped: list[str] = []
        self._dropped_count = 0
        if isinstance(http, UpstreamHttp):
            http.traffic.on_dropped, http.traffic.on_untaken = self._on_dropped, self._on_untaken

    @property
    def received(self) -> int:
        """Bytes received so far, over all sessions of this connection."""
        http = self._http.traffic.received if isinstance(self._http, UpstreamHttp) else 0
        return http + self._received_before + (self._stdio.received if self._stdio else 0)

    def notes(self) -> tuple[str, ...]:
        """What a person should know: the lines on stdout that were no messages, the messages that were too long."""
        found: list[str] = []
        if self._noise_count:
            were = "1 line on stdout was no message and was" if self._noise_count == 1 else ""
            found = [
                f"{were or f'{self._noise_count} lines on stdout were no messages and were'} skipped",
                *self._noise,
            ]
        if self._dropped_count:
            found += [
                f"messages that answer no request were dropped: {self._dropped_count}",
                *self._dropped,
            ]
        return tuple(found)

    def give_up(self) -> None:
        """The server did not answer: closing need not wait long for it either."""
        if self._stdio is not None:
            self._stdio.give_up()

    def kill(self) -> None:
        """End a child process at once, without waiting."""
        if self._stdio is not None:
            self._stdio.kill()

    @asynccontextmanager
    async def open(
        self, seconds: float, on_end: Callable[[], None], trace_id: str | None = None
    ) -> AsyncGenerator[Opened]:
        """A session, negotiated within `seconds`. `on_end` is called when the server's side of it ends.

        Its events belong to `trace_id` where one is given. Raises Fault. What happens to the session later comes out of
        the requests on it, not out of this context.
        """
        if trace_id is not None:
            self._recorder.trace_id = trace_id
        await self._ready()
        quiet_sdk_logging()
        deadline = time.monotonic() + seconds
        orders = self._orders()
        try:
            for order in orders:
                async with AsyncExitStack() as stack:
                    session, failure = await self._attempt(stack, order, deadline, on_end)
                    if session is not None:
                        yield session
                        return
                if failure is None or order is orders[-1] or not _may_fall_back(failure):
                    raise failure or Fault(UnreachableReason.PROTOCOL, "no era worked")
                self._fall_back(failure, orders[-1][0])
        finally:
            self._closed()

    async def _attempt(
        self, stack: AsyncExitStack, order: tuple[Era, ...], deadline: float, on_end: Callable[[], None]
    ) -> tuple[Opened | None, Fault | None]:
        """One transport, and each era of the order on it. Gives the session, or the fault."""
        try:
            # The handshake's own deadline says more about what took too long, so this one comes a little later.
            async with asyncio.timeout(max(deadline - time.monotonic(), 0) + _ENTER_GRACE):
                read, write = await self._enter_transport(stack)
                end = _End()
                tap = ReadTap(read, self._recorder, end.reached, self._restore, self._on_list_changed)
                if self._stdio is not None:
                    self._stdio.look = tap.look
                taps = tap, WriteTap(write, self._recorder)
                session = await stack.enter_async_context(SdkSession(*taps, self._recorder))
                negotiated = await self._negotiate(session, order, deadline)
        except Exception as error:  # noqa: BLE001 (whatever the SDK raises becomes the one fault)
            fault = fault_of(error, "connecting")
            self.give_up()
            return None, await self._explained(fault)
        self._remembered = negotiated.era
        end.tell(on_end)
        return self._opened(session, negotiated), None

    def _opened(self, session: SdkSession, negotiated: Negotiated) -> Opened:
        return Opened(
            session,
            negotiated,
            trace_id=self._recorder.trace_id,
            connection_id=self._recorder.connection_id,
            ready=self._ready,
            explain=self.explain,
        )

    async def _negotiate(self, session: SdkSession, order: tuple[Era, ...], deadline: float) -> Negotiated:
        first, *others = order
        remaining = max(deadline - time.monotonic(), 0)
        try:
            negotiated = await session.shake_hands(first, self._patience(remaining, alone=len(order) == 1))
        except Answered as answered:
            if not others:
                raise
            self._fall_back(answered, others[0])
            remaining = max(deadline - time.monotonic(), 0)
            negotiated = await session.shake_hands(others[0], remaining)
        self._recorder.fact(EventKind.HANDSHAKE, era=negotiated.era.value, protocol_version=negotiated.protocol_version)
        return negotiated

    def _patience(self, remaining: float, *, alone: bool) -> float:
        if alone or self._stdio_restarted:
            return remaining
        return remaining * 2 / 3 if self._remembered else min(PROBE_SECONDS, remaining / 3)

    def _orders(self) -> tuple[tuple[Era, ...], ...]:
        self._stdio_restarted = False
        match self._pin:
            case ProtocolPin.LEGACY:
                return ((Era.LEGACY,),)
            case ProtocolPin.MODERN:
                return ((Era.MODERN,),)
            case ProtocolPin.AUTO if self._is_legacy_transport():
                return ((Era.LEGACY,),)
            case ProtocolPin.AUTO:
                pass
        modern_first, legacy_first = (Era.MODERN, Era.LEGACY), (Era.LEGACY, Era.MODERN)
        return (legacy_first, modern_first) if self._remembered is Era.LEGACY else (modern_first, legacy_first)

    def _is_legacy_transport(self) -> bool:
        """HTTP with server-sent events ended with the legacy era; a probe on it would only cost time."""
        endpoint = self._connection.endpoint
        return isinstance(endpoint, ResolvedHttp) and endpoint.transport is Transport.SSE

    def _fall_back(self, fault: Fault, era: Era) -> None:
        self._stdio_restarted = not isinstance(fault, Answered)
        self._recorder.fact(EventKind.FALLBACK, to=era.value, because=fault.message)

    async def _enter_transport(self, stack: AsyncExitStack) -> tuple[ReadSide, WriteSide]:
        match self._connection.endpoint:
            case ResolvedStdio() as launch:
                return await self._enter_stdio(stack, launch)
            case ResolvedHttp() as endpoint:
                return await self._enter_http(stack, endpoint)

    async def _enter_stdio(self, stack: AsyncExitStack, launch: ResolvedStdio) -> tuple[ReadSide, WriteSide]:
        self._recorder.fact(EventKind.OPEN, transport="stdio", command=launch.command)
        if self._stdio is not None:
            self._received_before += self._stdio.received
        self._stdio = StdioTransport(
            launch, environ=self._environ, on_noise=self._on_noise, on_dropped=self._on_dropped
        )
        return await stack.enter_async_context(self._stdio)

    async def _enter_http(self, stack: AsyncExitStack, endpoint: ResolvedHttp) -> tuple[ReadSide, WriteSide]:
        self._recorder.fact(EventKind.OPEN, transport=endpoint.transport.value, url=endpoint.url)
        http = self._http
        if http is None:
            raise Fault(UnreachableReason.PROTOCOL, "an HTTP endpoint needs an HTTP client")
        if endpoint.transport is Transport.SSE:
            return await stack.enter_async_context(sse_client(endpoint.url, httpx_client_factory=_lender(http)))
        return await stack.enter_async_context(
            streamable_http_client(endpoint.url, http_client=http, max_sse_event_size=MAX_SSE_EVENT)
        )

    def _restore(self, message: JSONRPCMessage) -> None:
        if isinstance(self._http, UpstreamHttp):
            self._http.traffic.parking.restore(message)

    def _on_noise(self, text: str) -> None:
        self._noise_count += 1
        if self._noise_count > _NOISE_KEPT:
            return
        shown = self._recorder.redactor.text(text)[:_NOISE_LENGTH]
        self._noise.append(shown)
        self._recorder.fact(EventKind.NOISE, line=self._recorder.words(shown))

    def _on_dropped(self, why: str) -> None:
        self._dropped_count += 1
        if self._dropped_count <= _NOISE_KEPT:
            self._dropped.append(why)
            self._recorder.fact(EventKind.NOISE, dropped=why)

    def _on_untaken(self, method: str, why: Fault) -> None:
        because = self._recorder.words(self._recorder.redactor.text(why.message)[:_DETAIL])
        self._recorder.fact(EventKind.NOISE, untaken=method, because=because)

    async def _explained(self, fault: Fault) -> Fault:
        """The fault of an opening, with what the transport knows about it."""
        better, pin = await self.explain(fault), self._pin_named(fault)
        if better.code == SERVER_GONE and self._stdio is not None:
            return Fault(UnreachableReason.START_FAILED, better.message + pin, code=SERVER_GONE)
        if better.reason is UnreachableReason.TIMEOUT:
            # What it waits for (a download, a registry, a prompt) is said on stderr or nowhere.
            return better.worded(better.message + pin + self._stderr_tail())
        return better.worded(better.message + pin)

    def _pin_named(self, fault: Fault) -> str:
        """The way out, where the file let only one era be tried and that may be why an opening failed."""
        is_about_era = isinstance(fault, Answered) or (_may_fall_back(fault) and not fault.refused)
        if self._pin is ProtocolPin.AUTO or not is_about_era:
            return ""
        if self._pin is ProtocolPin.LEGACY and self._is_legacy_transport():
            return ""
        pinned = f"mcp.yaml pins `protocol: {self._pin.value}` for this server, so no other era was tried"
        return f"; {pinned}: take the line out, or write `protocol: auto`"

    async def explain(self, fault: Fault) -> Fault:
        """The fault with what the transport knows: its own fault, an exit code, the end of stderr; texts masked."""
        mask = self._recorder.redactor.text
        if isinstance(self._http, UpstreamHttp) and fault.code in (SERVER_GONE, UnreachableReason.PROTOCOL):
            streams = self._http.traffic.stream_fault
            # Why the stream ended; what became of this request is not known.
            fault = Fault(streams.reason, streams.message, code=streams.code) if streams else fault
        stdio = self._stdio
        if stdio is None or fault.code != SERVER_GONE:
            return fault.worded(mask(fault.message)[:_DETAIL])
        if stdio.fault is not None:
            return stdio.fault.worded(mask(stdio.fault.message)[:_DETAIL])
        code = await stdio.exit_status(_EXIT_SECONDS)
        ended = "closed its stdout" if code is None else f"exited with code {code}"
        return fault.worded(f"{fault.message}: it {ended}{self._stderr_tail()}")

    def _stderr_tail(self) -> str:
        text = self._recorder.redactor.text(self._stdio.stderr_text() if self._stdio else "").strip()
        return f"; stderr ends with: {text[-_STDERR_SHOWN:]}" if text else ""

    def _closed(self) -> None:
        self._recorder.count_up()
        stdio = self._stdio
        if stdio is None:
            self._recorder.fact(EventKind.CLOSE)
        else:
            stderr = self._recorder.words(self._recorder.redactor.text(stdio.stderr_text())[-_STDERR_SHOWN:])
            facts: JsonObject = {"exit_code": stdio.exit_code, "skipped_lines": self._noise_count, "stderr": stderr}
            self._recorder.fact(EventKind.CLOSE, **facts)


def _lender(client: httpx2.AsyncClient) -> McpHttpClientFactory:
    def lend(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return cast("httpx2.AsyncClient", _Lent(client))

    return lend


class _Lent:
    """The caller's client where the SDK wants to open and close one of its own."""

    def __init__(self, client: httpx2.AsyncClient):
        self._client = client

    async def __aenter__(self) -> httpx2.AsyncClient:
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def _may_fall_back(fault: Fault) -> bool:
    """Whether a failed attempt may be about the era: the server died or stayed silent."""
    return fault.code == SERVER_GONE or fault.reason is UnreachableReason.TIMEOUT
