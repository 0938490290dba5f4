"""When a keyword that holds no schema lets through everything that it, or its absence, let through before.

A table of rules: `BOUND_RULES[keyword](old, new)` is True where no instance that `old` accepts is rejected by this keyword
of `new`. The rules know JSON Schema's numbers (1 and 1.0 are one number, True is none) and compare integers exactly. They do
not follow references and do not know in which direction a change counts (core/schema_rules.py). Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from remit.core.canonical import Json, JsonObject, canonical_json

__all__ = ["BOUND_RULES", "UNORDERED", "BoundRule", "plain_numbers", "same_json", "value_key"]

BoundRule: TypeAlias = Callable[[JsonObject, JsonObject], bool]

UNORDERED = frozenset({"required", "enum", "type"})
"""Keywords whose list is a set: its order counts for a digest and means nothing."""

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
# A Python bool is an int and a str is a Sequence, so the order of the table decides.
_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (type(None), "null"), (bool, "boolean"), (int, "integer"), (str, "string"), (Mapping, "object"), (Sequence, "array")
)  # fmt: skip


def value_key(value: Json) -> str:
    """A text that is equal for two values exactly where JSON Schema calls them equal: 1.0 as 1, objects unordered."""
    return canonical_json(plain_numbers(value))


def same_json(left: Json, right: Json) -> bool:
    """Whether JSON Schema calls two values equal."""
    return value_key(left) == value_key(right)


def plain_numbers(value: Json) -> Json:
    """The value with whole floats as integers, at every depth: 1 and 1.0 are one number in JSON Schema."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: plain_numbers(entry) for key, entry in cast("JsonObject", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_numbers(entry) for entry in cast("Sequence[Json]", value)]
    return value


def _number(schema: JsonObject, keyword: str) -> int | float | None:
    value = schema.get(keyword)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _unchanged(keyword: str, old: JsonObject, new: JsonObject) -> bool:
    return keyword in old and same_json(old[keyword], new[keyword])


def _floor(keyword: str, *, start: int) -> BoundRule:
    """A lower limit may sink; where it is absent it is `start`."""

    def rule(old: JsonObject, new: JsonObject) -> bool:
        if keyword not in new:
            return True
        after, before = _number(new, keyword), _number(old, keyword)
        if after is None or (before is None and keyword in old):
            return _unchanged(keyword, old, new)
        return after <= (start if before is None else before)

    return rule


def _ceiling(keyword: str) -> BoundRule:
    """An upper limit may rise; where it is absent there is none."""

    def rule(old: JsonObject, new: JsonObject) -> bool:
        if keyword not in new:
            return True
        after, before = _number(new, keyword), _number(old, keyword)
        return _unchanged(keyword, old, new) if after is None or before is None else after >= before

    return rule


def _limit(keyword: str, inclusive: str, exclusive: str, *, sign: int) -> BoundRule:
    """A limit of numbers follows from either kind of old limit: `exclusiveMinimum: 0` from `minimum: 1`."""

    def rule(old: JsonObject, new: JsonObject) -> bool:
        if keyword not in new or _unchanged(keyword, old, new):
            return True
        after = _number(new, keyword)
        if after is None:
            return False
        closed, opened = _number(old, inclusive), _number(old, exclusive)
        if opened is not None and sign * opened >= sign * after:
            return True
        if closed is None:
            return False
        return sign * closed >= sign * after if keyword == inclusive else sign * closed > sign * after

    return rule


def _kept_or_removed(keyword: str) -> BoundRule:
    def rule(old: JsonObject, new: JsonObject) -> bool:
        return keyword not in new or _unchanged(keyword, old, new)

    return rule


def _multiple_of(old: JsonObject, new: JsonObject) -> bool:
    if "multipleOf" not in new or _unchanged("multipleOf", old, new):
        return True
    after, before = _number(new, "multipleOf"), _number(old, "multipleOf")
    return isinstance(after, int) and isinstance(before, int) and after > 0 and before % after == 0


def _unique_items(old: JsonObject, new: JsonObject) -> bool:
    return new.get("uniqueItems", False) is False or _unchanged("uniqueItems", old, new)


