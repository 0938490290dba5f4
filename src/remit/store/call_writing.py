"""One governed call in the database: the intent before it, the outcome after it, or why it did not go out.

Decides the order of DESIGN.md section 10, steps 5 to 7, inside one transaction: run, stamp, key, approval, and only then the
intent. Everything that is read here was committed, and nothing that is written here is seen by anybody before the commit.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never

from sqlalchemy import bindparam, delete, select, update

from remit.core.approvals import ApprovalState
from remit.core.audit import AuditFact, AuditKind
from remit.core.call_ports import (
    ApprovalRefused,
    ApprovalWaiting,
    Begun,
    CallEnd,
    CallFacts,
    CallIdUsed,
    CallIntent,
    CallOver,
    CallRefusal,
    GrantsMoved,
    IdempotencyUse,
    KeyConflict,
    Replayed,
    RunClosed,
    Started,
    StillRunning,
    StoredOutcome,
)
from remit.core.calls import ACTION_MOVES, RUN_MOVES, ActionKind, ActionState, FailureCode
from remit.errors import StoreError
from remit.store.approval_rows import Asked, Used, change_state, use_or_ask
from remit.store.audit_bodies import approval_body, denied_body, intent_body, late_body, outcome_body
from remit.store.batch import END_ACTION, INSERT_ACTION, Batch, OpenCall
from remit.store.runtime_tables import actions, approvals, idempotency_records
from remit.store.session import Session, Statement, inserting, word
from remit.store.texts import any_json, ascii_json, time_text

__all__ = ["CallWriter", "Earlier", "insert_action", "room_for"]

_ACTION, _KEY = actions.c, idempotency_records.c
_INSERT_KEY = inserting(idempotency_records)
_SAME_CALL = (_ACTION.run_id == bindparam("run"), _ACTION.tool_call_id == bindparam("call"))
_EARLIER_ACTION = Statement(
    select(_ACTION.kind, _ACTION.state, _ACTION.instance, _ACTION.provider_name, _ACTION.arguments).where(*_SAME_CALL)
)
_DROP_ATTEMPT = Statement(delete(actions).where(*_SAME_CALL))
_UNDER_WAY = Statement(
    select(_ACTION.approval_id).where(
        _ACTION.action_id == bindparam("which"),
        _ACTION.state == word(ActionState.IN_PROGRESS),
        _ACTION.instance == bindparam("mine"),
    )
)
_APPROVAL_IN_USE = Statement(
    select(approvals.c.approval_id).where(
        approvals.c.approval_id == bindparam("which"),
        approvals.c.action_id == bindparam("used_by"),
        approvals.c.state == word(ApprovalState.EXECUTING),
        approvals.c.expires_at > bindparam("now"),
    )
)
_SCOPE = (
    _KEY.owner == bindparam("whose"),
    _KEY.assistant == bindparam("named"),
    _KEY.principal == bindparam("who"),
    _KEY.key == bindparam("used_key"),
)
_EARLIER = Statement(select(_KEY.fingerprint, _KEY.action_id, _KEY.instance, _KEY.state, _KEY.result).where(*_SCOPE))
_END_KEY = Statement(
    update(idempotency_records)
    # By the call alone: the assistant may have another name by now, and its keys with it.
    .where(_KEY.action_id == bindparam("which"))
    .values(state=bindparam("to_state"), result=bindparam("with_result"), ended_at=bindparam("now"))
)
_APPROVAL_ENDS: Mapping[ActionState, ApprovalState] = {
    ActionState.COMPLETED: ApprovalState.SUCCEEDED,
    ActionState.FAILED: ApprovalState.FAILED,
    ActionState.CANCELLED: ApprovalState.FAILED,
    ActionState.UNKNOWN: ApprovalState.UNKNOWN,
}


class CallWriter:
    """Writes calls in one batch. `recovered` says whether an instance was dead, after giving its calls their end."""

    def __init__(self, batch: Batch, recovered: Callable[[Batch, str], bool]):
        self._batch = batch
        self._session = batch.session
        self._recovered = recovered

    def begin(self, intent: CallIntent) -> Begun:
        """Let a call go out, or say why not."""
        batch = self._batch
        if not batch.hasty or intent.idempotency is not None or intent.approval is not None:
            batch.settle()
            return self._begin_with_care(intent)
        return self._answered(intent) or self._start(intent, None)

    def _begin_with_care(self, intent: CallIntent) -> Begun:
        answer = self._answered(intent)
        if answer is not None:
            return answer
        earlier = room_for(self._session, intent.facts)
        if earlier is not None:
            return CallIdUsed(earlier.state)
        return self._start(intent, None) if intent.approval is None else self._start_if_approved(intent)

    def again(self, facts: CallFacts) -> Started | GrantsMoved | RunClosed | CallOver:
        """Let a call of this journal's that is under way go out once more, or say why not."""
        self._batch.settle()
        closed = self._closed(facts)
        if closed is not None:
            return closed
        row = self._session.row(_UNDER_WAY, {"which": facts.action_id, "mine": self._batch.instance})
        if row is None:
            return CallOver("it was declared unknown meanwhile")
        (approval_id,) = row
        used = {"which": approval_id, "used_by": facts.action_id, "now": time_text(self._batch.now)}
        if approval_id is not None and self._session.row(_APPROVAL_IN_USE, used) is None:
            return CallOver("its approval has expired or was used up")
        return Started(approval_id)

    def refuse(self, refusal: CallRefusal) -> bool:
        """Keep a refusal; False where the grants moved."""
        facts, batch = refusal.facts, self._batch
        batch.settle()
        batch.run_state(facts.run_id)
        if batch.stamp(facts.owner, facts.assistant) != facts.stamp:
            return False
        self._refuse(refusal)
        return True

    def end(self, end: CallEnd) -> bool:
        """Keep an outcome; False where the call is not this journal's to end any more."""
        batch = self._batch
        if end.state not in ACTION_MOVES[ActionState.IN_PROGRESS]:
            raise StoreError(
                f"a call under way cannot become {end.state.value}",
                code="state-move",
                place=f"run {end.run_id}",
                hint="report it: a defect of remit",
            )
        call = batch.started.get(end.action_id) or batch.open_calls.get(end.action_id)
        kept = call is None or call.facts.record_output
        batch.ended.add(end.action_id)
        values = {
            "which": end.action_id,
            "mine": batch.instance,
            "to_state": end.state.value,
            "with_code": None if end.code is None else end.code.value,
            "now": time_text(end.at),
            "with_output": None if end.output is None or not kept else ascii_json(end.output),
        }
        if batch.hasty and call is not None and call.is_plain and end.action_id not in batch.started:
            batch.end_later(values)
            self._note(AuditKind.CALL_OUTCOME, call.facts, end.at, outcome_body(end, call.facts, None))
            return True
        batch.settle()
        if self._session.run(END_ACTION, values) != 1 or call is None:
            self._note_late(end, None if call is None else call.facts)
            return False
        if call.key is not None:
            self._end_key(end)
        if call.approval_id is not None:
            change_state(
                self._session, call.approval_id, ApprovalState.EXECUTING, _APPROVAL_ENDS[end.state], self._batch.now
            )
        self._note(AuditKind.CALL_OUTCOME, call.facts, end.at, outcome_body(end, call.facts, call.approval_id))
        return True

    # --- before a call ------------------------------------------------------------------------------------------------

    def _answered(self, intent: CallIntent) -> RunClosed | GrantsMoved | Replayed | KeyConflict | StillRunning | None:
        """What stands in the way of a call before a human is asked."""
        closed = self._closed(intent.facts)
        if closed is not None or intent.idempotency is None:
            return closed
        return self._earlier(intent.facts, intent.idempotency)

    def _closed(self, facts: CallFacts) -> RunClosed | GrantsMoved | None:
        """What stands in the way of anything that this run would send."""
        state = self._batch.run_state(facts.run_id)
        if not RUN_MOVES[state]:
            return RunClosed(state)
        return None if self._batch.stamp(facts.owner, facts.assistant) == facts.stamp else GrantsMoved()

    def _start_if_approved(self, intent: CallIntent) -> Started | ApprovalWaiting | ApprovalRefused:
        facts, now = intent.facts, self._batch.now
        settled = use_or_ask(self._session, intent, now)
        match settled:
            case Used(approval_id=approval_id):
                return self._start(intent, approval_id)
            case Asked(approval=approval):
                self._note(AuditKind.APPROVAL_REQUESTED, facts, now, approval_body(approval))
                return self._wait(intent, ApprovalWaiting(approval.approval_id, approval.expires_at))
            case ApprovalWaiting():
                return self._wait(intent, settled)
            case ApprovalRefused():
                return self._turn_down(intent, settled)
            case _:
                assert_never(settled)

    def _earlier(self, facts: CallFacts, use: IdempotencyUse) -> Replayed | KeyConflict | StillRunning | None:
        row = self._session.row(_EARLIER, _scope(facts, use))
        if row is None:
            return None
        fingerprint, action_id, instance, state, result = row
        if fingerprint != use.fingerprint:
            return KeyConflict()
        if state == ActionState.IN_PROGRESS.value:
            if instance == self._batch.instance or not self._recovered(self._batch, instance):
                return StillRunning(action_id)
            state = ActionState.UNKNOWN.value
        return Replayed(
            StoredOutcome(
                action_id=action_id,
                state=ActionState(state),
                result=None if result is None else json.loads(result),
            )
        )

    def _start(self, intent: CallIntent, approval_id: str | None) -> Started:
        facts, batch = intent.facts, self._batch
        row = _action_row(facts, ActionState.IN_PROGRESS, approval_id=approval_id, instance=batch.instance)
        if batch.hasty and intent.idempotency is None and approval_id is None:
            batch.insert_later(row)
        else:
            self._session.run(INSERT_ACTION, row)
        if intent.idempotency is not None:
            key = {
                "owner": facts.owner,
                "assistant": facts.assistant,
                "principal": facts.principal,
                "key": intent.idempotency.key,
                "fingerprint": intent.idempotency.fingerprint,
                "action_id": facts.action_id,
                "instance": batch.instance,
                "state": ActionState.IN_PROGRESS.value,
                "result": None,
                "started_at": time_text(facts.at),
                "ended_at": None,
            }
            self._session.run(_INSERT_KEY, key)
        self._note(AuditKind.CALL_INTENT, facts, facts.at, intent_body(intent, approval_id))
        batch.started[facts.action_id] = OpenCall(facts, intent.idempotency, approval_id)
        return Started(approval_id)

    def _wait(self, intent: CallIntent, waiting: ApprovalWaiting) -> ApprovalWaiting:
        refusal = CallRefusal(
            facts=intent.facts,
            code=FailureCode.APPROVAL_REQUIRED,
            message="a human must approve these arguments first",
            state=ActionState.REQUIRES_ACTION,
            approval_id=waiting.approval_id,
        )
        self._refuse(refusal)
        return waiting

    def _turn_down(self, intent: CallIntent, refused: ApprovalRefused) -> ApprovalRefused:
        refusal = CallRefusal(
            facts=intent.facts,
            code=FailureCode.APPROVAL_DENIED,
            message=refused.reason or "a human denied these arguments",
            approval_id=refused.approval_id or None,
        )
        self._refuse(refusal)
        return refused

    def _refuse(self, refusal: CallRefusal) -> None:
        facts = refusal.facts
        # A call repeated under its own id (key in use, run over) has its action already; that one is not its refusal's.
        if room_for(self._session, facts) is None:
            insert_action(self._session, facts, refusal.state, approval_id=refusal.approval_id, code=refusal.code)
        self._note(AuditKind.CALL_DENIED, facts, facts.at, denied_body(refusal))

    # --- after a call -------------------------------------------------------------------------------------------------

    def _end_key(self, end: CallEnd) -> None:
        known = end.result is not None and end.state is not ActionState.UNKNOWN
        values = {
            "which": end.action_id,
            "to_state": end.state.value,
            "with_result": any_json(end.result) if known else None,
            "now": time_text(end.at),
        }
        self._session.run(_END_KEY, values)

    def _note_late(self, end: CallEnd, facts: CallFacts | None) -> None:
        fact = AuditFact(
            kind=AuditKind.CALL_LATE,
            at=end.at,
            actor="system:journal" if facts is None else facts.principal,
            trace_id=None if facts is None else facts.trace_id,
            body=late_body(end, facts),
        )
        self._batch.chain.add(fact)

    def _note(self, kind: AuditKind, facts: CallFacts, at: datetime, body: Mapping[str, Any]) -> None:
        fact = AuditFact(kind=kind, at=at, actor=facts.principal, trace_id=facts.trace_id, body=body)
        self._batch.chain.add(fact)


