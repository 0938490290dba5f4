"""The audit trail and the kept protocol events as people see them: AuditTrail and TraceArchive of core/governance.py.

Decides what belongs to a trace: its own events, and of a connection that it only used what belongs to the opening trace
except calls, which are somebody else's business. Nothing here judges a chain; `core/audit.py` does.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    RowMapping,
    Select,
    Text,
    cast,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.types import NullType

from remit.core.audit import AuditEvent, Head
from remit.core.audit_review import Witness
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.store.access import Access
from remit.store.chains import Newest, newest_of_each
from remit.store.guards import read_witness
from remit.store.reading import readable
from remit.store.runtime_tables import audit_events, protocol_events, trace_links
from remit.store.session import driver_of, session_of
from remit.store.sqlite import as_they_are
from remit.store.texts import encodes, shortened, time_from

__all__ = ["AuditArchive", "TraceArchive"]

_PAGE = 5000
_PAGE_CHARACTERS = 8 * 1024 * 1024
"""What ends a page before it has all its rows: an event may hold the arguments of a call."""
_BEFORE_ALL = -(2**63)
_EVENT, _AUDIT = protocol_events.c, audit_events.c


class AuditArchive:
    """The AuditTrail. Made by `DatabaseStore.governance`."""

    def __init__(self, access: Access):
        self._access = access

    def audit_events(self, *, limit: int | None = None, trace_id: str | None = None) -> Iterator[AuditEvent]:
        """Events by writer and number, read page by page; with `limit` the newest, oldest of them first by time.

        A row that somebody made unreadable is an event too, with its `flaw`.
        """
        return self._every(trace_id) if limit is None else iter(self._newest(max(limit, 0), trace_id))

    def audit_heads(self) -> tuple[Head, ...]:
        """The newest event of every chain, by writer."""
        found = self._access.read(_newest_of_each)
        return tuple(head for newest in found if (head := newest.head()) is not None)

    def witness(self) -> Witness:
        """What guards the trail, and how much the other tables have that it must tell of."""
        return self._access.read(read_witness)

    def _every(self, trace_id: str | None) -> Iterator[AuditEvent]:
        # Up to the heads of one moment: a checkpoint read later would note events of a chain that was read before.
        for newest in self._access.read(_newest_of_each):
            after: object = _BEFORE_ALL
            while page := self._access.read(_page(newest, after, trace_id)):
                yield from (_audit_event(row) for row in page)
                after = page[-1]["seq"]

    def _newest(self, limit: int, trace_id: str | None) -> Sequence[AuditEvent]:
        def newest(connection: Connection) -> list[AuditEvent]:
            # The newest of each chain by its key; ordering all chains by time would sort every event there is.
            found: list[AuditEvent] = []
            for each in _newest_of_each(connection):
                mine = _AUDIT.writer == _value(each.writer)
                query = select(audit_events).where(mine, _traced(trace_id)).order_by(_AUDIT.seq.desc()).limit(limit)
                found += [_audit_event(row) for row in _rows(connection, query)]
            found.sort(key=lambda event: (event.at, event.writer, event.seq))
            return found[max(len(found) - limit, 0) :]

        return self._access.read(newest)


def _newest_of_each(connection: Connection) -> Sequence[Newest]:
    session = session_of(connection)
    try:
        return newest_of_each(session)
    finally:
        session.close()


def _page(newest: Newest, after: object, trace_id: str | None) -> Callable[[Connection], Sequence[RowMapping]]:
    query = (
        select(audit_events)
        .where(
            _AUDIT.writer == _value(newest.writer),
            _AUDIT.seq > _value(after),
            _AUDIT.seq <= _value(newest.seq),
            _traced(trace_id),
        )
        .order_by(_AUDIT.seq)
        .limit(_PAGE)
    )

    def page(connection: Connection) -> Sequence[RowMapping]:
        rows, left = list[RowMapping](), _PAGE_CHARACTERS
        for row in _rows(connection, query):
            rows.append(row)
            left -= len(row["body"])
            if left <= 0:
                break
        return rows

    return page


def _rows(connection: Connection, query: Select[Any]) -> Iterator[RowMapping]:
    with as_they_are(driver_of(connection)), connection.execute(query) as result:
        yield from result.mappings()


def _value(value: object) -> ColumnElement[Any]:
    """A part of a key as it was read, to be compared with: of any type, and a text that is no UTF-8 by its bytes."""
    if isinstance(value, str) and not encodes(value):
        return cast(literal(value.encode("utf-8", "surrogateescape"), LargeBinary), Text)
    return literal(value, NullType())


def _traced(trace_id: str | None) -> ColumnElement[bool]:
    return true() if trace_id is None else _AUDIT.trace_id == trace_id


def _audit_event(row: RowMapping) -> AuditEvent:
    seq, texts = row["seq"], {name: value for name, value in row.items() if name != "seq"}
    # Every event must have its place, whatever it holds: verify is to name it.
    shown = {
        name: value if value is None or isinstance(value, str) else shortened(value) for name, value in texts.items()
    }
    return AuditEvent(
        seq=seq if isinstance(seq, int) else 0,
        flaw=_flaw(seq, texts),
        **shown,  # pyright: ignore[reportArgumentType] (NULL stands in trace_id only)
    )


def _flaw(seq: object, texts: Mapping[str, object]) -> str | None:
    if not isinstance(seq, int):
        return f"it stands under {shortened(seq)}, which is no number"
    for name, value in texts.items():
        if not isinstance(value, str):
            if value is not None:
                return f"its {name} is no text"
        elif not encodes(value):
            return f"its {name} is no UTF-8"
    return None


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
