"""How often a JSON Schema applies to one value when nothing is remembered: the work of listing every problem in it.

Decides whether alternatives multiply from level to level, through references that several of them share: a schema of ten
lines can ask for 2^60 applications to a value of sixty levels. A validator that only gives its verdict remembers what it
has seen; one that lists problems makes each of them again (measured with jsonschema-rs 0.61: 4 s at 14 levels). Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from remit.core.canonical import Json, JsonObject
from remit.core.schema_refs import DEFINITIONS, follow, schemas_in

__all__ = ["Weight", "most_applied", "multiplies", "weight_of"]

_IN_PLACE = frozenset({"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"})
"""Keywords whose schemas apply to the very value that their own schema applies to."""

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_MOST_IN_PLACE = 5_000
_MOST_APPLIED = 3_000
"""Applications that are never too many: a quarter of a second for a list of all problems."""
_MOST_REPEATED = 4
_MOST_PAIRS = 20_000

_Pair: TypeAlias = tuple[int, int]
"""A schema and a value, by identity."""


@dataclass(frozen=True, slots=True)
class Weight:
    """What a schema makes of a value: `applied` is its `most_applied`, `referring` the schema where it holds references."""

    applied: int
    referring: JsonObject | None


def weight_of(schema: JsonObject) -> Weight:
    """What listing the problems of a value under a schema may cost."""
    return Weight(most_applied(schema), schema if _refers(schema) else None)


def most_applied(schema: JsonObject) -> int:
    """The most subschemas that apply to one value, in place and behind references; 5,000 at most."""
    costs: dict[int, int] = {}
    pending: list[tuple[JsonObject, bool]] = [(schema, False)]
    while pending:
        node, is_left = pending.pop()
        if is_left:
            in_place = (costs.get(id(part), 1) for part, applies_here in _parts_of(schema, node) if applies_here)
            costs[id(node)] = min(_MOST_IN_PLACE, 1 + sum(in_place))
        elif id(node) not in costs:
            costs[id(node)] = 1
            pending.append((node, True))
            pending.extend((part, False) for part, _ in _parts_of(schema, node))
    return max(costs.values())


def _parts_of(root: JsonObject, node: JsonObject) -> Iterator[tuple[JsonObject, bool]]:
    for keyword, operand in node.items():
        for _, part in schemas_in(keyword, operand):
            if isinstance(part, Mapping):
                yield cast("JsonObject", part), keyword in _IN_PLACE
    found = follow(root, node["$ref"]) if "$ref" in node else None
    if found is not None and isinstance(found[1], Mapping):
        yield cast("JsonObject", found[1]), True


def _refers(schema: JsonObject) -> bool:
    """Whether anything in a schema refers to a schema elsewhere in it."""
    pending: list[Json] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            entries = cast("JsonObject", node)
            if _REFERENCES & entries.keys():
                return True
            pending.extend(entries.values())
        elif isinstance(node, Sequence) and not isinstance(node, str):
            pending.extend(node)
    return False


def multiplies(schema: JsonObject, value: Json) -> bool:
    """Whether a schema applies to the places of a value many times over; true too where that takes long to find out."""
    # How often below each pair, None while it is being counted.
    totals: dict[_Pair, int | None] = {}
    pending: list[tuple[JsonObject, Json, bool]] = [(schema, value, False)]
    while pending:
        node, place, is_left = pending.pop()
        pair = (id(node), id(place))
        if is_left:
            below = [totals[id(part), id(at)] for part, at in _below(schema, node, place)]
            # What is not counted yet comes back to itself without going into the value: it never ends.
            if None in below:
                return True
            totals[pair] = 1 + sum(total for total in below if total is not None)
        elif pair not in totals:
            totals[pair] = None
            if len(totals) > _MOST_PAIRS:
                return True
            pending.append((node, place, True))
            pending.extend((part, at, False) for part, at in _below(schema, node, place))
    total = totals[id(schema), id(value)] or 0
    return total > max(_MOST_APPLIED, _MOST_REPEATED * len(totals))


def _below(root: JsonObject, node: JsonObject, place: Json) -> Iterator[tuple[JsonObject, Json]]:
    """Every schema that a schema applies, with the value it applies it to; rather too many than too few."""
    for keyword, operand in node.items():
        if keyword in _REFERENCES:
            found = follow(root, operand)
            if found is not None and isinstance(found[1], Mapping):
                yield cast("JsonObject", found[1]), place
        elif keyword not in DEFINITIONS:
            for pointer, part in schemas_in(keyword, operand):
                if isinstance(part, Mapping):
                    for at in _places(keyword, pointer, place):
                        yield cast("JsonObject", part), at


def _places(keyword: str, pointer: Sequence[str | int], place: Json) -> Sequence[Json]:
    if keyword in _IN_PLACE:
        return (place,)
    if isinstance(place, Mapping):
        members = cast("JsonObject", place)
        if keyword == "properties":
            return (members[str(pointer[0])],) if pointer[0] in members else ()
        return tuple(members.values())
    return place if isinstance(place, Sequence) and not isinstance(place, str) else ()
