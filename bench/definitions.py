"""Tools of about 2 kB each, shaped as the tools of real servers are: a nested input schema and prose for every part."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["tool_names", "tools_of"]

_NOUNS = ("issue", "invoice", "branch", "calendar", "customer", "deployment", "report", "ticket")
_VERBS = ("archive", "create", "find", "list", "move", "read", "rename", "update")


def tool_names(count: int) -> list[str]:
    """So many different names."""
    return [f"{_VERBS[n % 8]}_{_NOUNS[n // 8 % 8]}_{n:04}" for n in range(count)]


def tools_of(server: str, count: int) -> Sequence[Mapping[str, Any]]:
    """The tools of one server in wire form; no two are alike."""
    return [_tool(server, name, number) for number, name in enumerate(tool_names(count))]


def _tool(server: str, name: str, number: int) -> Mapping[str, Any]:
    verb, noun, _ = name.split("_")
    return {
        "name": name,
        "title": f"{verb.capitalize()} {noun} {number}",
        "description": (
            f"{verb.capitalize()}s one {noun} of the {server} project. Give either its number or a filter; with neither, "
            f"the newest {noun} is taken. The answer holds the {noun} after the change, with its author, its labels and "
            f"the time of the change in UTC. Fails with a clear text when the {noun} is closed or belongs to another team.\n\n"
            f"Examples: the {noun} with number {number}; the newest open {noun} by one author; every {noun} that was "
            f"changed since Monday and carries both the label that the team uses for urgent work and the one for customers. "
            "Answers of more than fifty entries are cut, and the answer then says so and how to go on."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "number": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10_000 + number,
                    "description": f"The {noun} in {server}.",
                },
                "filter": _filter(noun),
                "labels": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1, "maxLength": 64},
                    "maxItems": 20,
                    "description": f"Labels that the {noun} must carry, all of them, in any order.",
                },
                "dry_run": {
                    "type": "boolean",
                    "default": True,
                    "description": "Say what would happen, change nothing.",
                },
                "note": {"type": "string", "maxLength": 500, "description": f"A note for the {noun}'s history."},
            },
            "required": ["number"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": verb in ("find", "list", "read"), "destructiveHint": verb == "archive"},
    }


def _filter(noun: str) -> Mapping[str, Any]:
    return {
        "type": "object",
        "description": f"Which {noun} is meant, where its number is not known.",
        "properties": {
            "author": {"type": "string", "description": f"Login of whoever opened the {noun}.", "examples": ["sam"]},
            "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
            "since": {"type": "string", "format": "date-time", "description": "Only what changed after this moment."},
            "order": {
                "type": "object",
                "properties": {
                    "by": {"type": "string", "enum": ["created", "updated", "comments"]},
                    "descending": {"type": "boolean", "description": "Newest, or largest, first."},
                },
                "required": ["by"],
            },
            "text": {"type": "string", "pattern": "^[^\\n]{1,200}$", "description": f"Words in the {noun}'s title."},
        },
        "additionalProperties": False,
    }
