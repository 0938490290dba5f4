"""JSON Schemas (draft 2020-12) of what commands print with `--format json`, derived from the types that the documents are
written as.

Decides nothing: a document and its schema are one `TypedDict`, so neither can change without the other. Every object is
closed and requires every key that its type requires. What `plan_schema.py` says by hand of the parts of a plan is taken
from there. `Annotated[str, SomeEnum]` says that a text is one of the enum's words.
"""

import re
import types
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ForwardRef, Literal, NotRequired, Union, cast, get_args, get_origin, is_typeddict

from remit.core.canonical import Json
from remit.render import shapes
from remit.render.plan_schema import plan_definitions

__all__ = ["document_schema"]

_Schema = dict[str, Any]

_PLAIN: Mapping[object, _Schema] = {
    None: {"type": "null"},
    type(None): {"type": "null"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
}

_ANY: object = Json
"""The alias of any JSON value: a text, as it stands in itself."""

_WRITTEN: Mapping[object, str] = {
    shapes.SourceDocument: "source",
    shapes.ProblemDocument: "problem",
    shapes.LastGoodDocument: "last_good",
    shapes.EnvelopeDocument: "envelope",
    shapes.DefinitionDocument: "definition",
    shapes.ServerState: "server",
    shapes.ChangeDocument: "change",
    shapes.RiskDocument: "risk",
    shapes.PlanDocument: "plan",
    **dict.fromkeys(get_args(shapes.OperationDocument), "operation"),
}
"""Documents that `plan_schema.py` describes, by the name of their definition there."""


def document_schema(title: str, description: str, documents: Sequence[type]) -> _Schema:
    """The schema of a text that is one of these documents, `TypedDict` types all; made anew at each call.

    Raises TypeError for a type that has no place in a document, and where two types would get one name.
    """
    parts = _Parts()
    if len(documents) == 1 and documents[0] not in _WRITTEN:
        whole = parts.closed(documents[0])
        whole.pop("description")
    else:
        whole = {"anyOf": [parts.schema_of(each) for each in documents]}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "description": description}
    return {**head, **whole, "$defs": parts.definitions}


class _Parts:
    """The definitions that a schema refers to, found while it is made."""

    def __init__(self) -> None:
        self.definitions: dict[str, _Schema] = {}
        self._written = plan_definitions()
        self._named: dict[str, object] = {}

    def schema_of(self, hint: object) -> _Schema:
        """What the type of one value allows."""
        if hint in _PLAIN:
            return dict(_PLAIN[hint])
        if hint == _ANY or (isinstance(hint, ForwardRef) and hint.__forward_arg__ == _ANY):
            return {}
        if is_typeddict(hint):
            return self._reference(cast("type", hint))
        return self._composed(hint, get_args(hint))

    def _composed(self, hint: object, arguments: tuple[object, ...]) -> _Schema:
        origin = get_origin(hint)
        if origin is Annotated:
            return _words(arguments[1:])
        if origin is NotRequired:
            return self.schema_of(arguments[0])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (Union, types.UnionType):
            return self._any_of(arguments)
        if origin in (list, Sequence):
            return {"type": "array", "items": self.schema_of(arguments[0])}
        if origin in (dict, Mapping):
            return self._map_of(arguments[1])
        raise TypeError(f"no part of a document: {hint!r}")

    def _any_of(self, hints: Sequence[object]) -> _Schema:
        found: list[_Schema] = []
        for hint in hints:
            schema = self.schema_of(hint)
            found += [] if schema in found else [schema]
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _map_of(self, hint: object) -> _Schema:
        values = self.schema_of(hint)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}

    def _reference(self, document: type) -> _Schema:
        name = _WRITTEN.get(document) or _name_of(document)
        if self._named.setdefault(name, document) is not document and document not in _WRITTEN:
            raise TypeError(f"two parts of one document are called {name}")
        if document in _WRITTEN:
            self._take(name)
        elif name not in self.definitions:
            # Its place is taken before its members are looked at, so that a type may stand inside itself.
            self.definitions[name] = {}
            self.definitions[name] = self.closed(document)
        return {"$ref": f"#/$defs/{name}"}

    def closed(self, document: type) -> _Schema:
        """The object of a `TypedDict`. Its hints are not resolved by name: `Json` names itself, without end."""
        properties = {key: self._member(key, hint) for key, hint in document.__annotations__.items()}
        required = cast("frozenset[str]", vars(document)["__required_keys__"])
        return {
            "type": "object",
            "description": document.__doc__ or "",
            "additionalProperties": False,
            "required": [key for key in properties if key in required],
            "properties": properties,
        }

    def _member(self, key: str, hint: object) -> _Schema:
        return {"const": shapes.FORMAT_VERSION} if key == "format_version" else self.schema_of(hint)

    def _take(self, name: str) -> None:
        """Take over a definition of a plan, with those that it refers to."""
        if name in self.definitions:
            return
        self.definitions[name] = self._written[name]
        for other in _references(self._written[name]):
            self._take(other)


def _words(extras: Sequence[object]) -> _Schema:
    enums = [each for each in extras if isinstance(each, type) and issubclass(each, StrEnum)]
    return {"enum": [word.value for enum in enums for word in enum]}


def _name_of(document: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", document.__name__.strip("_").removesuffix("Document")).lower()


def _references(schema: object) -> list[str]:
    if isinstance(schema, list):
        return [name for each in cast("list[object]", schema) for name in _references(each)]
    if not isinstance(schema, dict):
        return []
    members = cast("dict[str, object]", schema)
    own = members.get("$ref")
    found = [name for each in members.values() for name in _references(each)]
    return [*found, own.removeprefix("#/$defs/")] if isinstance(own, str) else found
