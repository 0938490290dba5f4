"""What a part of a tool's result weighs, and the stub that stands for one that is too heavy.

Decides sizes, depth and what is no JSON (reference: security.md item 53): a result is in memory already, so nothing here
copies it, and every walk is an iteration that visits each value once. What a result means is runtime/results.py's.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from remit.core.canonical import Json, JsonObject

__all__ = [
    "MAX_BLOCKS",
    "MAX_BLOCK_BYTES",
    "MAX_RESULT_BYTES",
    "MAX_RESULT_DEPTH",
    "MAX_SIDE_BYTES",
    "MAX_TEXT_BYTES",
    "Weight",
    "cut_text",
    "mended",
    "stub_of",
    "text_bytes",
    "weigh",
]

MAX_RESULT_BYTES = 8 * 1024 * 1024
"""All blocks and the structured content of one result together."""

MAX_BLOCK_BYTES = 4 * 1024 * 1024
"""One block, or the structured content."""

MAX_TEXT_BYTES = 1024 * 1024
"""The text projection, UTF-8."""

MAX_SIDE_BYTES = 256 * 1024
"""`_meta`, and everything else in a result that MCP has no name for."""

MAX_BLOCKS = 1_000
"""Blocks of one result; one stub counts the rest."""

MAX_RESULT_DEPTH = 100
"""Objects and lists inside each other, in a block or in the structured content."""

_KEPT_IN_STUBS = ("mimeType", "uri", "name", "title")
_KEPT_CHARACTERS = 512
_MAX_DIGITS = 4_000
_CHUNK = 1 << 16
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Weight:
    """The bytes that a value takes as JSON, escapes not counted, and what is odd about it."""

    bytes: int
    too_deep: bool
    odd: bool
    """It holds NaN, an infinity, an integer of thousands of digits or half of a surrogate pair: no text that all can read."""


def weigh(value: Json) -> Weight:
    """The weight of a value. What is too deep is not looked into further."""
    size, too_deep, odd = 0, False, False
    pending: list[tuple[Json, int]] = [(value, 0)]
    while pending:
        found, depth = pending.pop()
        if isinstance(found, str):
            if found.isascii():
                size += len(found) + 2
            else:
                size += text_bytes(found) + 2
                odd = odd or _is_odd(found)
        elif isinstance(found, dict | Mapping):
            members = cast("JsonObject", found)
            keys = "".join(members)
            size += text_bytes(keys) + 4 * len(members) + (1 if members else 2)
            odd = odd or _is_odd(keys)
            too_deep = too_deep or depth >= MAX_RESULT_DEPTH
            if depth < MAX_RESULT_DEPTH:
                depth += 1
                pending += [(each, depth) for each in members.values()]
        elif isinstance(found, list | Sequence):
            size += len(found) + 1 if found else 2
            too_deep = too_deep or depth >= MAX_RESULT_DEPTH
            if depth < MAX_RESULT_DEPTH:
                depth += 1
                pending += [(each, depth) for each in found]
        else:
            length = _scalar_bytes(found)
            size += length
            odd = odd or length > _MAX_DIGITS or (isinstance(found, float) and not math.isfinite(found))
    return Weight(size, too_deep, odd)


def stub_of(kind: str, part: Json, weight: Weight) -> JsonObject:
    """What stands for a part: its type, its size, and of its short facts those that say what it was."""
    facts: JsonObject = cast("JsonObject", part) if isinstance(part, Mapping) else {}
    resource = facts.get("resource")
    if isinstance(resource, Mapping):
        facts = {**cast("JsonObject", resource), **facts}
    kept = {key: facts[key] for key in _KEPT_IN_STUBS if _is_short(facts.get(key))}
    why = {"reason": "too deep"} if weight.too_deep else {}
    return {"type": kind[:_KEPT_CHARACTERS], "stub": True, "bytes": weight.bytes, **kept, **why}


def mended(value: Json) -> Json:
    """A value that is not too deep, with null for the odd numbers of a `Weight` and U+FFFD for halves of surrogate pairs."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        members = cast("JsonObject", value)
        return {_SURROGATE.sub("\ufffd", key): mended(member) for key, member in members.items()}
    if isinstance(value, Sequence):
        return [mended(item) for item in value]
    if isinstance(value, int) and _digits(value) > _MAX_DIGITS:
        return None
    return value


def text_bytes(text: str) -> int:
    """The UTF-8 bytes of a text, counted in pieces so that a large one is not copied."""
    if text.isascii():
        return len(text)
    pieces = (text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK))
    return sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)


def cut_text(text: str, limit: int) -> str:
    """The beginning of a text that takes no more than `limit` UTF-8 bytes."""
    if len(text) * 4 <= limit:
        return text
    return text[:limit].encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")


def _is_odd(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def _is_short(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= _KEPT_CHARACTERS


def _scalar_bytes(value: float | None) -> int:
    if value is None or isinstance(value, bool):
        return 5 if value is False else 4
    return len(repr(value)) if isinstance(value, float) else _digits(value)


def _digits(number: int) -> int:
    """Decimal digits and the sign; estimated where there are thousands, as Python refuses to write those out."""
    bits = number.bit_length()
    return len(str(number)) if bits < _MAX_DIGITS else bits * 3 // 10 + 1
