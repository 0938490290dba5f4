"""Values that stand beside a name inside a text: `--token x`, `TOKEN=x`, `Authorization: Bearer x`, `{"password": "x"}`.

Decides where such a value begins and ends, in command lines, connection strings, queries, header lines and JSON, also JSON
within JSON. Whether a name makes its value a credential is the caller's judgement. A value rather ends too late than too
early: what is cut off would stay behind as a piece of a secret. Pure.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

__all__ = ["Judge", "NamedLiteral", "named_literals", "names_in_json"]

Judge: TypeAlias = Callable[[str, str], bool]
"""Whether a value under a name is a credential; the value may hold NUL where a reference stands."""


@dataclass(frozen=True, slots=True)
class NamedLiteral:
    """A name and the place of its value, as offsets from 0; what tells the scheme (`Bearer `) is not part of the value."""

    name: str
    start: int
    end: int


_NAME = r"(?P<name>[A-Za-z_][\w.-]{0,63})"
_PLACES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("equals", re.compile(rf"""(?<!\w){_NAME}(?:\\*["'])?\s*=(?!=)[ \t]*""")),
    ("member", re.compile(rf"""(?<!\w){_NAME}\\*["']\s*:\s*""")),
    ("line", re.compile(rf"(?m)^[ \t]*(?:- )?{_NAME}:(?!//)[ \t]*(?=\S)")),
    ("quoted line", re.compile(rf"""(?<=["']){_NAME}:(?!//)[ \t]*(?=[^\s"'])""")),
    ("quoted line", re.compile(r"(?<![\w-])(?P<name>(?:[Pp]roxy-)?[Aa]uthorization|[Cc]ookie|[Xx]-[\w-]+):[ \t]*(?=[^\s\"'])")),
    ("flag", re.compile(rf"""(?<![^\s"'=])(?:--?|(?P<slash>/)){_NAME}(?(slash):|(?:[ \t]+(?!-)|:))(?!//)(?=\S)""")),
)  # fmt: skip
"""Where the value of a name begins: behind `=`, behind the colon of JSON or of a header, behind a flag."""

_QUOTED = re.compile(
    r""""(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<open>\\+["'])(?P<escaped>.*?)(?P=open)""", re.DOTALL
)
_NEXT = r"""[\w.-]+\\*["']?\s*[=:]"""
_ENDS: Mapping[str, re.Pattern[str]] = {
    "equals": re.compile(
        rf"""(?:\\.|[^\s"'\\;,&|}}\])]|[;,&|}}\])](?!\s|\Z|["';,&|}}\])]|{_NEXT})|[ \t]+(?!-|["']|\Z|{_NEXT}))+"""
    ),
    "member": re.compile(r"[^\s,}\]]+"),
    "line": re.compile(r"[^\n]+"),
    "quoted line": re.compile(r"""[^"'\n]+"""),
    "flag": re.compile(r"""(?:\\.|[^\s"'\\])+"""),
}
"""How far a value goes that is not in quotes. Only in a line for a shell does a space end it."""

_SHELL_WORD = re.compile(r"""(?:\\.|[^\s"'\\;&|])+""")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate|DPoP)\s+(?=\S)", re.IGNORECASE)


def named_literals(text: str, judge: Judge, *, shell: bool = False) -> tuple[NamedLiteral, ...]:
    """The values of a text that are credentials by the name beside them, by place; none lies within another.

    `shell` is whether the text is a line for a shell, where a space ends a value that is not in quotes.
    """
    found = [each for each in _candidates(text, shell=shell) if judge(each.name, text[each.start : each.end])]
    kept: list[NamedLiteral] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return tuple(kept)


def _candidates(text: str, *, shell: bool) -> Iterator[NamedLiteral]:
    for kind, pattern in _PLACES:
        for match in pattern.finditer(text):
            start, end = _value(text, match.end(), _SHELL_WORD if shell and kind == "equals" else _ENDS[kind])
            scheme = _SCHEME.match(text, start, end)
            start = scheme.end() if scheme else start
            if start < end:
                yield NamedLiteral(match["name"], start, end)


def _value(text: str, start: int, bare: re.Pattern[str]) -> tuple[int, int]:
    if quoted := _QUOTED.match(text, start):
        group = next(name for name in ("double", "single", "escaped") if quoted[name] is not None)
        return quoted.span(group)
    if text[start : start + 1] in ('"', "'"):
        # A quote that nobody closed: everything behind it may belong to the value.
        return start + 1, len(text)
    # A scheme may be followed by the one space that belongs to the value in a shell too.
    scheme = _SCHEME.match(text, start)
    match = bare.match(text, scheme.end() if scheme else start)
    return start, match.end() if match else start


def names_in_json(text: str, judge: Judge) -> Iterator[str]:
    """The names of the members of a JSON text whose values are credentials, in lists and as `{name: ..., value: ...}` too."""
    if text.lstrip()[:1] not in ("{", "["):
        return
    try:
        tree: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return
    for name, value in _members("", tree):
        if judge(name, value):
            yield name


def _members(name: str, node: object) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        members = cast("dict[str, object]", node)
        told = next((each for key in ("name", "key") if isinstance(each := members.get(key), str)), None)
        for key, value in members.items():
            yield from _members(told if told and key == "value" else key, value)
    elif isinstance(node, list):
        for item in cast("list[object]", node):
            yield from _members(name, item)
    elif isinstance(node, str | int | float) and not isinstance(node, bool):
        yield name, str(node)
