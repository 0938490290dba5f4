"""Which places of one JSON Schema are in use, and how: the references are followed, never fetched.

Decides where a local `$ref` points, and for every place of the document whether an instance meets it as an assertion that
only ever restricts (`ASSERTED`), under a keyword where a wider schema can reject more (`OPAQUE`: `not`, `if`, `oneOf`), or
only as a remark (`REMARK`). It does not judge a change (core/schema_rules.py does). Pure.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, cast
from urllib.parse import unquote

from remit.core.canonical import Json, JsonObject
from remit.core.schema_walk import LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA, PROSE

__all__ = [
    "ASSERTS_NOTHING",
    "DEFINITIONS",
    "Dialect",
    "Pointer",
    "SchemaDocument",
    "Use",
    "follow",
    "read_document",
    "schemas_in",
]

Pointer: TypeAlias = tuple[str | int, ...]
"""The keys and indices from the root of a schema to a place in it."""

DEFINITIONS = frozenset({"$defs", "definitions"})
"""Keywords that keep schemas for reference; what stands there counts where it is used."""

ASSERTS_NOTHING = frozenset(
    {
        "$comment", "contentEncoding", "contentMediaType", "contentSchema", "default", "deprecated", "description",
        "discriminator", "enumNames", "example", "examples", "format", "markdownDescription", "readOnly", "title",
        "writeOnly",
    }
)  # fmt: skip
"""Keywords that no value is ever rejected for, together with everything that starts with `x-`.

