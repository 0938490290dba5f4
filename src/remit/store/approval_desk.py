"""The queue of approvals as people see and decide it: the ApprovalDesk of core/governance.py.

Decides that a decision and its audit event (chain `desk`) are one transaction, that nobody approves their own request, a
request that was altered, or anything without being a person, whichever caller asks, and that what has run out of time is
shown as expired whether or not anybody has marked it so.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, false, or_, select, update

from remit.core.approvals import (
    APPROVAL_MOVES,
    APPROVED_FOR,
    Approval,
    ApprovalState,
    is_in_force,
    is_intact,
    may_decide,
)
from remit.core.audit import AuditFact, AuditKind
from remit.core.calls import FailureCode
from remit.core.governance import Decided
from remit.errors import ApproverRefused, StoreError
from remit.store.access import Access
from remit.store.approval_rows import approval_of, change_state, end_waiting
from remit.store.audit_bodies import approval_body
from remit.store.batch import Batch
from remit.store.desk import at_the_desk
from remit.store.reading import readable
from remit.store.runtime_tables import approvals
from remit.store.texts import ascii_json, require_storable, time_text

__all__ = ["Approvals"]

_MOST = 1000
_ROW = approvals.c
_TIMED = frozenset({ApprovalState.PENDING, ApprovalState.APPROVED})
"""The states that end by themselves."""


class Approvals:
    """Made by `DatabaseStore.governance`. Every method raises StoreError where the database cannot be used."""

    def __init__(self, access: Access, clock: Callable[[], datetime]):
        self._access = access
        self._clock = clock

    def approvals(self, owner: str, *, states: Sequence[ApprovalState] = ()) -> tuple[Approval, ...]:
        """The approvals of an owner, newest first, at most 1,000; all states where none is named."""
        now = self._clock()
        query = select(approvals).where(_ROW.owner == owner).order_by(_ROW.requested_at.desc(), _ROW.approval_id)
        if states:
            query = query.where(or_(false(), *(_shown_as(state, now) for state in states)))

        def found(connection: Connection) -> tuple[Approval, ...]:
            with readable("approvals"):
                return tuple(_as_of(approval_of(row), now) for row in connection.execute(query.limit(_MOST)))

        return self._access.read(found)

    def approval(self, owner: str, approval_id: str) -> Approval | None:
        """One approval; another owner's is None."""
        now = self._clock()
        found = self._access.read(lambda connection: _read(connection, owner, approval_id))
        return None if found is None else _as_of(found, now)

    def decide_approval(
        self, owner: str, approval_id: str, state: ApprovalState, *, approver: str, reason: str | None, at: datetime
    ) -> Decided | None:
        """Approve, deny or revoke; None for an unknown id. Raises as `require_approvable` does where it is to approve."""
        require_storable(approver, place="approver")

        def decided(connection: Connection) -> Decided | None:
            found = _read(connection, owner, approval_id)
            if found is None:
                return None
            shown = _as_of(found, at)
            after = replace(shown, state=state, approver=approver, decided_at=at, reason=reason)
            if state is ApprovalState.APPROVED:
                after = replace(after, expires_at=at + APPROVED_FOR)
            if shown is not found:
                _expire(connection, found, at)
            elif _may_follow(found, after, at) and _move(connection, found, after):
                with at_the_desk(connection, at) as batch:
                    _record(batch, after, approver)
                return Decided(after, changed=True)
            return Decided(shown, changed=False)

        return self._access.write(decided)

    def require_approvable(self, approval: Approval, approver: str) -> None:
        """Refuse an approver who asked for it or is no person (ApproverRefused), and a request that was altered (StoreError)."""
        _require_approvable(approval, approver)


def _may_follow(found: Approval, after: Approval, at: datetime) -> bool:
    """Whether a decision has its place. Raises as `require_approvable` does."""
    if after.state not in APPROVAL_MOVES[found.state]:
        return False
    # After a clock was set back a window seems not to have opened yet: nothing is granted in it, taking away goes on.
    if after.state is not ApprovalState.APPROVED:
        return True
    if not is_in_force(found, at):
        return False
    _require_approvable(found, after.approver or "")
    return True


def _require_approvable(approval: Approval, approver: str) -> None:
    if not is_intact(approval):
        raise StoreError(
            "the request was changed in the database: what it shows is not what was asked for",
            code="approval-altered",
            place=approval.approval_id,
            hint="deny it, and find out who writes to the database",
        )
    requester = approval.binding.principal
    if not may_decide(requester, approver):
        raise ApproverRefused(
            f"{approver} may not approve what {requester} requests",
            place=approval.approval_id,
            hint="have another person approve it, under their own account",
        )


def _record(batch: Batch, decided: Approval, approver: str) -> None:
    if decided.state is not ApprovalState.APPROVED:
        end_waiting(batch.session, decided.approval_id, FailureCode.APPROVAL_DENIED, batch.now)
    body = approval_body(decided)
    batch.note(AuditFact(kind=AuditKind.APPROVAL_DECIDED, at=batch.now, actor=approver, trace_id=None, body=body))


def _expire(connection: Connection, found: Approval, at: datetime) -> None:
    with at_the_desk(connection, at) as batch:
        change_state(batch.session, found.approval_id, found.state, ApprovalState.EXPIRED, at)


def _move(connection: Connection, before: Approval, after: Approval) -> bool:
    """One conditional update: nothing where the approval is not what was read any more."""
    same = (_ROW.approval_id == before.approval_id, _ROW.state == before.state.value)
    values = {
        "state": after.state.value,
        "expires_at": time_text(after.expires_at),
        "approver": after.approver,
        "decided_at": None if after.decided_at is None else time_text(after.decided_at),
        "reason": None if after.reason is None else ascii_json(after.reason),
    }
    return connection.execute(update(approvals).where(*same).values(values)).rowcount == 1


def _read(connection: Connection, owner: str, approval_id: str) -> Approval | None:
    query = select(approvals).where(_ROW.owner == owner, _ROW.approval_id == approval_id)
    with readable("approvals"):
        row = connection.execute(query).first()
        return None if row is None else approval_of(row)


def _as_of(approval: Approval, now: datetime) -> Approval:
    """The approval, expired if its time is over by `now`; the very same one if not."""
    over = approval.state in _TIMED and now >= approval.expires_at
    return replace(approval, state=ApprovalState.EXPIRED) if over else approval


def _shown_as(state: ApprovalState, now: datetime) -> ColumnElement[bool]:
    stored, over = _ROW.state == state.value, _ROW.expires_at <= time_text(now)
    if state is ApprovalState.EXPIRED:
        return or_(stored, and_(_ROW.state.in_(sorted(_TIMED)), over))
    return and_(stored, ~over) if state in _TIMED else stored
