"""Approvals: the queue in one line each, one request whole, and nothing of it that could fool the human who decides."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from remit.core.approvals import ApprovalState
from remit.render.approvals_text import (
    approval_document,
    approval_text,
    approvals_document,
    approvals_text,
    one_approval_document,
    state_words,
)
from tests.render.examples import NOON
from tests.render.governed_examples import HOSTILE, SAFE, approval, controls_of


def test_each_request_is_one_line_with_age_expiry_caller_tool_and_arguments():
    text = approvals_text("acme", [approval()], now=NOON, everything=False, colour=False)
    assert text == (
        "Approvals of owner acme\n"
        "  4f1c0d9e  pending  3m old  expires in 12m  assistant.ops/issues__create_issue  by assistant:ops  "
        '{"title":"broken"}\n'
    )


def test_an_empty_queue_says_so_in_the_words_of_what_was_asked():
    waiting = approvals_text("acme", [], now=NOON, everything=False, colour=False)
    ever = approvals_text("acme", [], now=NOON, everything=True, colour=False)
    assert (waiting.splitlines()[1], ever.splitlines()[1]) == ("  nothing waits for an approval", "  none yet")


def test_long_arguments_are_cut_in_the_queue_and_whole_in_the_request():
    long = approval({"text": "y" * 5_000})
    queue = approvals_text("acme", [long], now=NOON, everything=False, colour=False)
    whole = approval_text(long, now=NOON, colour=False)
    assert "yyy... (5011 characters)" in queue
    assert '      "text": "' + "y" * 5_000 + '"\n' in whole


def test_one_request_shows_all_that_an_approval_is_bound_to():
    one = approval({"labels": ["a", "b"], "title": "broken"})
    assert approval_text(one, now=NOON, colour=False) == (
        "Approval 4f1c0d9e  pending, expires in 12m\n"
        "  tool          issues__create_issue\n"
        "  calls         create_issue on server issues\n"
        "  assistant     ops, of owner acme\n"
        "  asked by      assistant:ops\n"
        "  asked at      2026-11-30T11:57:00Z, 3m ago\n"
        "  expires at    2026-11-30T12:12:00Z\n"
        "  registration  srv-1\n"
        "  identity      http:https://issues.example/mcp\n"
        f"  definition    d1:{'a' * 64}\n"
        f"  envelope      e1:{'b' * 64}\n"
        f"  binding       {one.binding.hash}\n"
        "  undo          cannot be undone, says its policy\n"
        "  arguments\n"
        "    {\n"
        '      "labels": [\n'
        '        "a",\n'
        '        "b"\n'
        "      ],\n"
        '      "title": "broken"\n'
        "    }\n"
    )


def test_hostile_arguments_and_names_forge_no_line_and_no_control_sequence():
    one = approval(
        {HOSTILE: [HOSTILE, "##[error]x"]},
        provider_name=HOSTILE,
        server=HOSTILE,
        approval_id=HOSTILE,
        state=ApprovalState.DENIED,
        approver=HOSTILE,
        reason=HOSTILE,
        decided_at=NOON,
    )
    harmless = approval({"a": ["b", "c"]}, state=ApprovalState.DENIED, approver="a", reason="b", decided_at=NOON)
    for text, same in (
        (approval_text(one, now=NOON, colour=False), approval_text(harmless, now=NOON, colour=False)),
        (
            approvals_text("acme", [one], now=NOON, everything=True, colour=False),
            approvals_text("acme", [harmless], now=NOON, everything=True, colour=False),
        ),
    ):
        assert controls_of(text) == set()
        assert "\u202e" not in text
        assert "##[" not in text
        assert len(text.splitlines()) == len(same.splitlines())
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    shown = approval_text(one, now=NOON, colour=False)
    assert json.loads(shown.partition("  arguments\n")[2]) == {HOSTILE: [HOSTILE, "##[error]x"]}
    assert f"  reason        {SAFE}\n" in shown


def test_a_request_whose_row_was_edited_is_marked_everywhere():
    harmful, harmless = approval({"delete": "everything"}), approval({"delete": "nothing"})
    edited = replace(harmful, binding=harmless.binding)
    assert "ALTERED: what is shown here is not" in approval_text(edited, now=NOON, colour=False)
    assert approvals_text("acme", [edited], now=NOON, everything=False, colour=False).endswith("  ALTERED\n")
    assert approval_document(edited)["intact"] is False
    assert approval_document(harmful)["intact"] is True


@pytest.mark.parametrize("text", ["no json \x1b[2J", '{"a": NaN}', '"\\ud800"', "[" * 100_000])
def test_arguments_that_are_no_json_of_ours_are_shown_escaped(text: str):
    edited = approval()
    edited = replace(edited, binding=replace(edited.binding, arguments=text))
    shown = approval_text(edited, now=NOON, colour=False)
    assert "ALTERED" in shown
    assert controls_of(shown) == set()
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (ApprovalState.PENDING, "pending, expires in 12m"),
        (ApprovalState.APPROVED, "approved, usable once for 12m"),
        (ApprovalState.DENIED, "denied by user:eva"),
        (ApprovalState.REVOKED, "revoked by user:eva"),
        (ApprovalState.EXPIRED, "expired"),
        (ApprovalState.SUCCEEDED, "succeeded"),
    ],
)
def test_a_state_is_told_with_what_matters_of_it(state: ApprovalState, words: str):
    assert state_words(approval(state=state, approver="user:eva", decided_at=NOON), now=NOON) == words


def test_a_clock_set_back_gives_no_negative_age():
    early = NOON - timedelta(hours=1)
    assert "  0s old  " in approvals_text("acme", [approval()], now=early, everything=False, colour=False)


def test_the_documents_are_closed_and_versioned():
    document = approval_document(approval())
    assert document == {
        "approval_id": "4f1c0d9e",
        "state": "pending",
        "binding_hash": approval().binding.hash,
        "intact": True,
        "owner": "acme",
        "assistant": "ops",
        "principal": "assistant:ops",
        "server": "issues",
        "server_id": "srv-1",
        "identity_key": "http:https://issues.example/mcp",
        "remote_name": "create_issue",
        "provider_name": "issues__create_issue",
        "definition_digest": "d1:" + "a" * 64,
        "envelope_digest": "e1:" + "b" * 64,
        "reversible": False,
        "arguments": {"title": "broken"},
        "requested_at": "2026-11-30T11:57:00Z",
        "expires_at": "2026-11-30T12:12:00Z",
        "decided_at": None,
        "approver": None,
        "reason": None,
        "action_id": None,
    }
    assert approvals_document("acme", [approval()]) == {
        "format_version": "1.0",
        "owner": "acme",
        "approvals": [document],
    }
    assert one_approval_document("acme", approval(), changed=True) == {
        "format_version": "1.0",
        "owner": "acme",
        "changed": True,
        "approval": document,
    }
