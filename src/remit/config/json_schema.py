"""The JSON schema of mcp.yaml, for editors: completion, explanations on hover, red lines before a commit.

Decides how layout.py's table reads in JSON Schema. Draft 7, as yaml-language-server goes no further: `definitions`, no
`prefixItems`. It is looser than `remit validate`, which also sees what keys mean together, and never stricter.
"""

from collections.abc import Mapping
from typing import assert_never

from remit.config.layout import MCP_FILE
from remit.config.shapes import Choice, Constant, Days, Flag, ListOf, MapOf, Number, Record, Shape, Text, Variant
from remit.core.canonical import Json

__all__ = ["mcp_schema"]


def mcp_schema() -> dict[str, Json]:
    """The schema as a JSON document; `schemas/mcp.schema.json` holds it with two spaces of indent and a line end."""
    definitions: dict[str, Json] = {}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "mcp.yaml",
        "description": "The MCP servers, policies and assistants of one remit workspace.",
        **_record(MCP_FILE, definitions),
        "definitions": dict(sorted(definitions.items())),
    }


def _schema(shape: Shape, definitions: dict[str, Json]) -> dict[str, Json]:
    match shape:
        case Record() | Variant():
            return _definition(shape, definitions)
        case ListOf():
            return _list(shape, definitions)
        case MapOf():
            value = _schema(shape.value, definitions)
            return {"type": "object", "propertyNames": _text(shape.key), "additionalProperties": value}
        case Text():
            return _text(shape)
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


def _definition(shape: Record | Variant, definitions: dict[str, Json]) -> dict[str, Json]:
    if shape.title not in definitions:
        definitions[shape.title] = {}
        match shape:
            case Record():
                definitions[shape.title] = _record(shape, definitions)
            case Variant():
                definitions[shape.title] = {
                    "description": shape.description,
                    "oneOf": [_definition(record, definitions) for record in shape.records.values()],
                }
    return {"$ref": f"#/definitions/{shape.title}"}


def _record(shape: Record, definitions: dict[str, Json]) -> dict[str, Json]:
    properties = {
        key: _described(_schema(field.shape, definitions), field.description) for key, field in shape.fields.items()
    }
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


def _list(shape: ListOf, definitions: dict[str, Json]) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "array", "items": _schema(shape.item, definitions)}
    if shape.at_least_one:
        schema["minItems"] = 1
    if shape.unique:
        schema["uniqueItems"] = True
    return schema
