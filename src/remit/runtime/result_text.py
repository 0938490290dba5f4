"""The text projection of a result: what a reader that only takes text is told (managed-mcp-architecture, section 13).

Decides one text for all kinds of content. Text goes on as it is, untrusted and unescaped, for it is data; other blocks are
named in a line of their own. Nothing is fetched: a link stays its address. Escaping for a screen is render's.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from remit.core.canonical import Json, JsonObject
from remit.runtime.result_caps import MAX_TEXT_BYTES, cut_text, text_bytes, weigh

__all__ = ["project"]

_SHOWN = 200
_STATED = 10**15


def project(blocks: Sequence[JsonObject], structured: Json) -> str:
    """The text of the text blocks, a line for each other block, and the structured content where no block is text.

    At most MAX_TEXT_BYTES of UTF-8 and one line that says how much there was.
    """
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        parts = [cast("str", blocks[0].get("text", ""))]
    else:
        parts = [part for block in blocks for part in _parts_of(block)]
    if structured is not None and not any(block.get("type") == "text" for block in blocks):
        parts.append(json.dumps(structured, ensure_ascii=False))
    total = sum(map(text_bytes, parts)) + max(0, len(parts) - 1)
    if total <= MAX_TEXT_BYTES:
        return "\n".join(parts)
    kept: list[str] = []
    room = MAX_TEXT_BYTES
    for part in parts:
        if room <= 0:
            break
        kept.append(cut_text(part, room))
        room -= text_bytes(kept[-1]) + 1
    return "\n".join([*kept, f"[cut: the text has {total:,} bytes, {MAX_TEXT_BYTES:,} are shown]"])


def _parts_of(block: JsonObject) -> Iterator[str]:
    kind, text = block.get("type"), block.get("text")
    if kind == "text" and isinstance(text, str):
        yield text
        return
    yield _line_of(block)
    resource = block.get("resource")
    if kind == "resource" and isinstance(resource, Mapping):
        embedded = cast("JsonObject", resource).get("text")
        if isinstance(embedded, str):
            yield embedded


def _line_of(block: JsonObject) -> str:
    kind = _word(block.get("type"))
    if block.get("stub") is True:
        blocks = block.get("blocks")
        if isinstance(blocks, int) and 0 <= blocks < _STATED:
            kind = f"{blocks:,} more blocks"
        return f"[{' '.join([kind, *_facts_of(block), 'left out'])}, {_size(block.get('bytes'))}]"
    resource = block.get("resource")
    facts = {**cast("JsonObject", resource), **block} if isinstance(resource, Mapping) else block
    payload = facts.get("data", facts.get("blob"))
    if isinstance(payload, str):
        size = _size(_decoded_bytes(payload))
    elif isinstance(facts.get("text"), str):
        size = _size(text_bytes(cast("str", facts["text"])))
    else:
        size = _size(facts["size"] if isinstance(facts.get("size"), int) else weigh(block).bytes)
    return f"[{' '.join([kind, *_facts_of(facts)])}, {size}]"


def _facts_of(facts: JsonObject) -> list[str]:
    return [_word(facts[key]) for key in ("name", "uri", "mimeType") if isinstance(facts.get(key), str)]


def _word(value: Json) -> str:
    """A short text of the server's inside one line of ours: what could end the line or hide in it is replaced."""
    text = value if isinstance(value, str) else "?"
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return "".join(each if each.isprintable() and each not in "[]" else "\ufffd" for each in cut)


def _size(count: Json) -> str:
    # A server states sizes too, and a number of thousands of digits is one it can state.
    return f"{count:,} bytes" if isinstance(count, int) and 0 <= count < _STATED else "size unknown"


def _decoded_bytes(base64_text: str) -> int:
    """What base64 text decodes to, without decoding it."""
    return len(base64_text) * 3 // 4 - base64_text[-2:].count("=")
