from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest

from remit.core.approvals import (
    APPROVAL_MOVES,
    APPROVED_FOR,
    PENDING_FOR,
    ApprovalBinding,
    ApprovalState,
    is_in_force,
    may_decide,
    new_request,
)

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)

BINDING = ApprovalBinding(
    principal="assistant:triage",
    owner="local",
    assistant="triage",
    server_id="mcp_github",
    identity_key="key",
    remote_name="search",
    server="github",
    provider_name="github__search",
    reversible=False,
    definition_digest="d1:x",
    envelope_digest="e1:x",
    arguments='{"q":"bugs"}',
)

PENDING = new_request("a", BINDING, NOW)


def test_every_state_has_its_followers_and_executing_is_entered_from_approved_alone() -> None:
    assert set(APPROVAL_MOVES) == set(ApprovalState)
    assert [state for state, after in APPROVAL_MOVES.items() if ApprovalState.EXECUTING in after] == [
        ApprovalState.APPROVED
    ]


def test_the_ends_of_an_approval_have_no_followers() -> None:
    assert {state.value for state, after in APPROVAL_MOVES.items() if not after} == {
        "denied",
        "expired",
        "cancelled",
        "superseded",
        "revoked",
        "succeeded",
        "failed",
        "unknown",
    }


def test_no_state_follows_itself_and_nothing_goes_back_to_pending() -> None:
    assert all(state not in after for state, after in APPROVAL_MOVES.items())
    assert all(ApprovalState.PENDING not in after for after in APPROVAL_MOVES.values())


@pytest.mark.parametrize("field", [each.name for each in fields(ApprovalBinding)])
def test_one_byte_in_any_field_makes_it_another_request(field: str) -> None:
    value: str | bool = getattr(BINDING, field)
    other = not value if isinstance(value, bool) else f"{value} "
    assert replace(BINDING, **{field: other}).hash != BINDING.hash


def test_text_that_moves_from_one_field_into_the_next_makes_it_another_request() -> None:
    moved = replace(BINDING, owner="localt", assistant="riage")
    assert (moved.hash != BINDING.hash, replace(BINDING).hash == BINDING.hash) == (True, True)


def test_a_request_is_in_force_from_its_first_instant_to_just_before_its_last() -> None:
    offsets = (-SECOND, timedelta(), PENDING_FOR - SECOND, PENDING_FOR)
    assert [is_in_force(PENDING, NOW + offset) for offset in offsets] == [False, True, True, False]


def test_a_clock_set_back_does_not_open_the_window_of_an_approval_again() -> None:
    decided = NOW + timedelta(minutes=10)
    approved = replace(PENDING, state=ApprovalState.APPROVED, decided_at=decided, expires_at=decided + APPROVED_FOR)
    moments = (NOW, decided - SECOND, decided, decided + APPROVED_FOR - SECOND, decided + APPROVED_FOR)
    assert [is_in_force(approved, moment) for moment in moments] == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("requester", "approver", "allowed"),
    [
        ("assistant:triage", "user:ana", True),
        ("user:ana", "user:bo", True),
        ("user:ana", "user:ana", False),
        ("assistant:triage", "assistant:other", False),
        ("assistant:triage", "service:ci", False),
        ("assistant:triage", "", False),
        ("assistant:triage", "user:", False),
        ("assistant:triage", "user", False),
        ("assistant:triage", "users:ana", False),
    ],
)
def test_a_human_decides_and_never_about_what_it_asked_for(requester: str, approver: str, allowed: bool) -> None:
    assert may_decide(requester, approver) is allowed
