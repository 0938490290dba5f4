"""What the ending of a call means: one exit code for every failure code, and the way on."""

from datetime import UTC, datetime

import pytest

from remit.cli.call_endings import EXIT_OF, exit_of, interrupted_steps, next_steps
from remit.core.calls import ActionKind, ActionState, FailureCode
from remit.core.canonical import JsonObject
from remit.core.governance import ActionRow


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


@pytest.mark.parametrize(
    ("state", "code", "has_result", "told"),
    [
        ("cancelled", "cancelled", False, ["MAY", "Its action a1 is recorded as cancelled."]),
        ("unknown", "outcome_unknown", False, ["MAY", "Its action a1 is recorded as unknown (outcome_unknown)."]),
        ("in_progress", None, False, ["MAY", "Its action a1 is recorded as in_progress."]),
        ("failed", "run_over", False, ["Its action a1 is recorded as failed (run_over)."]),
        ("cancelled", "cancelled", True, ["Its action a1 is recorded as cancelled."]),
        ("completed", None, True, ["Its action a1 is recorded as completed."]),
    ],
)
def test_an_interrupted_call_tells_what_is_recorded_of_it_and_warns_where_it_may_have_run(
    state: str, code: str | None, has_result: bool, told: list[str]
):
    moment = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    action = ActionRow(
        action_id="a1",
        tool_call_id="c1",
        kind=ActionKind.MCP,
        provider_name="issues__create",
        state=ActionState(state),
        code=code,
        started_at=moment,
        ended_at=moment,
        approval_id=None,
        output=None,
    )
    may = "The call may have been carried out: check before you repeat it."
    lines = [may if line == "MAY" else line for line in told]
    where = "Look at it:   remit runs show r1 -f o.yaml"
    found = list(interrupted_steps("r1", action, has_result=has_result, file_flag=" -f o.yaml"))
    assert found == [*lines, where]
    assert list(interrupted_steps("r1", None, has_result=has_result, file_flag=" -f o.yaml")) == [where]
