"""What `remit history` prints: the applies of a workspace, and one of them with the plan it carried out.

Decides layout only. A plan from the history is shown by the same renderer as any other.
"""

from collections.abc import Iterator, Sequence
from typing import TypedDict

from remit.core.canonical import JsonObject
from remit.core.ports import HistoryEntry
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import Painter, Style, aligned
from remit.render.plan_text import plan_text
from remit.render.shapes import FORMAT_VERSION, PlanDocument
from remit.render.spans import timestamp
from remit.render.words import SUMMARY_ORDER

__all__ = [
    "AppliedPlanDocument",
    "ApplyDocument",
    "HistoryDocument",
    "HistoryEntryDocument",
    "applied_plan_text",
    "apply_cells",
    "apply_document",
    "binding_words",
    "history_document",
    "history_entry_document",
    "history_text",
]

_WIDEST = 48


class ApplyDocument(TypedDict):
    """One apply; `summary` is its plan's, with `environment` and `source` where it bound the workspace anew, `moved_from` where it moved it."""

    serial: int
    at: str
    actor: str
    commit: str | None
    digest: str
    outcome: str
    summary: JsonObject


class HistoryDocument(TypedDict):
    """The applies of a workspace, newest first."""

    format_version: str
    workspace: str
    applies: list[ApplyDocument]


class AppliedPlanDocument(ApplyDocument):
    """One apply with the plan document that was carried out."""

    plan: PlanDocument


class HistoryEntryDocument(TypedDict):
    """One apply, whole."""

    format_version: str
    workspace: str
    apply: AppliedPlanDocument


def apply_document(entry: HistoryEntry) -> ApplyDocument:
    """One apply as JSON."""
    return {
        "serial": entry.serial,
        "at": timestamp(entry.at),
        "actor": well_formed(entry.actor),
        "commit": entry.commit,
        "digest": entry.digest,
        "outcome": entry.outcome,
        "summary": entry.summary,
    }


def history_document(workspace: str, entries: Sequence[HistoryEntry]) -> HistoryDocument:
    """`{format_version, workspace, applies[]}`."""
    applies = [apply_document(entry) for entry in entries]
    return {"format_version": FORMAT_VERSION, "workspace": workspace, "applies": applies}


def history_entry_document(entry: HistoryEntry, plan: PlanDocument) -> HistoryEntryDocument:
    """`{format_version, workspace, apply{..., plan}}`."""
    return {
        "format_version": FORMAT_VERSION,
        "workspace": entry.workspace,
        "apply": {**apply_document(entry), "plan": plan},
    }


def history_text(workspace: str, entries: Sequence[HistoryEntry], *, colour: bool) -> str:
    """A line for each apply, with its digest; ends with a newline."""
    head = Painter(colour=colour)(Style.HEAD, f"Applies of workspace {escape_terminal(workspace)}")
    rows = [[*apply_cells(apply), escape_terminal(apply["digest"])] for apply in map(apply_document, entries)]
    lines = aligned(rows, widest=_WIDEST) or ["none yet"]
    return "\n".join([head, *(f"  {line}" for line in lines)]) + "\n"


def applied_plan_text(entry: HistoryEntry, plan: PlanDocument, *, colour: bool, width: int) -> str:
    """When, by whom and how one apply ended, then its plan as `remit show` prints it; ends with a newline."""
    head = Painter(colour=colour)(Style.HEAD, f"Apply of workspace {escape_terminal(entry.workspace)}")
    cells = "  ".join(apply_cells(apply_document(entry)))
    return f"{head}\n  {cells}\n\n{plan_text(plan, colour=colour, width=width)}"


def apply_cells(apply: ApplyDocument) -> list[str]:
    """Serial, time, actor, commit, outcome and what was done, for one line."""
    return [
        f"serial {apply['serial']}",
        apply["at"],
        escape_terminal(apply["actor"]),
        f"commit {escape_terminal(apply['commit'])[:12]}" if apply["commit"] else "no commit",
        escape_terminal(apply["outcome"]),
        ", ".join(_done(apply["summary"])) or "no operations",
    ]


def binding_words(news: JsonObject) -> list[str]:
    """What a workspace is bound to from an apply on: `environment dev from now on`; nothing where that stayed."""
    named = ((key, news[key]) for key in ("environment", "source") if key in news)
    return [
        f"{key} {escape_terminal(value)} from now on" if isinstance(value, str) else f"no {key} from now on"
        for key, value in named
    ]


def _done(summary: JsonObject) -> Iterator[str]:
    if isinstance(name := summary.get("moved_from"), str):
        yield f"moved from {escape_terminal(name)}"
    for op in SUMMARY_ORDER:
        if isinstance(count := summary.get(op.value), int) and count:
            yield f"{count:,} {op.value.replace('_', ' ')}"
    yield from binding_words(summary)