def insert_action(
    session: Session,
    facts: CallFacts,
    state: ActionState,
    *,
    kind: ActionKind = ActionKind.MCP,
    approval_id: str | None = None,
    instance: str | None = None,
    code: FailureCode | None = None,
    arguments: str | None = None,
) -> None:
    """Add an action in its first state; one that nothing can follow has its end with its start."""
    more = _action_row(facts, state, kind=kind, approval_id=approval_id, instance=instance, code=code)
    session.run(INSERT_ACTION, more | {"arguments": None if arguments is None else ascii_json(arguments)})


def _action_row(
    facts: CallFacts,
    state: ActionState,
    *,
    kind: ActionKind = ActionKind.MCP,
    approval_id: str | None = None,
    instance: str | None = None,
    code: FailureCode | None = None,
) -> dict[str, Any]:
    at = time_text(facts.at)
    return {
        "action_id": facts.action_id,
        "run_id": facts.run_id,
        "tool_call_id": facts.tool_call_id,
        "kind": kind.value,
        "provider_name": facts.provider_name,
        "server": facts.server,
        "remote_name": facts.remote_name,
        "principal": facts.principal,
        "trace_id": facts.trace_id,
        "state": state.value,
        "code": None if code is None else code.value,
        "started_at": at,
        "ended_at": None if ACTION_MOVES[state] else at,
        "approval_id": approval_id,
        "arguments": None,
        "output": None,
        "instance": instance,
    }


