"""JSON text as a tree of nodes with positions, or as findings.

Decides what is taken for JSON: comments (`//`, `/* */`) and trailing commas are, as editors write them; a key twice is an
error that names both lines, because parsers keep the last one silently. Does not know any client.
"""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NoReturn, cast

from remit.config.findings import Findings
from remit.config.nodes import Entry, ListNode, MapNode, Node, Scalar
from remit.core.diagnostics import Source

__all__ = ["MAX_DEPTH", "parse_json"]

MAX_DEPTH = 64
"""Levels of nesting; client configurations have eight, and each level here is two frames of Python's stack."""

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')
_WORD = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![0-9A-Za-z_.])")
_LINE_END = re.compile(r"\r\n|\r|\n")


def parse_json(text: str, file: str, findings: Findings) -> Node | None:
    """The root node, or None where the text is no JSON; what is wrong with it goes to `findings`."""
    parser = _Parser(text, file, findings)
    try:
        return parser.document()
    except _Stop:
        return None


class _Stop(Exception):
    """What follows is not worth reading."""


@dataclass(slots=True)
class _At:
    line: int
    column: int


class _Parser:
    """One pass over the text, from left to right."""

    def __init__(self, text: str, file: str, findings: Findings):
        self._text = text
        self._file = file
        self._findings = findings
        self._place = 0
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def document(self) -> Node:
        self._skip()
        root = self._value(0)
        self._skip()
        if self._place < len(self._text):
            self._fail("something follows the end of the document")
        return root

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._place)
        self._place = match.end() if match else self._place

    def _at(self, place: int) -> _At:
        line = bisect_right(self._starts, place) - 1
        return _At(line, place - self._starts[line])

    def _fail(self, message: str) -> NoReturn:
        at = self._at(self._place)
        hint = "comments and trailing commas are fine; quotes, brackets and commas between entries are needed"
        source = Source(self._file, at.line + 1, at.column + 1)
        self._findings.add("json-syntax", source, f"this is not valid JSON: {message}", hint=hint)
        raise _Stop

    def _value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} levels of nesting")
        match self._text[self._place : self._place + 1]:
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"':
                return self._string()
            case _:
                return self._word()

    def _word(self) -> Scalar:
        match = _WORD.match(self._text, self._place)
        if match is None:
            self._fail("a value is expected here")
        start, self._place = self._place, match.end()
        return Scalar(self._file, self._at(start), self._at(self._place), match.group(), True)

    def _string(self) -> Scalar:
        match = _STRING.match(self._text, self._place)
        if match is None:
            self._fail("a text begins here and does not end on its line")
        try:
            content = cast("str", json.loads(match.group(), strict=False))
            content.encode("utf-8")
        except ValueError:
            self._fail("an escape in this text means no character")
        start, self._place = self._place, match.end()
        return Scalar(self._file, self._at(start), self._at(self._place), content, False)

    def _array(self, depth: int) -> ListNode:
        start = self._place
        items: list[Node] = []
        while self._more("]", first=not items):
            items.append(self._value(depth + 1))
        return ListNode(self._file, self._at(start), self._at(self._place), items)

    def _object(self, depth: int) -> MapNode:
        start = self._place
        entries: dict[str, Entry] = {}
        first = True
        while self._more("}", first=first):
            first = False
            if self._text[self._place : self._place + 1] != '"':
                self._fail("a key in double quotes is expected here")
            key = self._string()
            self._skip()
            self._expect(":", "a colon is expected between key and value")
            self._skip()
            self._pair(entries, key, self._value(depth + 1))
        return MapNode(self._file, self._at(start), self._at(self._place), entries)

    def _more(self, closing: str, *, first: bool) -> bool:
        """Step over the opening bracket or a comma; False, behind the closing bracket, where no entry follows."""
        if first:
            self._place += 1
        self._skip()
        if not first and self._text[self._place : self._place + 1] != closing:
            self._expect(",", "a comma is expected between two entries")
            self._skip()
        if self._text[self._place : self._place + 1] == closing:
            self._place += 1
            return False
        return True

    def _expect(self, character: str, message: str) -> None:
        if self._text[self._place : self._place + 1] != character:
            self._fail(message)
        self._place += 1

    def _pair(self, entries: dict[str, Entry], key: Scalar, value: Node) -> None:
        first = entries.get(key.text)
        if first is None:
            entries[key.text] = Entry(key, value)
            return
        lines = f"in line {first.key.source.line} and in line {key.source.line}"
        shown = f"`{key.text}`" if len(key.text) <= 64 and key.text.isprintable() else "the key"
        self._findings.add("duplicate-key", key.source, f"{shown} is given twice, {lines}", hint="keep one of the two")
