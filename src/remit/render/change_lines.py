"""Changed paths in the words of JSON Schema: `~ properties.limit.type  integer -> number  compatible`.

Decides how a change reads; which paths changed and what that means for callers is in the document. Both sides of a
changed text are cut to the part that differs, so that what was added to the end of a long description is what is seen.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from remit.core.canonical import Json, JsonObject
from remit.core.operations import ChangeClass
from remit.core.schema_walk import LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA
from remit.render.escape import escape_json, escape_terminal
from remit.render.layout import aligned
from remit.render.shapes import ChangeDocument, DefinitionDocument

__all__ = ["change_lines", "quoted"]

_MOST = 40
_TEXT = 300
_VALUE = 120
_AROUND = 20
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_RANK = {ChangeClass.BREAKING: 0, ChangeClass.CLAIMS: 1, ChangeClass.TEXT: 2, ChangeClass.COMPATIBLE: 3}
_UNORDERED = frozenset({"required", "enum", "type"})
_PLAIN = frozenset({"type", "description", "enum"})

_Path = Sequence[str | int]


def change_lines(
    changes: Sequence[ChangeDocument],
    before: DefinitionDocument | None = None,
    after: DefinitionDocument | None = None,
) -> list[str]:
    """One aligned line for each change; over 40, the gravest 40 and a count of the rest.

    The definitions, where the changes are of one, tell whether a property is required.
    """
    single = [part for change in changes for part in _per_key(change)]
    shown = _gravest(single)
    rows: list[list[str]] = []
    for change in shown:
        definition = before if change["kind"] == "removed" else after
        rows.append([*_place(change), _what(change, definition), change["class"] or ""])
    lines = aligned(rows, widest=48)
    if len(shown) < len(single):
        lines.append(f"... and {len(single) - len(shown):,} more changed paths; the JSON plan has them all")
    return lines


def quoted(text: str, *, limit: int = _TEXT) -> str:
    """A text of someone else's in quotes, cut to `limit` characters with its length stated."""
    return _excerpt(text, 0, len(text), limit)


def _per_key(change: ChangeDocument) -> list[ChangeDocument]:
    """A record's changed map (`env`, `headers`) as one change a key; any other change as it is."""
    before, after = change["before"], change["after"]
    if change["class"] is not None or not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return [change]
    old, new = cast("JsonObject", before), cast("JsonObject", after)
    return [
        {
            "path": [*change["path"], key],
            "kind": "added" if key not in old else "removed" if key not in new else "changed",
            "before": old.get(key),
            "after": new.get(key),
            "class": None,
        }
        for key in sorted({*old, *new})
        if key not in old or key not in new or old[key] != new[key]
    ]


def _gravest(changes: list[ChangeDocument]) -> list[ChangeDocument]:
    if len(changes) <= _MOST:
        return changes
    ranked = sorted(range(len(changes)), key=lambda index: (_rank(changes[index]), index))
    return [changes[index] for index in sorted(ranked[:_MOST])]


def _rank(change: ChangeDocument) -> int:
    return next((rank for name, rank in _RANK.items() if name == change["class"]), len(_RANK))


def _place(change: ChangeDocument) -> tuple[str, str]:
    """The part of the definition (or the field of the record), and sign and path below it."""
    path = change["path"]
    sign = _SIGNS.get(change["kind"], "~")
    below = _dotted(path[1:])
    return _dotted(path[:1]), f"{sign} {below}".rstrip()


def _dotted(path: _Path) -> str:
    text = ""
    for index, key in enumerate(path):
        if isinstance(key, int):
            text += "[]" if index and path[index - 1] in _UNORDERED else f"[{key}]"
        elif key.replace("_", "").replace("-", "").replace("$", "").isalnum():
            text += f".{escape_terminal(key, limit=80)}" if text else escape_terminal(key, limit=80)
        else:
            text += f"[{escape_json(key, limit=80)}]"
    return text


def _what(change: ChangeDocument, definition: DefinitionDocument | None) -> str:
    path, before, after = change["path"], change["before"], change["after"]
    if change["kind"] != "changed":
        value = after if change["kind"] == "added" else before
        return _schema(value, path, definition) if _is_schema(path) else _value(path, value)
    if isinstance(before, str) and isinstance(after, str) and path[-1] != "type":
        return _contrast(before, after)
    return f"{_value(path, before)} -> {_value(path, after)}"


