"""The audit trail and the kept protocol events as people see them: AuditTrail and TraceArchive of core/governance.py.

Decides what belongs to a trace: its own events, and of a connection that it only used what belongs to the opening trace
except calls, which are somebody else's business. Nothing here judges a chain; `core/audit.py` does.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, exists, func, select, true

from remit.core.audit import AuditEvent, Head
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.store.access import Access
from remit.store.chains import heads_of
from remit.store.reading import readable
from remit.store.runtime_tables import audit_events, protocol_events, trace_links
from remit.store.session import session_of
from remit.store.texts import time_from, time_text

__all__ = ["AuditArchive", "TraceArchive"]

_PAGE = 5000
_BEFORE_ALL = -(2**63)
_EVENT, _AUDIT = protocol_events.c, audit_events.c


class AuditArchive:
    """The AuditTrail. Made by `DatabaseStore.governance`."""

    def __init__(self, access: Access):
        self._access = access

    def audit_events(self, *, limit: int | None = None, trace_id: str | None = None) -> Iterator[AuditEvent]:
        """Events by writer and number, read page by page; with `limit` the newest, oldest of them first by time."""
        return self._every(trace_id) if limit is None else iter(self._newest(max(limit, 0), trace_id))

    def audit_heads(self) -> tuple[Head, ...]:
        """The newest event of every chain, by writer."""
        return self._access.read(_heads)

    def _every(self, trace_id: str | None) -> Iterator[AuditEvent]:
        # Up to the heads of one moment: a checkpoint read later would note events of a chain that was read before.
        for head in self.audit_heads():
            after = _BEFORE_ALL
            while page := self._access.read(_page(head, after, trace_id)):
                yield from (_audit_event(row) for row in page)
                after = page[-1]["seq"]

    def _newest(self, limit: int, trace_id: str | None) -> Sequence[AuditEvent]:
        def newest(connection: Connection) -> list[AuditEvent]:
            # The newest of each chain by its key; ordering all chains by time would sort every event there is.
            found: list[AuditEvent] = []
            for head in _heads(connection):
                mine = _AUDIT.writer == head.writer
                query = select(audit_events).where(mine, _traced(trace_id)).order_by(_AUDIT.seq.desc()).limit(limit)
                found += [_audit_event(row) for row in connection.execute(query).mappings()]
            found.sort(key=lambda event: (event.at, event.writer, event.seq))
            return found[max(len(found) - limit, 0) :]

        return self._access.read(newest)


def _heads(connection: Connection) -> tuple[Head, ...]:
    session = session_of(connection)
    try:
        return heads_of(session)
    finally:
        session.close()


def _page(head: Head, after: int, trace_id: str | None) -> Callable[[Connection], Sequence[RowMapping]]:
    query = (
        select(audit_events)
        .where(_AUDIT.writer == head.writer, _AUDIT.seq > after, _AUDIT.seq <= head.seq, _traced(trace_id))
        .order_by(_AUDIT.seq)
        .limit(_PAGE)
    )
    return lambda connection: connection.execute(query).mappings().all()


def _traced(trace_id: str | None) -> ColumnElement[bool]:
    return true() if trace_id is None else _AUDIT.trace_id == trace_id


def _audit_event(row: RowMapping) -> AuditEvent:
    # SQLite lets an editor put bytes into a text column; verify must be able to hash that, and to say where it is.
    texts = {name: value if value is None else str(value) for name, value in row.items() if name != "seq"}
    # A number that is none has no place in a chain, which 0 is as well.
    seq = row["seq"] if isinstance(row["seq"], int) else 0
    return AuditEvent(seq=seq, **texts)  # pyright: ignore[reportArgumentType] (NULL stands in trace_id only)


class TraceArchive:
    """The TraceArchive. Made by `DatabaseStore.governance`."""

    def __init__(self, access: Access):
        self._access = access

    def trace(self, trace_id: str) -> tuple[ProtocolEvent, ...]:
        """The events of a trace and of the connections that it used, by time, connection and number."""

        def found(connection: Connection) -> tuple[ProtocolEvent, ...]:
            linked = select(trace_links.c.connection_id).where(trace_links.c.trace_id == trace_id)
            own = select(protocol_events).where(_EVENT.trace_id == trace_id)
            used = select(protocol_events).where(
                _EVENT.connection_id.in_(linked), _EVENT.trace_id != trace_id, _EVENT.kind != EventKind.CALL.value
            )
            with readable("protocol_events"):
                events = [_protocol_event(row) for row in connection.execute(own).mappings()]
                others = [_protocol_event(row) for row in connection.execute(used).mappings()]
            return tuple(sorted([*events, *_of_the_opening(others)], key=_order))

        return self._access.read(found)

    def traces(self, *, limit: int) -> tuple[tuple[str, datetime, int], ...]:
        """The newest traces: id, time of the first event, number of events."""
        first = func.min(_EVENT.at)
        query = (
            select(_EVENT.trace_id, first, func.count())
            .group_by(_EVENT.trace_id)
            .order_by(first.desc(), _EVENT.trace_id)
            .limit(max(limit, 0))
        )

        def found(connection: Connection) -> tuple[tuple[str, datetime, int], ...]:
            with readable("protocol_events"):
                return tuple((trace, time_from(at), count) for trace, at, count in connection.execute(query))

        return self._access.read(found)

    def drop_traces(self, before: datetime) -> int:
        """Delete protocol events older than a time, and links to connections that have none left; how many events."""

        def dropped(connection: Connection) -> int:
            gone = connection.execute(delete(protocol_events).where(_EVENT.at < time_text(before))).rowcount
            left = exists().where(_EVENT.connection_id == trace_links.c.connection_id)
            connection.execute(delete(trace_links).where(~left))
            return gone

        return self._access.write(dropped)


def _of_the_opening(events: Sequence[ProtocolEvent]) -> Iterator[ProtocolEvent]:
    """Of each connection the events under the trace that it was opened under; what later turns did there is theirs."""
    opened: dict[str, ProtocolEvent] = {}
    for event in events:
        first = opened.setdefault(event.connection_id, event)
        if event.sequence < first.sequence:
            opened[event.connection_id] = event
    return (event for event in events if event.trace_id == opened[event.connection_id].trace_id)


def _order(event: ProtocolEvent) -> tuple[datetime, str, int]:
    return event.at, event.connection_id, event.sequence


def _protocol_event(row: RowMapping) -> ProtocolEvent:
    return ProtocolEvent(
        trace_id=row["trace_id"],
        connection_id=row["connection_id"],
        server=row["server"],
        sequence=row["sequence"],
        at=time_from(row["at"]),
        kind=EventKind(row["kind"]),
        direction=Direction(row["direction"]),
        body=json.loads(row["body"]),
    )
