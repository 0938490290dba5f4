"""Whether a JSON Schema that a server sent can be used, before anything compiles or recurses into it.

Limits (reference: schemas.md section 4, security.md items 39-44): 256 KiB canonical, 64 levels deep, 5,000 subschemas,
100 patterns of 1,000 characters and 256 KiB compiled, 5,000 subschemas that apply to one value. A reference that leaves
the document is never followed, it disqualifies the schema. The verdict on the schema itself is jsonschema-rs's, offline,
2020-12 where the schema names no dialect, formats not asserted; each distinct schema is compiled once.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, cast

import jsonschema_rs

from remit.core.canonical import Json, JsonObject, canonical_json, sha256_hex
from remit.core.live import QuarantineReason
from remit.core.schema_walk import LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA
from remit.upstream.schema_loops import MAX_APPLIED, REFERENCES, applied_at_once

__all__ = [
    "MAX_DEPTH",
    "MAX_PATTERN",
    "MAX_PATTERNS",
    "MAX_SCHEMA_BYTES",
    "MAX_SUBSCHEMAS",
    "Objection",
    "SchemaChecker",
    "check_json",
    "compile_schema",
]

MAX_SCHEMA_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_SUBSCHEMAS = 5_000
MAX_PATTERN = 1_000
MAX_PATTERNS = 100
"""Patterns in one schema; 2,000 small ones with counted repeats take 500 MB and two seconds to compile."""

_MAX_VALUES = MAX_SCHEMA_BYTES // 2
"""Values in one document: a value and what separates it take two bytes, so that more cannot fit under the size."""

_MAX_VERDICTS = 10_000
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=256 * 1024, dfa_size_limit=1024 * 1024)
"""A pattern that needs more steps than this on a value does not match it, also under `not`: it is never ignored."""


@dataclass(frozen=True, slots=True)
class Objection:
    """Why something cannot be used; `detail` goes on from the name of the part."""

    reason: QuarantineReason
    detail: str


class _Place(NamedTuple):
    value: Json
    depth: int
    schema: bool = False


def check_json(value: Json) -> Objection | None:
    """Whether a value is JSON that can be hashed: not too deep, no NaN or infinity, no lone surrogates."""
    return next(_objections(_Place(value, 0)), None)


class SchemaChecker:
    """Checks schemas and remembers the verdict on each distinct one, as servers repeat theirs; `compiled` counts those.

    One for each lister, so that nothing is kept longer than the run.
    """

    def __init__(self) -> None:
        self._verdicts: dict[str, Objection | None] = {}
        self.compiled = 0

    def check(self, schema: Json, *, needs_object: bool) -> Objection | None:
        """The first objection to a schema as a JSON parser gives it (dict and list), or None.

        `needs_object`: its root must say `type: object`.
        """
        if not isinstance(schema, dict):
            return Objection(QuarantineReason.ROOT_NOT_OBJECT, "is no object")
        document = cast("JsonObject", schema)
        text = _plain_text(document)
        if text is None:
            objection = next(_objections(_Place(document, 0, schema=True)), None)
            if objection is not None:
                return objection
            text = canonical_json(document)
        objection = _check_size(text) or self._verdict(document, text)
        if objection is None and needs_object and document.get("type") != "object":
            return Objection(QuarantineReason.ROOT_NOT_OBJECT, "has a root without type object")
        return objection

    def _verdict(self, document: JsonObject, text: str) -> Objection | None:
        digest = sha256_hex(text)
        if digest not in self._verdicts:
            if len(self._verdicts) >= _MAX_VERDICTS:
                self._verdicts.clear()
            self.compiled += 1
            self._verdicts[digest] = _check_loops(document, text) or _check_compiled(document)
        return self._verdicts[digest]


def compile_schema(document: JsonObject) -> jsonschema_rs.Validator:
    """A validator that fetches nothing, asserts no format and bounds each pattern.

    Only for schemas that a `SchemaChecker` does not object to. Raises ValueError or jsonschema_rs.ReferencingError for one
    that is no valid schema.
    """
    return jsonschema_rs.validator_for(dict(document), offline=True, validate_formats=False, pattern_options=_PATTERNS)


def _plain_text(document: JsonObject) -> str | None:
    """The canonical text of a document in which no limit can be exceeded and nothing refers, or None where one might be.

    Counting in the text is ten times faster than looking at every value, and it is enough for most schemas: each level
    and each object has a bracket, and no pattern is longer than the longest string.
    """
    try:
        text = canonical_json(document)
    except (ValueError, RecursionError):
        return None
    if len(text) > _MAX_VALUES or text.count("{") + text.count("[") > MAX_DEPTH or '"patternProperties"' in text:
        return None
    if any(f'"{keyword}"' in text for keyword in REFERENCES):
        return None
    longest = max(map(len, text.replace('\\"', "''").split('"')))
    return text if longest <= MAX_PATTERN else None


def _check_size(text: str) -> Objection | None:
    size = len(text.encode("utf-8"))
    if size > MAX_SCHEMA_BYTES:
        return Objection(QuarantineReason.SCHEMA_TOO_LARGE, f"has {size} bytes; {MAX_SCHEMA_BYTES} are the limit")
    return None


def _check_loops(document: JsonObject, text: str) -> Objection | None:
    if not any(f'"{keyword}"' in text for keyword in REFERENCES):
        return None
    applied = applied_at_once(document)
    if applied is None:
        return Objection(QuarantineReason.EMPTY_REF, "refers to itself where it should say something")
    if applied > MAX_APPLIED:
        detail = f"applies more than {MAX_APPLIED} subschemas to one value through its references"
        return Objection(QuarantineReason.SCHEMA_TOO_LARGE, detail)
    return None


def _check_compiled(document: JsonObject) -> Objection | None:
    try:
        compile_schema(document)
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
        first_line = str(error).strip().partition("\n")[0]
        return Objection(QuarantineReason.INVALID_SCHEMA, f"is no valid JSON Schema: {first_line[:200]}")
    return None


def _objections(root: _Place) -> Iterator[Objection]:
    # An explicit stack: recursion would overflow on the very input that this is here to refuse.
    pending, values, subschemas, patterns = [root], 0, 0, 0
    while pending:
        place = pending.pop()
        value = place.value
        values += 1
        # Concrete types: there are a million of these checks in 5,000 tools, and those of the abstract ones cost four times more.
        if isinstance(value, dict):
            entries = cast("JsonObject", value)
            yield from _key_objections(entries)
            if place.schema:
                subschemas += 1
                yield from _reference_objections(entries)
                if "pattern" in entries or "patternProperties" in entries:
                    found = _patterns_of(entries)
                    patterns += len(found)
                    yield from _pattern_objections(found)
            # Cut, as ten million places would take a gigabyte before the first of them is counted.
            pending.extend(islice(_children(entries, place), _MAX_VALUES + 1))
        elif isinstance(value, list):
            pending.extend(_Place(item, place.depth + 1) for item in value[: _MAX_VALUES + 1])
        else:
            yield from _scalar_objections(value)
        if place.depth > MAX_DEPTH or values > _MAX_VALUES or subschemas > MAX_SUBSCHEMAS or patterns > MAX_PATTERNS:
            yield _too_large(place.depth, values, subschemas)
            return


def _too_large(depth: int, values: int, subschemas: int) -> Objection:
    if depth > MAX_DEPTH:
        what = f"is nested deeper than {MAX_DEPTH} levels"
    elif subschemas > MAX_SUBSCHEMAS:
        what = f"has more than {MAX_SUBSCHEMAS} subschemas"
    elif values > _MAX_VALUES:
        what = f"holds more than {_MAX_VALUES} values"
    else:
        what = f"has more than {MAX_PATTERNS} patterns"
    return Objection(QuarantineReason.SCHEMA_TOO_LARGE, what)


def _scalar_objections(value: Json) -> Iterator[Objection]:
    if isinstance(value, float) and not math.isfinite(value):
        yield Objection(QuarantineReason.MALFORMED, "holds a number that is none (NaN or infinity)")
    elif isinstance(value, str) and not value.isascii() and _has_surrogate(value):
        yield Objection(QuarantineReason.MALFORMED, "holds half of a surrogate pair")


def _key_objections(entries: JsonObject) -> Iterator[Objection]:
    for key in entries:
        if not key.isascii() and _has_surrogate(key):
            yield Objection(QuarantineReason.MALFORMED, "holds half of a surrogate pair in a key")


def _reference_objections(schema: JsonObject) -> Iterator[Objection]:
    for keyword in REFERENCES & schema.keys():
        target = schema[keyword]
        if isinstance(target, str) and not target.startswith("#"):
            yield Objection(QuarantineReason.REMOTE_REF, f"refers to {target[:200]!r}, outside of itself")


def _patterns_of(schema: JsonObject) -> list[str]:
    pattern, named = schema.get("pattern"), schema.get("patternProperties")
    patterns = [pattern] if isinstance(pattern, str) else []
    if isinstance(named, dict):
        patterns.extend(cast("JsonObject", named))
    return patterns


def _pattern_objections(patterns: list[str]) -> Iterator[Objection]:
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
            items = value
            yield from (_Place(entry, depth + 1, schema=True) for entry in items)
        else:
            yield _Place(value, depth, schema=key in ONE_SCHEMA)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
