"""A tool's definition, the digests that identify it, and the function a model sees.

Decides what counts: `definition_digest` covers title, description, inputSchema, outputSchema and annotations;
`contract_digest` covers both schemas and the annotations without their prose (title, description, $comment and examples
in schema positions; title in annotations). `_meta`, icons and the order of tools never count (DESIGN.md section 5). Pure.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from remit.core.canonical import Json, JsonObject, canonical_json, sha256_hex
from remit.core.schema_walk import without_prose

__all__ = ["DIGEST_VERSION", "Definition", "DefinitionContent", "digest_of", "function_of"]

DIGEST_VERSION = "d1:"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionContent:
    """The parts of a definition, in wire form: JSON Schemas as objects, annotations as the server sent them."""

    title: str | None = None
    description: str | None = None
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    annotations: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition as its canonical JSON text, so that it is hashable and 5,000 of them need no parsing.

    `definition_digest` and `contract_digest` are `d1:` + hex sha256. Build one with `Definition.of`.
    """

    text: str
    definition_digest: str
    contract_digest: str

    @classmethod
    def of(
        cls,
        *,
        input_schema: JsonObject,
        title: str | None = None,
        description: str | None = None,
        output_schema: JsonObject | None = None,
        annotations: JsonObject | None = None,
    ) -> "Definition":
        """A definition from its parts. Raises ValueError where a part has no canonical JSON (NaN, lone surrogates)."""
        claims = annotations or {}
        text = canonical_json(
            {
                "title": title,
                "description": description,
                "inputSchema": input_schema,
                "outputSchema": output_schema,
                "annotations": claims,
            }
        )
        contract: dict[str, Json] = {
            "inputSchema": without_prose(input_schema),
            "outputSchema": None if output_schema is None else without_prose(output_schema),
            "annotations": {key: value for key, value in claims.items() if key != "title"},
        }
        return cls(text=text, definition_digest=digest_of(text), contract_digest=digest_of(canonical_json(contract)))

    def content(self) -> DefinitionContent:
        """The parts, parsed anew at each call."""
        parts = cast("dict[str, Any]", json.loads(self.text))
        return DefinitionContent(
            title=parts["title"],
            description=parts["description"],
            input_schema=parts["inputSchema"],
            output_schema=parts["outputSchema"],
            annotations=parts["annotations"],
        )


def digest_of(canonical_text: str) -> str:
    """The versioned digest of a canonical text."""
    return DIGEST_VERSION + sha256_hex(canonical_text)


@lru_cache(maxsize=10_000)
def function_of(provider_name: str, definition: Definition) -> str:
    """The model-facing function (`{"type": "function", "function": {...}}`) as canonical JSON text.

    The description is the approved one; where a tool has none the title stands in, as a model must read something.
    Remembered for as many tools as one listing may hold: an apply needs each function when it plans and when it writes.
    """
    content = definition.content()
    return canonical_json(
        {
            "type": "function",
            "function": {
                "name": provider_name,
                "description": content.description or content.title or "",
                "parameters": content.input_schema,
            },
        }
    )
