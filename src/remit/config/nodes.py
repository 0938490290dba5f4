"""The tree that a YAML file is read into: scalars, lists and mappings that know their place.

Decides what a scalar is (the YAML 1.2 core schema). How text becomes a tree is yaml_nodes.py; what keys mean is layout.py.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias, TypeVar

from remit.config.findings import Span
from remit.core.diagnostics import Source

__all__ = ["Entry", "Kind", "ListNode", "MapNode", "Mark", "Node", "Scalar", "Unusable", "kind_of"]


class Kind(Enum):
    """What a scalar is by the YAML 1.2 core schema, named as a user would."""

    NULL = "no value"
    FLAG = "true or false"
    INTEGER = "a whole number"
    FLOAT = "a number"
    TEXT = "text"


_WORDS: Mapping[str, Kind] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), Kind.NULL),
    **dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), Kind.FLAG),
}
_NUMBERS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"), Kind.INTEGER),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z"), Kind.FLOAT),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"), Kind.FLOAT),
)
"""YAML 1.2.2, section 10.3.2. Nothing else is special: `no`, `on` and `12:30` are text."""

_NUMBER_STARTS = frozenset("-+.0123456789")


_MAX_DIGITS = 30
"""Python refuses to convert some thousand digits and needs long for a few less; a number here has five."""


def kind_of(text: str) -> Kind:
    """What a plain scalar of this text is."""
    if word := _WORDS.get(text):
        return word
    if text[0] not in _NUMBER_STARTS:
        return Kind.TEXT
    return next((kind for pattern, kind in _NUMBERS if pattern.match(text)), Kind.TEXT)


class Mark(Protocol):
    """A parser's position, counted from 0."""

    line: int
    column: int


@dataclass(slots=True)
class _Placed:
    """What all nodes share. Not frozen: setting frozen slots costs more than all the parsing of a large file."""

    file: str
    start: Mark
    end: Mark

    @property
    def source(self) -> Source:
        """Where the node begins."""
        return Source(self.file, self.start.line + 1, self.start.column + 1)

    @property
    def span(self) -> Span:
        """From where to where it is written."""
        return Span(start=self.source, end_line=self.end.line + 1, end_column=self.end.column + 1)


@dataclass(slots=True)
class Scalar(_Placed):
    """A scalar: its text after unquoting, and whether it was written plain (only then it may be other than text)."""

    text: str
    plain: bool

    @property
    def kind(self) -> Kind:
        """What the scalar is by the YAML 1.2 core schema."""
        return kind_of(self.text) if self.plain else Kind.TEXT

    @property
    def number(self) -> float | None:
        """The value if it is a finite number; None also where it has more digits than any sensible one."""
        text = self.text
        if len(text) > _MAX_DIGITS or self.kind not in (Kind.INTEGER, Kind.FLOAT):
            return None
        if text.startswith(("0x", "0o")):
            return float(int(text, 0))
        number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return number if math.isfinite(number) else None


@dataclass(slots=True)
class Entry:
    """One `key: value`."""

    key: Scalar
    value: "Node"


@dataclass(slots=True)
class Unusable(_Placed):
    """The place of something that was reported already, such as an alias: readers pass over it in silence."""


@dataclass(slots=True)
class ListNode(_Placed):
    """A sequence."""

    items: "list[Node]"


_Choice = TypeVar("_Choice", bound=Enum)


@dataclass(slots=True)
class MapNode(_Placed):
    """A mapping, by key text in the order of the file.

    The getters give None, or nothing, where a key is absent or its value is of another kind: the latter is reported by
    the check of shapes, and reading goes on so that all mistakes come out at once.
    """

    entries: dict[str, Entry]

    def scalar(self, key: str) -> Scalar | None:
        """The value if it is text."""
        found = self.node(key)
        return found if isinstance(found, Scalar) and found.kind is Kind.TEXT else None

    def text(self, key: str) -> str | None:
        """The value's text if it is text."""
        found = self.scalar(key)
        return found.text if found else None

    def flag(self, key: str) -> bool | None:
        """The value if it is true or false."""
        found = self.node(key)
        if not isinstance(found, Scalar) or found.kind is not Kind.FLAG:
            return None
        return found.text.lower() == "true"

    def number(self, key: str) -> float | None:
        """The value if it is a finite number."""
        found = self.node(key)
        return found.number if isinstance(found, Scalar) else None

    def choice(self, key: str, choices: type[_Choice]) -> _Choice | None:
        """The member that the text names."""
        try:
            return choices(self.text(key))
        except ValueError:
            return None

    def key(self, key: str) -> Scalar | None:
        """The key itself, for its place."""
        entry = self.entries.get(key)
        return entry.key if entry else None

    def node(self, key: str) -> "Node | None":
        """The value, whatever it is."""
        entry = self.entries.get(key)
        return entry.value if entry else None

    def mapping(self, key: str) -> "MapNode | None":
        """The value if it is a mapping."""
        found = self.node(key)
        return found if isinstance(found, MapNode) else None

    def texts(self) -> "Iterator[tuple[str, Scalar]]":
        """The keys whose values are text, with those."""
        for key, entry in self.entries.items():
            if isinstance(entry.value, Scalar) and entry.value.kind is Kind.TEXT:
                yield key, entry.value

    def mappings(self, key: str) -> "Iterator[MapNode]":
        """The mappings in a list."""
        found = self.node(key)
        return (item for item in found.items if isinstance(item, MapNode)) if isinstance(found, ListNode) else iter(())

    def scalars(self, key: str) -> Iterator[Scalar]:
        """The texts in a list."""
        found = self.node(key)
        items = found.items if isinstance(found, ListNode) else []
        return (item for item in items if isinstance(item, Scalar) and item.kind is Kind.TEXT)


Node: TypeAlias = Scalar | ListNode | MapNode | Unusable