The JSON Schema 2020-12 annotations (`format` included, as remit validates without format assertion) and what OpenAPI and
form generators add. `nullable` is absent on purpose: some readers take it as an assertion.
"""

_OPAQUE_UNDER = frozenset({"if", "not", "oneOf", "unevaluatedItems", "unevaluatedProperties"})
_IN_PLACE = frozenset(
    {"$ref", "allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
)
_READS_OTHERS = frozenset(
    {"$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "unevaluatedItems"}
) | {"unevaluatedProperties"}
_TUPLE_ITEMS, _REF_SIBLINGS = "items[]", "$ref+"
_DIALECT_BOUND = frozenset(
    {
        "additionalItems", "contains", "dependencies", "dependentRequired", "dependentSchemas", "maxContains",
        "minContains", "prefixItems", _TUPLE_ITEMS, _REF_SIBLINGS,
    }
)  # fmt: skip
_SCHEMA_URI = re.compile(r"https?://json-schema\.org/(?:draft/(2019-09|2020-12)|draft-0([467]))/schema#?")


class Use(StrEnum):
    """How an instance meets a place of a schema."""

    ASSERTED = "asserted"
    OPAQUE = "opaque"
    REMARK = "remark"


class Dialect(StrEnum):
    """The generations of JSON Schema that differ in what a keyword means; an absent `$schema` is 2020-12 in MCP."""

    DRAFT_7 = "draft-7"
    DRAFT_2019 = "2019-09"
    DRAFT_2020 = "2020-12"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDocument:
    """One schema with the uses of its places.

    `uses` holds every place that validation can come to. `entangled` says that some keyword reads the outcome of others or
    refers in a way not followed here, so that no place can be judged alone. `dialect_bound` says that its meaning depends
    on the dialect.
    """

    root: Json
    dialect: Dialect
    uses: Mapping[Pointer, frozenset[Use]]
    entangled: bool
    dialect_bound: bool
    alone: frozenset[int]

    def view(self, schema: JsonObject) -> JsonObject:
        """The keywords that count: up to draft-07 the neighbours of a `$ref` are ignored."""
        return {"$ref": schema["$ref"]} if self.dialect is Dialect.DRAFT_7 and "$ref" in schema else schema

    def target(self, reference: Json) -> tuple[Pointer, Json] | None:
        """Where a `$ref` points and what stands there; None where it is not a pointer into this document."""
        return follow(self.root, reference)


class _Neighbours:
    """Places that apply to one instance, joined into groups, and how many of each group list properties."""

    def __init__(self) -> None:
        self._above: dict[Pointer, Pointer] = {}
        self._listing: dict[Pointer, JsonObject] = {}
        self._silent: dict[Pointer, JsonObject] = {}

    def met(self, pointer: Pointer, schema: JsonObject) -> None:
        (self._listing if "properties" in schema else self._silent)[pointer] = schema

    def join(self, one: Pointer, other: Pointer) -> None:
        self._above[self._group(one)] = self._group(other)

    def alone(self) -> frozenset[int]:
        groups = Counter(self._group(pointer) for pointer in self._listing)
        listing = (id(schema) for pointer, schema in self._listing.items() if groups[self._group(pointer)] == 1)
        silent = (id(schema) for pointer, schema in self._silent.items() if not groups[self._group(pointer)])
        return frozenset((*listing, *silent))

    def _group(self, pointer: Pointer) -> Pointer:
        while (above := self._above.get(pointer, pointer)) != pointer:
            self._above[pointer] = self._above.get(above, above)
            pointer = above
        return pointer


def read_document(root: Json) -> SchemaDocument:
    """Follow one schema from its root. Every place is visited at most once for each use."""
    uses: dict[Pointer, set[Use]] = {}
    keywords: set[str] = set()
    neighbours = _Neighbours()
    entangled = False
    waiting: list[tuple[Pointer, Json, Use]] = [((), root, Use.ASSERTED)]
    while waiting:
        pointer, schema, use = waiting.pop()
        known = uses.setdefault(pointer, set())
        if use in known:
            continue
        known.add(use)
        if isinstance(schema, Mapping):
            document = cast("JsonObject", schema)
            keywords.update(_keywords_of(document))
            entangled = entangled or (bool(pointer) and "$id" in document) or not _refers_locally(root, document)
            neighbours.met(pointer, document)
            for keyword, place, entry in _below(root, pointer, document):
                waiting.append((place, entry, _use_under(keyword, document, use)))
                if keyword in _IN_PLACE:
                    neighbours.join(pointer, place)
    return SchemaDocument(
        root=root,
        dialect=_dialect_of(root),
        uses={pointer: frozenset(known) for pointer, known in uses.items()},
        entangled=entangled or bool(keywords & _READS_OTHERS),
        dialect_bound=bool(keywords & _DIALECT_BOUND),
        alone=neighbours.alone(),
    )


def _dialect_of(root: Json) -> Dialect:
    declared = cast("JsonObject", root).get("$schema") if isinstance(root, Mapping) else None
    if declared is None:
        return Dialect.DRAFT_2020
    match = _SCHEMA_URI.fullmatch(declared) if isinstance(declared, str) else None
    if match is None:
        return Dialect.UNKNOWN
    return Dialect(match[1]) if match[1] else Dialect.DRAFT_7


def _keywords_of(schema: JsonObject) -> Iterator[str]:
    yield from schema
    if isinstance(schema.get("items"), Sequence):
        yield _TUPLE_ITEMS
    if "$ref" in schema and schema.keys() - {"$ref", "$schema"} - ASSERTS_NOTHING - DEFINITIONS:
        yield _REF_SIBLINGS


def _refers_locally(root: Json, schema: JsonObject) -> bool:
    return "$ref" not in schema or follow(root, schema["$ref"]) is not None


def _below(root: Json, pointer: Pointer, schema: JsonObject) -> Iterator[tuple[str, Pointer, Json]]:
    if (found := follow(root, schema.get("$ref"))) is not None:
        yield ("$ref", *found)
    for keyword, value in schema.items():
        if keyword not in DEFINITIONS and keyword not in PROSE:
            for step, entry in schemas_in(keyword, value):
                yield keyword, (*pointer, keyword, *step), entry


def _use_under(keyword: str, schema: JsonObject, use: Use) -> Use:
    if keyword == "contentSchema":
        return Use.REMARK
    counted = keyword == "contains" and "maxContains" in schema
    return Use.OPAQUE if use is Use.ASSERTED and (keyword in _OPAQUE_UNDER or counted) else use


def schemas_in(keyword: str, value: Json) -> Iterator[tuple[Pointer, Json]]:
    """The schemas that stand in the value of a keyword, each with the way from there to it."""
    if keyword in MAP_OF_SCHEMAS and isinstance(value, Mapping):
        entries = cast("JsonObject", value)
        yield from (((name,), entry) for name, entry in entries.items() if isinstance(entry, Mapping | bool))
    elif keyword in LIST_OF_SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
        yield from (((index,), entry) for index, entry in enumerate(cast("Sequence[Json]", value)))
    elif keyword in ONE_SCHEMA and isinstance(value, Mapping | bool):
        yield ((), value)


def follow(root: Json, reference: Json) -> tuple[Pointer, Json] | None:
    """Where a `$ref` that is a JSON pointer leads and what stands there; None for any other reference, or one to nothing."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    pointer: list[str | int] = []
    node = root
    for token in reference.split("/")[1:]:
        key = unquote(token).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in (members := cast("JsonObject", node)):
            pointer.append(key)
            node = members[key]
        elif isinstance(node, Sequence) and not isinstance(node, str) and key.isdecimal() and int(key) < len(node):
            pointer.append(int(key))
            node = node[int(key)]
        else:
            return None
    return tuple(pointer), node
