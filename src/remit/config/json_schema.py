"""The JSON schemas of mcp.yaml and of overlays, for editors: completion, explanations on hover, red lines before a commit.

Decides how layout.py's table reads in JSON Schema, and where an overlay may delete and add. Draft 7, as yaml-language-server goes no further: `definitions`, no
`prefixItems`. It is looser than `remit validate`, which also sees what keys mean together, and never stricter.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from typing import assert_never, cast

from remit.config.layout import MCP_FILE
from remit.config.overlays import DELETE, NEW
from remit.config.relaxing import OVERLAY_FILE, is_entry
from remit.config.shapes import (
    Choice,
    Constant,
    Days,
    Flag,
    ListOf,
    MapOf,
    Number,
    Record,
    Shape,
    Text,
    TextOr,
    Variant,
)
from remit.core.canonical import Json

__all__ = ["mcp_schema", "overlay_schema"]


def mcp_schema() -> dict[str, Json]:
    """The schema as a JSON document; `schemas/mcp.schema.json` holds it with two spaces of indent and a line end."""
    definitions = _Definitions(deleting=False)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "mcp.yaml",
        "description": "The MCP servers, policies and assistants of one remit workspace.",
        **_record(MCP_FILE, definitions),
        "definitions": dict(sorted(definitions.items())),
    }


def overlay_schema() -> dict[str, Json]:
    """The schema of envs/NAME.yaml; `schemas/overlay.schema.json` holds it as the other one is held."""
    definitions = _Definitions(deleting=True)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "envs/NAME.yaml",
        "description": "What differs in one environment: mappings merge, lists are replaced, entries with a name merge by it.",
        **_record(OVERLAY_FILE, definitions),
        "definitions": dict(sorted(definitions.items())),
    }


class _Definitions(dict[str, Json]):
    """Definitions by title. While `deleting`, mappings take `$delete` and entries of lists `$new` as well."""

    def __init__(self, *, deleting: bool):
        super().__init__()
        self.deleting = deleting

    def deletion(self) -> dict[str, Json]:
        """The property that a mapping has beside its own."""
        return {DELETE: {"description": "Keys of this mapping to delete.", **_KEYS}} if self.deleting else {}

    @contextmanager
    def whole(self) -> Generator[None]:
        """Within it nothing can be deleted from what is replaced as a whole."""
        before, self.deleting = self.deleting, False
        yield
        self.deleting = before

    def allow_entries(self, title: str) -> None:
        """Let what stands in a list be deleted as a whole, or be new."""
        record = cast("dict[str, Json]", self[title])
        record["properties"] = {
            **cast("dict[str, Json]", record["properties"]),
            DELETE: {
                "description": "true: the entry is deleted. A list: these keys of it are.",
                "anyOf": [{"const": True}, _KEYS],
            },
            NEW: {"description": "true: only this environment has the entry.", "const": True},
        }


_KEYS: dict[str, Json] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}


def _schema(shape: Shape, definitions: _Definitions) -> dict[str, Json]:
    match shape:
        case Record() | Variant():
            return _definition(shape, definitions)
        case ListOf():
            return _list(shape, definitions)
        case MapOf():
            return _map(shape, definitions)
        case Text():
            return _text(shape)
        case TextOr():
            return {"anyOf": [_text(shape.text), _definition(shape.record, definitions)]}
        case Flag() | Number() | Days() | Constant() | Choice():
            return _scalar(shape)
        case _:
            assert_never(shape)


def _scalar(shape: Flag | Number | Days | Constant | Choice) -> dict[str, Json]:
    match shape:
        case Flag():
            return {"type": "boolean"}
        case Number():
            return {"type": "number", "exclusiveMinimum": 0, "maximum": shape.maximum}
        case Days():
            return {"type": "integer", "minimum": 0, "maximum": shape.maximum}
        case Constant():
            return {"type": "integer", "const": shape.value}
        case Choice():
            return {"type": "string", "enum": list(shape.values)}
        case _:
            assert_never(shape)


def _definition(shape: Record | Variant, definitions: _Definitions) -> dict[str, Json]:
    if shape.title not in definitions:
        definitions[shape.title] = {}
        match shape:
            case Record():
                definitions[shape.title] = _record(shape, definitions)
            case Variant():
                # An overlay replaces it as a whole.
                with definitions.whole():
                    records: list[Json] = [_definition(record, definitions) for record in shape.records.values()]
                definitions[shape.title] = {"description": shape.description, "oneOf": records}
    return {"$ref": f"#/definitions/{shape.title}"}


def _record(shape: Record, definitions: _Definitions) -> dict[str, Json]:
    properties = {
        key: _described(_schema(field.shape, definitions), field.description) for key, field in shape.fields.items()
    }
    properties |= definitions.deletion()
    required = [key for key, field in shape.fields.items() if field.required]
    schema: dict[str, Json] = {"type": "object", "additionalProperties": False, "properties": properties}
    if required:
        schema["required"] = required
    if shape.either:
        schema["oneOf"] = [{"required": [key]} for key in shape.either]
    return schema


def _described(schema: Mapping[str, Json], description: str) -> dict[str, Json]:
    # In draft 7 whatever stands beside $ref is ignored, so the reference moves one level down.
    if "$ref" in schema:
        return {"description": description, "allOf": [schema]}
    return {"description": description, **schema}


def _text(shape: Text) -> dict[str, Json]:
    schema: dict[str, Json] = {
        "type": ["string", "null"] if shape.nullable else "string",
        "maxLength": shape.max_length,
    }
    if shape.pattern:
        schema["pattern"] = f"^(?:{shape.pattern})$"
    return schema


def _map(shape: MapOf, definitions: _Definitions) -> dict[str, Json]:
    names: dict[str, Json] = _text(shape.key)
    schema: dict[str, Json] = {"type": "object", "propertyNames": names}
    if deletion := definitions.deletion():
        schema |= {"propertyNames": {"anyOf": [{"const": DELETE}, names]}, "properties": deletion}
    return {**schema, "additionalProperties": _schema(shape.value, definitions)}


def _list(shape: ListOf, definitions: _Definitions) -> dict[str, Json]:
    with nullcontext() if is_entry(shape.item) else definitions.whole():
        schema: dict[str, Json] = {"type": "array", "items": _schema(shape.item, definitions)}
    if definitions.deleting and isinstance(shape.item, Record) and is_entry(shape.item):
        definitions.allow_entries(shape.item.title)
    if shape.at_least_one:
        schema["minItems"] = 1
    if shape.unique:
        schema["uniqueItems"] = True
    return schema
