"""Where in a JSON Schema another schema stands, as a table; the walkers that need it use it.

A property that happens to be called `description` or `title` is not prose: only keywords of a schema are. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from remit.core.canonical import Json, JsonObject

__all__ = ["LIST_OF_SCHEMAS", "MAP_OF_SCHEMAS", "ONE_SCHEMA", "PROSE", "without_prose"]

ONE_SCHEMA = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
"""Keywords whose value is a schema (`items` may also be a list of them in draft-07)."""

LIST_OF_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
"""Keywords whose value is a list of schemas."""

MAP_OF_SCHEMAS = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose value maps names to schemas."""

PROSE = frozenset({"title", "description", "$comment", "examples"})
"""Keywords that say nothing about which values are valid."""


def without_prose(schema: Json) -> Json:
    """The schema without its prose keywords, at every depth where a schema stands; anything else comes back as it is.

    Recurses once a level: callers cap the depth of what a server sends before they come here.
    """
    if not isinstance(schema, Mapping):
        return schema
    document = cast("JsonObject", schema)
    return {key: _stripped(key, value) for key, value in document.items() if key not in PROSE}


def _stripped(keyword: str, value: Json) -> Json:
    if keyword in MAP_OF_SCHEMAS and isinstance(value, Mapping):
        entries = cast("JsonObject", value)
        return {name: without_prose(entry) for name, entry in entries.items()}
    if keyword in LIST_OF_SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
        return [without_prose(entry) for entry in cast("Sequence[Json]", value)]
    if keyword in ONE_SCHEMA:
        return without_prose(value)
    return value
