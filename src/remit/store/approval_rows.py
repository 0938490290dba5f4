"""Approvals as rows, and what a governed call does with them: use one, wait for one, be refused, or ask.

Decides which row answers a call, under the rules of core/approvals.py. Using an approval is one conditional UPDATE in the
transaction that writes the intent, so that one approval lets one call through however many race for it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, select, update

from remit.core.approvals import (
    APPROVAL_MOVES,
    PENDING_CAP,
    Approval,
    ApprovalBinding,
    ApprovalState,
    is_in_force,
    is_intact,
    new_request,
)
from remit.core.call_ports import ApprovalRefused, ApprovalWaiting, CallIntent
from remit.core.calls import ActionState, FailureCode
from remit.store.runtime_tables import actions, approvals
from remit.store.session import Session, Statement, inserting, word
from remit.store.texts import ascii_json, time_from, time_text

__all__ = ["Asked", "Used", "approval_columns", "approval_of", "change_state", "end_waiting", "use_or_ask"]

_ROW = approvals.c
_INSERT = inserting(approvals)
_ANSWERS = (ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.DENIED)
_BY_HASH = Statement(
    select(*approvals.columns)
    .where(
        _ROW.binding_hash == bindparam("hash"),
        _ROW.owner == bindparam("whose"),
        _ROW.state.in_([word(state) for state in _ANSWERS]),
    )
    .order_by(_ROW.requested_at.desc(), _ROW.approval_id)
)
_CONSUME = Statement(
    update(approvals)
    .where(
        _ROW.approval_id == bindparam("which"),
        _ROW.state == ApprovalState.APPROVED.value,
        _ROW.binding_hash == bindparam("hash"),
        _ROW.decided_at <= bindparam("now"),
        _ROW.expires_at > bindparam("now"),
    )
    .values(state=ApprovalState.EXECUTING.value, action_id=bindparam("used_by"))
)
_MOVE = Statement(
    update(approvals)
    .where(_ROW.approval_id == bindparam("which"), _ROW.state == bindparam("from_state"))
    .values(state=bindparam("to_state"))
)
_RAN_OUT = Statement(
    select(_ROW.approval_id).where(
        _ROW.owner == bindparam("whose"),
        _ROW.principal == bindparam("who"),
        _ROW.state == word(ApprovalState.PENDING),
        _ROW.expires_at <= bindparam("now"),
    )
)
_WAITING = Statement(
    select(func.count()).where(
        _ROW.owner == bindparam("whose"),
        _ROW.principal == bindparam("who"),
        _ROW.state == ApprovalState.PENDING.value,
    )
)
_END_WAITING = Statement(
    update(actions)
    .where(actions.c.approval_id == bindparam("approval"), actions.c.state == word(ActionState.REQUIRES_ACTION))
    .values(state=word(ActionState.FAILED), code=bindparam("with_code"), ended_at=bindparam("now"))
)


@dataclass(frozen=True, slots=True)
class Used:
    """An approval was consumed: the call may go out."""

    approval_id: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request was made."""

    approval: Approval


def use_or_ask(session: Session, intent: CallIntent, now: datetime) -> Used | Asked | ApprovalWaiting | ApprovalRefused:
    """Settle what a call that needs an approval gets. `intent.approval` is set."""
    binding = intent.approval
    assert binding is not None  # noqa: S101 (the caller's condition)
    found = [approval_of(row) for row in session.rows(_BY_HASH, {"hash": binding.hash, "whose": binding.owner})]
    for approval in found:
        if not is_in_force(approval, now) or _opens_what_nobody_read(approval):
            _close(session, approval, now)
            continue
        match approval.state:
            case ApprovalState.APPROVED:
                if _consume(session, approval, intent.facts.action_id, now):
                    return Used(approval.approval_id)
            case ApprovalState.DENIED:
                return ApprovalRefused(approval.approval_id, approval.state, approval.reason)
            case _:
                return ApprovalWaiting(approval.approval_id, approval.expires_at)
    return _ask(session, intent, binding, now)


def _opens_what_nobody_read(approval: Approval) -> bool:
    # A denial that was altered denies all the same: whoever altered it must not get another question out of it.
    return approval.state is not ApprovalState.DENIED and not is_intact(approval)


def _close(session: Session, approval: Approval, now: datetime) -> None:
    if approval.state is ApprovalState.DENIED:
        return
    # A clock set back leaves windows that open in the future, and an altered request is none: both are replaced by another.
    over = ApprovalState.EXPIRED if now >= approval.expires_at else ApprovalState.SUPERSEDED
    change_state(session, approval.approval_id, approval.state, over, now)


