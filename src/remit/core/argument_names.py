"""Which arguments a tool's schema names, so that a misspelt one is refused where JSON Schema would let it through.

Decides the overlay of DESIGN.md section 10, item 4: where a schema lists `properties` and says nothing about others, others
are unknown. It is right rather than strict: a name that any schema for that value knows, in whichever branch and behind
whichever local reference, is known, and a schema that is open anywhere (`additionalProperties` other than false,
`unevaluatedProperties` likewise, `patternProperties`, `propertyNames`, a reference that cannot be followed, an alternative
that takes any object) is open. What the schema itself forbids is the validator's. Pure.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from remit.core.canonical import Json, JsonObject
from remit.core.schema_refs import follow

__all__ = ["ArgumentNames", "UnknownArgument"]

_BRANCHES = ("anyOf", "oneOf")
_CONDITIONS = ("if", "then", "else", "not")
_DEPENDENT = ("dependentSchemas", "dependencies", "dependentRequired")
_OPENING = ("patternProperties", "propertyNames", "$dynamicRef", "$recursiveRef")
_CLOSABLE = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")

_MAX_APPLIED = 20_000
"""Schemas gathered for one value; a schema that applies more of them counts as open."""

_MAX_GROUPS = 2_000


@dataclass(frozen=True, slots=True)
class UnknownArgument:
    """A name that no schema for its object knows. `path` leads to the object, `known` are the names that it may have."""

    path: tuple[str | int, ...]
    name: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Group:
    """What the schemas that apply to one value say together. `judged`: other names than `known` are refused."""

    known: frozenset[str]
    judged: bool
    members: Mapping[str, tuple[Json, ...]]
    others: tuple[Json, ...]
    items: tuple[Json, ...]

    def below(self, step: str | int) -> tuple[Json, ...]:
        """The schemas for a member or an item."""
        return self.items if isinstance(step, int) else self.members.get(step, self.others)


class ArgumentNames:
    """The names of one input schema, gathered where a value needs them and remembered."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._groups: dict[tuple[int, ...], _Group | None] = {}
        self._root = self._group_of((schema,))

    def unknown(self, arguments: JsonObject) -> Iterator[UnknownArgument]:
        """Each argument that the schema does not name, at any depth, outer ones first."""
        pending: deque[tuple[Json, _Group, tuple[str | int, ...]]] = deque()
        if self._root is not None:
            pending.append((arguments, self._root, ()))
        while pending:
            value, group, path = pending.popleft()
            # dict first: the abstract class answers ten times slower, and arguments are dicts.
            if isinstance(value, dict | Mapping):
                members = cast("JsonObject", value)
                if group.judged and not members.keys() <= group.known:
                    yield from (UnknownArgument(path, name, group.known) for name in members if name not in group.known)
                for name, member in members.items():
                    if isinstance(member, dict | list) and (below := self._group_of(group.below(name))) is not None:
                        pending.append((member, below, (*path, name)))
            elif (below := self._group_of(group.items)) is not None:
                entries = enumerate(cast("Sequence[Json]", value))
                pending.extend((item, below, (*path, at)) for at, item in entries if isinstance(item, dict | list))

    def known_at(self, path: Sequence[str | int]) -> frozenset[str]:
        """The names that the schema knows for the object at a place."""
        group = self._root
        for step in path:
            group = None if group is None else self._group_of(group.below(step))
        return frozenset() if group is None else group.known

    def _group_of(self, schemas: tuple[Json, ...]) -> _Group | None:
        """The group of some schemas, or None where they say nothing about names, at any depth."""
        if not schemas:
            return None
        key = tuple(map(id, schemas))
        if key not in self._groups:
            if len(self._groups) >= _MAX_GROUPS:
                self._groups.clear()
            self._groups[key] = _Gathering(self._schema, schemas).group(is_root=schemas[0] is self._schema)
        return self._groups[key]


# --- gathering ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Scope:
    """A part of the schemas for one value: what always applies, one alternative, or (`silent`) what depends on the value.

    `lists`: it has properties. `takes_objects`: an object can be right for it.
    """

    around: "_Scope | None" = None
    alternative: bool = False
    silent: bool = False
    lists: bool = False
    lists_below: bool = False
    takes_objects: bool = True


