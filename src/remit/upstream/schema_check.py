"""Whether a JSON Schema that a server sent can be used, before anything compiles or recurses into it.

Limits (reference: schemas.md section 4, security.md items 39-44): 256 KiB canonical, 64 levels deep, 5,000 subschemas,
patterns of 1,000 characters. A reference that leaves the document is never followed, it disqualifies the schema. The
verdict on the schema itself is jsonschema-rs's, offline, 2020-12 where the schema names no dialect, formats not asserted.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import jsonschema_rs

from remit.core.canonical import Json, JsonObject, canonical_json
from remit.core.live import QuarantineReason
from remit.core.schema_walk import LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA

__all__ = ["MAX_DEPTH", "MAX_PATTERN", "MAX_SCHEMA_BYTES", "MAX_SUBSCHEMAS", "Objection", "check_json", "check_schema"]

MAX_SCHEMA_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_SUBSCHEMAS = 5_000
MAX_PATTERN = 1_000

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
"""Keywords that apply a schema to the same instance: a reference to the root from there never ends."""


@dataclass(frozen=True, slots=True)
class Objection:
    """Why something cannot be used; `detail` goes on from the name of the part."""

    reason: QuarantineReason
    detail: str


class _Place(NamedTuple):
    value: Json
    depth: int
    schema: bool = False
    in_place: bool = False


def check_json(value: Json) -> Objection | None:
    """Whether a value is JSON that can be hashed: not too deep, no NaN or infinity, no lone surrogates."""
    return next(_objections(_Place(value, 0)), None)


def check_schema(schema: Json, *, needs_object: bool) -> Objection | None:
    """The first objection to a schema as a JSON parser gives it (dict and list), or None. `needs_object`: its root must say `type: object`."""
    if not isinstance(schema, dict):
        return Objection(QuarantineReason.ROOT_NOT_OBJECT, "is no object")
    document = cast("JsonObject", schema)
    return (
        next(_objections(_Place(document, 0, schema=True, in_place=True)), None)
        or _check_root(document, needs_object=needs_object)
        or _check_size(document)
        or _compile(document)
    )


def _check_root(document: JsonObject, *, needs_object: bool) -> Objection | None:
    if needs_object and document.get("type") != "object":
        return Objection(QuarantineReason.ROOT_NOT_OBJECT, "has a root without type object")
    return None


def _check_size(document: JsonObject) -> Objection | None:
    size = len(canonical_json(document).encode("utf-8"))
    if size > MAX_SCHEMA_BYTES:
        return Objection(QuarantineReason.SCHEMA_TOO_LARGE, f"has {size} bytes; {MAX_SCHEMA_BYTES} are the limit")
    return None


def _compile(document: JsonObject) -> Objection | None:
    try:
        jsonschema_rs.validator_for(dict(document), offline=True, validate_formats=False)
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
        first_line = str(error).strip().partition("\n")[0]
        return Objection(QuarantineReason.INVALID_SCHEMA, f"is no valid JSON Schema: {first_line[:200]}")
    return None


def _objections(root: _Place) -> Iterator[Objection]:
    # An explicit stack: recursion would overflow on the very input that this is here to refuse.
    pending, subschemas = [root], 0
    while pending:
        place = pending.pop()
        if place.depth > MAX_DEPTH:
            yield Objection(QuarantineReason.SCHEMA_TOO_LARGE, f"is nested deeper than {MAX_DEPTH} levels")
            return
        value = place.value
        # Concrete types: there are a million of these checks in 5,000 tools, and those of the abstract ones cost four times more.
        if isinstance(value, dict):
            entries = cast("JsonObject", value)
            subschemas += place.schema
            if subschemas > MAX_SUBSCHEMAS:
                yield Objection(QuarantineReason.SCHEMA_TOO_LARGE, f"has more than {MAX_SUBSCHEMAS} subschemas")
                return
            yield from _object_objections(entries, place)
            pending.extend(_children(entries, place))
        elif isinstance(value, list):
            pending.extend(_Place(item, place.depth + 1) for item in value)
        else:
            yield from _scalar_objections(value)


def _scalar_objections(value: Json) -> Iterator[Objection]:
    if isinstance(value, float) and not math.isfinite(value):
        yield Objection(QuarantineReason.MALFORMED, "holds a number that is none (NaN or infinity)")
    elif isinstance(value, str) and not value.isascii() and _has_surrogate(value):
        yield Objection(QuarantineReason.MALFORMED, "holds half of a surrogate pair")


def _object_objections(entries: JsonObject, place: _Place) -> Iterator[Objection]:
    for key in entries:
        if not key.isascii() and _has_surrogate(key):
            yield Objection(QuarantineReason.MALFORMED, "holds half of a surrogate pair in a key")
    if place.schema:
        yield from _reference_objections(entries, place)
        yield from _pattern_objections(entries)


def _reference_objections(schema: JsonObject, place: _Place) -> Iterator[Objection]:
    for keyword in _REFERENCES & schema.keys():
        target = schema[keyword]
        if not isinstance(target, str):
            continue
        if not target.startswith("#"):
            yield Objection(QuarantineReason.REMOTE_REF, f"refers to {target[:200]!r}, outside of itself")
        elif target == "#" and place.in_place:
            yield Objection(QuarantineReason.EMPTY_REF, "refers to itself where it should say something")


def _pattern_objections(schema: JsonObject) -> Iterator[Objection]:
    pattern, named = schema.get("pattern"), schema.get("patternProperties")
    patterns = [pattern] if isinstance(pattern, str) else []
    if isinstance(named, dict):
        patterns.extend(cast("JsonObject", named))
    if any(len(text) > MAX_PATTERN for text in patterns):
        yield Objection(QuarantineReason.SCHEMA_TOO_LARGE, f"has a pattern of more than {MAX_PATTERN} characters")


def _children(entries: JsonObject, place: _Place) -> Iterator[_Place]:
    depth = place.depth + 1
    for key, value in entries.items():
        if not place.schema:
            yield _Place(value, depth)
        elif key in MAP_OF_SCHEMAS and isinstance(value, dict):
            named = cast("JsonObject", value)
            yield from (_Place(entry, depth + 1, schema=True) for entry in named.values())
            yield _Place(dict.fromkeys(named), depth)
        elif key in LIST_OF_SCHEMAS and isinstance(value, list):
            in_place = place.in_place and key in _IN_PLACE
            items = value
            yield from (_Place(entry, depth + 1, schema=True, in_place=in_place) for entry in items)
        else:
            in_place = place.in_place and key in _IN_PLACE
            yield _Place(value, depth, schema=key in ONE_SCHEMA, in_place=in_place)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
