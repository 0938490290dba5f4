"""What was applied: the list, and one apply with its plan."""

from remit.core.ports import HistoryEntry
from remit.render.document import plan_document
from remit.render.history_text import applied_plan_text, history_document, history_entry_document, history_text
from remit.render.plan_text import plan_text
from tests.render.examples import NOON, REPORT

ENTRY = HistoryEntry(
    workspace="acme",
    serial=7,
    actor="user:\x1b[31mroot\n::error::x",
    at=NOON,
    commit="9c1e2f00aa11bb22",
    digest="sha256:ab",
    outcome="applied",
    summary={"attach": 1_200, "detach": 0, "unchanged": 5},
)
LINE = r"serial 7  2026-11-30T12:00:00Z  user:\x1b[31mroot\n::error::x  commit 9c1e2f00aa11  applied  1,200 attach"


def test_each_apply_is_one_line_with_its_digest():
    assert history_text("acme", [ENTRY], colour=False) == f"Applies of workspace acme\n  {LINE}  sha256:ab\n"


def test_a_workspace_without_applies_says_so():
    assert history_text("acme", [], colour=False) == "Applies of workspace acme\n  none yet\n"


def test_one_apply_is_shown_with_its_plan_as_any_plan_is():
    plan = plan_document(REPORT)
    shown = applied_plan_text(ENTRY, plan, colour=False, width=100)
    assert shown == f"Apply of workspace acme\n  {LINE}\n\n{plan_text(plan, colour=False, width=100)}"


def test_the_documents_have_every_key():
    plan = plan_document(REPORT)
    apply = {
        "serial": 7,
        "at": "2026-11-30T12:00:00Z",
        "actor": ENTRY.actor,
        "commit": "9c1e2f00aa11bb22",
        "digest": "sha256:ab",
        "outcome": "applied",
        "summary": {"attach": 1_200, "detach": 0, "unchanged": 5},
    }
    assert history_document("acme", [ENTRY]) == {"format_version": "1.0", "workspace": "acme", "applies": [apply]}
    assert history_entry_document(ENTRY, plan) == {
        "format_version": "1.0",
        "workspace": "acme",
        "apply": {**apply, "plan": plan},
    }
