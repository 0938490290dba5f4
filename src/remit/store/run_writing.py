"""Runs and the consumer's own actions in the database: started, moved, handed off, answered, cancelled.

Decides which moves happen, by the tables of core/calls.py; an end stays an end, and what the consumer still owes a run ends
with it. Calls of MCP tools are `call_writing.py`'s.
"""

from datetime import datetime

from sqlalchemy import Text, bindparam, exists, func, select, update

from remit.core.approvals import ApprovalState
from remit.core.audit import AuditFact, AuditKind
from remit.core.call_ports import CallFacts, NewRun
from remit.core.calls import RUN_MOVES, ActionKind, ActionState, FailureCode, RunState
from remit.errors import StoreError
from remit.store.approval_rows import change_state
from remit.store.audit_bodies import handed_off_body, run_body, run_end_body
from remit.store.batch import Batch
from remit.store.call_writing import insert_action, room_for
from remit.store.runtime_tables import actions, approvals, runs
from remit.store.session import Session, Statement, inserting, word
from remit.store.texts import ascii_json, time_text

__all__ = ["RunWriter", "end_owed"]

_RUN, _ACTION = runs.c, actions.c
_INSERT = inserting(runs)
_TRACE = Statement(select(_RUN.trace_id).where(_RUN.run_id == bindparam("which")))
_MOVE = Statement(
    update(runs)
    .where(_RUN.run_id == bindparam("which"), _RUN.state == bindparam("from_state"))
    .values(
        state=bindparam("to_state"),
        ended_at=bindparam("now"),
        instance=func.coalesce(bindparam("mine", type_=Text), _RUN.instance),
    )
)
_WAITS = _ACTION.state == word(ActionState.REQUIRES_ACTION)
_ANSWER = Statement(
    update(actions)
    .where(
        _ACTION.run_id == bindparam("run"),
        _ACTION.tool_call_id == bindparam("call"),
        _ACTION.kind == word(ActionKind.CONSUMER),
        _WAITS,
    )
    .values(state=bindparam("to_state"), output=bindparam("with_output"), ended_at=bindparam("now"))
)
_HANDED_OFF = Statement(
    select(_ACTION.action_id)
    .where(_ACTION.run_id == bindparam("run"), _ACTION.kind == word(ActionKind.CONSUMER), _WAITS)
    .limit(1)
)
_OTHER = actions.alias("other")
_ASKED_FOR = Statement(
    select(approvals.c.approval_id, approvals.c.state)
    .join(actions, _ACTION.approval_id == approvals.c.approval_id)
    .where(
        _ACTION.run_id == bindparam("run"),
        _WAITS,
        approvals.c.state == word(ApprovalState.PENDING),
        ~exists().where(
            _OTHER.c.approval_id == approvals.c.approval_id,
            _OTHER.c.state == word(ActionState.REQUIRES_ACTION),
            _OTHER.c.run_id != bindparam("run"),
        ),
    )
)
_CANCEL_WAITING = Statement(
    update(actions)
    .where(_ACTION.run_id == bindparam("run"), _ACTION.state.in_([word("queued"), word("requires_action")]))
    .values(state=word(ActionState.CANCELLED), code=word(FailureCode.CANCELLED), ended_at=bindparam("now"))
)
_END_OWED = Statement(
    update(actions)
    .where(_ACTION.run_id == bindparam("run"), _ACTION.kind == word(ActionKind.CONSUMER), _WAITS)
    .values(state=word(ActionState.CANCELLED), code=bindparam("with_code"), ended_at=bindparam("now"))
)