def _names(value: Json) -> frozenset[str] | None:
    if value is None:
        return frozenset()
    if isinstance(value, Sequence) and not isinstance(value, str):
        entries = cast("Sequence[Json]", value)
        names = frozenset(entry for entry in entries if isinstance(entry, str))
        return names if all(isinstance(entry, str) for entry in entries) else None
    return None


def _required(old: JsonObject, new: JsonObject) -> bool:
    after, before = _names(new.get("required")), _names(old.get("required"))
    if after is None or before is None:
        return "required" not in new or _unchanged("required", old, new)
    return after <= before


def _dependent_required(old: JsonObject, new: JsonObject) -> bool:
    before, after = old.get("dependentRequired", {}), new.get("dependentRequired", {})
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return False
    had, has = cast("JsonObject", before), cast("JsonObject", after)
    return all(_required({"required": had.get(name)}, {"required": names}) for name, names in has.items())


def _possible_values(schema: JsonObject) -> dict[str, Json] | None:
    """The values that enum, const or a type of few values leave, by their key; None where there is no end of them."""
    kinds: Mapping[Json, list[Json]] = {"null": [None], "boolean": [False, True]}
    declared = schema.get("enum")
    if isinstance(declared, Sequence) and not isinstance(declared, str):
        values = {value_key(value): value for value in cast("Sequence[Json]", declared)}
        const = value_key(schema["const"]) if "const" in schema else None
        return values if const is None else {key: value for key, value in values.items() if key == const}
    if "const" in schema:
        return {value_key(schema["const"]): schema["const"]}
    kind = schema.get("type")
    few = kinds.get(kind) if isinstance(kind, str) else None
    return None if few is None else {value_key(value): value for value in few}


def _enum(old: JsonObject, new: JsonObject) -> bool:
    if "enum" not in new:
        return True
    allowed, values = new["enum"], _possible_values(old)
    if values is None or not isinstance(allowed, Sequence) or isinstance(allowed, str):
        return False
    return values.keys() <= {value_key(value) for value in cast("Sequence[Json]", allowed)}


def _const(old: JsonObject, new: JsonObject) -> bool:
    values = _possible_values(old)
    return "const" not in new or (values is not None and values.keys() <= {value_key(new["const"])})


def _type_of(value: Json) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return next(name for kind, name in _TYPE_NAMES if isinstance(value, kind))


def _declared_types(schema: JsonObject) -> frozenset[str]:
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    return _TYPES if declared is None else (_names(declared) or frozenset({"?"}))


def _types(schema: JsonObject) -> frozenset[str]:
    declared, values = _declared_types(schema), None
    if "enum" in schema or "const" in schema:
        values = _possible_values(schema)
    if values is None:
        return declared
    present = frozenset(_type_of(value) for value in values.values())
    return present if declared is _TYPES else present & _with_integer(declared)


def _with_integer(types: frozenset[str]) -> frozenset[str]:
    return types | {"integer"} if "number" in types else types


def _type(old: JsonObject, new: JsonObject) -> bool:
    if "type" not in new:
        return True
    return _types(old) <= _with_integer(_declared_types(new))


BOUND_RULES: Mapping[str, BoundRule] = {
    "const": _const,
    "dependentRequired": _dependent_required,
    "enum": _enum,
    "exclusiveMaximum": _limit("exclusiveMaximum", "maximum", "exclusiveMaximum", sign=-1),
    "exclusiveMinimum": _limit("exclusiveMinimum", "minimum", "exclusiveMinimum", sign=1),
    "maxContains": _ceiling("maxContains"),
    "maxItems": _ceiling("maxItems"),
    "maxLength": _ceiling("maxLength"),
    "maxProperties": _ceiling("maxProperties"),
    "maximum": _limit("maximum", "maximum", "exclusiveMaximum", sign=-1),
    "minContains": _floor("minContains", start=1),
    "minItems": _floor("minItems", start=0),
    "minLength": _floor("minLength", start=0),
    "minProperties": _floor("minProperties", start=0),
    "minimum": _limit("minimum", "minimum", "exclusiveMinimum", sign=1),
    "multipleOf": _multiple_of,
    "pattern": _kept_or_removed("pattern"),
    "required": _required,
    "type": _type,
    "uniqueItems": _unique_items,
}
"""Every keyword that holds no schema, with its rule."""
