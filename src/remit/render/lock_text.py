"""The change of a lock as text, in the words of a plan: danger first, then each assistant's tools, then counts; and as JSON.

Decides how `remit lock` shows what it would write. What a model would read of a new tool is shown whole, as the plan shows a
tool that nobody has seen yet; the file itself has the schemas.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias, TypedDict, cast

from remit.core.diagnostics import Diagnostic
from remit.core.lock import Lock, LockedTool, LockKey
from remit.core.operations import ChangeClass, OpName, ToolOperation
from remit.render.diagnostics import problem_document
from remit.render.document import definition_state, operation_document
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import WIDEST, Painter, Style, aligned
from remit.render.plan_operations import assistant_lines
from remit.render.plan_text import look_first_lines
from remit.render.shapes import (
    FORMAT_VERSION,
    ChangeDocument,
    DefinitionState,
    OperationDocument,
    PlanDocument,
    ProblemDocument,
    RiskDocument,
    SourceDocument,
)

__all__ = [
    "LockChangeDocument",
    "LockReport",
    "LockReportDocument",
    "LockTally",
    "LockedDocument",
    "lock_change_text",
    "lock_report_document",
]

_Kind: TypeAlias = Literal["added", "changed", "renamed", "removed", "moved"]

_COUNTS: tuple[tuple[OpName, _Kind], ...] = (
    (OpName.ATTACH, "added"),
    (OpName.REFRESH, "changed"),
    (OpName.RENAME_ALIAS, "renamed"),
    (OpName.DETACH, "removed"),
)


_NOT_LISTED = "not listed any more"


def lock_change_text(
    name: str, operations: Sequence[ToolOperation], moved: Mapping[LockKey, LockKey], *, locked: int, colour: bool
) -> str:
    """What becomes of the lock file `name`; `locked` counts the tools in it afterwards. Ends with a newline.

    `moved` leads from what entries stand under from now on to what they stood under.
    """
    paint = Painter(colour=colour)
    plain = [_plain(each) for each in operations]
    risky = cast(
        "PlanDocument", {"moved_workspace": None, "operations": plain, "held": [], "problems": [], "drift": []}
    )
    # A plan shows the text of what waits, as somebody has to read it first; in a lock that is all of it.
    unread = cast("list[OperationDocument]", [{**each, "held_because": []} for each in plain])
    sections = (
        [paint(Style.HEAD, f"Change of {escape_terminal(name)}")],
        look_first_lines(risky, paint),
        _moved_lines(moved, paint),
        assistant_lines(unread, paint),
        [paint(Style.HEAD, _counts(operations, moved, locked))],
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _plain(operation: ToolOperation) -> OperationDocument:
    plain = operation_document(operation)
    # Where the file still selects it (core/lock_review.py), another reason would be false.
    is_gone = operation.op is OpName.DETACH and operation.source is not None
    return cast("OperationDocument", {**plain, "reason": _NOT_LISTED}) if is_gone else plain


def _moved_lines(moved: Mapping[LockKey, LockKey], paint: Painter) -> list[str]:
    rows = aligned([(_place(old), f"moves to {_place(new)}") for new, old in sorted(moved.items())], widest=WIDEST)
    return [paint(Style.HEAD, "under another name from now on"), *(f"  {row}" for row in rows)] if rows else []


def _place(key: LockKey) -> str:
    assistant, server, name = map(escape_terminal, key)
    return f"assistant {assistant}: {server}/{name}"


def _counts(operations: Sequence[ToolOperation], moved: Mapping[LockKey, LockKey], locked: int) -> str:
    found = Counter(each.op for each in operations)
    words = [f"{found[op]:,} {word}" for op, word in _COUNTS if found[op]]
    words += [f"{len(moved):,} moved"] if moved else []
    return f"Lock: {', '.join(words) or 'no change'} | {locked - _touched(operations, moved):,} unchanged"


def _touched(operations: Sequence[ToolOperation], moved: Mapping[LockKey, LockKey]) -> int:
    return len({_key(each) for each in operations if each.op is not OpName.DETACH} | moved.keys())


def _key(operation: ToolOperation) -> LockKey:
    return operation.tool.assistant, operation.tool.server, operation.tool.remote_name


# -- as JSON -----------------------------------------------------------------------------------------------------------


class LockedDocument(DefinitionState):
    """What a lock has of one tool."""

    alias: str


class LockPlaceDocument(TypedDict):
    """Where a lock has a tool."""

    assistant: str
    server: str
    remote_name: str


class LockChangeDocument(TypedDict):
    """How one tool becomes another in the lock. `before` is null for one that comes in, `after` for one that goes.

    `moved_from` is where the old lock has it, null where that is no other place. `changes` and `risks` are as in a plan; `source` is the line that selects the tool.
    """

    kinds: list[_Kind]
    assistant: str
    server: str
    remote_name: str
    moved_from: LockPlaceDocument | None
    before: LockedDocument | None
    after: LockedDocument | None
    changes: list[ChangeDocument]
    classes: list[Annotated[str, ChangeClass]]
    risks: list[RiskDocument]
    source: SourceDocument | None


class LockTally(TypedDict):
    """Tools by what becomes of them; one that is renamed, moved and changed counts as each."""

    added: int
    changed: int
    renamed: int
    removed: int
    moved: int
    unchanged: int


class LockReportDocument(TypedDict):
    """What `remit lock` or its check came to.

    `asked` is whether servers were asked: `changes` and `summary` are null where they were not. `fits` is whether the lock was
    what `remit lock` would write before this run, `written` whether this run wrote it, `complete` false where a server was
    not listed or a selection not resolved. `locked` counts the tools of the file as it is afterwards.
    """

    format_version: str
    workspace: str
    environment: str | None
    file: str
    asked: bool
    fits: bool
    written: bool
    complete: bool
    locked: int
    problems: list[ProblemDocument]
    changes: list[LockChangeDocument] | None
    summary: LockTally | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockReport:
    """A run over the lock `file`: what was in it, what would be in it, and what is wrong. `after` None: no server was asked.

    `before` is under the names of `after`; `moved` leads from those to where the file had what has another name now.
    """

    workspace: str
    environment: str | None
    file: str
    before: Lock
    after: Lock | None
    operations: Sequence[ToolOperation] = ()
    moved: Mapping[LockKey, LockKey] = field(default_factory=dict[LockKey, LockKey])
    problems: Sequence[Diagnostic] = ()
    fits: bool
    written: bool = False
    complete: bool = True


def lock_report_document(report: LockReport) -> LockReportDocument:
    """The report as JSON, as docs/lock.md describes it."""
    asked = report.after is not None
    lock = report.after if report.after is not None and report.written else report.before
    return {
        "format_version": FORMAT_VERSION,
        "workspace": report.workspace,
        "environment": report.environment,
        "file": well_formed(report.file),
        "asked": asked,
        "fits": report.fits,
        "written": report.written,
        "complete": report.complete,
        "locked": sum(1 for _ in lock.tools()),
        "problems": [problem_document(each) for each in report.problems],
        "changes": None if report.after is None else _changes(report, report.after),
        "summary": None if report.after is None else _tally(report, report.after),
    }


def _changes(report: LockReport, after: Lock) -> list[LockChangeDocument]:
    old, new = _by_key(report.before), _by_key(after)
    together: dict[LockKey, list[ToolOperation]] = {key: [] for key in report.moved}
    for each in report.operations:
        together.setdefault(_key(each), []).append(each)
    return [
        _change(key, group, old.get(key), new.get(key), report.moved.get(key))
        for key, group in sorted(together.items(), key=lambda each: each[0])
    ]


def _change(
    key: LockKey,
    group: Sequence[ToolOperation],
    old: LockedTool | None,
    new: LockedTool | None,
    moved_from: LockKey | None,
) -> LockChangeDocument:
    plain = [operation_document(each) for each in group]
    words = dict(_COUNTS)
    return {
        "kinds": [*(("moved",) if moved_from else ()), *(words[each.op] for each in group)],
        **_place_document(key),
        "moved_from": None if moved_from is None else _place_document(moved_from),
        "before": None if old is None else _locked(old),
        "after": None if new is None else _locked(new),
        "changes": [change for each in plain if each["op"] == "refresh" for change in each["changes"]],
        "classes": [word for each in plain if each["op"] == "refresh" for word in each["classes"]],
        "risks": [risk for each in plain for risk in each["risks"]],
        "source": plain[-1]["source"] if plain else None,
    }


def _place_document(key: LockKey) -> LockPlaceDocument:
    assistant, server, name = key
    return {"assistant": assistant, "server": server, "remote_name": well_formed(name)}


def _locked(tool: LockedTool) -> LockedDocument:
    return {"alias": tool.alias, **definition_state(tool.definition)}


def _by_key(lock: Lock) -> Mapping[LockKey, LockedTool]:
    return {(assistant, server, name): tool for assistant, server, name, tool in lock.tools()}


def _tally(report: LockReport, after: Lock) -> LockTally:
    found = Counter(each.op for each in report.operations)
    return {
        "added": found[OpName.ATTACH],
        "changed": found[OpName.REFRESH],
        "renamed": found[OpName.RENAME_ALIAS],
        "removed": found[OpName.DETACH],
        "moved": len(report.moved),
        "unchanged": sum(1 for _ in after.tools()) - _touched(report.operations, report.moved),
    }
