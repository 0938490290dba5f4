"""What the ending of a call means: one exit code for every failure code, and the way on."""

import pytest

from remit.cli.call_endings import EXIT_OF, exit_of, next_steps
from remit.core.calls import FailureCode
from remit.core.canonical import JsonObject


def test_every_failure_code_has_an_exit_code():
    assert set(EXIT_OF) == set(FailureCode)


@pytest.mark.parametrize(
    ("is_error", "metadata", "code"),
    [
        (False, {}, 0),
        (False, {"code": "suspended"}, 0),
        (True, {}, 1),
        (True, {"code": "invalid_arguments"}, 1),
        (True, {"code": "approval_required"}, 3),
        (True, {"code": "permission_denied"}, 3),
        (True, {"code": "unreachable"}, 4),
        (True, {"code": "outcome_unknown"}, 4),
        (True, {"code": "internal_error", "outcome": "unknown"}, 4),
        (True, {"code": "a code of tomorrow"}, 1),
        (True, {"code": 7}, 1),
    ],
)
def test_an_ending_has_the_exit_code_of_what_it_asks_for(is_error: bool, metadata: JsonObject, code: int):
    assert exit_of(is_error=is_error, metadata=metadata) == code


def test_a_call_that_waits_for_a_human_tells_the_commands_for_another_shell():
    waiting: JsonObject = {"code": "approval_required", "approval_id": "4f1c"}
    assert list(next_steps(waiting, file_flag=" -f other.yaml")) == [
        "Look at it:   remit approvals show 4f1c -f other.yaml",
        "Approve it:   remit approvals approve 4f1c -f other.yaml",
        "Then run this very command again.",
    ]


def test_a_lost_call_says_that_it_may_have_run_and_a_plain_failure_says_nothing_more():
    assert len(list(next_steps({"code": "server_gone", "outcome": "unknown"}, file_flag=""))) == 1
    assert list(next_steps({"code": "rpc_error"}, file_flag="")) == []