def _consume(session: Session, approval: Approval, action_id: str, now: datetime) -> bool:
    values = {
        "which": approval.approval_id,
        "hash": approval.binding_hash,
        "now": time_text(now),
        "used_by": action_id,
    }
    if session.run(_CONSUME, values) != 1:
        return False
    # Whoever waited for it was told so; this call is the one that it lets through.
    end_waiting(session, approval.approval_id, FailureCode.APPROVAL_REQUIRED, now)
    return True


def _ask(session: Session, intent: CallIntent, binding: ApprovalBinding, now: datetime) -> Asked | ApprovalRefused:
    who = {"whose": binding.owner, "who": binding.principal}
    for (ran_out,) in session.rows(_RAN_OUT, who | {"now": time_text(now)}):
        change_state(session, ran_out, ApprovalState.PENDING, ApprovalState.EXPIRED, now)
    waiting = session.rows(_WAITING, who)[0][0]
    if waiting >= PENDING_CAP:
        why = f"{waiting} requests of this principal wait for a human already"
        return ApprovalRefused("", ApprovalState.DENIED, why)
    approval = new_request(intent.approval_id, binding, now)
    session.run(_INSERT, approval_columns(approval))
    return Asked(approval)


def change_state(session: Session, approval_id: str, before: ApprovalState, after: ApprovalState, at: datetime) -> bool:
    """Move an approval if it still is where it was and APPROVAL_MOVES has that move; nothing waits for it afterwards."""
    if after not in APPROVAL_MOVES[before]:
        return False
    if session.run(_MOVE, {"which": approval_id, "from_state": before.value, "to_state": after.value}) != 1:
        return False
    end_waiting(session, approval_id, FailureCode.APPROVAL_REQUIRED, at)
    return True


def end_waiting(session: Session, approval_id: str, code: FailureCode, at: datetime) -> None:
    """End the actions that wait for an approval: it was used, denied, or will not come."""
    session.run(_END_WAITING, {"approval": approval_id, "with_code": code.value, "now": time_text(at)})


def approval_columns(approval: Approval) -> Mapping[str, Any]:
    """An approval as its row."""
    binding = approval.binding
    return {
        "approval_id": approval.approval_id,
        "owner": binding.owner,
        "assistant": binding.assistant,
        "principal": binding.principal,
        "binding_hash": approval.binding_hash,
        "request_digest": approval.request_digest,
        "server_id": binding.server_id,
        "identity_key": binding.identity_key,
        "remote_name": binding.remote_name,
        "definition_digest": binding.definition_digest,
        "envelope_digest": binding.envelope_digest,
        "arguments": binding.arguments,
        "provider_name": binding.provider_name,
        "server": binding.server,
        "reversible": binding.reversible,
        "state": approval.state.value,
        "requested_at": time_text(approval.requested_at),
        "expires_at": time_text(approval.expires_at),
        "approver": approval.approver,
        "decided_at": None if approval.decided_at is None else time_text(approval.decided_at),
        "reason": None if approval.reason is None else ascii_json(approval.reason),
        "action_id": approval.action_id,
    }


def approval_of(values: Sequence[Any]) -> Approval:
    """An approval from its row, columns in the order of the table. Raises ValueError for one that no remit wrote."""
    row = dict(zip(_NAMES, values, strict=True))
    bound: dict[str, Any] = {name: row[name] for name in _BINDING} | {"reversible": bool(row["reversible"])}
    if not all(isinstance(value, str | bool) for value in (row["approval_id"], *bound.values())):
        raise ValueError("a text of it is none")
    binding = ApprovalBinding(**bound)
    return Approval(
        approval_id=row["approval_id"],
        binding_hash=row["binding_hash"],
        request_digest=row["request_digest"],
        binding=binding,
        state=ApprovalState(row["state"]),
        requested_at=time_from(row["requested_at"]),
        expires_at=time_from(row["expires_at"]),
        approver=row["approver"],
        decided_at=None if row["decided_at"] is None else time_from(row["decided_at"]),
        reason=None if row["reason"] is None else json.loads(row["reason"]),
        action_id=row["action_id"],
    )


_NAMES = tuple(column.name for column in approvals.columns)
_BINDING = tuple(each.name for each in fields(ApprovalBinding))
