"""TOML text as a tree of nodes with positions, or as findings.

Decides where a key stands: the standard library's parser gives values without places, so lines are looked up in the text
by table header and key; inside a list or an inline table the place is that of the key before it. Does not know any client.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from remit.config.findings import Findings
from remit.config.nodes import Entry, ListNode, MapNode, Node, Scalar
from remit.core.diagnostics import Source

__all__ = ["parse_toml"]

_Path: TypeAlias = tuple[str, ...]

_HEADER = re.compile(r"\s*\[(?P<list>\[?)(?P<path>[^\[\]]+)\]")
_KEY = re.compile(r"""\s*(?P<path>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"([^"]*)"|'([^']*)'""")
_REFUSED = re.compile(r"\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")


def parse_toml(text: str, file: str, findings: Findings) -> Node | None:
    """The root node, or None where the text is no TOML; what is wrong with it goes to `findings`."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        if not _report_repeated(text, file, findings):
            _report_syntax(text, file, str(error), findings)
        return None
    return _Tree(file, dict(reversed(list(_places(text))))).node(content, ())


@dataclass(slots=True)
class _At:
    line: int
    column: int


def _places(text: str) -> Iterator[tuple[_Path, _At]]:
    """Every table header and key at the start of a line, with its place. Later ones of a list of tables count too."""
    table: _Path = ()
    for number, line in enumerate(text.splitlines()):
        header = _HEADER.match(line)
        found = header or _KEY.match(line)
        if found is None:
            continue
        path = tuple(part[1] or part[2] or part.group() for part in _PART.finditer(found["path"]))
        if header:
            table, path = path, ()
        yield (*table, *path), _At(number, len(line) - len(line.lstrip()))


class _Tree:
    """Builds nodes; what has no place of its own takes that of what holds it."""

    def __init__(self, file: str, places: Mapping[_Path, _At]):
        self._file = file
        self._places = places

    def node(self, value: Any, path: _Path) -> Node:
        at = self._place(path)
        match value:
            case dict():
                entries = cast("dict[str, Any]", value)
                return MapNode(self._file, at, at, {key: self._entry(key, entries[key], path) for key in entries})
            case list():
                return ListNode(self._file, at, at, [self.node(item, path) for item in cast("list[Any]", value)])
            case bool():
                return Scalar(self._file, at, at, str(value).lower(), True)
            case str():
                return Scalar(self._file, at, at, value, False)
            case _:
                return Scalar(self._file, at, at, str(value), True)

    def _entry(self, key: str, value: Any, path: _Path) -> Entry:
        at = self._place((*path, key))
        return Entry(Scalar(self._file, at, at, key, False), self.node(value, (*path, key)))

    def _place(self, path: _Path) -> _At:
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, _At(0, 0))


def _report_repeated(text: str, file: str, findings: Findings) -> bool:
    """Report keys that stand twice, naming both lines. The parser stops at the first and names one of them."""
    seen: dict[_Path, int] = {}
    repeated: list[_Path] = []
    lists = {_parts(line) for line in text.splitlines() if line.lstrip().startswith("[[")}
    for path, at in _places(text):
        first = seen.setdefault(path, at.line)
        if first == at.line or any(path[: len(each)] == each for each in (*lists, *repeated)):
            continue
        repeated.append(path)
        lines = f"in line {first + 1} and in line {at.line + 1}"
        source = Source(file, at.line + 1, at.column + 1)
        findings.add("duplicate-key", source, f"`{path[-1]}` is given twice, {lines}", hint="keep one of the two")
    return bool(repeated)


def _parts(header: str) -> _Path:
    return tuple(part[1] or part[2] or part.group() for part in _PART.finditer(header))


def _report_syntax(text: str, file: str, message: str, findings: Findings) -> None:
    # The parser's own words may quote what it found there, which may be a secret.
    found = _REFUSED.search(message)
    line = int(found["line"]) if found and found["line"] else max(1, len(text.splitlines()))
    column = int(found["column"]) if found and found["column"] else 1
    hint = "texts stand in quotes, tables in [brackets]"
    findings.add("toml-syntax", Source(file, line, column), "this is not valid TOML", hint=hint)
