"""Audit events of short transactions: decisions of people go to the chain `desk`, applies to the chain `apply`.

Decides where they go: each is committed together with the rows that it tells about, or not at all, and its chain then notes
the heads of the others, so that the chain of the calls cannot be taken away whole either.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import Connection

from remit.core.audit import AuditFact, AuditKind
from remit.core.ports import AppliedRecord
from remit.store.audit_bodies import applied_body
from remit.store.batch import Batch
from remit.store.chains import Chain
from remit.store.session import session_of

__all__ = ["APPLY", "DESK", "at_the_desk", "note_apply"]

DESK = "desk"
"""The chain of what people decide."""


APPLY = "apply"
"""The chain of applies."""

_ACTOR = "system:desk"
"""The actor of what is noted without anybody's doing."""


def note_apply(connection: Connection, workspace: str, serial: int, record: AppliedRecord) -> None:
    """Add the event of an apply, in the apply's own transaction."""
    body = applied_body(workspace, serial, record)
    with at_the_desk(connection, record.at, chain=APPLY) as batch:
        batch.note(AuditFact(kind=AuditKind.APPLIED, at=record.at, actor=record.actor, trace_id=None, body=body))


@contextmanager
def at_the_desk(connection: Connection, at: datetime, *, chain: str = DESK) -> Generator[Batch]:
    """A batch inside the connection's transaction; its facts are written on a clean exit. The caller commits."""
    session = session_of(connection)
    try:
        batch = Batch(session=session, chain=Chain(session, chain), now=at)
        before = batch.chain.head
        yield batch
        if batch.chain.head != before:
            batch.chain.checkpoint(at, _ACTOR)
        batch.chain.flush()
    finally:
        session.close()
