"""Protocol events on their way to the database: taken at once, written with the next commit, bounded in bytes.

Decides what is lost when the database does not keep up: the newest events, and one event says how many. A call never waits
for its trace, and a text that no database holds never costs the events beside it.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pydantic_core
from sqlalchemy import Text, bindparam, exists, insert, select

from remit.core.canonical import JsonObject
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.store.audit_bodies import well_formed
from remit.store.runtime_tables import protocol_events, trace_links
from remit.store.session import Session, Statement, inserting
from remit.store.texts import ascii_json, time_text

__all__ = ["MAX_BYTES", "TraceQueue", "event_row", "write_traces"]

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of events that may wait."""

_ROW_BYTES = 300
_KNOWN_LINKS = 10_000
_BATCH_BYTES = 8 * 1024 * 1024

_INSERT = inserting(
    protocol_events, "trace_id", "connection_id", "server", "sequence", "at", "kind", "direction", "body"
)
_LINKED = exists().where(
    trace_links.c.trace_id == bindparam("trace"), trace_links.c.connection_id == bindparam("connection")
)
_LINK = Statement(
    insert(trace_links).from_select(
        ["trace_id", "connection_id"],
        select(bindparam("trace", type_=Text), bindparam("connection", type_=Text)).where(~_LINKED),
    )
)

Rows = Sequence[Mapping[str, Any]]


class TraceQueue:
    """Events and links that wait. Not safe by itself: the journal holds its lock around every method."""

    def __init__(self, max_bytes: int = MAX_BYTES):
        self._max = max_bytes
        self._events: deque[tuple[int, Mapping[str, Any]]] = deque()
        self._links: dict[tuple[str, str], None] = {}
        self._known_links: set[tuple[str, str]] = set()
        self._bytes = 0
        self._lost = 0
        self._first_lost: Mapping[str, Any] | None = None

    def __bool__(self) -> bool:
        return bool(self._events or self._links or self._lost)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take an event's row, or count it as lost."""
        size = len(row["body"]) + _ROW_BYTES
        if self._bytes + size > self._max:
            self._lost += 1
            self._first_lost = self._first_lost or row
            return
        self._events.append((size, row))
        self._bytes += size

    def link(self, trace_id: str, connection_id: str) -> None:
        """Take a link; one that was taken lately is in the database already."""
        key = (_storable(trace_id), _storable(connection_id))
        if key not in self._known_links:
            if len(self._known_links) >= _KNOWN_LINKS:
                self._known_links.clear()
            self._known_links.add(key)
            self._links[key] = None

    def take(self) -> tuple[Rows, Rows]:
        """Events and links for one transaction, oldest first; a note about lost ones comes last."""
        events: list[Mapping[str, Any]] = []
        taken = 0
        while self._events and taken < _BATCH_BYTES:
            size, row = self._events.popleft()
            events.append(row)
            taken += size
        self._bytes -= taken
        if self._first_lost is not None and not self._events:
            body = ascii_json({"remit.lost_events": self._lost})
            noise = {"kind": EventKind.NOISE.value, "direction": Direction.LOCAL.value, "body": body}
            events.append({**self._first_lost, **noise})
            self._lost, self._first_lost = 0, None
        links = [{"trace": trace, "connection": connection} for trace, connection in self._links]
        self._links.clear()
        return events, links

    def give_back(self, events: Rows, links: Rows) -> None:
        """Put what could not be written in front again."""
        for row in reversed(events):
            size = len(row["body"]) + _ROW_BYTES
            self._events.appendleft((size, row))
            self._bytes += size
        self._links = {(link["trace"], link["connection"]): None for link in links} | self._links


def event_row(event: ProtocolEvent) -> Mapping[str, Any]:
    """An event as its row. A body that has no JSON is kept as the fact that it had none."""
    try:
        body = _json_of(event.body)
    except (ValueError, TypeError, RecursionError) as error:
        body = ascii_json({"remit.unencodable": type(error).__name__})
    return {
        "trace_id": _storable(event.trace_id),
        "connection_id": _storable(event.connection_id),
        "server": _storable(event.server),
        "sequence": event.sequence,
        "at": time_text(event.at),
        "kind": event.kind.value,
        "direction": event.direction.value,
        "body": body,
    }


def _json_of(body: JsonObject) -> str:
    # Four times faster than the encoder of Python, which takes over for what only that one has words for, or an objection.
    try:
        text = pydantic_core.to_json(body)
    except ValueError:
        return ascii_json(body)
    return ascii_json(body) if b"NaN" in text or b"Infinity" in text else text.decode("utf-8")


def _storable(text: str) -> str:
    return text if text.isalnum() and text.isascii() else well_formed(text).replace("\0", "\ufffd")


def write_traces(session: Session, events: Rows, links: Iterable[Mapping[str, Any]]) -> None:
    """Write events and links; a link that is there already is left alone."""
    session.insert(_INSERT, events)
    for link in links:
        session.run(_LINK, link)