class RunWriter:
    """Writes runs in one batch."""

    def __init__(self, batch: Batch):
        self._batch = batch
        self._session = batch.session

    def start(self, run: NewRun) -> None:
        """Add a run in progress, with its event."""
        self._batch.settle()
        row = {
            "run_id": run.run_id,
            "owner": run.owner,
            "assistant": run.assistant,
            "principal": run.principal,
            "thread_id": run.thread_id,
            "trace_id": run.trace_id,
            "state": RunState.IN_PROGRESS.value,
            "started_at": time_text(run.at),
            "ended_at": None,
            "instance": self._batch.instance or None,
        }
        self._session.run(_INSERT, row)
        fact = AuditFact(
            kind=AuditKind.RUN_STARTED, at=run.at, actor=run.principal, trace_id=run.trace_id, body=run_body(run)
        )
        self._batch.chain.add(fact)

    def move(self, run_id: str, state: RunState, *, actor: str, at: datetime) -> RunState:
        """Move a run where that is allowed; the state that it has then. Raises StoreError `run-unknown`."""
        self._batch.settle()
        before = self._batch.run_state(run_id)
        if state not in RUN_MOVES[before]:
            return before
        over = not RUN_MOVES[state]
        values = {
            "which": run_id,
            "from_state": before.value,
            "to_state": state.value,
            "now": time_text(at) if over else None,
            "mine": self._batch.instance or None,
        }
        self._session.run(_MOVE, values)
        self._batch.forget_readings()
        if over:
            end_owed(self._session, run_id, state, at)
            self._note_end(run_id, state, actor, at)
        return state

    def cancel(self, run_id: str, *, actor: str, at: datetime) -> RunState:
        """Cancel a run with all that waits in it, and give the state that it has then.

        Calls under way are ended by the process that made them. Raises StoreError `run-unknown`.
        """
        self._batch.settle()
        state = self.move(run_id, RunState.CANCELLED, actor=actor, at=at)
        if state is not RunState.CANCELLED:
            return state
        # A request that calls of other runs wait for too stays in the queue.
        asked_for = self._session.rows(_ASKED_FOR, {"run": run_id})
        self._session.run(_CANCEL_WAITING, {"run": run_id, "now": time_text(at)})
        for approval_id, before in asked_for:
            change_state(self._session, approval_id, ApprovalState(before), ApprovalState.CANCELLED, at)
        return state

    def hand_off(self, facts: CallFacts, arguments: str) -> bool:
        """Keep a call for the consumer, and let the run wait for it; False where the run is over.

        The same call again, while it waits, is the same action. Raises StoreError `action-exists` for another one.
        """
        self._batch.settle()
        state = self._batch.run_state(facts.run_id)
        if not RUN_MOVES[state]:
            return False
        earlier = room_for(self._session, facts)
        if earlier is None:
            insert_action(
                self._session, facts, ActionState.REQUIRES_ACTION, kind=ActionKind.CONSUMER, arguments=arguments
            )
            self._note_hand_off(facts)
        elif not earlier.is_handed_off(facts.provider_name, arguments):
            raise StoreError(
                "this run has an action for that tool call already",
                code="action-exists",
                place=f"run {facts.run_id}",
                hint="give every tool call of a run an id of its own",
            )
        self.move(facts.run_id, RunState.REQUIRES_ACTION, actor=facts.principal, at=facts.at)
        return True

    def take_output(self, run_id: str, tool_call_id: str, output: str, *, is_error: bool, at: datetime) -> bool:
        """Keep what the consumer gives back; False where no such call waits for it, or its run is over."""
        self._batch.settle()
        if not RUN_MOVES[self._batch.run_state(run_id)]:
            return False
        values = {
            "run": run_id,
            "call": tool_call_id,
            "to_state": (ActionState.FAILED if is_error else ActionState.COMPLETED).value,
            "with_output": ascii_json(output),
            "now": time_text(at),
        }
        if self._session.run(_ANSWER, values) != 1:
            return False
        if self._session.row(_HANDED_OFF, {"run": run_id}) is None:
            self.move(run_id, RunState.IN_PROGRESS, actor="system:consumer", at=at)
        return True

    def _note_hand_off(self, facts: CallFacts) -> None:
        fact = AuditFact(
            kind=AuditKind.CALL_HANDED_OFF,
            at=facts.at,
            actor=facts.principal,
            trace_id=facts.trace_id,
            body=handed_off_body(facts),
        )
        self._batch.chain.add(fact)

    def _note_end(self, run_id: str, state: RunState, actor: str, at: datetime) -> None:
        trace = self._session.row(_TRACE, {"which": run_id})
        fact = AuditFact(
            kind=AuditKind.RUN_ENDED,
            at=at,
            actor=actor,
            trace_id=None if trace is None else trace[0],
            body=run_end_body(run_id, state),
        )
        self._batch.chain.add(fact)


def end_owed(session: Session, run_id: str, end: RunState, at: datetime) -> None:
    """Cancel what the consumer owes a run that ended as `end`: no output is taken any more, so nothing may wait for one."""
    code = FailureCode.CANCELLED if end is RunState.CANCELLED else FailureCode.RUN_OVER
    session.run(_END_OWED, {"run": run_id, "with_code": code.value, "now": time_text(at)})
