import pytest

from remit.core.calls import ACTION_MOVES, RUN_MOVES, ActionState, RunState, arguments_digest
from remit.core.canonical import JsonObject, sha256_hex


def test_every_state_of_a_run_has_its_followers_and_the_ends_have_none() -> None:
    assert set(RUN_MOVES) == set(RunState)
    assert {state for state, after in RUN_MOVES.items() if not after} == {
        RunState.COMPLETED,
        RunState.FAILED,
        RunState.CANCELLED,
    }


def test_every_state_of_an_action_has_its_followers_and_the_ends_have_none() -> None:
    assert set(ACTION_MOVES) == set(ActionState)
    assert {state for state, after in ACTION_MOVES.items() if not after} == {
        ActionState.COMPLETED,
        ActionState.FAILED,
        ActionState.CANCELLED,
        ActionState.UNKNOWN,
    }


def test_whatever_has_not_ended_can_still_be_cancelled_and_can_still_fail() -> None:
    assert all({RunState.CANCELLED, RunState.FAILED} <= after for after in RUN_MOVES.values() if after)
    assert all({ActionState.CANCELLED, ActionState.FAILED} <= after for after in ACTION_MOVES.values() if after)


def test_only_a_call_that_may_have_gone_out_becomes_unknown() -> None:
    assert {state for state, after in ACTION_MOVES.items() if ActionState.UNKNOWN in after} == {
        ActionState.QUEUED,
        ActionState.IN_PROGRESS,
    }


def test_nothing_goes_back_to_the_queue_and_no_state_follows_itself() -> None:
    assert all(RunState.QUEUED not in after and state not in after for state, after in RUN_MOVES.items())
    assert all(ActionState.QUEUED not in after and state not in after for state, after in ACTION_MOVES.items())


def test_the_digest_of_arguments_is_that_of_their_canonical_text() -> None:
    assert arguments_digest({"b": 1, "a": "é"}) == "a1:" + sha256_hex('{"a":"é","b":1}')
    assert arguments_digest({"a": "é", "b": 1}) == arguments_digest({"b": 1, "a": "é"})
    assert arguments_digest({"n": 2**53 + 1}) != arguments_digest({"n": 2**53})


@pytest.mark.parametrize("arguments", [{"n": float("inf")}, {"text": "\udc00"}], ids=["infinity", "lone-surrogate"])
def test_arguments_that_have_no_canonical_text_have_no_digest(arguments: JsonObject) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (UnicodeEncodeError is one too)
        arguments_digest(arguments)
