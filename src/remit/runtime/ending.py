"""How a call that was sent ended: the three outcomes apart, the state of its action, and what the caller is told.

Decides when a call is `unknown`: it may have been carried out, its answer is lost, and its envelope says that it has side
effects. Such a call is never sent again. Pure.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from remit.core.calls import ActionState, CallOutcome, FailureCode, ToolOutcome, TransportOutcome
from remit.core.remote_ports import Delivery, RemoteAnswer, RemoteError, RemoteFault, RemoteResult
from remit.runtime.abi import ToolResultEnvelope, failure

__all__ = ["Ending", "cancelled_ending", "ending_of", "failed_ending", "is_worth_repeating"]

_TIMEOUTS = frozenset({FailureCode.TIMEOUT_IDLE, FailureCode.TIMEOUT_ABSOLUTE})
_REPEATED = frozenset({FailureCode.SERVER_GONE, FailureCode.UNREACHABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of one call. `result` is what the caller gets."""

    state: ActionState
    outcome: CallOutcome
    transport: TransportOutcome
    tool: ToolOutcome
    result: ToolResultEnvelope
    code: FailureCode | None = None
    rpc_code: int | None = None


def is_worth_repeating(answer: RemoteAnswer, *, side_effecting: bool) -> bool:
    """Whether a call may be sent once more: never after side effects may have happened, never after its time was over."""
    match answer:
        case RemoteFault(session_lost=True):
            # The server forgot the session before it carried anything out (MCP: 404), so this is no second execution.
            return True
        case RemoteFault(code=code):
            return code in _REPEATED and not side_effecting
        case RemoteResult() | RemoteError():
            return False
        case _:
            assert_never(answer)


def ending_of(answer: RemoteAnswer, result: ToolResultEnvelope, *, side_effecting: bool) -> Ending:
    """The end that an answer means; `result` is the answer in the shape of the ABI."""
    match answer:
        case RemoteResult():
            return _answered(result)
        case RemoteError(rpc_code=rpc_code):
            return Ending(
                state=ActionState.FAILED,
                outcome=CallOutcome.ERROR,
                transport=TransportOutcome.ANSWERED,
                tool=ToolOutcome.NONE,
                result=result,
                code=FailureCode.RPC_ERROR,
                rpc_code=rpc_code,
            )
        case RemoteFault():
            return _unanswered(answer, result, side_effecting=side_effecting)
        case _:
            assert_never(answer)


def _answered(result: ToolResultEnvelope) -> Ending:
    # A code means that the answer was none that a tool gives: malformed, too large, or a question.
    code = None if result.code is None else FailureCode(result.code)
    said = ToolOutcome.ERROR if result.is_error else ToolOutcome.OK
    return Ending(
        state=ActionState.FAILED if result.is_error else ActionState.COMPLETED,
        outcome=CallOutcome.ERROR if result.is_error else CallOutcome.OK,
        transport=TransportOutcome.ANSWERED,
        tool=ToolOutcome.NONE if code else said,
        result=result,
        code=code,
    )


def _unanswered(fault: RemoteFault, result: ToolResultEnvelope, *, side_effecting: bool) -> Ending:
    lost = fault.delivery is Delivery.LOST
    unknown = lost and side_effecting
    outcome = CallOutcome.TIMEOUT if fault.code in _TIMEOUTS else CallOutcome.ERROR
    return Ending(
        state=ActionState.UNKNOWN if unknown else ActionState.FAILED,
        outcome=CallOutcome.UNKNOWN if unknown else outcome,
        transport=TransportOutcome.LOST if lost else TransportOutcome.NOT_SENT,
        tool=ToolOutcome.NONE,
        result=_with_warning(fault, result) if unknown else result,
        code=fault.code,
    )


def _with_warning(fault: RemoteFault, result: ToolResultEnvelope) -> ToolResultEnvelope:
    told = f"{fault.message}. The call may have been carried out; it is not sent again. Check before you repeat it"
    unknown = {**result.metadata, "outcome": CallOutcome.UNKNOWN.value}
    return replace(result, content=f"{fault.code.value}: {told}", metadata=unknown)


def cancelled_ending(why: str, *, sent: bool, side_effecting: bool) -> Ending:
    """The end of a cancelled call: no output of its own making, whatever the server still does.

    A server that was told to stop may have been done by then, so what went out with side effects carries the warning.
    """
    fault = RemoteFault(code=FailureCode.CANCELLED, message=why, delivery=Delivery.LOST)
    result = failure(FailureCode.CANCELLED, why)
    return Ending(
        state=ActionState.CANCELLED,
        outcome=CallOutcome.CANCELLED,
        transport=TransportOutcome.LOST if sent else TransportOutcome.NOT_SENT,
        tool=ToolOutcome.NONE,
        result=_with_warning(fault, result) if sent and side_effecting else result,
        code=FailureCode.CANCELLED,
    )


def failed_ending(code: FailureCode, message: str, *, sent: bool, side_effecting: bool) -> Ending:
    """The end of a call that remit itself could not finish: refused before it went out, or broken by a defect."""
    delivery = Delivery.LOST if sent else Delivery.NOT_SENT
    fault = RemoteFault(code=code, message=message, delivery=delivery)
    return _unanswered(fault, failure(code, message), side_effecting=side_effecting)
