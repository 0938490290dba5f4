"""Blame follows the plans of the history back to the apply that attached a tool."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from remit.core.blame import Deed
from remit.core.diagnostics import Source
from remit.core.ports import HistoryEntry
from remit.reconcile.blame import blame
from remit.render.shapes import PlanDocument

AT = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def operation(op: str, assistant: str = "ops", **more: Any) -> dict[str, Any]:
    source = {"file": "mcp.yaml", "line": 7, "column": 3}
    tool = {"op": op, "assistant": assistant, "canonical_id": "tool_a", "origin": "file", "reason": "selected_by_name"}
    return {**tool, "source": source, **more}


def renamed(before: str, after: str) -> dict[str, Any]:
    return {"op": "update_assistant", "before": {"name": before}, "after": {"name": after}, "reason": "moved"}


def history(*plans: Sequence[dict[str, Any]], lock: Any = None, **entry: Any) -> tuple[Deed, ...]:
    """The deeds on `ops` and tool_a, from plans given oldest first."""
    documents = {
        serial: cast("PlanDocument", {"operations": list(operations), "config": {"lock": lock}})
        for serial, operations in enumerate(plans, start=1)
    }
    entries = [
        HistoryEntry(
            workspace="demo",
            serial=serial,
            actor="user:ada",
            at=AT,
            commit="c0ffee",
            digest="sha256:0",
            outcome=entry.get("outcome", "applied"),
            summary=entry.get("summary") or _counts(plans[serial - 1]),
        )
        for serial in sorted(documents, reverse=True)
    ]
    return blame("ops", "tool_a", entries, lambda each: documents[each.serial])


def _counts(operations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = [each["op"] for each in operations]
    return {name: names.count(name) for name in names}


def told(deeds: Sequence[Deed]) -> list[tuple[str, int, str]]:
    return [(each.op, each.serial, each.approval) for each in deeds]


def test_the_deeds_go_back_to_the_last_attach_and_no_further():
    deeds = history(
        [operation("attach"), operation("refresh")],
        [operation("detach")],
        [operation("attach"), operation("attach", assistant="other"), operation("attach", canonical_id="tool_b")],
        [operation("set_envelope")],
    )
    assert told(deeds) == [("set_envelope", 4, "file"), ("attach", 3, "file")]
    assert deeds[1] == Deed(
        op="attach",
        serial=3,
        at=AT,
        actor="user:ada",
        commit="c0ffee",
        digest="sha256:0",
        reason="selected_by_name",
        approval="file",
        source=Source("mcp.yaml", 7, 3),
    )


def test_what_a_server_said_was_accepted_or_locked_or_is_written_again():
    live = operation("refresh", origin="live", reason="definition_changed")
    again = operation("refresh", reason="database_drift", source=None)
    assert told(history([operation("attach", origin="live")], [live], [again])) == [
        ("refresh", 3, "rows"),
        ("refresh", 2, "accepted"),
        ("attach", 1, "accepted"),
    ]
    locked = history([operation("attach")], [live], lock={"path": "mcp.lock", "sha256": "0"})
    assert told(locked) == [("refresh", 2, "lock"), ("attach", 1, "lock")]


def test_a_renamed_assistant_is_followed_under_its_old_name():
    deeds = history(
        [operation("attach", assistant="old")],
        [operation("refresh", assistant="old"), renamed("old", "ops")],
        [operation("rename_alias")],
    )
    assert told(deeds) == [("rename_alias", 3, "file"), ("refresh", 2, "file"), ("attach", 1, "file")]


def test_an_apply_that_did_not_run_all_of_its_plan_is_no_certain_end():
    partly = history([operation("attach")], [operation("attach")], outcome="partly applied")
    assert [(each.serial, each.certain) for each in partly] == [(2, False), (1, False)]
    counted = history([operation("attach"), operation("attach", canonical_id="tool_b")], summary={"attach": 1})
    assert [(each.serial, each.certain) for each in counted] == [(1, False)]