class _Gathering:
    """The walk through every schema that applies to one value, in place and behind references."""

    def __init__(self, root: JsonObject, schemas: Sequence[Json]) -> None:
        self._root = root
        self._known: set[str] = set()
        self._members: dict[str, list[Json]] = {}
        self._others: list[Json] = []
        self._items: list[Json] = []
        self._opened = False
        always = _Scope()
        self._scopes = [always]
        self._pending: list[tuple[Json, _Scope]] = [(schema, always) for schema in schemas]
        self._walk()

    def group(self, *, is_root: bool) -> _Group | None:
        """What was gathered; None where it would never lead to an unknown name. An empty list of names counts at the root."""
        lists = any(scope.lists for scope in self._scopes if not scope.silent)
        judged = lists and not self._opened and (is_root or bool(self._known)) and not self._has_open_alternative()
        if not (judged or self._members or self._others or self._items):
            return None
        members = {name: _once(schemas) for name, schemas in self._members.items()}
        return _Group(frozenset(self._known), judged, members, _once(self._others), _once(self._items))

    def _walk(self) -> None:
        count = 0
        while self._pending:
            schema, scope = self._pending.pop()
            count += 1
            if count > _MAX_APPLIED:
                self._opened = True
                return
            if schema is False:
                scope.takes_objects = False
            if isinstance(schema, Mapping):
                self._read(cast("JsonObject", schema), scope)

    def _read(self, schema: JsonObject, scope: _Scope) -> None:
        self._read_names(schema, scope)
        self._read_openings(schema)
        if not _takes_objects(schema):
            scope.takes_objects = False
        for keyword in _ITEMS:
            if keyword in schema:
                self._items.extend(_listed(schema[keyword]))
        if "$ref" in schema:
            self._follow(schema["$ref"], scope)
        self._pending.extend((part, scope) for part in _listed(schema.get("allOf", ())))
        for keyword in _BRANCHES:
            for branch in _listed(schema.get(keyword, ())):
                self._enter(branch, _Scope(around=scope, alternative=True, silent=scope.silent))
        for keyword in _CONDITIONS:
            if keyword in schema:
                self._enter(schema[keyword], _Scope(around=scope, silent=True))
        for keyword in _DEPENDENT:
            self._read_dependent(schema.get(keyword), scope)

    def _enter(self, schema: Json, scope: _Scope) -> None:
        self._scopes.append(scope)
        self._pending.append((schema, scope))

    def _follow(self, reference: Json, scope: _Scope) -> None:
        found = follow(self._root, reference)
        if found is None:
            self._opened = True
        else:
            self._pending.append((found[1], scope))

    def _read_names(self, schema: JsonObject, scope: _Scope) -> None:
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            scope.lists = True
            around = scope.around
            while around is not None and not around.lists_below:
                around.lists_below = True
                around = around.around
            for name, entry in cast("JsonObject", properties).items():
                self._known.add(name)
                self._members.setdefault(name, []).append(entry)
        self._known.update(name for name in _listed(schema.get("required", ())) if isinstance(name, str))
        for value in _exact_values(schema) or ():
            self._known.update(cast("JsonObject", value) if isinstance(value, Mapping) else ())

    def _read_openings(self, schema: JsonObject) -> None:
        self._opened |= any(keyword in schema for keyword in _OPENING)
        # A schema with an id of its own is the base of the references in it, which are not followed here.
        self._opened |= "$id" in schema and schema is not self._root
        for keyword in _CLOSABLE:
            if schema.get(keyword, False) is not False:
                self._opened = True
                self._others.append(schema[keyword])
        patterns = schema.get("patternProperties")
        if isinstance(patterns, Mapping):
            self._others.extend(cast("JsonObject", patterns).values())

    def _read_dependent(self, value: Json, scope: _Scope) -> None:
        if isinstance(value, Mapping):
            for name, entry in cast("JsonObject", value).items():
                self._known.add(name)
                if isinstance(entry, Mapping):
                    self._enter(cast("JsonObject", entry), _Scope(around=scope, silent=True))
                self._known.update(other for other in _listed(entry) if isinstance(other, str))

    def _has_open_alternative(self) -> bool:
        """Whether some alternative takes objects and lists no names, where nothing around it lists any either."""
        return any(
            scope.alternative
            and scope.takes_objects
            and not (scope.silent or scope.lists or scope.lists_below)
            and not any(outer.lists for outer in _around(scope))
            for scope in self._scopes
        )


def _once(schemas: Sequence[Json]) -> tuple[Json, ...]:
    """Each schema once: references that alternatives share would double them with every level of a value."""
    return tuple({id(schema): schema for schema in schemas}.values())


def _around(scope: _Scope) -> Iterator[_Scope]:
    outer = scope.around
    while outer is not None:
        yield outer
        outer = outer.around


def _takes_objects(schema: JsonObject) -> bool:
    values = _exact_values(schema)
    kinds = _listed(schema.get("type", "object"))
    return "object" in kinds and (values is None or any(isinstance(value, Mapping) for value in values))


def _exact_values(schema: JsonObject) -> Sequence[Json] | None:
    """The values of const or enum, or None where neither is there."""
    return (schema["const"],) if "const" in schema else _listed(schema["enum"]) if "enum" in schema else None


def _listed(value: Json) -> Sequence[Json]:
    """The entries of a list, or a value that stands alone in place of one."""
    return cast("Sequence[Json]", value) if isinstance(value, list | tuple) else (value,)
