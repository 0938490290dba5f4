"""How an apply is reported: as text for a person, as a closed JSON document for machines (docs/plan-format.md)."""

from collections import Counter
from typing import TypedDict

from remit.core.addresses import address_of
from remit.core.operations import OpName
from remit.reconcile.applying import Applied
from remit.render.diagnostics import problem_document
from remit.render.escape import escape_terminal
from remit.render.shapes import FORMAT_VERSION, ProblemDocument

__all__ = ["AppliedDocument", "applied_document", "applied_text"]


class DoneDocument(TypedDict):
    """One operation that ran."""

    op: str
    address: str


class FailureDocument(TypedDict):
    """One assistant whose operations were rolled back, and why."""

    assistant: str
    message: str


class AppliedDocument(TypedDict):
    """The outcome of an apply. `serial` is null where nothing changed."""

    format_version: str
    workspace: str
    changed: bool
    complete: bool
    serial: int | None
    done: list[DoneDocument]
    already_done: list[str]
    not_reviewed: list[str]
    failures: list[FailureDocument]
    refused: list[ProblemDocument]
    held: int


def applied_document(applied: Applied) -> AppliedDocument:
    """The outcome as JSON."""
    return {
        "format_version": FORMAT_VERSION,
        "workspace": applied.plan.workspace,
        "changed": bool(applied.done),
        "complete": applied.plan.complete and not applied.failures,
        "serial": applied.serial,
        "done": [{"op": str(each.op), "address": address_of(each)} for each in applied.done],
        "already_done": list(applied.already_done),
        "not_reviewed": list(applied.extra),
        "failures": [{"assistant": each.assistant, "message": each.message} for each in applied.failures],
        "refused": [problem_document(each) for each in applied.vetoes],
        "held": len(applied.plan.held),
    }


def applied_text(applied: Applied) -> str:
    """The outcome in a few lines: what was done, what was not, what waits."""
    lines = [_headline(applied)]
    lines += [f"  failed  assistant {each.assistant}: {escape_terminal(each.message)}" for each in applied.failures]
    if applied.already_done:
        lines.append(f"  {len(applied.already_done)} reviewed operations were done already")
    if applied.extra:
        shown = ", ".join(map(escape_terminal, applied.extra[:5])) + (", ..." if len(applied.extra) > 5 else "")
        lines.append(f"  not run, as nobody reviewed them: {len(applied.extra)} operations ({shown})")
    if applied.plan.held:
        lines.append(f"  {len(applied.plan.held)} held; what was approved before stays in service")
    if not applied.plan.complete:
        lines.append("  incomplete: see the problems and deferred parts of the plan")
    return "\n".join(lines)


def _headline(applied: Applied) -> str:
    if applied.vetoes:
        return "Refused: nothing was done."
    if not applied.done:
        return "Nothing was done." if applied.failures else "Nothing to do."
    counts = Counter(each.op for each in applied.done)
    words = ", ".join(f"{counts[op]} {op.replace('_', ' ')}" for op in OpName if counts[op])
    return f"Applied: {words}. Serial {applied.serial}."
