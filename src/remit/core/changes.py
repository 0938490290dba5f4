"""What a changed path of a definition means for the callers of the tool.

Decides the class of each path (DESIGN.md section 5): `text` is prose, `claims` is what a server says about itself in
annotations, `compatible` keeps every caller of the old contract valid, and the rest is `breaking`. An input widens safely, an
output narrows safely. It finds no paths (reconcile/diff.py does) and knows no policy. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from remit.core.canonical import Json, JsonObject, canonical_json
from remit.core.definition import Definition, DefinitionContent
from remit.core.operations import Change, ChangeClass
from remit.core.schema_bounds import UNORDERED
from remit.core.schema_refs import Pointer, Use, read_document
from remit.core.schema_rules import Comparison, asserts_nothing
from remit.core.schema_walk import LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA, PROSE, without_prose

__all__ = ["classes_of", "classify", "holds_a_set", "unexplained"]

_TEXT_PARTS = frozenset({"title", "description"})
_SCHEMA_PARTS = ("inputSchema", "outputSchema")
_Comparisons: TypeAlias = Mapping[str, Comparison]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a path leaves the schemas that both sides have.

    The last common schema, the keyword there and the rest of the path; `above` are the common schemas passed on the way.
    """

    pointer: Pointer
    keyword: str | None
    rest: Pointer
    old: Json
    new: Json
    above: tuple[tuple[Json, Json], ...]


def classify(before: Definition, after: Definition, paths: Sequence[Change]) -> tuple[Change, ...]:
    """The changes with their classes, in the order given. Paths start at the definition's root (`inputSchema`, ...).

    A path that leads nowhere is breaking.
    """
    comparisons = _comparisons(before.content(), after.content())
    return tuple(replace(change, change_class=_class_of(change, comparisons)) for change in paths)


def classes_of(changes: Iterable[Change]) -> frozenset[ChangeClass]:
    """The classes that occur."""
    return frozenset(change.change_class for change in changes if change.change_class is not None)


def unexplained(before: Definition, after: Definition, changes: Sequence[Change]) -> tuple[Change, ...]:
    """A breaking change at the root of each schema that breaks callers as a whole although no listed path does.

    The second opinion on a list of paths that is not complete: it judges the schemas without it.
    """
    comparisons = _comparisons(before.content(), after.content())
    broken = {change.path[0] for change in changes if change.change_class is ChangeClass.BREAKING}
    return tuple(
        Change(path=(part,), before=_before(pair), after=_after(pair), change_class=ChangeClass.BREAKING)
        for part, pair in comparisons.items()
        if part not in broken and not _whole_follows(pair)
    )


def holds_a_set(path: Sequence[str | int]) -> bool:
    """Whether a list at this path of a definition is a set: under required, enum or type where a schema stands."""
    if len(path) < 2 or path[0] not in _SCHEMA_PARTS or path[-1] not in UNORDERED:
        return False
    at = 1
    while at < len(path) - 1:
        keyword, following = path[at], path[at + 1]
        named = keyword in MAP_OF_SCHEMAS and isinstance(following, str)
        if named or (keyword in LIST_OF_SCHEMAS and isinstance(following, int)):
            at += 2
        elif keyword in ONE_SCHEMA:
            at += 1
        else:
            return False
    return at == len(path) - 1


def _comparisons(before: DefinitionContent, after: DefinitionContent) -> _Comparisons:
    """An output is judged with before and after swapped. No output schema is one that promises nothing."""
    output = (True if side.output_schema is None else side.output_schema for side in (after, before))
    old_output, new_output = (read_document(schema) for schema in output)
    return {
        "inputSchema": Comparison(read_document(before.input_schema), read_document(after.input_schema)),
        "outputSchema": Comparison(old_output, new_output, output=True),
    }


def _before(pair: Comparison) -> Json:
    return _shown(pair.new.root if pair.output else pair.old.root)


def _after(pair: Comparison) -> Json:
    return _shown(pair.old.root if pair.output else pair.new.root)


def _shown(root: Json) -> Json:
    return None if root is True else root


def _class_of(change: Change, comparisons: _Comparisons) -> ChangeClass:
    part = change.path[0] if change.path else None
    if part in _TEXT_PARTS:
        return ChangeClass.TEXT
    if part == "annotations":
        return ChangeClass.TEXT if change.path[1:2] == ("title",) else ChangeClass.CLAIMS
    if part not in _SCHEMA_PARTS:
        return ChangeClass.BREAKING
    pair = comparisons[str(part)]
    place = _locate(change.path[1:], pair)
    if place.keyword in PROSE or (not change.added and not change.removed and _differs_in_prose(place)):
        return ChangeClass.TEXT
    return ChangeClass.COMPATIBLE if _is_compatible(change, place, pair) else ChangeClass.BREAKING


