"""What the ending of a call means for whoever ran `remit call`: the exit code, and the next step.

Decides the exit code of every failure code, as a table: 1 the call failed, 3 it was refused or a human must approve it first,
4 it may have been carried out, or the server was not reached.
"""

from collections.abc import Iterator, Mapping

from remit.core.calls import ActionState, CallOutcome, FailureCode
from remit.core.canonical import JsonObject
from remit.core.governance import ActionRow
from remit.reconcile.outcome import ExitCode

__all__ = ["EXIT_OF", "exit_of", "interrupted_steps", "next_steps"]

_MAY_HAVE_RUN = "The call may have been carried out: check before you repeat it."
_NOT_SENT = frozenset({ActionState.FAILED, ActionState.REQUIRES_ACTION})
"""States of an action without a result whose call did not go out."""

_FAILED, _REFUSED, _UNKNOWN = ExitCode.ERROR, ExitCode.REFUSED, ExitCode.INCOMPLETE

EXIT_OF: Mapping[FailureCode, ExitCode] = {
    FailureCode.UNKNOWN_TOOL: _REFUSED,
    FailureCode.SUSPENDED: _REFUSED,
    FailureCode.TOOL_DISABLED: _REFUSED,
    FailureCode.TOOL_QUARANTINED: _REFUSED,
    FailureCode.TOOL_VANISHED: _REFUSED,
    FailureCode.DATABASE_DRIFT: _REFUSED,
    FailureCode.DEFINITION_DRIFTED: _REFUSED,
    # Nobody could ask the server: that is its outage, not a refusal of its tool.
    FailureCode.CONTRACT_UNKNOWN: _UNKNOWN,
    FailureCode.PERMISSION_DENIED: _REFUSED,
    FailureCode.INVALID_ARGUMENTS: _FAILED,
    FailureCode.IDEMPOTENCY_CONFLICT: _FAILED,
    FailureCode.CALL_IN_FLIGHT: _UNKNOWN,
    FailureCode.APPROVAL_REQUIRED: _REFUSED,
    FailureCode.APPROVAL_DENIED: _REFUSED,
    FailureCode.RUN_OVER: _FAILED,
    FailureCode.TIMEOUT_IDLE: _UNKNOWN,
    FailureCode.TIMEOUT_ABSOLUTE: _UNKNOWN,
    FailureCode.SERVER_GONE: _UNKNOWN,
    FailureCode.UNREACHABLE: _UNKNOWN,
    FailureCode.CIRCUIT_OPEN: _UNKNOWN,
    FailureCode.QUEUE_FULL: _UNKNOWN,
    FailureCode.RPC_ERROR: _FAILED,
    FailureCode.RESULT_INVALID: _FAILED,
    FailureCode.RESULT_TOO_LARGE: _FAILED,
    FailureCode.INPUT_REQUIRED: _FAILED,
    FailureCode.OUTCOME_UNKNOWN: _UNKNOWN,
    FailureCode.CANCELLED: _FAILED,
    FailureCode.NOT_RECORDED: _FAILED,
    FailureCode.INTERNAL_ERROR: _FAILED,
}
"""The exit code of every code that a failed call can carry."""


def exit_of(*, is_error: bool, metadata: JsonObject) -> ExitCode:
    """The exit code of a result. A call that may have been carried out is 4, whatever its code."""
    if not is_error:
        return ExitCode.OK
    if metadata.get("outcome") == CallOutcome.UNKNOWN.value:
        return _UNKNOWN
    code = metadata.get("code")
    return EXIT_OF[FailureCode(code)] if isinstance(code, str) and code in set(FailureCode) else _FAILED


def next_steps(metadata: JsonObject, *, file_flag: str) -> Iterator[str]:
    """What a person does next, in commands for another shell; nothing where there is no step."""
    if metadata.get("outcome") == CallOutcome.UNKNOWN.value:
        yield _MAY_HAVE_RUN
    if metadata.get("code") == FailureCode.APPROVAL_REQUIRED.value and isinstance(
        approval_id := metadata.get("approval_id"), str
    ):
        yield f"Look at it:   remit approvals show {approval_id}{file_flag}"
        yield f"Approve it:   remit approvals approve {approval_id}{file_flag}"
        yield "Then run this very command again."


def interrupted_steps(run_id: str, action: ActionRow | None, *, has_result: bool, file_flag: str) -> Iterator[str]:
    """What became of a call that Ctrl-C ended, as it is recorded, and where to look. `action` is None where there is none."""
    if action is not None:
        if not has_result and action.state not in _NOT_SENT:
            yield _MAY_HAVE_RUN
        why = f" ({action.code})" if action.code not in (None, action.state.value) else ""
        yield f"Its action {action.action_id} is recorded as {action.state.value}{why}."
    yield f"Look at it:   remit runs show {run_id}{file_flag}"
