"""The JSON Schema (draft 2020-12) of mcp.lock, for tools of others that read it; `schemas/lock.schema.json` is this.

Decides nothing: it says what lock_entries.py checks, but for the digests, the depth and the form.
"""

from collections.abc import Mapping

from remit.config.lockfile import VERSION
from remit.core.aliases import MAX_ALIAS
from remit.core.canonical import Json

__all__ = ["lock_schema"]

_TEXT: dict[str, Json] = {"type": "string"}
_OPEN: dict[str, Json] = {"type": "object"}
_DIGEST: dict[str, Json] = {"type": "string", "pattern": "^d1:[0-9a-f]{64}$"}
_ALIAS: dict[str, Json] = {"type": "string", "pattern": f"^[a-zA-Z][a-zA-Z0-9_-]{{0,{MAX_ALIAS - 1}}}$"}


def lock_schema() -> dict[str, Json]:
    """The schema as a JSON document, made anew at each call."""
    lines: dict[str, Json] = {"type": "array", "items": _TEXT, "minItems": 1}
    definition = _closed(
        {
            "annotations": _OPEN,
            "description": {
                "description": "The lines of the description.",
                "anyOf": [lines, {"type": "null"}],
            },
            "inputSchema": _OPEN,
            "outputSchema": {"type": ["object", "null"]},
            "title": {"type": ["string", "null"]},
        }
    )
    entry = _closed(
        {
            "alias": _ALIAS,
            "contract_digest": _DIGEST,
            "definition": definition,
            "definition_digest": _DIGEST,
            "findings": {"type": "array", "items": _TEXT},
        }
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "remit lock",
        "description": "What `remit lock` writes: the approved definition of every selected tool; see docs/lock.md.",
        **_closed(
            {
                "assistants": {"type": "object", "additionalProperties": _by_name(_by_name(entry))},
                "environment": {"type": ["string", "null"]},
                "version": {"const": VERSION},
            }
        ),
    }


def _closed(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(properties),
        "properties": dict(properties),
    }


def _by_name(schema: Json) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": schema, "minProperties": 1}
