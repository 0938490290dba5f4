"""Suspensions: what is denied, why, by whom and since when."""

from datetime import timedelta

from remit.core.governance import Suspension, SuspensionTarget
from remit.render.suspensions_text import suspension_change_document, suspensions_document, suspensions_text
from tests.render.examples import NOON
from tests.render.governed_examples import HOSTILE, SAFE, controls_of

SERVER = Suspension(
    target=SuspensionTarget(server_id="srv-1"),
    address="server.issues",
    actor="user:eva",
    at=NOON - timedelta(minutes=90),
    reason=HOSTILE,
)
TOOL = Suspension(
    target=SuspensionTarget(server_id="srv-1", assistant="ops", remote_name="create"),
    address="assistant.ops/issues__create",
    actor="user:eva",
    at=NOON - timedelta(days=2, hours=1),
    reason=None,
)


def test_each_suspension_is_one_line_and_hostile_reasons_stay_in_it():
    text = suspensions_text("acme", [TOOL, SERVER], now=NOON, colour=False)
    assert text == (
        "Suspensions of owner acme\n"
        "  assistant.ops/issues__create  no reason given                      by user:eva  2026-11-28T11:00:00Z  2d 1h ago\n"
        f"  server.issues                 {SAFE}  by user:eva  2026-11-30T10:30:00Z  1h 30m ago\n"
    )
    assert controls_of(text) == set()


def test_nothing_suspended_is_said():
    assert suspensions_text("acme", [], now=NOON, colour=False).splitlines()[1] == "  nothing is suspended"


def test_the_documents_are_closed_and_versioned():
    tool = {
        "address": "assistant.ops/issues__create",
        "server_id": "srv-1",
        "assistant": "ops",
        "remote_name": "create",
        "actor": "user:eva",
        "at": "2026-11-28T11:00:00Z",
        "reason": None,
    }
    listed = {"format_version": "1.0", "owner": "acme", "suspensions": [tool]}
    assert suspensions_document("acme", [TOOL]) == listed
    changed = suspension_change_document("acme", [TOOL], address="assistant.ops", suspended=False, changed=True)
    assert changed == {**listed, "address": "assistant.ops", "suspended": False, "changed": True}
