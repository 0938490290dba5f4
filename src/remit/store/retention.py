"""What is kept of calls no longer than it has to be: contents go, facts stay.

Decides what a sweep drops: protocol events; outputs, and arguments of the consumer's own tools, of runs that ended; results
under idempotency keys; approvals that are over. It never touches the audit trail, a key (one that was forgotten could run a
second time), a call under way, or an approval that may still be used or that still refuses. Small transactions, so that no
call waits for one, and none at all where nothing is due.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, exists, select, text, update
from sqlalchemy.sql.expression import Executable

from remit.core.approvals import APPROVAL_MOVES, ApprovalState
from remit.core.governance import Swept
from remit.store.access import Access
from remit.store.approval_rows import change_state
from remit.store.faults import translated
from remit.store.runtime_tables import (
    HAS_CONTENT,
    actions,
    approvals,
    idempotency_records,
    protocol_events,
    runs,
    trace_links,
)
from remit.store.session import session_of
from remit.store.texts import time_text

__all__ = ["AT_LEAST", "Retention"]

AT_LEAST = timedelta(days=1)
"""How long results under keys and approvals that are over are kept however little is to be kept: who lost an answer to a
broken connection repeats the call within a day, or not at all."""

_MOST = 500
"""Rows of each kind that one sweep drops."""

_TIMED = (ApprovalState.PENDING.value, ApprovalState.APPROVED.value)
_OVER = tuple(state.value for state, next_ in APPROVAL_MOVES.items() if not next_)
_EVENT, _ACTION, _APPROVAL, _KEY = protocol_events.c, actions.c, approvals.c, idempotency_records.c


@dataclass(frozen=True, slots=True)
class _Due:
    """What is due at one moment, as queries for the keys of its first rows."""

    ran_out: Executable
    over: Executable
    events: Executable
    outputs: Executable
    results: Executable

    @classmethod
    def at(cls, owner: str, now: datetime, kept: timedelta) -> "_Due":
        before, day_before = time_text(now - kept), time_text(now - max(kept, AT_LEAST))
        mine = _APPROVAL.owner == owner
        return cls(
            ran_out=select(_APPROVAL.approval_id, _APPROVAL.state)
            .where(mine, _APPROVAL.state.in_(_TIMED), _APPROVAL.expires_at <= time_text(now))
            .limit(_MOST),
            over=select(_APPROVAL.approval_id)
            .where(
                mine, _APPROVAL.state.in_(_OVER), _APPROVAL.requested_at < day_before, _APPROVAL.expires_at < day_before
            )
            .limit(_MOST),
            events=select(_EVENT.id, _EVENT.connection_id).where(_EVENT.at < before).limit(_MOST),
            outputs=select(_ACTION.action_id)
            .where(
                text(f"({HAS_CONTENT})"),
                _ACTION.ended_at < before,
                # A join would walk over every run of the owner.
                exists().where(runs.c.run_id == _ACTION.run_id, runs.c.owner == owner, runs.c.ended_at < before),
            )
            .limit(_MOST),
            results=select(_KEY.action_id)
            .where(_KEY.result.is_not(None), _KEY.ended_at < day_before, _KEY.owner == owner)
            .limit(_MOST),
        )

    def is_any(self, connection: Connection) -> bool:
        every = (self.ran_out, self.over, self.events, self.outputs, self.results)
        return any(connection.execute(each).first() is not None for each in every)


class Retention:
    """Made by `DatabaseStore.governance`."""

    def __init__(self, access: Access, clock: Callable[[], datetime]):
        self._access = access
        self._clock = clock

    def sweep(self, owner: str, kept: timedelta, *, lock_timeout: float) -> Swept:
        """Drop what is older than `kept`, at most 500 rows of each kind in one transaction.

        Protocol events belong to no owner: those of all go. Raises WorkspaceBusy after `lock_timeout` seconds, StoreError.
        """
        now = self._clock()
        due = _Due.at(owner, now, kept)
        if not self._access.read(due.is_any):
            return Swept()
        with self._access.writing(lock_timeout=lock_timeout) as connection, translated(self._access.place):
            swept = _swept(connection, due, now)
            connection.commit()
        return swept


def _swept(connection: Connection, due: _Due, now: datetime) -> Swept:
    ran_out, events = _ended(connection, due.ran_out, now), _events(connection, due.events)
    over, outputs, results = (_ids(connection, each) for each in (due.over, due.outputs, due.results))
    connection.execute(delete(approvals).where(_APPROVAL.approval_id.in_(over)))
    connection.execute(update(actions).where(_ACTION.action_id.in_(outputs)).values(output=None, arguments=None))
    connection.execute(update(idempotency_records).where(_KEY.action_id.in_(results)).values(result=None))
    return Swept(
        protocol_events=events,
        outputs=len(outputs),
        results=len(results),
        approvals=len(over),
        is_done=max(ran_out, events, len(over), len(outputs), len(results)) < _MOST,
    )


def _ids(connection: Connection, query: Executable) -> Sequence[str]:
    return [row[0] for row in _rows(connection, query)]


def _rows(connection: Connection, query: Executable) -> Sequence[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(query)]


def _ended(connection: Connection, query: Executable, now: datetime) -> int:
    """Mark what ran out of time and end the actions that wait for it, which nobody else may ever do."""
    rows, session = _rows(connection, query), session_of(connection)
    try:
        for approval_id, state in rows:
            change_state(session, approval_id, ApprovalState(state), ApprovalState.EXPIRED, now)
    finally:
        session.close()
    return len(rows)


def _events(connection: Connection, query: Executable) -> int:
    rows = _rows(connection, query)
    connection.execute(delete(protocol_events).where(_EVENT.id.in_([row[0] for row in rows])))
    links = trace_links.c
    # A link says nothing once the connection that it leads to has no event left.
    left = exists().where(_EVENT.connection_id == links.connection_id)
    connection.execute(delete(trace_links).where(links.connection_id.in_({row[1] for row in rows}), ~left))
    return len(rows)
