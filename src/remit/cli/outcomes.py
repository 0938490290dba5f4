"""The outcome of a run in every form it can be shown in, and the files that a pipeline reads.

Decides where each form goes: text, JSON and Markdown to stdout; for GitHub Actions annotations to stdout, the rest to the
files that GITHUB_STEP_SUMMARY and GITHUB_OUTPUT name. Forms are made when they are asked for, as each has its own imports.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from remit.cli.terminal import Terminal
from remit.reconcile.whole_file import write_whole, writing
from remit.render.plan_text import plan_text
from remit.render.run_summary import RunSummaryDocument, run_outputs, run_summary
from remit.render.shapes import PlanDocument

if TYPE_CHECKING:
    from remit.reconcile.applying import Applied
    from remit.render.github import Annotation

__all__ = [
    "Outcome",
    "apply_outcome",
    "drift_outcome",
    "forget_summary",
    "plan_outcome",
    "publish_to_github",
    "show",
    "write_summary",
]

SUMMARY_FILE, OUTPUT_FILE = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. `text` takes colour and width in columns, `markdown` a budget in bytes."""

    document: Callable[[], Any]
    text: Callable[[bool, int], str]
    markdown: Callable[[int], str]
    annotations: Callable[[], "list[Annotation]"]
    summary: RunSummaryDocument


def plan_outcome(document: PlanDocument) -> Outcome:
    """A plan: it has changes where there is something to do."""

    def markdown(budget: int) -> str:
        from remit.render.markdown import plan_markdown

        return plan_markdown(document, budget_bytes=budget)

    return Outcome(
        document=lambda: document,
        text=lambda colour, width: plan_text(document, colour=colour, width=width),
        markdown=markdown,
        annotations=lambda: _annotations(document),
        summary=_summary(document, has_changes=bool(document["operations"]) or document["moved_workspace"] is not None),
    )


def apply_outcome(document: PlanDocument, applied: "Applied | None") -> Outcome:
    """An apply of a plan: it has changes where something was done; None: nothing was tried."""
    plan = plan_outcome(document)
    if applied is None:
        return Outcome(
            document=plan.document,
            text=plan.text,
            markdown=plan.markdown,
            annotations=plan.annotations,
            summary=_summary(document, has_changes=False),
        )

    def annotations() -> "list[Annotation]":
        from remit.render.github import diagnostic_annotations, failure_annotation

        known = {problem["code"] for problem in document["problems"]}
        vetoes = [veto for veto in applied.vetoes if veto.code not in known]
        failures = [failure_annotation(each.assistant, each.message) for each in applied.failures]
        return [*failures, *diagnostic_annotations(vetoes), *plan.annotations()]

    def markdown(budget: int) -> str:
        from remit.cli.applied import applied_text
        from remit.render.markdown import applied_markdown

        return applied_markdown(document, applied_text(applied, document).splitlines(), budget_bytes=budget)

    summary = _summary(document, has_changes=applied.has_changed)
    summary["incomplete"] = not applied.plan.complete or bool(applied.failures)
    return Outcome(document=plan.document, text=plan.text, markdown=markdown, annotations=annotations, summary=summary)


def drift_outcome(restricted: PlanDocument) -> Outcome:
    """What moved, from a plan restricted to that: it has changes where anything did."""
    from remit.render import drift

    def markdown(budget: int) -> str:
        from remit.render.markdown import drift_markdown

        return drift_markdown(restricted, drift.drift_words(restricted), budget_bytes=budget)

    counts = cast("Mapping[str, int]", drift.drift_counts(restricted))
    summary = _summary(restricted, has_changes=drift.has_drift(restricted))
    summary["counts"] = counts
    return Outcome(
        document=lambda: drift.drift_document(restricted),
        text=lambda colour, width: drift.drift_text(restricted, colour=colour, width=width),
        markdown=markdown,
        annotations=lambda: _annotations(restricted),
        summary=summary,
    )


def _annotations(document: PlanDocument) -> "list[Annotation]":
    from remit.render.github import plan_annotations

    return plan_annotations(document)


def _summary(document: PlanDocument, *, has_changes: bool) -> RunSummaryDocument:
    counts = cast("Mapping[str, int]", document["summary"])
    return run_summary(
        has_changes=has_changes,
        held=len(document["held"]),
        incomplete=not document["complete"],
        digest=document["digest"],
        counts=counts,
    )


# --- where it goes -----------------------------------------------------------------------------------------------------


def show(outcome: Outcome, form: str, environ: Mapping[str, str], terminal: Terminal) -> None:
    """Show an outcome as `--format` says. Raises OutputUnwritable."""
    if form == "json":
        terminal.document(outcome.document())
    elif form == "markdown":
        from remit.render.markdown import COMMENT_BYTES

        terminal.result(outcome.markdown(COMMENT_BYTES))
    elif form == "github":
        if not environ.get(SUMMARY_FILE):
            terminal.note(outcome.text(terminal.error_colour, terminal.width))
        publish_to_github(outcome, environ, terminal)
    else:
        terminal.result(outcome.text(terminal.colour, terminal.width))


def publish_to_github(outcome: Outcome, environ: Mapping[str, str], terminal: Terminal) -> None:
    """Annotations to stdout, Markdown and outputs to the files that the runner names. Raises OutputUnwritable."""
    from remit.render.github import annotation_lines
    from remit.render.markdown import SUMMARY_BYTES
    from remit.render.markdown_budget import LEAST_BUDGET

    for line in annotation_lines(outcome.annotations()):
        terminal.result(line)
    if path := environ.get(SUMMARY_FILE):
        # The limit is the step's: an earlier command in it may have written there too.
        room = SUMMARY_BYTES - _size(Path(path))
        if room >= LEAST_BUDGET:
            _append(Path(path), outcome.markdown(room))
        else:
            terminal.note(f"{SUMMARY_FILE} is full: nothing was added")
    if path := environ.get(OUTPUT_FILE):
        _append(Path(path), run_outputs(outcome.summary))


def forget_summary(path: Path | None) -> None:
    """Remove the summary of an earlier run, so that one that fails leaves none to be taken for its own."""
    if path is not None:
        with writing(path):
            path.unlink(missing_ok=True)


def write_summary(path: Path | None, summary: RunSummaryDocument) -> None:
    """Write the file of `--summary`. Raises OutputUnwritable."""
    if path is not None:
        write_whole(path, json.dumps(summary, indent=2) + "\n", mode=0o666)


def _append(path: Path, text: str) -> None:
    with writing(path), path.open("a", encoding="utf-8") as handle:
        handle.write(text)


def _size(path: Path) -> int:
    with writing(path):
        return path.stat().st_size if path.exists() else 0
