"""What a caller is told where no call went out: an earlier outcome, a wait for a human, a human's no.

Decides wording only; the words are for a model that has to go on.
"""

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from remit.core.call_ports import (
    ApprovalRefused,
    ApprovalWaiting,
    CallEnd,
    CallIdUsed,
    KeyConflict,
    RunClosed,
    StillRunning,
    StoredOutcome,
)
from remit.core.calls import ActionState, CallOutcome, FailureCode, ToolOutcome, TransportOutcome
from remit.render.spans import timestamp
from remit.runtime.abi import ToolResultEnvelope, failure
from remit.runtime.case import Case

__all__ = ["approval_denied", "approval_required", "never_sent", "refusal_of", "replayed"]


def replayed(outcome: StoredOutcome) -> ToolResultEnvelope:
    """The stored result of an earlier call with the same key; an unknown outcome stays unknown."""
    if outcome.state is ActionState.UNKNOWN or outcome.result is None:
        state = outcome.state.value
        return failure(
            FailureCode.OUTCOME_UNKNOWN,
            f"an earlier call with this key ended {state} and has no result to repeat; it is not sent again. Check what "
            "it did before you use a new key",
            action_id=outcome.action_id,
            state=state,
        )
    stored = ToolResultEnvelope.of(outcome.result)
    return replace(stored, metadata={**stored.metadata, "replayed": True})


def refusal_of(begun: KeyConflict | StillRunning | CallIdUsed | RunClosed) -> tuple[FailureCode, str]:
    """Why the journal let a call that the gate had passed not begin."""
    match begun:
        case KeyConflict():
            return FailureCode.IDEMPOTENCY_CONFLICT, "this key was used for another call; use a new key"
        case StillRunning():
            return FailureCode.CALL_IN_FLIGHT, "a call with this key is under way; ask again later"
        case CallIdUsed(state=ActionState.IN_PROGRESS):
            return FailureCode.CALL_IN_FLIGHT, "the call with this tool_call_id is under way; it is not sent again"
        case CallIdUsed(state=state):
            used = f"this run has a call with this tool_call_id, which is {state.value}; it is not carried out again"
            return FailureCode.IDEMPOTENCY_CONFLICT, f"{used}. Give another call an id of its own"
        case RunClosed(state=state):
            return FailureCode.RUN_OVER, f"the run is {state.value}; nothing goes out any more"
        case _:
            assert_never(begun)


def approval_required(waiting: ApprovalWaiting) -> ToolResultEnvelope:
    """A human must say yes to these very arguments first."""
    until = timestamp(waiting.expires_at)
    return failure(
        FailureCode.APPROVAL_REQUIRED,
        f"a person must approve this call first (approval {waiting.approval_id}, open until {until}). Once it is approved, "
        "make the same call with the same arguments again; it then runs once",
        approval_id=waiting.approval_id,
        expires_at=waiting.expires_at.isoformat(),
    )


def approval_denied(refused: ApprovalRefused) -> ToolResultEnvelope:
    """A human said no, or is asked too much."""
    if not refused.approval_id:
        return failure(FailureCode.APPROVAL_DENIED, refused.reason or "too many requests are waiting for a person")
    why = f": {refused.reason}" if refused.reason else ""
    return failure(FailureCode.APPROVAL_DENIED, f"a person refused this call{why}", approval_id=refused.approval_id)


def never_sent(case: Case, at: datetime) -> CallEnd:
    """The end of an intent whose caller gave up before the call went out."""
    return CallEnd(
        action_id=case.facts.action_id,
        run_id=case.facts.run_id,
        at=at,
        state=ActionState.CANCELLED,
        outcome=CallOutcome.CANCELLED,
        code=FailureCode.CANCELLED,
        transport=TransportOutcome.NOT_SENT,
        rpc_code=None,
        tool=ToolOutcome.NONE,
        duration_ms=0.0,
        attempts=0,
        renewed=False,
        protocol_version=None,
        result=None,
        output=None,
        result_digest=None,
    )
