"""Where the findings of one reading are collected: sorted, bounded, each with its source line, no secret in any of them.

Decides which text of a file may be shown beside a finding. It does not decide what is wrong (the other modules of this
package do) and renders nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from remit.config.credentials import mask_line
from remit.core.diagnostics import Diagnostic, Severity, Source

__all__ = ["MAX_FINDINGS", "Findings", "Span", "line_of"]

MAX_FINDINGS = 1000
"""A file with more is not read by anybody; the rest is dropped, which a last finding says."""

_MAX_EXCERPT = 400
_INK = re.compile(r"\S")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a file from its first character to the one after its last, lines and columns counted from 1."""

    start: Source
    end_line: int
    end_column: int


def line_of(place: Source, beside: Source) -> str:
    """A place as a finding in another one names it: by its file only where that differs."""
    return f"line {place.line}" if place.file == beside.file else f"line {place.line} of {place.file}"


class Findings:
    """Collects diagnostics in any order and gives them back sorted by place.

    `texts` holds the text of each file by the path that its sources name; a file that could not be decoded is absent.
    """

    def __init__(self, texts: Mapping[str, str]):
        self._texts = texts
        self._lines: dict[str, list[str]] = {}
        self._found: list[Diagnostic] = []
        self._hidden: dict[tuple[str, int], list[Span]] = {}
        self._hidden_across: list[Span] = []
        self._dropped = False

    @property
    def full(self) -> bool:
        """Whether further findings are dropped; a costly search for a suggestion is pointless then."""
        return len(self._found) >= MAX_FINDINGS

    @property
    def rejecting(self) -> bool:
        """Whether any finding so far is an error."""
        return any(found.severity is Severity.ERROR for found in self._found)

    def add(
        self,
        code: str,
        source: Source,
        message: str,
        *,
        hint: str | None = None,
        address: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Report one thing. Neither message nor hint may hold a value that could be a secret."""
        if self.full:
            self._dropped = True
            return
        self._found.append(
            Diagnostic(code=code, message=message, severity=severity, address=address, source=source, hint=hint)
        )

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Take over what was found before there were findings to add to."""
        self._found.extend(diagnostics)

    def adopt(self, others: "Findings", codes: Collection[str]) -> None:
        """Take over the findings of these codes from another reading of the same files, with all that it hides."""
        found, hidden, across = others._found, others._hidden, others._hidden_across  # noqa: SLF001 (our own class)
        self.report(each for each in found if each.code in codes)
        for span in (*across, *(span for spans in hidden.values() for span in spans)):
            self.hide(span)

    def hide(self, span: Span) -> None:
        """Keep the characters of a span out of every excerpt, also of findings that only share its line."""
        if span.start.line == span.end_line:
            self._hidden.setdefault((span.start.file, span.end_line), []).append(span)
        else:
            self._hidden_across.append(span)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything reported, by file, line, column and code, with excerpts."""
        # What several files are made of is looked at more than once, and told once.
        found = sorted(dict.fromkeys(self._found), key=_order)
        if self._dropped:
            found.append(
                Diagnostic(
                    code="too-many-findings",
                    message=f"there are more than {MAX_FINDINGS} findings; only these are shown",
                )
            )
        self._spread_hidden({diagnostic.source for diagnostic in found if diagnostic.source})
        return tuple(self._with_excerpt(diagnostic) for diagnostic in found)

    def _spread_hidden(self, sources: set[Source]) -> None:
        """Note spans over several lines under those of their lines that are shown: a file can have very many of both."""
        shown: dict[str, list[int]] = {}
        for file, line in sorted({(source.file, source.line) for source in sources}):
            shown.setdefault(file, []).append(line)
        for span in self._hidden_across:
            lines = shown.get(span.start.file, [])
            for line in lines[bisect_left(lines, span.start.line) : bisect_right(lines, span.end_line)]:
                self._hidden.setdefault((span.start.file, line), []).append(span)
        self._hidden_across.clear()

    def _with_excerpt(self, diagnostic: Diagnostic) -> Diagnostic:
        source = diagnostic.source
        return Diagnostic(
            code=diagnostic.code,
            message=diagnostic.message,
            severity=diagnostic.severity,
            address=diagnostic.address,
            source=source,
            hint=diagnostic.hint,
            excerpt=(self._excerpt(source) if source else None) or diagnostic.excerpt,
        )

    def _excerpt(self, source: Source) -> str | None:
        lines = self._lines_of(source.file)
        if not 1 <= source.line <= len(lines) or source.column > _MAX_EXCERPT:
            return None
        # Cut before masking, as a line can be megabytes long, but far enough behind the end that no token is cut in two.
        line = lines[source.line - 1][: _MAX_EXCERPT * 4]
        for span in self._hidden.get((source.file, source.line), ()):
            line = _blank(line, source.line, span)
        return mask_line(line)[:_MAX_EXCERPT]

    def _lines_of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = _LINE_BREAK.split(self._texts[file]) if file in self._texts else []
        return self._lines[file]


def _order(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    source = diagnostic.source
    return (source.file, source.line, source.column, diagnostic.code) if source else ("", 0, 0, diagnostic.code)


def _blank(line: str, number: int, span: Span) -> str:
    """The line with the part of it that lies in the span as asterisks, one each, so that a caret still fits."""
    first = span.start.column - 1 if number == span.start.line else 0
    last = span.end_column - 1 if number == span.end_line else len(line)
    return line[:first] + _INK.sub("*", line[first:last]) + line[last:]
