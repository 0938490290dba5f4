"""A plan document as workflow commands of GitHub Actions: annotations beside the lines of a pull request.

Decides what is annotated, how grave it is, and how it is escaped
(https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands). Writes nothing and knows no environment.
GitHub shows ten annotations of a level for a step and drops the rest without a word, so what goes beyond is counted in a
notice of our own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from remit.core.diagnostics import Diagnostic
from remit.core.lock import for_environment
from remit.core.operations import Origin
from remit.core.plan import SAFEGUARD_CODES
from remit.render.diagnostics import problem_document
from remit.render.escape import escape_terminal
from remit.render.flagged import drift_by_gravity, gravity
from remit.render.layout import counted
from remit.render.lock_text import LockChangeDocument, LockReportDocument
from remit.render.plan_operations import lines_below, mark_of
from remit.render.shapes import OperationDocument, PlanDocument, ProblemDocument, RiskDocument, SourceDocument
from remit.render.words import DRIFT_WORDS, HOLD_WORDS

__all__ = [
    "Annotation",
    "annotation_lines",
    "diagnostic_annotations",
    "failure_annotation",
    "lock_annotations",
    "plan_annotations",
]

Level: TypeAlias = Literal["error", "warning", "notice"]

_MOST = 10
_LEVELS: tuple[Level, ...] = ("error", "warning", "notice")
_OF_SEVERITY: Mapping[str, Level] = {"error": "error", "warning": "warning", "note": "notice"}
_IN_MESSAGE = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_IN_PROPERTY = (*_IN_MESSAGE, (":", "%3A"), (",", "%2C"))
_TITLE, _PART = 120, 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One annotation; `lines` are printable, the first says what it is."""

    level: Level
    title: str
    lines: tuple[str, ...]
    source: SourceDocument | None


def plan_annotations(document: PlanDocument) -> list[Annotation]:
    """Vetoes, errors, dangers, what is held, what drifted and what was not listed, then what else is wrong."""
    problems = document["problems"]
    others = [each for each in problems if each["code"] not in SAFEGUARD_CODES]
    return [
        *(_problem(each, veto=True) for each in problems if each["code"] in SAFEGUARD_CODES),
        *(_problem(each, veto=False) for each in others if each["severity"] == "error"),
        *_taken_over(document),
        *_dangers(document["operations"]),
        *_waiting(document["held"], document["environment"]),
        *_moved(document),
        *(_problem(each, veto=False) for each in others if each["severity"] != "error"),
    ]


def diagnostic_annotations(diagnostics: Iterable[Diagnostic]) -> list[Annotation]:
    """What is wrong in a file, each at its line."""
    return [_problem(problem_document(each), veto=False) for each in diagnostics]


def lock_annotations(document: LockReportDocument) -> list[Annotation]:
    """Where a lock is not what `remit lock` would write: each difference at its line, then each change that servers ask for."""
    changes = document["changes"] or []
    return [
        *(_problem(each, veto=False) for each in document["problems"]),
        *(_unlike_lock(each, document["environment"]) for each in changes),
    ]


def _unlike_lock(change: LockChangeDocument, environment: str | None) -> Annotation:
    name = _safe(f"{change['assistant']}: {change['server']}/{change['remote_name']}", _TITLE)
    risks = _risk_lines(change["risks"])
    said = for_environment("run `remit lock` and have its change reviewed", environment)
    title = f"lock {', '.join(change['kinds'])} {name}"
    return Annotation(level="error", title=title, lines=(said, *risks), source=change["source"])


def failure_annotation(assistant: str, message: str) -> Annotation:
    """An assistant whose operations were rolled back, and why."""
    said = f"assistant {_safe(assistant)}: {_safe(message)}"
    return Annotation(level="error", title="not applied", lines=(said,), source=None)


def annotation_lines(annotations: Sequence[Annotation]) -> list[str]:
    """The commands: of each level the first ten, then one notice that counts the others, which is a notice itself."""
    of_level = {level: [each for each in annotations if each.level == level] for level in _LEVELS}
    shown = {level: group[:_MOST] for level, group in of_level.items()}
    if any(len(group) > _MOST for group in of_level.values()):
        shown["notice"] = shown["notice"][: _MOST - 1]
    lines = [_command(each) for level in _LEVELS for each in shown[level]]
    more = Counter({level: len(of_level[level]) - len(shown[level]) for level in _LEVELS})
    if more.total():
        words = ", ".join(counted(more[level], level) for level in _LEVELS if more[level])
        lines.append(f"::notice title=remit::{more.total():,} more: {words}")
    return lines


