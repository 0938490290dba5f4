"""Blame: which applies attached and last changed an attachment, found in the plans that the history keeps.

Decides which operations of a plan touched an attachment, followed back through moves of its assistant, and whose word let each
through (DESIGN.md section 6: origin). An attachment that was made anew begins with its last attach.
"""

from collections.abc import Callable, Iterable, Iterator

from remit.core.blame import Deed
from remit.core.diagnostics import Source
from remit.core.operations import FROM_THE_ROWS
from remit.core.ports import HistoryEntry
from remit.render.shapes import OperationDocument, PlanDocument, SourceDocument

__all__ = ["blame"]

_TOUCHING = ("attach", "refresh", "set_envelope", "rename_alias")
_COUNTED = (*_TOUCHING, "update_assistant")


def blame(
    assistant: str,
    canonical_id: str,
    entries: Iterable[HistoryEntry],
    plan_of: Callable[[HistoryEntry], PlanDocument | None],
) -> tuple[Deed, ...]:
    """The deeds on one attachment, newest first, back to the apply that attached it.

    `entries` come newest first; a plan that `plan_of` cannot give is passed over.
    """
    deeds: list[Deed] = []
    for entry in entries:
        plan = plan_of(entry) if any(entry.summary.get(name) for name in _COUNTED) else None
        if plan is None:
            continue
        before = _name_before(assistant, plan)
        found = list(_deeds({assistant, before}, canonical_id, entry, plan))
        deeds += found
        if any(each.op == "attach" and each.certain for each in found):
            break
        assistant = before
    return tuple(deeds)


def _name_before(assistant: str, plan: PlanDocument) -> str:
    """What an assistant was called before a plan was carried out."""
    for each in plan["operations"]:
        if each["op"] == "update_assistant" and each["before"] and each["after"] and each["after"]["name"] == assistant:
            return each["before"]["name"]
    return assistant


def _deeds(assistants: set[str], canonical_id: str, entry: HistoryEntry, plan: PlanDocument) -> Iterator[Deed]:
    for each in reversed(plan["operations"]):
        if each["op"] in _TOUCHING and each.get("canonical_id") == canonical_id and each.get("assistant") in assistants:
            yield Deed(
                op=each["op"],
                serial=entry.serial,
                at=entry.at,
                actor=entry.actor,
                commit=entry.commit,
                digest=entry.digest,
                reason=each["reason"],
                approval=_approval(each, plan),
                source=_source(each["source"]),
                certain=_all_ran(each["op"], entry, plan),
            )


def _all_ran(op: str, entry: HistoryEntry, plan: PlanDocument) -> bool:
    """Whether every operation of a kind was carried out: history keeps the plan as approved, and counts what of it ran."""
    planned = sum(each["op"] == op for each in plan["operations"])
    return entry.outcome == "applied" and entry.summary.get(op) == planned


def _approval(operation: OperationDocument, plan: PlanDocument) -> str:
    if operation["op"] == "refresh" and operation["reason"] in FROM_THE_ROWS:
        return "rows"
    if plan["config"]["lock"] is not None and operation["op"] in ("attach", "refresh"):
        return "lock"
    return "file" if operation["origin"] == "file" else "accepted"


def _source(source: SourceDocument | None) -> Source | None:
    return None if source is None else Source(source["file"], source["line"], source["column"])