@dataclass(frozen=True, slots=True)
class Earlier:
    """The action that a run has under a tool_call_id already."""

    kind: ActionKind
    state: ActionState
    instance: str | None
    provider_name: str
    arguments: str | None

    @property
    def went_out(self) -> bool:
        """Whether a server or the consumer may have it. A refused call, or one that waits for approval, went nowhere."""
        return self.kind is ActionKind.CONSUMER or self.instance is not None

    def is_handed_off(self, provider_name: str, arguments: str) -> bool:
        """Whether it is this very call, waiting for the consumer."""
        waits = self.kind is ActionKind.CONSUMER and self.state is ActionState.REQUIRES_ACTION
        return waits and (self.provider_name, self.arguments) == (provider_name, ascii_json(arguments))


def room_for(session: Session, facts: CallFacts) -> Earlier | None:
    """The action that this run sent out under this tool_call_id; None where there is room for one.

    An attempt that never went out makes room: a model that corrects its arguments, or calls again once a person approved,
    keeps its id. The audit trail has every attempt.
    """
    values = {"run": facts.run_id, "call": facts.tool_call_id}
    row = session.row(_EARLIER_ACTION, values)
    if row is None:
        return None
    kind, state, *more = row
    earlier = Earlier(ActionKind(kind), ActionState(state), *more)
    if earlier.went_out:
        return earlier
    session.run(_DROP_ATTEMPT, values)
    return None


def _scope(facts: CallFacts, use: IdempotencyUse) -> dict[str, Any]:
    return {"whose": facts.owner, "named": facts.assistant, "who": facts.principal, "used_key": use.key}
