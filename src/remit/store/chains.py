"""Appending to a chain of the audit trail inside a transaction, and linking chains by checkpoints.

Decides when a chain notes the heads of the others. The head is read inside the transaction that holds the writers' lock, so
several processes may share a chain. What an event holds is `audit_bodies.py`'s, the link is `core/audit.py`'s.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, select

from remit.core.audit import GENESIS, AuditFact, AuditKind, Head, chained
from remit.store.audit_bodies import checkpoint_body
from remit.store.runtime_tables import audit_events
from remit.store.session import Session, Statement, inserting, word
from remit.store.texts import time_text

__all__ = ["CHECKPOINT_EVERY", "Chain", "heads_of"]

CHECKPOINT_EVERY = 1000
"""Events of one journal between two of its checkpoints."""

_EVENT = audit_events.c
_HEAD = Statement(
    select(_EVENT.seq, _EVENT.digest).where(_EVENT.writer == bindparam("writer")).order_by(_EVENT.seq.desc()).limit(1),
)
_NEXT_WRITER = Statement(
    select(_EVENT.writer).where(_EVENT.writer > bindparam("writer")).order_by(_EVENT.writer).limit(1)
)
_LAST_CHECKPOINT = Statement(
    select(_EVENT.body)
    .where(_EVENT.writer == bindparam("writer"), _EVENT.kind == word(AuditKind.CHECKPOINT))
    .order_by(_EVENT.seq.desc())
    .limit(1)
)
_INSERT = inserting(audit_events)


class Chain:
    """One writer's chain during one transaction. Facts are chained at once and written by `flush`.

    `head` is its newest event, where that is known; else it is read.
    """

    def __init__(self, session: Session, writer: str, head: Head | None = None):
        self._session = session
        self._writer = writer
        self._head = _head_of(session, writer) if head is None else head
        self._rows: list[Mapping[str, Any]] = []
        self.written = 0

    def add(self, fact: AuditFact) -> None:
        """Chain a fact. Raises ValueError for one that has no canonical JSON; the chain is as before then."""
        event = chained(fact, self._head, time_text(fact.at))
        self._rows.append({name: getattr(event, name) for name in _COLUMNS})
        self._head = Head(writer=event.writer, seq=event.seq, digest=event.digest)

    @property
    def head(self) -> Head:
        """The newest event."""
        return self._head

    def mark(self) -> tuple[int, Head]:
        """Where the chain is."""
        return len(self._rows), self._head

    def back_to(self, mark: tuple[int, Head]) -> None:
        """Forget what was added since a mark."""
        del self._rows[mark[0] :]
        self._head = mark[1]

    def checkpoint(self, at: datetime, actor: str) -> None:
        """Note the heads of the other chains, unless this chain's last checkpoint notes the same."""
        body = checkpoint_body([head for head in heads_of(self._session) if head.writer != self._writer])
        last = self._session.row(_LAST_CHECKPOINT, {"writer": self._writer})
        if body["remit.heads"] and (last is None or json.loads(last[0]) != body):
            self.add(AuditFact(kind=AuditKind.CHECKPOINT, at=at, actor=actor, trace_id=None, body=body))

    def flush(self) -> None:
        """Write what was added."""
        self._session.insert(_INSERT, self._rows)
        self.written += len(self._rows)
        self._rows.clear()


_COLUMNS = tuple(column.name for column in audit_events.columns)


def heads_of(session: Session) -> tuple[Head, ...]:
    """The newest event of every chain, by writer."""
    nameless = _head_of(session, "")
    # No remit writes a chain without a name; an event that was moved into one must be seen all the same.
    found = [nameless] if nameless.seq else []
    writer = ""
    # One step down the key a chain; DISTINCT would walk over every event.
    while (row := session.row(_NEXT_WRITER, {"writer": writer})) is not None:
        writer = row[0]
        found.append(_head_of(session, writer))
    return tuple(found)


def _head_of(session: Session, writer: str) -> Head:
    row = session.row(_HEAD, {"writer": writer})
    return Head(writer=writer, seq=0, digest=GENESIS) if row is None else Head(writer=writer, seq=row[0], digest=row[1])
