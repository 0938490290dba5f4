"""`McpServerLister`: one server listed completely over a connection of its own.

Decides nothing about tools that remit.upstream.judge does not, and never raises for anything that a server or the
environment does. The events of a listing, as (kind, direction), LOCAL for what we did or noticed:

    modern      OPEN local, PROBE sent, PROBE received, HANDSHAKE local, then per page PAGE sent, PAGE received;
                CLOSE local
    legacy      OPEN local, PROBE sent, PROBE received (an error), FALLBACK local, HANDSHAKE sent, HANDSHAKE received,
                HANDSHAKE sent (initialized), HANDSHAKE local, pages as above, CLOSE local
    legacy, the process died on the probe or never answered it
                OPEN local, PROBE sent, FALLBACK local, OPEN local, HANDSHAKE sent, HANDSHAKE received, HANDSHAKE sent,
                HANDSHAKE local, pages, CLOSE local
    remembered or pinned legacy
                OPEN local, HANDSHAKE sent, HANDSHAKE received, HANDSHAKE sent, HANDSHAKE local, pages, CLOSE local

NOISE (local) stands where a line on stdout was no message (the first five are kept), NOTIFICATION and MESSAGE where the
server sent one. Nothing is recorded for a server whose references could not be resolved: nothing was opened.
"""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from remit.core.desired import DesiredServer
from remit.core.events import EventSink
from remit.core.live import Listed, Unreachable, UnreachableReason
from remit.core.ports import ListingTarget
from remit.upstream.client import RemoteMcpClient
from remit.upstream.faults import Fault, fault_of, unreachable_of
from remit.upstream.http_transport import UpstreamHttp, open_http
from remit.upstream.judge import judge_listing
from remit.upstream.listing import walk_pages
from remit.upstream.oauth import token_source_for
from remit.upstream.recorder import Recorder
from remit.upstream.redaction import Redactor
from remit.upstream.references import ResolvedConnection, ResolvedHttp, Sources, resolve_connection
from remit.upstream.schema_check import SchemaChecker

__all__ = ["McpServerLister"]

_SAME_MOMENT = 0.05
"""Seconds between two looks at a clock that are one and the same end of a wait."""


class McpServerLister:
    """Lists servers, each over a fresh connection that is closed before the listing is returned.

    Implements core.ports.ServerLister. `base_dir` is the config's folder, `python` what `{python}` stands for; times and
    ids come from `clock` and `new_id`; every protocol event goes to `sink` under `trace_id`.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        base_dir: Path,
        python: str,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        sink: EventSink,
        trace_id: str,
    ):
        self._sources = Sources(environ=environ, base_dir=base_dir.absolute(), python=python)
        self._clock = clock
        self._new_id = new_id
        self._sink = sink
        self._trace_id = trace_id
        self._checker = SchemaChecker()

    async def list_server(self, target: ListingTarget) -> Listed | Unreachable:
        """Every page, judged tool by tool, or the reason why there is no listing.

        Bounded by the server's `start_timeout_seconds`, plus the few seconds that closing may take.
        """
        deadline = time.monotonic() + target.server.connection.start_timeout_seconds
        redactor = Redactor()
        try:
            connection = resolve_connection(target.server, self._sources)
            for secret in connection.secrets:
                redactor.add(secret)
            return await self._list(target, connection, deadline, redactor)
        except Exception as error:  # noqa: BLE001 (the promise of this method: an outage is an answer, never an exception)
            found = unreachable_of(fault_of(error, "listing"))
            detail = redactor.text(found.detail)
            if found.reason is UnreachableReason.TIMEOUT:
                detail = f"did not answer within {_setting(target.server, deadline)} ({detail})"
            return Unreachable(reason=found.reason, detail=detail)

    async def _list(
        self, target: ListingTarget, connection: ResolvedConnection, deadline: float, redactor: Redactor
    ) -> Listed | Unreachable:
        http: UpstreamHttp | None = None
        token = None
        if isinstance(connection.endpoint, ResolvedHttp):
            token = token_source_for(connection.endpoint, redactor=redactor, clock=self._clock, new_id=self._new_id)
            http = open_http(connection.endpoint, authorization=token.header if token else lambda: None)
        try:
            if token is not None:
                await token.refresh(seconds=deadline - time.monotonic())
            client = self._client(target, connection, redactor, http, deadline - time.monotonic())
            return await self._walk_and_close(client, target.server, deadline)
        finally:
            if http is not None:
                await http.aclose()

    async def _walk_and_close(self, client: RemoteMcpClient, server: DesiredServer, deadline: float) -> Listed:
        unanswered = True
        try:
            listed = await self._walk(client, server, deadline)
            unanswered = False
            return listed
        except Fault as fault:
            unanswered = fault.reason is UnreachableReason.TIMEOUT
            raise
        finally:
            await client.close(hurry=unanswered)

    def _client(
        self,
        target: ListingTarget,
        connection: ResolvedConnection,
        redactor: Redactor,
        http: UpstreamHttp | None,
        seconds: float,
    ) -> RemoteMcpClient:
        recorder = Recorder(
            server=target.server.name,
            connection_id=self._new_id(),
            trace_id=self._trace_id,
            clock=self._clock,
            sink=self._sink,
            redactor=redactor,
        )
        return RemoteMcpClient(
            connection,
            recorder=recorder,
            environ=self._sources.environ,
            http=http,
            pin=target.server.connection.protocol,
            remembered_era=target.remembered_era,
            start_seconds=max(seconds, 0),
        )

    async def _walk(self, client: RemoteMcpClient, server: DesiredServer, deadline: float) -> Listed:
        negotiated = await client.connect()
        raw = await walk_pages(
            client,
            deadline=deadline,
            page_seconds=server.connection.timeout_seconds,
            offers_tools="tools" in negotiated.capabilities,
        )
        tools, quarantined = await judge_listing(raw, negotiated.era, self._checker, deadline=deadline)
        return Listed(
            tools=tools,
            quarantined=quarantined,
            era=negotiated.era,
            protocol_version=negotiated.protocol_version,
            server_info=negotiated.server_info,
            capabilities=negotiated.capabilities,
            instructions=negotiated.instructions,
            observed_at=self._clock(),
            notes=client.notes(),
        )


def _setting(server: DesiredServer, deadline: float) -> str:
    """The setting of the file whose time was over, with its value in seconds."""
    connection = server.connection
    # A wait that ends a moment before its deadline, as clocks are read twice, was for the whole listing all the same.
    whole = time.monotonic() >= deadline - _SAME_MOMENT
    name, seconds = (
        ("start_timeout_seconds", connection.start_timeout_seconds)
        if whole or connection.start_timeout_seconds <= connection.timeout_seconds
        else ("timeout_seconds", connection.timeout_seconds)
    )
    return f"{name}: {seconds:g}"
