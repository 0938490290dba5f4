"""Diagnostics and errors as text with a caret, diagnostics as JSON too.

Decides layout only; diagnostics come sorted. A source line is quoted as it is written, what cannot be shown safely as a
visible escape; the caret stands where the reader's terminal puts the character.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate
from typing import TypedDict

from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.errors import RemitError
from remit.render.escape import begins_command, escape_character, escape_terminal, is_visible, well_formed
from remit.render.layout import Painter, Style, counted
from remit.render.shapes import FORMAT_VERSION, ProblemDocument, SourceDocument

__all__ = [
    "DiagnosticsDocument",
    "DiagnosticsTally",
    "diagnostics_document",
    "diagnostics_text",
    "error_text",
    "problem_document",
    "source_document",
]

_WINDOW = 100
"""How many columns of a source line are shown; a longer one is cut around the caret."""

_TEXT_LIMIT = 2000
_STYLES = {Severity.ERROR: Style.DANGER, Severity.WARNING: Style.CHANGE, Severity.NOTE: Style.QUIET}


class DiagnosticsTally(TypedDict):
    """How many of each severity."""

    errors: int
    warnings: int
    notes: int


class DiagnosticsDocument(TypedDict):
    """All diagnostics of a command."""

    format_version: str
    diagnostics: list[ProblemDocument]
    summary: DiagnosticsTally


def diagnostics_text(diagnostics: Sequence[Diagnostic], *, colour: bool) -> str:
    """Each diagnostic as `file:line:column: severity code: message` with source line, caret and hint, then the counts.

    Empty for no diagnostics; otherwise ends with a newline.
    """
    if not diagnostics:
        return ""
    paint = Painter(colour=colour)
    blocks = ["\n".join(_block(diagnostic, paint)) for diagnostic in diagnostics]
    return "\n".join([*blocks, _tally(diagnostics)]) + "\n"


def diagnostics_document(diagnostics: Sequence[Diagnostic]) -> DiagnosticsDocument:
    """`{format_version, diagnostics[], summary{errors, warnings, notes}}`; each as a plan's `problems[]` has it."""
    counts = _counts(diagnostics)
    return {
        "format_version": FORMAT_VERSION,
        "diagnostics": [problem_document(diagnostic) for diagnostic in diagnostics],
        "summary": {
            "errors": counts[Severity.ERROR],
            "warnings": counts[Severity.WARNING],
            "notes": counts[Severity.NOTE],
        },
    }


def problem_document(diagnostic: Diagnostic) -> ProblemDocument:
    """One diagnostic as JSON, without the excerpt."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": well_formed(diagnostic.message),
        "address": None if diagnostic.address is None else well_formed(diagnostic.address),
        "source": source_document(diagnostic.source),
        "hint": None if diagnostic.hint is None else well_formed(diagnostic.hint),
    }


def source_document(source: Source | None) -> SourceDocument | None:
    """A place as JSON."""
    return None if source is None else {"file": source.file, "line": source.line, "column": source.column}


def error_text(error: RemitError, *, colour: bool = False) -> str:
    """An error as `error code: place: message` and its hint on a line of its own; ends with a newline."""
    paint = Painter(colour=colour)
    place = f"{_safe(error.place)}: " if error.place else ""
    line = f"{paint(Style.DANGER, 'error')} {_safe(error.code)}: {place}{_safe(error.message)}"
    return "\n".join([line, *_hint(error.hint)]) + "\n"


def _safe(text: str) -> str:
    return escape_terminal(text, limit=_TEXT_LIMIT)


def _block(diagnostic: Diagnostic, paint: Painter) -> list[str]:
    severity = paint(_STYLES[diagnostic.severity], diagnostic.severity.value)
    place = diagnostic.source or diagnostic.address
    head = f"{_safe(str(place))}: " if place else ""
    lines = [f"{head}{severity} {_safe(diagnostic.code)}: {_safe(diagnostic.message)}"]
    if diagnostic.source is not None and diagnostic.excerpt:
        lines += _quoted(diagnostic.excerpt, diagnostic.source, paint)
    return lines + _hint(diagnostic.hint)


def _hint(hint: str | None) -> list[str]:
    return [f"  hint: {_safe(hint)}"] if hint else []


def _quoted(excerpt: str, source: Source, paint: Painter) -> list[str]:
    """The source line behind its number, and the caret below."""
    text, caret = _windowed(excerpt.rstrip("\r\n"), source.column - 1)
    number = str(source.line)
    return [
        f"  {number} | {text}".rstrip(),
        f"  {' ' * len(number)} | {' ' * caret}{paint(Style.DANGER, '^')}",
    ]


def _windowed(line: str, index: int) -> tuple[str, int]:
    """The part of a line around a character, and the terminal column of that character in it.

    Both scans are bounded by the window, so that a line of a megabyte costs no more than a short one.
    """
    index = min(max(index, 0), len(line))
    behind = [_glyph(line, place) for place in reversed(range(max(0, index - _WINDOW), index))]
    ahead = [_glyph(line, place) for place in range(index, min(len(line), index + _WINDOW))]
    whole = sum(width for _, width in behind) + sum(width for _, width in ahead) <= _WINDOW
    before = len(behind) if whole else _fitting(behind, _WINDOW * 2 // 3)
    used = sum(width for _, width in behind[:before])
    after = len(ahead) if whole else _fitting(ahead, _WINDOW - used)
    start = "..." if before < index else ""
    end = "..." if index + after < len(line) else ""
    shown = [glyph for glyph, _ in reversed(behind[:before])] + [glyph for glyph, _ in ahead[:after]]
    return f"{start}{''.join(shown)}{end}", len(start) + used


def _fitting(glyphs: Sequence[tuple[str, int]], room: int) -> int:
    """How many of the first glyphs fit into `room` columns."""
    return sum(total <= room for total in accumulate(width for _, width in glyphs))


def _glyph(line: str, place: int) -> tuple[str, int]:
    """What stands for a character of a line, and how many terminal columns it takes."""
    character = line[place]
    if character == "\t":
        return "    ", 4
    if not is_visible(character) or begins_command(line, place):
        escaped = escape_character(character)
        return escaped, len(escaped)
    if unicodedata.combining(character):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _counts(diagnostics: Sequence[Diagnostic]) -> dict[Severity, int]:
    return {severity: sum(each.severity is severity for each in diagnostics) for severity in Severity}


def _tally(diagnostics: Sequence[Diagnostic]) -> str:
    counts = _counts(diagnostics)
    return ", ".join(counted(number, severity.value) for severity, number in counts.items() if number)
