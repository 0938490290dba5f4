"""What becomes of the calls of a journal that died: `unknown`, never in progress for ever, and never sent again.

Decides which rows follow: the calls, their keys and approvals become `unknown`, and a run of a dead journal that nothing
else works on becomes `failed`. Which journals are dead is `instances.py`'s.
"""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import bindparam, exists, select, update

from remit.core.approvals import ApprovalState
from remit.core.audit import AuditFact, AuditKind
from remit.core.calls import ActionState, FailureCode, RunState
from remit.store.audit_bodies import recovered_body, run_end_body
from remit.store.chains import Chain
from remit.store.run_writing import end_owed
from remit.store.runtime_tables import actions, approvals, idempotency_records, runs
from remit.store.session import Row, Session, Statement, word
from remit.store.texts import time_text

__all__ = ["RECOVERY", "owners_of_open_work", "recover"]

RECOVERY = "system:recovery"
"""The actor of what recovery writes."""

_ACTION, _RUN = actions.c, runs.c
_UNDER_WAY = _ACTION.state == word(ActionState.IN_PROGRESS)
_RUNNING = _RUN.state == word(RunState.IN_PROGRESS)
_OWNERS = Statement(select(_ACTION.instance).where(_UNDER_WAY, _ACTION.instance.is_not(None)).distinct())
_RUN_OWNERS = Statement(select(_RUN.instance).where(_RUNNING, _RUN.instance.is_not(None)).distinct())
_LOST = Statement(
    select(
        _ACTION.action_id,
        _ACTION.run_id,
        _ACTION.trace_id,
        _ACTION.provider_name,
        _ACTION.tool_call_id,
        _ACTION.server,
        _ACTION.remote_name,
    )
    .where(_ACTION.instance == bindparam("dead"), _UNDER_WAY)
    .order_by(_ACTION.started_at, _ACTION.action_id)
)
_FORGET = Statement(
    update(actions)
    .where(_ACTION.action_id == bindparam("which"), _UNDER_WAY)
    .values(
        state=ActionState.UNKNOWN.value,
        code=FailureCode.OUTCOME_UNKNOWN.value,
        ended_at=bindparam("now"),
    )
)
_FORGET_KEY = Statement(
    update(idempotency_records)
    .where(
        idempotency_records.c.action_id == bindparam("which"),
        idempotency_records.c.state == ActionState.IN_PROGRESS.value,
    )
    .values(state=ActionState.UNKNOWN.value, ended_at=bindparam("now"))
)
_FORGET_APPROVAL = Statement(
    update(approvals)
    .where(approvals.c.action_id == bindparam("which"), approvals.c.state == ApprovalState.EXECUTING.value)
    .values(state=ApprovalState.UNKNOWN.value)
)
_ABANDONED = Statement(
    select(_RUN.run_id, _RUN.trace_id).where(
        _RUN.instance == bindparam("dead"),
        _RUNNING,
        ~exists().where(_ACTION.run_id == _RUN.run_id, _UNDER_WAY),
    )
)
_FAIL = Statement(
    update(runs)
    .where(_RUN.run_id == bindparam("which"), _RUNNING)
    .values(state=RunState.FAILED.value, ended_at=bindparam("now"))
)


def owners_of_open_work(session: Session) -> frozenset[str]:
    """The instances, living or not, that have calls or runs in progress."""
    return frozenset(row[0] for owners in (_OWNERS, _RUN_OWNERS) for row in session.rows(owners, {}))


def recover(session: Session, chain: Chain, dead: Iterable[str], at: datetime) -> None:
    """Give every open call of dead instances its end, and then the runs that wait for nothing else."""
    order = sorted(dead)
    for instance in order:
        for row in session.rows(_LOST, {"dead": instance}):
            _give_up(session, chain, row, at)
    for instance in order:
        for run_id, trace_id in session.rows(_ABANDONED, {"dead": instance}):
            session.run(_FAIL, {"which": run_id, "now": time_text(at)})
            end_owed(session, run_id, RunState.FAILED, at)
            body = run_end_body(run_id, RunState.FAILED)
            chain.add(AuditFact(kind=AuditKind.RUN_ENDED, at=at, actor=RECOVERY, trace_id=trace_id, body=body))


def _give_up(session: Session, chain: Chain, row: Row, at: datetime) -> None:
    action_id, run_id, trace_id, *tool = row
    which = {"which": action_id, "now": time_text(at)}
    for statement in (_FORGET, _FORGET_KEY, _FORGET_APPROVAL):
        session.run(statement, which)
    body = recovered_body(action_id, run_id, *tool)
    chain.add(AuditFact(kind=AuditKind.CALL_RECOVERED, at=at, actor=RECOVERY, trace_id=trace_id, body=body))
