"""Whether one JSON Schema lets through everything that another one does.

Decides conservatively: True is a promise that every instance the old schema accepts is accepted by the new one, False
only says that no rule shows it. A schema is the conjunction of its keywords, so it is enough that each keyword of the new
one follows from the old one; the rules are a table. It does not say what the answer means for an input or an output
(core/changes.py does).

Two readings beyond JSON Schema, both about a tool's arguments: where a schema lists properties and says nothing about
others, others count as refused, because remit refuses them (DESIGN.md section 10); and for an output a new property is
welcome, a missing one is not. Pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias, cast

from remit.core.canonical import Json, JsonObject, canonical_json
from remit.core.schema_bounds import BOUND_RULES, UNORDERED, same_json, value_key
from remit.core.schema_refs import ASSERTS_NOTHING, DEFINITIONS, Dialect, SchemaDocument
from remit.core.schema_walk import LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA, without_prose

__all__ = ["Comparison", "accepts_anything", "asserts_nothing"]

_ANYTHING: JsonObject = {}
_MOST_PAIRS = 20_000
_DEEPEST = 80


class _Closed(Enum):
    """The additional properties of a schema that lists properties and does not mention others."""

    CLOSED = "closed"


_Additional: TypeAlias = "Json | _Closed"
_Pair: TypeAlias = tuple[int, int]


def asserts_nothing(keyword: str) -> bool:
    """Whether no value is ever rejected for this keyword alone."""
    return keyword in ASSERTS_NOTHING or keyword in DEFINITIONS or keyword.startswith("x-")


def accepts_anything(schema: Json) -> bool:
    """Whether a schema asserts nothing at all."""
    if isinstance(schema, Mapping):
        return all(asserts_nothing(keyword) for keyword in schema)
    return schema is True


class Comparison:
    """The old and the new document of one part of a definition, with what was found out about pairs of their schemas.

    `old` is the document whose instances must be accepted, `new` the one that must accept them; for an output the caller
    swaps before and after. The work is bounded: past 20,000 pairs or 80 levels the answer is False.
    """

    def __init__(self, old: SchemaDocument, new: SchemaDocument, *, output: bool = False):
        self.old = old
        self.new = new
        self.output = output
        self._known: dict[_Pair, bool] = {}
        self._edits: dict[tuple[str, int, int], bool] = {}
        self._identical: dict[_Pair, bool] = {}
        self._views: dict[int, JsonObject] = {}
        self._assumed: list[_Pair] = []
        self._pairs_left = _MOST_PAIRS
        self._depth = 0

    def widens(self, old: Json, new: Json) -> bool:
        """Whether `new`, a place of the new document, accepts whatever `old`, a place of the old one, accepts.

        A pair met again below itself counts as True: a recursive schema is left only through its other keywords. What was
        concluded from such an assumption is forgotten when the assumption fails.
        """
        if new is True or old is False:
            return True
        before = _ANYTHING if old is True else old
        if not isinstance(before, Mapping) or not isinstance(new, Mapping):
            return new is not False and same_json(old, new)
        pair = (id(before), id(new))
        if pair in self._known:
            return self._known[pair]
        if self._pairs_left <= 0 or self._depth >= _DEEPEST:
            return False
        self._pairs_left -= 1
        return self._decided(pair, cast("JsonObject", before), cast("JsonObject", new))

    def _decided(self, pair: _Pair, old: JsonObject, new: JsonObject) -> bool:
        mark = len(self._assumed)
        self._known[pair] = True
        self._assumed.append(pair)
        self._depth += 1
        answer = self._follows(old, new)
        self._depth -= 1
        if not answer:
            for conclusion in self._assumed[mark:]:
                del self._known[conclusion]
            del self._assumed[mark:]
            self._known[pair] = False
        return answer

    def _follows(self, old: JsonObject, new: JsonObject) -> bool:
        before, after = self._view(self.old, old), self._view(self.new, new)
        if all(self.keyword_follows(keyword, before, after) for keyword in {**after, **before}):
            return True
        return self._follows_from_a_part(before, new)

    def _view(self, document: SchemaDocument, schema: JsonObject) -> JsonObject:
        # Pairs are known by identity, so a view must live as long as what was concluded about it.
        return self._views.setdefault(id(schema), document.view(schema))

    def _follows_from_a_part(self, old: JsonObject, new: JsonObject) -> bool:
        """An old schema is within its reference and each of its `allOf`, and within the union of its `anyOf`."""
        target = self.old.target(old.get("$ref"))
        if target is not None and self.widens(target[1], new):
            return True
        cases = _schemas(old.get("anyOf"))
        if cases and all(self.widens(case, new) for case in cases):
            return True
        return any(self.widens(part, new) for part in _schemas(old.get("allOf")))

    def keyword_follows(self, keyword: str, old: JsonObject, new: JsonObject) -> bool:
        """Whether one keyword of `new`, or its absence, rejects nothing that `old` accepts. Unknown ones must be equal."""
        if asserts_nothing(keyword):
            return True
        bound, rule = BOUND_RULES.get(keyword), _SCHEMA_RULES.get(keyword)
        follows = bound is not None and bound(old, new)
        if not follows and rule is not None:
            follows = rule(self, old, new)
        return follows or self.unchanged(keyword, old, new)

    def edit_follows(self, keyword: str, old: JsonObject, new: JsonObject) -> bool:
        """`keyword_follows`, remembered: a keyword with a thousand edited elements is judged once."""
        key = (keyword, id(old), id(new))
        if key not in self._edits:
            self._edits[key] = self.keyword_follows(keyword, old, new)
        return self._edits[key]

    def unchanged(self, keyword: str, old: JsonObject, new: JsonObject) -> bool:
        """Whether both sides say the same under a keyword, references resolved."""
        return keyword in old and keyword in new and self._same_value(keyword, old[keyword], new[keyword], set())

    def identical(self, old: Json, new: Json) -> bool:
        """Whether two places assert the same, word for word: remarks, spelling of numbers and names of references aside.

        The order of alternatives is no word either. Remembered, as every edit below a place asks about it again.
        """
        pair = (id(old), id(new))
        if pair not in self._identical:
            self._identical[pair] = self._same_schema(old, new, set())
        return self._identical[pair]

    def _same_schema(self, old: Json, new: Json, met: set[_Pair]) -> bool:
        if not isinstance(old, Mapping) or not isinstance(new, Mapping):
            return same_json(old, new)
        pair = (id(old), id(new))
        if pair in met:
            return True
        if self._pairs_left <= 0 or len(met) > _MOST_PAIRS or self._depth >= _DEEPEST:
            return False
        met.add(pair)
        self._pairs_left -= 1
        self._depth += 1
        before = self._view(self.old, cast("JsonObject", old))
        after = self._view(self.new, cast("JsonObject", new))
        keywords = {keyword for keyword in {**before, **after} if not asserts_nothing(keyword)}
        answer = all(
            keyword in before and keyword in after and self._same_value(keyword, before[keyword], after[keyword], met)
            for keyword in keywords
        )
        self._depth -= 1
        return answer

    def _same_value(self, keyword: str, old: Json, new: Json, met: set[_Pair]) -> bool:
        if keyword == "$ref":
            return self._same_target(old, new, met)
        if keyword == "$schema":
            return _dialect(self, {"$schema": old}, {"$schema": new})
        if keyword in UNORDERED and _is_list(old) and _is_list(new):
            return {value_key(entry) for entry in _schemas(old)} == {value_key(entry) for entry in _schemas(new)}
        before, after = _children(keyword, old), _children(keyword, new)
        if before is None or after is None:
            return same_json(old, new)
        if keyword in _ALTERNATIVES and _same_in_any_order(_schemas(old), _schemas(new)):
            return True
        return before.keys() == after.keys() and all(
            self._same_schema(before[step], after[step], met) for step in before
        )

    def _same_target(self, old: Json, new: Json, met: set[_Pair]) -> bool:
        before, after = self.old.target(old), self.new.target(new)
        if before is None or after is None:
            return before is after and same_json(old, new)
        return self._same_schema(before[1], after[1], met)

    def property_follows(self, name: str, old: JsonObject, new: JsonObject) -> bool:
        """Whether a property that is listed on either side takes every value it took before."""
        had, has = _entries(old.get("properties")), _entries(new.get("properties"))
        if name in had and name in has:
            return self.widens(had[name], has[name])
        if self.output:
            return name in had
        if name in had:
            return not _entries(new.get("patternProperties")) and self._fits(had[name], self.additional(new, old=False))
        others = self.additional(old, old=True)
        if _entries(old.get("patternProperties")):
            return accepts_anything(has[name])
        if isinstance(others, _Closed):
            return True
        return accepts_anything(has[name]) or self.widens(others, has[name])

    def _fits(self, schema: Json, others: "_Additional") -> bool:
        return self.widens(schema, False if isinstance(others, _Closed) else others)

    def additional(self, schema: JsonObject, *, old: bool) -> "_Additional":
        """What a schema says about properties that it does not list.

        Silence closes an input's root, and any of its schemas that lists properties, unless another schema lists
        properties of the same instance too; a bare nested object stays open.
        """
        if "additionalProperties" in schema:
            return schema["additionalProperties"]
        document = self.old if old else self.new
        lists = schema is document.root or "properties" in schema
        return _Closed.CLOSED if lists and not self.output and id(schema) in document.alone else True


_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf"})


def _same_in_any_order(old: Sequence[Json], new: Sequence[Json]) -> bool:
    """Whether two lists hold the same schemas. One with a reference counts as different: its name says nothing."""
    before, after = (sorted(canonical_json(without_prose(entry)) for entry in entries) for entries in (old, new))
    return before == after and not any('"$ref"' in text for text in before)


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _schemas(value: Json) -> Sequence[Json]:
    return cast("Sequence[Json]", value) if _is_list(value) else ()


def _entries(value: Json) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def _children(keyword: str, value: Json) -> Mapping[str | int, Json] | None:
    """The schemas that a keyword holds, by name or index (a single one under ""); None where it holds none."""
    if keyword in MAP_OF_SCHEMAS and isinstance(value, Mapping):
        return {**cast("Mapping[str | int, Json]", value)}
    if keyword in LIST_OF_SCHEMAS and _is_list(value):
        return dict(enumerate(_schemas(value)))
    return {"": value} if keyword in ONE_SCHEMA and isinstance(value, Mapping | bool) else None


def _aligned(branches: Sequence[Json], index: int) -> Iterable[Json]:
    """The branches, the one at the same index first, as most edits leave the order alone."""
    yield from branches[index : index + 1]
    yield from (branch for place, branch in enumerate(branches) if place != index)


def _all_of(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    before = _schemas(old.get("allOf"))
    return all(
        any(pair.widens(part, branch) for part in before[index : index + 1]) or pair.widens(old, branch)
        for index, branch in enumerate(_schemas(new.get("allOf")))
    )


def _any_of(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    if "anyOf" not in new:
        return True
    before, after = _schemas(old.get("anyOf")), _schemas(new.get("anyOf"))
    if before and all(
        any(pair.widens(case, branch) for branch in _aligned(after, index)) for index, case in enumerate(before)
    ):
        return True
    return any(pair.widens(old, branch) for branch in after)


def _properties(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    silent = "additionalProperties" not in old and "additionalProperties" not in new
    if silent and not _additional_properties(pair, old, new):
        return False
    names = {**_entries(old.get("properties")), **_entries(new.get("properties"))}
    return all(pair.property_follows(name, old, new) for name in names)


def _additional_properties(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    before, after = pair.additional(old, old=True), pair.additional(new, old=False)
    if isinstance(after, _Closed):
        return before is False or before is _Closed.CLOSED
    return accepts_anything(after) or (not isinstance(before, _Closed) and pair.widens(before, after))


def _pattern_properties(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    before, after = _entries(old.get("patternProperties")), _entries(new.get("patternProperties"))
    kept = before.keys() & after.keys()
    if after.keys() - kept or (before.keys() - kept and pair.additional(new, old=False) is not True):
        return False
    return all(pair.widens(before[pattern], after[pattern]) for pattern in kept)


def _dependent_schemas(keyword: str) -> "SchemaRule":
    """A condition may go; one that stays must demand no more. Up to draft-07 it may also be a list of names."""

    def rule(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
        before, after = _entries(old.get(keyword)), _entries(new.get(keyword))
        return all(name in before and _demands_no_more(pair, before[name], demand) for name, demand in after.items())

    return rule


def _demands_no_more(pair: Comparison, old: Json, new: Json) -> bool:
    if _is_list(old) and _is_list(new):
        return BOUND_RULES["required"]({"required": old}, {"required": new})
    return pair.widens(old, new)


def _items(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    """Every index, and what follows the listed ones, takes what it took before."""
    before, rest_before = _tuple_of(old, pair.old.dialect)
    after, rest_after = _tuple_of(new, pair.new.dialect)
    return pair.widens(rest_before, rest_after) and all(
        pair.widens(_at(before, index, rest_before), _at(after, index, rest_after))
        for index in range(max(len(before), len(after)))
    )


def _at(listed: Sequence[Json], index: int, rest: Json) -> Json:
    return listed[index] if index < len(listed) else rest


def _tuple_of(schema: JsonObject, dialect: Dialect) -> tuple[Sequence[Json], Json]:
    items = schema.get("items", True)
    if _is_list(items):
        return _schemas(items), schema.get("additionalItems", True)
    listed = () if dialect in {Dialect.DRAFT_7, Dialect.DRAFT_2019} else _schemas(schema.get("prefixItems"))
    return listed, items


def _contains(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    if "contains" not in new or "contains" not in old:
        return "contains" not in new
    counted = "maxContains" in old or "maxContains" in new
    return pair.unchanged("contains", old, new) or (not counted and pair.widens(old["contains"], new["contains"]))


def _one(keyword: str) -> "SchemaRule":
    """A schema that every instance, or every name, must satisfy; absent, it is satisfied."""

    def rule(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
        return pair.widens(old.get(keyword, True), new.get(keyword, True))

    return rule


def _branch(keyword: str) -> "SchemaRule":
    """`then` and `else` only mean something beside an `if`, which has a rule of its own."""

    def rule(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
        return keyword not in new or (keyword in old and pair.widens(old[keyword], new[keyword]))

    return rule


def _reference(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    if ("$ref" in old) != ("$ref" in new) and Dialect.DRAFT_7 in {pair.old.dialect, pair.new.dialect}:
        # Up to draft-07 a reference switches its neighbours off, so that its coming or going changes them all.
        return all(asserts_nothing(keyword) or keyword == "$ref" for keyword in {**old, **new})
    if "$ref" not in new:
        return True
    before, after = pair.old.target(old.get("$ref")), pair.new.target(new["$ref"])
    if after is None:
        return before is None and "$ref" in old and same_json(old["$ref"], new["$ref"])
    return (before is not None and pair.widens(before[1], after[1])) or (
        "$ref" not in old and pair.widens(old, after[1])
    )


def _dialect(pair: Comparison, old: JsonObject, new: JsonObject) -> bool:
    """Another dialect changes nothing for a schema that uses no keyword whose meaning differs between them."""
    if same_json(old.get("$schema"), new.get("$schema")) or pair.old.dialect is pair.new.dialect is not Dialect.UNKNOWN:
        return True
    known = Dialect.UNKNOWN not in {pair.old.dialect, pair.new.dialect}
    return known and not (pair.old.dialect_bound or pair.new.dialect_bound)


SchemaRule: TypeAlias = Callable[[Comparison, JsonObject, JsonObject], bool]

_SCHEMA_RULES: Mapping[str, SchemaRule] = {
    "$ref": _reference,
    "$schema": _dialect,
    "additionalItems": _items,
    "additionalProperties": _additional_properties,
    "allOf": _all_of,
    "anyOf": _any_of,
    "contains": _contains,
    "dependencies": _dependent_schemas("dependencies"),
    "dependentSchemas": _dependent_schemas("dependentSchemas"),
    "else": _branch("else"),
    "items": _items,
    "patternProperties": _pattern_properties,
    "prefixItems": _items,
    "properties": _properties,
    "propertyNames": _one("propertyNames"),
    "then": _branch("then"),
}
"""Every keyword that holds schemas and whose widening widens. `not`, `if`, `oneOf` and unknown ones must stay as they are."""
