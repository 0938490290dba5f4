"""How an apply is reported: as text for a person, as a closed JSON document for machines (docs/plan-format.md)."""

from collections import Counter
from typing import Annotated, TypedDict

from remit.core.addresses import address_of
from remit.core.operations import Attach, CreateAssistant, OpName, RegisterServer
from remit.reconcile.applying import Applied
from remit.render.diagnostics import problem_document
from remit.render.escape import escape_terminal
from remit.render.history_text import binding_words
from remit.render.layout import counted
from remit.render.plan_sentences import STAYS_IN_SERVICE, incomplete_words
from remit.render.shapes import FORMAT_VERSION, BindingDocument, PlanDocument, ProblemDocument

__all__ = ["AppliedDocument", "applied_document", "applied_text", "is_told_by_plan"]


class DoneDocument(TypedDict):
    """One operation that ran."""

    op: Annotated[str, OpName]
    address: str


class FailureDocument(TypedDict):
    """One assistant whose operations were rolled back, and why."""

    assistant: str
    message: str


class AppliedDocument(TypedDict):
    """The outcome of an apply. `serial` is null where nothing changed, `binding` where that of the workspace stayed."""

    format_version: str
    workspace: str
    changed: bool
    complete: bool
    serial: int | None
    binding: BindingDocument | None
    done: list[DoneDocument]
    already_done: list[str]
    not_reviewed: list[str]
    failures: list[FailureDocument]
    refused: list[ProblemDocument]
    held: int


def applied_document(applied: Applied) -> AppliedDocument:
    """The outcome as JSON."""
    bound = applied.binding
    return {
        "format_version": FORMAT_VERSION,
        "workspace": applied.plan.workspace,
        "changed": applied.has_changed,
        "complete": applied.plan.complete and not applied.failures,
        "serial": applied.serial,
        "binding": None if bound is None else {"environment": bound.environment, "source": bound.source},
        "done": [{"op": str(each.op), "address": address_of(each)} for each in applied.done],
        "already_done": list(applied.already_done),
        "not_reviewed": list(applied.extra),
        "failures": [{"assistant": each.assistant, "message": each.message} for each in applied.failures],
        "refused": [problem_document(each) for each in applied.vetoes],
        "held": len(applied.plan.held),
    }


def applied_text(applied: Applied, document: PlanDocument) -> str:
    """The outcome in a few lines: what was done, what was not, what waits. `document` is the plan that was shown."""
    lines = [_headline(applied)]
    lines += [f"  failed  assistant {each.assistant}: {escape_terminal(each.message)}" for each in applied.failures]
    if applied.already_done:
        number = len(applied.already_done)
        lines.append(f"  {counted(number, 'reviewed operation')} {'was' if number == 1 else 'were'} done already")
    if applied.extra:
        shown = ", ".join(map(escape_terminal, applied.extra[:5])) + (", ..." if len(applied.extra) > 5 else "")
        them = "it" if len(applied.extra) == 1 else "them"
        lines.append(f"  not run, as nobody reviewed {them}: {counted(len(applied.extra), 'operation')} ({shown})")
    if applied.plan.held:
        stays = f"; {STAYS_IN_SERVICE}" if _replaces_something(applied) else ""
        lines.append(f"  {len(applied.plan.held)} held{stays}")
    if not applied.plan.complete:
        lines.append(f"  incomplete: {incomplete_words(document)}")
    return "\n".join(lines)


def _replaces_something(applied: Applied) -> bool:
    """Whether something that is held has an approved state before it."""
    new = Attach | RegisterServer | CreateAssistant
    return not all(isinstance(each.operation, new) for each in applied.plan.held)


def is_told_by_plan(applied: Applied) -> bool:
    """Whether the plan that a person saw said already that there is nothing to do."""
    idle = not (applied.has_changed or applied.failures or applied.vetoes or applied.extra or applied.already_done)
    return idle and not (applied.plan.held or applied.plan.problems)


def _headline(applied: Applied) -> str:
    if applied.vetoes:
        return "Refused: nothing was done."
    if not applied.has_changed:
        return "Nothing was done." if applied.failures or applied.plan.held else "Nothing to do."
    counts = Counter(each.op for each in applied.done)
    moved = [f"the workspace moved from {applied.plan.moved_workspace.name}"] if applied.plan.moved_workspace else []
    bound = [] if applied.binding is None else binding_words(applied.binding.news)
    words = ", ".join([*moved, *(f"{counts[op]} {op.replace('_', ' ')}" for op in OpName if counts[op]), *bound])
    return f"Applied: {words}. Serial {applied.serial}."
