"""What `remit trace` prints: a trace as a sequence of messages between remit and its servers, and the list of traces.

Decides layout only: one line for each event, in order, with its time and direction; with `full` the message below its line.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, TypedDict

from remit.core.canonical import JsonObject
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.core.governance import Swept
from remit.render.escape import escape_terminal, json_lines, well_formed
from remit.render.layout import Painter, Style, aligned, counted
from remit.render.shapes import FORMAT_VERSION
from remit.render.spans import offset, timestamp
from remit.render.trace_words import Exchange, is_alarming

__all__ = [
    "DroppedDocument",
    "EventDocument",
    "PrunedDocument",
    "TraceDocument",
    "TraceLineDocument",
    "TracesDocument",
    "pruned_document",
    "pruned_text",
    "trace_document",
    "trace_text",
    "traces_document",
    "traces_text",
]

_WIDEST = 64

_ARROWS: Mapping[Direction, str] = {
    Direction.SENT: "-->",
    Direction.RECEIVED: "<--",
    Direction.LOCAL: " * ",
}


class EventDocument(TypedDict):
    """One protocol event. `at` is exact to the microsecond, `body` an open object: a message, or the facts."""

    trace_id: str
    connection_id: str
    server: str
    sequence: int
    at: str
    kind: Annotated[str, EventKind]
    direction: Annotated[str, Direction]
    body: JsonObject


class TraceDocument(TypedDict):
    """The events of a trace, in order, those of the connections that it used included."""

    format_version: str
    trace_id: str
    events: list[EventDocument]


class TraceLineDocument(TypedDict):
    """One trace: when it began, and how many events it has."""

    trace_id: str
    started_at: str
    events: int


class TracesDocument(TypedDict):
    """The newest traces, newest first."""

    format_version: str
    traces: list[TraceLineDocument]


class DroppedDocument(TypedDict):
    """What was dropped, by kind."""

    protocol_events: int
    outputs: int
    results: int
    approvals: int


class PrunedDocument(TypedDict):
    """What `remit trace prune` dropped of an owner, and of protocol events, because it was older than `days`."""

    format_version: str
    owner: str
    days: int
    dropped: DroppedDocument


def pruned_document(owner: str, days: int, swept: Swept) -> PrunedDocument:
    """`{format_version, owner, days, dropped{}}`."""
    return {
        "format_version": FORMAT_VERSION,
        "owner": well_formed(owner),
        "days": days,
        "dropped": {
            "protocol_events": swept.protocol_events,
            "outputs": swept.outputs,
            "results": swept.results,
            "approvals": swept.approvals,
        },
    }


def pruned_text(days: int, swept: Swept) -> str:
    """What was dropped, in one line that ends with a newline."""
    counts = (
        (swept.protocol_events, "protocol event"),
        (swept.outputs, "output"),
        (swept.results, "result"),
        (swept.approvals, "approval"),
    )
    told = ", ".join(counted(number, word) for number, word in counts if number)
    return f"dropped what is older than {counted(days, 'day')}: {told or 'nothing was'}\n"


def trace_document(trace_id: str, events: Sequence[ProtocolEvent]) -> TraceDocument:
    """`{format_version, trace_id, events[]}`."""
    return {
        "format_version": FORMAT_VERSION,
        "trace_id": well_formed(trace_id),
        "events": [
            {
                "trace_id": well_formed(each.trace_id),
                "connection_id": well_formed(each.connection_id),
                "server": well_formed(each.server),
                "sequence": each.sequence,
                "at": each.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "kind": each.kind.value,
                "direction": each.direction.value,
                "body": each.body,
            }
            for each in events
        ],
    }


def traces_document(traces: Sequence[tuple[str, datetime, int]]) -> TracesDocument:
    """`{format_version, traces[]}`."""
    lines: list[TraceLineDocument] = [
        {"trace_id": well_formed(trace_id), "started_at": timestamp(at), "events": events}
        for trace_id, at, events in traces
    ]
    return {"format_version": FORMAT_VERSION, "traces": lines}


def traces_text(traces: Sequence[tuple[str, datetime, int]], *, colour: bool) -> str:
    """A line for each trace; ends with a newline."""
    head = Painter(colour=colour)(Style.HEAD, "Traces")
    rows = [[escape_terminal(trace_id), timestamp(at), counted(events, "event")] for trace_id, at, events in traces]
    return "\n".join([head, *(f"  {line}" for line in aligned(rows, widest=_WIDEST) or ["none are kept"])]) + "\n"


def trace_text(trace_id: str, events: Sequence[ProtocolEvent], *, full: bool, colour: bool) -> str:
    """A line for each event: time since the trace began, direction, server, what it says; ends with a newline.

    What opened a connection before the trace began has a negative time.
    """
    paint = Painter(colour=colour)
    began = next((each.at for each in events if each.trace_id == trace_id), events[0].at if events else None)
    servers = _labels(events)
    lines = [
        paint(Style.HEAD, f"Trace {escape_terminal(trace_id)}") + ("" if began is None else f"  {timestamp(began)}")
    ]
    rows = [
        []
        if began is None
        else [offset(each.at - began).rjust(9), _ARROWS[each.direction], servers[each.connection_id]]
        for each in events
    ]
    exchange = Exchange()
    starts = aligned(rows, widest=_WIDEST)
    room = max(map(len, starts), default=0)
    for event, start in zip(events, starts, strict=True):
        words = exchange.words(event)
        lines.append(f"  {start.ljust(room)}  {paint(Style.DANGER, words) if is_alarming(event) else words}")
        if full:
            lines += [f"      {paint(Style.QUIET, line)}" for line in json_lines(event.body)]
    servers_told = counted(len({each.server for each in events}), "server")
    return "\n".join([*lines, f"{counted(len(events), 'event')}, {servers_told}"]) + "\n"


def _labels(events: Sequence[ProtocolEvent]) -> Mapping[str, str]:
    """A name for each connection: its server's, with a number where a server has several."""
    connections: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    for event in events:
        if event.connection_id not in labels:
            known = connections.setdefault(event.server, [])
            known.append(event.connection_id)
            number = f" ({len(known)})" if len(known) > 1 else ""
            labels[event.connection_id] = escape_terminal(event.server) + number
    return labels
