"""What the tests of upstream share: a sink that keeps events, a lister with a counted id, targets for our servers."""

import itertools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from remit.core.desired import Connection, DesiredServer
from remit.core.diagnostics import Source
from remit.core.events import EventSink, ProtocolEvent
from remit.core.identity import Endpoint, HttpEndpoint, StdioEndpoint
from remit.core.live import Era, Listed, Unreachable
from remit.core.ports import ListingTarget, ServerLister
from remit.upstream.circuit import Circuit
from remit.upstream.client import RemoteMcpClient
from remit.upstream.connector import Connector, Ready, always_ready
from remit.upstream.discovery import McpServerLister
from remit.upstream.opening import Surroundings
from remit.upstream.recorder import Recorder
from remit.upstream.redaction import Redactor
from remit.upstream.references import ResolvedConnection, Sources, resolve_connection

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SERVERS = Path(__file__).parent.parent / "servers"
SECRET = "dummy-secret-value"


class KeptEvents:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.events: list[ProtocolEvent] = []

    def record(self, event: ProtocolEvent) -> None:
        self.events.append(event)

    def sequence(self) -> list[str]:
        return [f"{event.kind.value} {event.direction.value}" for event in self.events]

    def text(self) -> str:
        return json.dumps([event.body for event in self.events])


def raw_server(**options: Any) -> StdioEndpoint:
    return StdioEndpoint(("{python}", str(SERVERS / "raw_stdio.py"), json.dumps(options).replace("$", "$$")))


def server(endpoint: Endpoint | str, **connection: Any) -> DesiredServer:
    where = HttpEndpoint(endpoint) if isinstance(endpoint, str) else endpoint
    source = Source(file="mcp.yaml", line=1, column=1)
    defaults: dict[str, Any] = {"start_timeout_seconds": 10.0, "timeout_seconds": 5.0}
    settled = Connection(**(defaults | connection))
    return DesiredServer(name="it", namespace="it", endpoint=where, source=source, connection=settled)


def sources(environ: Mapping[str, str] | None = None, base_dir: Path | None = None) -> Sources:
    given = {"PATH": os.environ["PATH"], **(environ or {})}
    return Sources(environ=given, base_dir=base_dir or SERVERS, python=sys.executable)


def surroundings(
    sink: EventSink, environ: Mapping[str, str] | None = None, base_dir: Path | None = None
) -> Surroundings:
    """Those of `sources`; the connections are numbered from 1."""
    numbers = itertools.count(1)
    return Surroundings(
        sources=sources(environ, base_dir),
        clock=lambda: NOON,
        new_id=lambda: f"connection-{next(numbers)}",
        sink=sink,
    )


def lister(sink: KeptEvents, environ: Mapping[str, str] | None = None) -> ServerLister:
    return McpServerLister(surroundings(sink, environ), trace_id="trace-1")


async def listing_of(
    endpoint: Endpoint | str,
    *,
    sink: KeptEvents | None = None,
    environ: Mapping[str, str] | None = None,
    remembered: Era | None = None,
    **connection: Any,
) -> Listed | Unreachable:
    target = ListingTarget(server=server(endpoint, **connection), remembered_era=remembered)
    return await lister(sink or KeptEvents(), environ).list_server(target)


def names(listed: Listed | Unreachable) -> list[str]:
    assert isinstance(listed, Listed), listed
    return [tool.remote_name for tool in listed.tools]


def client_for(
    endpoint: Endpoint | str,
    *,
    sink: KeptEvents | None = None,
    environ: Mapping[str, str] | None = None,
    http: httpx2.AsyncClient | None = None,
    pauses: Sequence[float] = (0.0,),
    ready: Ready = always_ready,
    **connection: Any,
) -> RemoteMcpClient:
    found = sources(environ)
    resolved = resolve_connection(server(endpoint, **connection), found)
    recorder = recorder_for(resolved, sink or KeptEvents())
    connector = Connector(resolved, recorder=recorder, environ=found.environ, http=http, ready=ready)
    return RemoteMcpClient(connector, name=resolved.name, start_seconds=10, circuit=Circuit(pauses))


def recorder_for(connection: ResolvedConnection, sink: KeptEvents) -> Recorder:
    return Recorder(
        server=connection.name,
        connection_id="connection-1",
        trace_id="trace-1",
        clock=lambda: NOON,
        sink=sink,
        redactor=Redactor(connection.secrets),
    )


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits for its parent does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


__all__ = [
    "NOON", "SECRET", "SERVERS", "KeptEvents", "alive", "client_for", "lister", "listing_of", "names",
    "raw_server", "recorder_for", "server", "sources", "surroundings",
]  # fmt: skip
