"""How a call ended, as a table over every kind of answer and both kinds of envelope."""

import pytest

from remit.core.calls import ActionState, CallOutcome, FailureCode, ToolOutcome, TransportOutcome
from remit.core.remote_ports import Delivery, RemoteAnswer, RemoteError, RemoteFault, RemoteResult
from remit.runtime.abi import ToolResultEnvelope, failure
from remit.runtime.ending import cancelled_ending, ending_of, failed_ending, is_worth_repeating

GONE, IDLE = FailureCode.SERVER_GONE, FailureCode.TIMEOUT_IDLE
RESULT = RemoteResult(result={}, era="legacy", protocol_version="2025-11-25")


def fault(code: FailureCode, delivery: Delivery, *, session_lost: bool = False) -> RemoteFault:
    """A fault with a message."""
    return RemoteFault(code=code, message="it ended", delivery=delivery, session_lost=session_lost)


ENDS: tuple[tuple[RemoteAnswer, bool, ActionState, CallOutcome, TransportOutcome], ...] = (
    (fault(GONE, Delivery.LOST), True, ActionState.UNKNOWN, CallOutcome.UNKNOWN, TransportOutcome.LOST),
    (fault(GONE, Delivery.LOST), False, ActionState.FAILED, CallOutcome.ERROR, TransportOutcome.LOST),
    (fault(GONE, Delivery.NOT_SENT), True, ActionState.FAILED, CallOutcome.ERROR, TransportOutcome.NOT_SENT),
    (fault(IDLE, Delivery.LOST), True, ActionState.UNKNOWN, CallOutcome.UNKNOWN, TransportOutcome.LOST),
    (fault(IDLE, Delivery.LOST), False, ActionState.FAILED, CallOutcome.TIMEOUT, TransportOutcome.LOST),
    (fault(IDLE, Delivery.NOT_SENT), True, ActionState.FAILED, CallOutcome.TIMEOUT, TransportOutcome.NOT_SENT),
    (
        RemoteError(rpc_code=-32602, message="no"),
        True,
        ActionState.FAILED,
        CallOutcome.ERROR,
        TransportOutcome.ANSWERED,
    ),
    (RESULT, True, ActionState.COMPLETED, CallOutcome.OK, TransportOutcome.ANSWERED),
)


@pytest.mark.parametrize(("answer", "side_effecting", "state", "outcome", "transport"), ENDS, ids=str)
def test_an_answer_has_one_end(
    answer: RemoteAnswer,
    side_effecting: bool,
    state: ActionState,
    outcome: CallOutcome,
    transport: TransportOutcome,
) -> None:
    ending = ending_of(answer, ToolResultEnvelope(content=""), side_effecting=side_effecting)

    assert (ending.state, ending.outcome, ending.transport) == (state, outcome, transport)


def test_a_lost_call_with_side_effects_says_that_it_may_have_run() -> None:
    ending = ending_of(fault(GONE, Delivery.LOST), failure(GONE, "it ended"), side_effecting=True)

    assert ending.result == ToolResultEnvelope(
        content="server_gone: it ended. The call may have been carried out; it is not sent again. "
        "Check before you repeat it",
        metadata={"code": "server_gone", "outcome": "unknown"},
        is_error=True,
    )


def test_the_three_outcomes_of_a_tools_own_error_stay_apart() -> None:
    said = ToolResultEnvelope(content="db refused", is_error=True)

    ending = ending_of(RESULT, said, side_effecting=True)

    assert (ending.transport, ending.rpc_code, ending.tool) == (TransportOutcome.ANSWERED, None, ToolOutcome.ERROR)
    assert (ending.state, ending.outcome, ending.code) == (ActionState.FAILED, CallOutcome.ERROR, None)


def test_an_answer_that_no_tool_gives_is_no_word_of_the_tool() -> None:
    ending = ending_of(RESULT, failure(FailureCode.RESULT_INVALID, "content is null"), side_effecting=True)

    assert (ending.tool, ending.code) == (ToolOutcome.NONE, FailureCode.RESULT_INVALID)


REPEATED: tuple[tuple[RemoteAnswer, bool, bool], ...] = (
    (fault(GONE, Delivery.LOST), False, True),
    (fault(GONE, Delivery.LOST), True, False),
    (fault(GONE, Delivery.NOT_SENT), True, False),
    (fault(FailureCode.UNREACHABLE, Delivery.LOST), False, True),
    (fault(FailureCode.UNREACHABLE, Delivery.NOT_SENT), True, False),
    (fault(GONE, Delivery.NOT_SENT, session_lost=True), True, True),
    (fault(IDLE, Delivery.LOST), False, False),
    (fault(FailureCode.CIRCUIT_OPEN, Delivery.NOT_SENT), False, False),
    (fault(FailureCode.QUEUE_FULL, Delivery.NOT_SENT), False, False),
    (RemoteError(rpc_code=-32603, message="no"), False, False),
    (RESULT, False, False),
)


@pytest.mark.parametrize(("answer", "side_effecting", "again"), REPEATED, ids=str)
def test_only_a_call_without_effect_is_sent_again(answer: RemoteAnswer, side_effecting: bool, again: bool) -> None:
    assert is_worth_repeating(answer, side_effecting=side_effecting) is again


def test_a_cancelled_call_has_no_output_of_its_own_making() -> None:
    ending = cancelled_ending("the run was cancelled", sent=True, side_effecting=False)

    assert (ending.state, ending.outcome, ending.transport) == (
        ActionState.CANCELLED,
        CallOutcome.CANCELLED,
        TransportOutcome.LOST,
    )


@pytest.mark.parametrize(
    ("sent", "side_effecting", "warned"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_a_cancelled_call_warns_where_it_may_have_had_its_effect(
    sent: bool, side_effecting: bool, warned: bool
) -> None:
    ending = cancelled_ending("the run was cancelled", sent=sent, side_effecting=side_effecting)

    assert ending.state is ActionState.CANCELLED
    assert ("may have been carried out" in ending.result.content) is warned
    assert (ending.result.metadata.get("outcome") == "unknown") is warned


def test_a_defect_after_sending_leaves_a_side_effecting_call_unknown() -> None:
    code = FailureCode.INTERNAL_ERROR

    assert failed_ending(code, "broken", sent=True, side_effecting=True).state is ActionState.UNKNOWN
    assert failed_ending(code, "broken", sent=True, side_effecting=False).state is ActionState.FAILED
    assert failed_ending(code, "broken", sent=False, side_effecting=True).state is ActionState.FAILED