def _locate(path: Pointer, pair: Comparison) -> _Place:
    at, old, new = 0, pair.old.root, pair.new.root
    above: list[tuple[Json, Json]] = []
    while at < len(path):
        length = _step(path[at:], old, new)
        if length == 0:
            keyword = path[at]
            named = keyword if isinstance(keyword, str) else None
            rest = path[at + 1 :]
            return _Place(pointer=path[:at], keyword=named, rest=rest, old=old, new=new, above=tuple(above))
        above.append((old, new))
        old, new = _walk(old, path[at : at + length]), _walk(new, path[at : at + length])
        at += length
    return _Place(pointer=path, keyword=None, rest=(), old=old, new=new, above=tuple(above))


def _step(path: Pointer, old: Json, new: Json) -> int:
    """How many keys lead to the next schema that stands on both sides; 0 where there is none."""
    keyword, following = path[0], path[1] if len(path) > 1 else None
    named = keyword in MAP_OF_SCHEMAS and isinstance(following, str)
    if named or (keyword in LIST_OF_SCHEMAS and isinstance(following, int)):
        return 2 if _both_schemas(path[:2], old, new) else 0
    return 1 if keyword in ONE_SCHEMA and _both_schemas(path[:1], old, new) else 0


def _both_schemas(path: Pointer, old: Json, new: Json) -> bool:
    return all(isinstance(_walk(side, path), Mapping | bool) for side in (old, new))


def _walk(node: Json, path: Pointer) -> Json:
    """The value at a path; None where there is none, which is no schema either."""
    for key in path:
        if isinstance(key, str):
            node = cast("JsonObject", node).get(key) if isinstance(node, Mapping) else None
        elif isinstance(node, Sequence) and not isinstance(node, str) and key < len(node):
            node = node[key]
        else:
            return None
    return node


def _differs_in_prose(place: _Place) -> bool:
    old, new = place.old, place.new
    if place.keyword is not None:
        old, new = _only(old, place.keyword), _only(new, place.keyword)
    return canonical_json(without_prose(old)) == canonical_json(without_prose(new))


def _only(schema: Json, keyword: str) -> Json:
    if isinstance(schema, Mapping):
        document = cast("JsonObject", schema)
        return {keyword: document[keyword]} if keyword in document else {}
    return schema


def _is_compatible(change: Change, place: _Place, pair: Comparison) -> bool:
    if place.keyword is not None and asserts_nothing(place.keyword):
        return True
    entangled = pair.old.entangled or pair.new.entangled
    uses = pair.old.uses.get(place.pointer, frozenset()) | pair.new.uses.get(place.pointer, frozenset())
    if entangled or Use.OPAQUE in uses:
        # Around an alternative that only moved stands a schema that says the same; where entangled, that proves nothing.
        around = ((place.old, place.new),) if entangled else (*place.above, (place.old, place.new))
        return any(pair.identical(old, new) for old, new in around) or _keyword_unchanged(place, pair)
    if Use.ASSERTED not in uses:
        return True
    # An edit is harmless where a schema around it follows as a whole: a branch of an anyOf that only moved.
    whole = any(pair.widens(old, new) for old, new in (*place.above, (place.old, place.new)))
    return whole or _edit_follows(change, place, pair)


def _keyword_unchanged(place: _Place, pair: Comparison) -> bool:
    if place.keyword is None or not isinstance(place.old, Mapping) or not isinstance(place.new, Mapping):
        return False
    return pair.unchanged(place.keyword, cast("JsonObject", place.old), cast("JsonObject", place.new))


def _edit_follows(change: Change, place: _Place, pair: Comparison) -> bool:
    """One edit among several of a schema that as a whole does not follow."""
    keyword = place.keyword
    if keyword is None or not isinstance(place.old, Mapping) or not isinstance(place.new, Mapping):
        return False
    old, new = cast("JsonObject", place.old), cast("JsonObject", place.new)
    if keyword == "properties" and len(place.rest) == 1 and isinstance(place.rest[0], str):
        return pair.property_follows(place.rest[0], old, new)
    if pair.edit_follows(keyword, old, new):
        return True
    return keyword in old and keyword in new and _element_follows(change, keyword, place.rest, pair)


def _element_follows(change: Change, keyword: str, rest: Pointer, pair: Comparison) -> bool:
    added, removed = (change.removed, change.added) if pair.output else (change.added, change.removed)
    if (keyword in {"enum", "type"} and not rest) or (keyword == "anyOf" and len(rest) == 1):
        return added
    if (keyword == "required" and not rest) or (keyword in {"allOf", "dependentSchemas"} and len(rest) == 1):
        return removed
    return False


def _whole_follows(pair: Comparison) -> bool:
    if pair.old.entangled or pair.new.entangled:
        return pair.identical(pair.old.root, pair.new.root)
    return pair.widens(pair.old.root, pair.new.root)
