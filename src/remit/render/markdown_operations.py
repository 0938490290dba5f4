"""Operations of a plan document as Markdown: a line each, with what changed folded below.

Decides how grave a line is and what of an operation's details is shown. The words are the text's own
(`plan_operations.py`), so that a reviewer reads the same in a comment as in a terminal.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from remit.core.lock import for_environment
from remit.core.operations import OpName, RiskCode
from remit.render.layout import counted
from remit.render.markdown_budget import Piece, Section
from remit.render.markdown_code import code, code_block, code_line
from remit.render.markdown_ranks import Rank
from remit.render.plan_operations import lines_below, mark_of, operation_cells, tool_cells
from remit.render.plan_sentences import STAYS_IN_SERVICE, replaces_something
from remit.render.shapes import OperationDocument, ToolOperationDocument
from remit.render.words import HOLD_WORDS

__all__ = ["assistant_sections", "folded_lines", "held_section", "other_section"]

_REMOVALS = frozenset({OpName.DETACH.value, OpName.DELETE_ASSISTANT.value, OpName.UNREGISTER_SERVER.value})
_SERVER_CHANGES = frozenset({OpName.UPDATE_SERVER.value, OpName.RENAME_SERVER.value})
_BY_SERVERS = frozenset({OpName.ATTACH.value, OpName.REFRESH.value})
_SHORT_SECTION = 20
"""Lines up to which a section stands open."""

_MOST_HELD = 20
"""Held attaches and refreshes that stand before other dangers: a server can be the cause of as many as it has tools."""

_LINE, _DETAILS_ROOM = 600, 4_000
"""Characters of one line of details, and of the details of one operation, so that no server can fill the page alone."""


def assistant_sections(operations: Sequence[OperationDocument]) -> Iterator[Section]:
    """A section for each assistant whose tools change, in the plan's order."""
    of_tools: dict[str, list[ToolOperationDocument]] = {}
    for operation in operations:
        if "assistant" in operation:
            of_tools.setdefault(operation["assistant"], []).append(operation)
    for assistant, group in of_tools.items():
        pieces = [piece for each in group for piece in _pieces(each, tool_cells(each), _rank(each))]
        yield _section(f"Assistant {code(assistant)}", group, pieces)


def other_section(operations: Sequence[OperationDocument]) -> Section:
    """The operations on registrations and on assistants themselves."""
    title = "Servers and assistants"
    group = [operation for operation in operations if "assistant" not in operation]
    pieces = [piece for each in group for piece in _pieces(each, operation_cells(each), _rank(each))]
    if any(_has_endpoint(each) for each in group):
        # Nobody unfolds a long list for the one new command in it.
        return Section(title=title, pieces=tuple(pieces))
    return _section(title, group, pieces)


def held_section(held: Sequence[OperationDocument], environment: str | None) -> Section:
    """What waits, never folded, with the way on for each reason there is; that something stays in service where it does."""
    reasons = {reason for operation in held for reason in operation.get("held_because", [])}
    ways = [
        f"**{reason}**: {why}; {for_environment(way, environment)}."
        for reason, (why, way) in HOLD_WORDS.items()
        if reason in reasons
    ]
    stays = [f"{STAYS_IN_SERVICE[0].upper()}{STAYS_IN_SERVICE[1:]}."] if replaces_something(held) else []
    lead = "\n\n".join([*stays, *ways])
    ranks = _held_ranks(held)
    pieces = [
        piece for each, rank in zip(held, ranks, strict=True) for piece in _pieces(each, operation_cells(each), rank)
    ]
    return Section(title="Held: not done, waits for acceptance", pieces=tuple(pieces), lead=lead)


def _section(title: str, group: Sequence[OperationDocument], pieces: Sequence[Piece]) -> Section:
    fold = counted(len(group), "operation") if len(group) > _SHORT_SECTION else ""
    return Section(title=title, pieces=tuple(pieces), fold=fold)


def _pieces(operation: OperationDocument, cells: Sequence[str], rank: Rank) -> Iterator[Piece]:
    held, name = "held_because" in operation, operation["op"].replace("_", " ")
    yield Piece(rank=rank, kind=f"held {name}" if held else name, text=f"- {_line(operation, cells)}")
    if lines := lines_below(operation):
        yield Piece(
            rank=_rank_below(operation, rank), kind="details", text=folded_lines(lines, len(operation["changes"]))
        )


def _rank(operation: OperationDocument) -> Rank:
    if _has_endpoint(operation):
        return Rank.ENDPOINT
    if operation["op"] in _SERVER_CHANGES:
        return Rank.SERVER_CHANGED
    if operation["risks"]:
        return Rank.RISKY
    if operation["op"] in _REMOVALS:
        return Rank.REMOVED
    return Rank.ADDED if operation["op"] == OpName.ATTACH else Rank.CHANGED


def _has_endpoint(operation: OperationDocument) -> bool:
    """Whether an operation brings a command or a URL that was not there before."""
    changed = any(risk["code"] == RiskCode.ENDPOINT_CHANGE for risk in operation["risks"])
    return changed or operation["op"] == OpName.REGISTER_SERVER


def _held_ranks(held: Sequence[OperationDocument]) -> Iterator[Rank]:
    """The rank of each: what only the file asks for first, then some of what servers can be the cause of."""
    room = _MOST_HELD
    for operation in held:
        if operation["op"] in _BY_SERVERS:
            yield Rank.MORE_HELD if room <= 0 else Rank.HELD_RISKY if operation["risks"] else Rank.HELD
            room -= 1
        else:
            yield min(_rank(operation), Rank.HELD_BY_FILE)


def _rank_below(operation: OperationDocument, rank: Rank) -> Rank:
    if operation["op"] in _SERVER_CHANGES:
        return Rank.SERVER_CHANGED
    return Rank.DETAILS_OF_DANGER if rank < Rank.DETAILS_OF_DANGER else Rank.DETAILS


def _line(operation: OperationDocument, cells: Sequence[str]) -> str:
    """Verb, what it is about, why it waits, and the place, each of someone else's words as code."""
    _, verb, _ = mark_of(operation)
    subject, beside, words, place = cells
    parts = [f"**{verb}** {code_line(subject)}", *([code_line(beside)] if beside else [])]
    said = f": {code_line(words)}" if words else ""
    reasons = ", ".join(
        reason if reason in HOLD_WORDS else code(reason) for reason in operation.get("held_because", [])
    )
    because = f" held because {reasons}" if reasons else ""
    return f"{' '.join(parts)}{said}{because}{f' ({code_line(place)})' if place else ''}"


def folded_lines(lines: Sequence[str], changed: int) -> str:
    """Printable lines that stand below an operation or an entry of drift, folded under how many paths changed."""
    shown = [line if len(line) <= _LINE else f"{line[:_LINE]} ... ({len(line):,} characters)" for line in lines]
    summary = counted(changed, "changed path") if changed else "details"
    block = code_block(_bounded(shown), indent="  ")
    return f"  <details><summary>{summary}</summary>\n\n{block}\n\n  </details>"


def _bounded(lines: Sequence[str]) -> list[str]:
    """Lines of about _DETAILS_ROOM characters in all; the last one, which says how to accept, is always there."""
    *others, last = lines
    ends = accumulate(map(len, others), initial=len(last))
    kept = [line for line, end in zip(others, islice(ends, 1, None), strict=True) if end <= _DETAILS_ROOM]
    more = [f"... and {len(others) - len(kept):,} more lines; the JSON has them all"] if len(kept) < len(others) else []
    return [*kept, *more, last]