def _value(path: _Path, value: Json) -> str:
    if value is None and len(path) == 1:
        return "none"
    if isinstance(value, str):
        return value if path[-1] == "type" and value.isidentifier() and value.isascii() else quoted(value)
    return escape_json(value, limit=_VALUE)


def _contrast(before: str, after: str) -> str:
    shorter = min(len(before), len(after))
    prefix = next((index for index in range(shorter) if before[index] != after[index]), shorter)
    room = shorter - prefix
    suffix = next((index for index in range(room) if before[-1 - index] != after[-1 - index]), room)
    start = prefix - _AROUND if prefix > 2 * _AROUND else 0
    keep = suffix - _AROUND if suffix > 2 * _AROUND else 0
    old = _excerpt(before, start, len(before) - keep, _TEXT)
    new = _excerpt(after, start, len(after) - keep, _TEXT)
    return f"{old} -> {new}"


def _excerpt(text: str, start: int, end: int, limit: int) -> str:
    """A part of a text in JSON quotes, with dots inside of them where something is left out, and then its whole length."""
    stop = min(end, start + limit)
    shown = escape_json(text[start:stop], limit=7 * limit)
    before, after = "... " if start else "", " ..." if stop < len(text) else ""
    length = f" ({len(text):,} characters)" if stop < end else ""
    return f'"{before}{shown[1:-1]}{after}"{length}'


# -- schemas in words --------------------------------------------------------------------------------------------------


def _is_schema(path: _Path) -> bool:
    """Whether a path of a definition leads to a schema, keyword by keyword: a property may be called `properties`."""
    if len(path) < 2 or path[0] not in {"inputSchema", "outputSchema"}:
        return False
    inside = ""
    for key in path[1:]:
        if inside == "map" or (inside == "list" and isinstance(key, int)):
            inside = ""
        elif key in MAP_OF_SCHEMAS:
            inside = "map"
        elif key in LIST_OF_SCHEMAS:
            inside = "list"
        elif key not in ONE_SCHEMA:
            return False
        else:
            inside = ""
    return inside == "" or (inside == "list" and path[-1] == "items")


def _schema(schema: Json, path: _Path, definition: DefinitionDocument | None) -> str:
    words = [_kind(schema)]
    if len(path) > 2 and path[-2] == "properties":
        words.append("required" if _required(path, definition) else "optional")
    if not isinstance(schema, Mapping):
        return ", ".join(words)
    parts = cast("JsonObject", schema)
    description = parts.get("description")
    if isinstance(description, str):
        words.append(quoted(description))
    line = ", ".join(words)
    return line if _PLAIN.issuperset(parts) else f"{line}  {escape_json(parts, limit=_TEXT)}"


def _required(path: _Path, definition: DefinitionDocument | None) -> bool:
    node: object = definition
    for key in path[:-2]:
        if isinstance(node, Mapping):
            node = cast("Mapping[object, object]", node).get(key)
        elif isinstance(node, list) and isinstance(key, int) and key < len(cast("list[object]", node)):
            node = cast("list[object]", node)[key]
    names = cast("Mapping[str, object]", node).get("required") if isinstance(node, Mapping) else None
    return isinstance(names, list) and path[-1] in cast("list[object]", names)


def _kind(schema: Json) -> str:
    if not isinstance(schema, Mapping):
        return {True: "any value", False: "no value"}.get(schema, "not a schema") if isinstance(schema, bool) else "?"
    parts = cast("JsonObject", schema)
    choices = parts.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return "one of " + ", ".join(escape_json(choice, limit=40) for choice in cast("Sequence[Json]", choices)[:12])
    kind = parts.get("type")
    if isinstance(kind, str):
        return escape_terminal(kind, limit=40)
    if isinstance(kind, Sequence):
        return " or ".join(escape_terminal(str(each), limit=40) for each in cast("Sequence[Json]", kind)[:7])
    return "any shape" if parts else "any value"