def _command(annotation: Annotation) -> str:
    source = annotation.source
    properties = {} if source is None else {"file": source["file"], "line": source["line"], "col": source["column"]}
    pairs = ({**properties, "title": annotation.title}).items()
    written = ",".join(f"{key}={_escaped(str(value), _IN_PROPERTY)}" for key, value in pairs)
    return f"::{annotation.level} {written}::{_escaped(chr(10).join(annotation.lines), _IN_MESSAGE)}"


def _escaped(text: str, table: Sequence[tuple[str, str]]) -> str:
    for character, code in table:
        text = text.replace(character, code)
    return text


def _safe(text: str, limit: int = _PART) -> str:
    return escape_terminal(text, limit=limit)


# -- what is annotated -------------------------------------------------------------------------------------------------


def _problem(problem: ProblemDocument, *, veto: bool) -> Annotation:
    about = f"{_safe(problem['address'])}: " if problem["address"] else ""
    hint = [f"hint: {_safe(problem['hint'])}"] if problem["hint"] else []
    code = _safe(problem["code"], _TITLE)
    return Annotation(
        level=_OF_SEVERITY.get(problem["severity"], "warning"),
        title=f"veto {code}" if veto else code,
        lines=(f"{about}{_safe(problem['message'])}", *hint),
        source=problem["source"],
    )


def _taken_over(document: PlanDocument) -> Iterator[Annotation]:
    if (moved := document["moved_workspace"]) is not None:
        title = f"moved workspace.{_safe(document['workspace'], _TITLE)}"
        yield Annotation(level="warning", title=title, lines=tuple(_risk_lines(moved["risks"])), source=moved["source"])


def _dangers(operations: Sequence[OperationDocument]) -> list[Annotation]:
    """One for each operation with risks, those with the worst first."""
    risky = sorted((each for each in operations if each["risks"]), key=_worst)
    return [
        Annotation(level="warning", title=_title(each), lines=tuple(_risk_lines(each["risks"])), source=each["source"])
        for each in risky
    ]


def _waiting(held: Sequence[OperationDocument], environment: str | None) -> list[Annotation]:
    """What is held: an error where the file asks for it (exit code 3), else a warning."""
    return [
        Annotation(
            level="error" if each["origin"] == Origin.FILE else "warning",
            title=f"held {_title(each)}",
            lines=tuple(_held_lines(each, environment)),
            source=each["source"],
        )
        for each in sorted(held, key=lambda each: (each["origin"] != Origin.FILE, _worst(each)))
    ]


def _held_lines(operation: OperationDocument, environment: str | None) -> Iterator[str]:
    for reason in operation.get("held_because", []):
        why, way = HOLD_WORDS.get(reason, (_safe(reason), "see docs/plan-format.md"))
        yield f"held because {why}: {for_environment(way, environment)}"
    yield from _risk_lines(operation["risks"])
    yield from (line for line in lines_below(operation) if line.startswith("--accept "))


def _risk_lines(risks: Sequence[RiskDocument]) -> Iterator[str]:
    return (f"{_safe(risk['code'], _TITLE)}: {_safe(risk['detail'])}" for risk in risks)


def _moved(document: PlanDocument) -> Iterator[Annotation]:
    for drift in drift_by_gravity(document["drift"]):
        words = for_environment(DRIFT_WORDS.get(drift["kind"], _safe(drift["kind"])), document["environment"])
        said = f"{_safe(drift['address'])}: {words}; {_safe(drift['detail'])}"
        title = f"drift {_safe(drift['kind'], _TITLE)}"
        yield Annotation(level="warning", title=title, lines=(said, *_risk_lines(drift["risks"])), source=None)
    for entry in document["discovery"]:
        if entry["status"] == "unreachable":
            said = f"{_safe(entry['server'])}: {_safe(entry['reason'])}: {_safe(entry['detail'])}"
            yield Annotation(level="warning", title="server not listed", lines=(said,), source=None)


def _title(operation: OperationDocument) -> str:
    _, verb, _ = mark_of(operation)
    return f"{verb} {_safe(operation['address'], _TITLE)}"


def _worst(operation: OperationDocument) -> int:
    return gravity(operation["risks"])
