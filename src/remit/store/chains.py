"""Appending to a chain of the audit trail inside a transaction, and linking chains by checkpoints.

Decides when a chain notes the heads of the others. The head is read inside the transaction that holds the writers' lock, so
several processes may share a chain. A chain whose newest row is no event is not continued; of another one there is nothing to
note. What an event holds is `audit_bodies.py`'s, the link is `core/audit.py`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import LargeBinary, Text, bindparam, cast, select

from remit.core.audit import GENESIS, AuditFact, AuditKind, Head, chained
from remit.core.canonical import canonical_json
from remit.errors import StoreError
from remit.store.audit_bodies import checkpoint_body
from remit.store.runtime_tables import audit_events
from remit.store.session import Row, Session, Statement, inserting, word
from remit.store.texts import encodes, shortened, time_text

__all__ = ["CHECKPOINT_EVERY", "Chain", "Newest", "heads_of", "newest_of_each"]

CHECKPOINT_EVERY = 1000
"""Events of one journal between two of its checkpoints."""

_EVENT = audit_events.c
_HEAD = select(_EVENT.seq, _EVENT.digest).order_by(_EVENT.seq.desc()).limit(1)
_NEXT = select(_EVENT.writer).order_by(_EVENT.writer).limit(1)
_NAMED = bindparam("writer", type_=Text)
# No driver takes a text that is no UTF-8; its bytes say the same.
_IN_BYTES = cast(bindparam("writer", type_=LargeBinary), Text)
_HEAD_OF, _HEAD_OF_BYTES = (
    Statement(_HEAD.where(_EVENT.writer == _NAMED)),
    Statement(_HEAD.where(_EVENT.writer == _IN_BYTES)),
)
_NEXT_AFTER = Statement(_NEXT.where(_EVENT.writer > _NAMED))
_NEXT_AFTER_BYTES = Statement(_NEXT.where(_EVENT.writer > _IN_BYTES))
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
        last = self._session.rows_as_they_are(_LAST_CHECKPOINT, {"writer": self._writer})
        if body["remit.heads"] and (not last or last[0][0] != canonical_json(body)):
            self.add(AuditFact(kind=AuditKind.CHECKPOINT, at=at, actor=actor, trace_id=None, body=body))

    def flush(self) -> None:
        """Write what was added."""
        self._session.insert(_INSERT, self._rows)
        self.written += len(self._rows)
        self._rows.clear()


_COLUMNS = tuple(column.name for column in audit_events.columns)


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest row of a chain as it stands: whoever owns the file may have put anything there."""

    writer: object
    seq: object
    digest: object

    def head(self) -> Head | None:
        """It as the head of a chain; None where it is none."""
        match self:
            case Newest(writer=str(writer), seq=int(seq), digest=str(digest)) if encodes(writer + digest):
                return Head(writer=writer, seq=seq, digest=digest)
            case _:
                return None


def heads_of(session: Session) -> tuple[Head, ...]:
    """The newest event of every chain, by writer; of a chain whose newest row is no event there is none."""
    return tuple(head for newest in newest_of_each(session) if (head := newest.head()) is not None)


def newest_of_each(session: Session) -> Sequence[Newest]:
    """The newest row of every chain, by writer, whatever somebody made of it."""
    # No remit writes a chain without a name; an event that was moved into one must be seen all the same.
    found, writer = _newest_of(session, ""), ""
    # One step down the key a chain; DISTINCT would walk over every event.
    while rows := _rows(session, (_NEXT_AFTER, _NEXT_AFTER_BYTES), writer):
        writer = rows[0][0]
        found += _newest_of(session, writer)
    return found


def _newest_of(session: Session, writer: str | bytes) -> list[Newest]:
    return [Newest(writer, seq, digest) for seq, digest in _rows(session, (_HEAD_OF, _HEAD_OF_BYTES), writer)]


def _rows(session: Session, asked: tuple[Statement, Statement], writer: str | bytes) -> Sequence[Row]:
    plain, of_bytes = asked
    if isinstance(writer, bytes) or encodes(writer):
        return session.rows_as_they_are(plain, {"writer": writer})
    return session.rows_as_they_are(of_bytes, {"writer": writer.encode("utf-8", "surrogateescape")})


def _head_of(session: Session, writer: str) -> Head:
    newest = _newest_of(session, writer)
    if not newest:
        return Head(writer=writer, seq=0, digest=GENESIS)
    head = newest[0].head()
    if head is None:
        raise _damaged(newest[0])
    return head


def _damaged(newest: Newest) -> StoreError:
    what = "has a digest that is no text" if isinstance(newest.seq, int) else "has a number that is none"
    return StoreError(
        f"event {shortened(newest.seq)} {what}: the audit trail was changed outside of remit, and nothing can follow it",
        code="audit-damaged",
        place=f"audit chain {newest.writer}",
        hint="`remit audit verify` names all that is damaged; mend that row or restore the database from a backup",
    )
