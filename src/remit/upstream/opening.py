"""Everything that one opening of a connection needs, made when it is opened and ended with it.

Decides that references are resolved at each opening, so that a secret that was changed is used from then on, that each
opening is a connection of its own in the protocol trace, and that its HTTP client and its token live as long as it does.
"""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from remit.core.events import EventSink
from remit.core.live import Era
from remit.upstream.connector import Connector, Opened, always_ready
from remit.upstream.faults import fault_of
from remit.upstream.http_transport import open_http
from remit.upstream.oauth import token_source_for
from remit.upstream.recorder import Recorder
from remit.upstream.redaction import Redactor
from remit.upstream.references import Connectable, ResolvedHttp, Sources, resolve_connection

__all__ = ["ResolvingConnector", "Surroundings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where values, times and ids come from, and where every protocol event goes."""

    sources: Sources
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    sink: EventSink

    @staticmethod
    def of(
        *,
        environ: Mapping[str, str],
        base_dir: Path,
        python: str,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        sink: EventSink,
    ) -> "Surroundings":
        """`base_dir` is the config's folder, `python` what `{python}` stands for."""
        sources = Sources(environ=environ, base_dir=base_dir.absolute(), python=python)
        return Surroundings(sources=sources, clock=clock, new_id=new_id, sink=sink)


class ResolvingConnector:
    """Opens sessions of one server, one at a time, each on a connection resolved anew.

    `trace_id` is the trace of an opening that names none. `on_list_changed` is called whenever the server says that its
    tools changed.
    """

    def __init__(
        self,
        server: Connectable,
        surroundings: Surroundings,
        *,
        trace_id: str,
        remembered: Era | None = None,
        on_list_changed: Callable[[], None] = lambda: None,
    ):
        self._server = server
        self._surroundings = surroundings
        self._trace_id = trace_id
        self._remembered = remembered
        self._on_list_changed = on_list_changed
        self._connector: Connector | None = None
        self._received_before = 0
        self.redactor = Redactor()

    @property
    def received(self) -> int:
        """Bytes received so far, over all sessions."""
        return self._received_before + (self._connector.received if self._connector else 0)

    def notes(self) -> tuple[str, ...]:
        """What a person should know about the newest connection."""
        return self._connector.notes() if self._connector else ()

    def give_up(self) -> None:
        """The server did not answer: closing need not wait long for it either."""
        if self._connector is not None:
            self._connector.give_up()

    def kill(self) -> None:
        """End a child process at once, without waiting."""
        if self._connector is not None:
            self._connector.kill()

    @asynccontextmanager
    async def open(
        self, seconds: float, on_end: Callable[[], None], trace_id: str | None = None
    ) -> AsyncGenerator[Opened]:
        """A session, negotiated within `seconds`, token and all, under a trace. Raises Fault, its text masked."""
        deadline = time.monotonic() + seconds
        self.redactor = Redactor()
        async with AsyncExitStack() as stack:
            try:
                connector = await self._prepared(stack, deadline, trace_id or self._trace_id)
                left = max(deadline - time.monotonic(), 0)
                opened = await stack.enter_async_context(connector.open(left, on_end))
            except Exception as error:
                fault = fault_of(error, "connecting")
                raise fault.worded(self.redactor.text(fault.message)) from error
            self._remembered = opened.negotiated.era
            yield opened

    async def _prepared(self, stack: AsyncExitStack, deadline: float, trace_id: str) -> Connector:
        around, server = self._surroundings, self._server
        resolved = resolve_connection(server, around.sources)
        for secret in resolved.secrets:
            self.redactor.add(secret)
        http = token = None
        if isinstance(resolved.endpoint, ResolvedHttp):
            token = token_source_for(
                resolved.endpoint, redactor=self.redactor, clock=around.clock, new_id=around.new_id
            )
            http = open_http(resolved.endpoint, authorization=token.header if token else lambda: None)
            stack.push_async_callback(http.aclose)
        if token is not None:
            await token.refresh(seconds=deadline - time.monotonic())
        recorder = Recorder(
            server=server.name,
            connection_id=around.new_id(),
            trace_id=trace_id,
            clock=around.clock,
            sink=around.sink,
            redactor=self.redactor,
        )
        self._received_before = self.received
        self._connector = connector = Connector(
            resolved,
            recorder=recorder,
            environ=around.sources.environ,
            http=http,
            pin=server.connection.protocol,
            remembered=self._remembered,
            on_list_changed=self._on_list_changed,
            ready=token.refresh if token else always_ready,
        )
        return connector
