"""A plan restricted to what moved without a commit: as a plan document for the renderers, as the document of `remit drift`.

Decides what counts as drift: tools that vanished or are quarantined, what a server changed or added under a glob and nobody
accepted, and rows that were edited outside of apply. What the file asks for is none. Reads the plan document and nothing
else.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypedDict, cast

from remit.core.canonical import Json, canonical_json, sha256_hex
from remit.core.operations import OpName, Origin, Reason
from remit.core.plan import DriftKind
from remit.render.escape import escape_terminal
from remit.render.layout import Painter, Style
from remit.render.plan_operations import assistant_lines, held_lines
from remit.render.plan_sentences import incomplete_words
from remit.render.plan_text import (
    deferred_lines,
    discovery_lines,
    drift_lines,
    header_lines,
    look_first_lines,
    problem_lines,
    scope_words,
)
from remit.render.shapes import (
    FORMAT_VERSION,
    ConfigDocument,
    DatabaseDocument,
    DeferredDocument,
    DiscoveryDocument,
    DriftDocument,
    OperationDocument,
    PlanDocument,
    ProblemDocument,
    SummaryDocument,
)

__all__ = [
    "DriftReportDocument",
    "DriftTally",
    "drift_counts",
    "drift_document",
    "drift_text",
    "drift_words",
    "has_drift",
    "restricted_to_drift",
]

_LOST = "definition-lost"
"""The problem that stands where a repair of an edited row would, but its approved text is gone."""

_LIVE = frozenset({OpName.REFRESH.value, OpName.ATTACH.value})

_WORDS: Mapping[str, str] = {
    "vanished": "vanished",
    "quarantined": "quarantined",
    "changed": "unlike the lock",
    "refresh": "changed by a server",
    "attach": "new under a glob",
    "database_drift": "edited in the database",
    "definition_lost": "lost",
    "deferred": "not checkable",
}


class DriftTally(TypedDict):
    """How much moved, by kind; `deferred` counts what could not be checked and is no drift."""

    vanished: int
    quarantined: int
    changed: int
    refresh: int
    attach: int
    database_drift: int
    definition_lost: int
    deferred: int


class DriftReportDocument(TypedDict):
    """What `remit drift --format json` prints; the parts are the plan document's (docs/plan-format.md)."""

    format_version: str
    workspace: str
    environment: str | None
    complete: bool
    digest: str
    config: ConfigDocument
    database: DatabaseDocument
    discovery: list[DiscoveryDocument]
    drift: list[DriftDocument]
    held: list[OperationDocument]
    database_drift: list[OperationDocument]
    problems: list[ProblemDocument]
    deferred: list[DeferredDocument]
    summary: DriftTally


def restricted_to_drift(document: PlanDocument) -> PlanDocument:
    """The plan with nothing but drift in it; its `operations` are the repairs of edited rows. Digest and counts are its own."""
    operations = [each for each in document["operations"] if each["reason"] == Reason.DATABASE_DRIFT]
    held = [each for each in document["held"] if each["origin"] == Origin.LIVE and each["op"] in _LIVE]
    problems = [each for each in document["problems"] if each["code"] == _LOST]
    counts: dict[str, int] = dict.fromkeys((op.value for op in OpName), 0)
    counts |= {
        "refresh": len(operations),
        "held": len(held),
        "problems": len(problems),
        "drift": len(document["drift"]),
        "deferred": len(document["deferred"]),
        "unchanged": document["summary"]["unchanged"],
    }
    moved = document["moved_workspace"]
    return {
        **document,
        # The next apply moves it, which is no drift.
        "moved_workspace": None if moved is None else {**moved, "risks": []},
        "operations": operations,
        "held": held,
        "problems": problems,
        "digest": _digest(document["drift"], [*operations, *held], problems),
        "summary": cast("SummaryDocument", counts),
    }


def _digest(
    drift: Sequence[DriftDocument], operations: Sequence[OperationDocument], problems: Sequence[ProblemDocument]
) -> str:
    """Over what moved, wherever it stands in the file: equal drift has an equal digest."""
    covered = [
        [{key: cast("Json", value) for key, value in each.items() if key != "source"} for each in group]
        for group in (drift, operations, problems)
    ]
    return "sha256:" + sha256_hex(canonical_json(covered))


def drift_counts(restricted: PlanDocument) -> DriftTally:
    """The counts of a restricted plan."""
    kinds = Counter(each["kind"] for each in restricted["drift"])
    held = Counter(each["op"] for each in restricted["held"])
    return {
        "vanished": kinds[DriftKind.VANISHED],
        "quarantined": kinds[DriftKind.QUARANTINED],
        "changed": kinds[DriftKind.CHANGED],
        "refresh": held["refresh"],
        "attach": held["attach"],
        "database_drift": len(restricted["operations"]),
        "definition_lost": len(restricted["problems"]),
        "deferred": len(restricted["deferred"]),
    }


def has_drift(restricted: PlanDocument) -> bool:
    """Whether anything moved; what could not be checked is not known to have."""
    return any(restricted[part] for part in ("drift", "held", "operations", "problems"))


def drift_document(restricted: PlanDocument) -> DriftReportDocument:
    """The document of a restricted plan; `digest` covers what moved and no time, so that a nightly job knows old news."""
    return {
        "format_version": FORMAT_VERSION,
        "workspace": restricted["workspace"],
        "environment": restricted["environment"],
        "complete": restricted["complete"],
        "digest": restricted["digest"],
        "config": restricted["config"],
        "database": restricted["database"],
        "discovery": restricted["discovery"],
        "drift": restricted["drift"],
        "held": restricted["held"],
        "database_drift": restricted["operations"],
        "problems": restricted["problems"],
        "deferred": restricted["deferred"],
        "summary": drift_counts(restricted),
    }


def drift_text(restricted: PlanDocument, *, colour: bool, width: int) -> str:
    """The drift for people, in the words of the plan; ends with a newline. `width` is the terminal's, in columns."""
    paint = Painter(colour=colour)
    room = max(60, width)
    title = paint(Style.HEAD, f"Drift in workspace {scope_words(restricted)}")
    sections = (
        [title, *header_lines(restricted, paint)[1:]],
        discovery_lines(restricted["discovery"], paint, room),
        look_first_lines(restricted, paint),
        drift_lines(restricted["drift"], restricted["environment"], paint, room),
        held_lines(restricted["held"], restricted["environment"], paint),
        assistant_lines(restricted["operations"], paint),
        deferred_lines(restricted["deferred"], paint, room),
        problem_lines(restricted["problems"], paint),
        _closing(restricted, paint),
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def drift_words(restricted: PlanDocument) -> str:
    """The counts in one line."""
    counts = drift_counts(restricted)
    words = [f"{number:,} {_WORDS[kind]}" for kind, number in counts.items() if isinstance(number, int) and number]
    return f"Drift: {', '.join(words)}" if words else "No drift"


def _closing(restricted: PlanDocument, paint: Painter) -> list[str]:
    incomplete = [f"Incomplete: {incomplete_words(restricted)}."]
    return [
        *([] if restricted["complete"] else incomplete),
        paint(Style.HEAD, drift_words(restricted)),
        f"Digest {escape_terminal(restricted['digest'])}",
    ]
