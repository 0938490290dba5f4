"""What a value in mcp.yaml may be, as values: layout.py writes them as a table, shape_check.py and json_schema.py read it.

Decides nothing about a file. Descriptions are what an editor shows when it completes a key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = [
    "Choice",
    "Constant",
    "Days",
    "Field",
    "Flag",
    "ListOf",
    "MapOf",
    "Number",
    "Record",
    "Shape",
    "Text",
    "TextOr",
    "Variant",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text.

    `pattern` is matched to the end and says nothing to people, so `rule` says it in words and `code` is the finding where
    it fails. `references` allows `${env:NAME}` and its kin; `nullable` allows no value; `name` refuses characters that no
    reader sees.
    """

    what: str
    pattern: str | None = None
    rule: str = "it cannot be empty"
    code: str = "wrong-value"
    max_length: int = 8192
    references: bool = False
    nullable: bool = False
    name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number of seconds above 0 and at most `maximum`."""

    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """A whole number of days from 0 to `maximum`."""

    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """The one whole number that is allowed."""

    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of some texts; `what` names what is chosen."""

    what: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """A list of one shape; `example` is how to write it, `unique` refuses a text that comes twice."""

    item: "Shape"
    example: str
    at_least_one: bool = False
    unique: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf:
    """A mapping whose keys are the user's own."""

    key: Text
    value: "Shape"
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of a record."""

    shape: "Shape"
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A mapping with known keys. `title` names its definition in the JSON schema.

    `elsewhere` says what to write instead of keys that other tools use. `either` are keys of which one must be given.
    In a `secretive` record a value under an unknown key may be a secret under a misspelt one.
    """

    title: str
    fields: Mapping[str, Field]
    elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])
    either: tuple[str, ...] = ()
    secretive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A mapping whose key `type` says which record it is."""

    title: str
    description: str
    records: Mapping[str, Record]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOr:
    """A text, or a mapping that says more."""

    text: Text
    record: Record


Shape: TypeAlias = Text | TextOr | Flag | Number | Days | Constant | Choice | ListOf | MapOf | Record | Variant
