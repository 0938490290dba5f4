"""What `remit call` prints: how one call ended and what came back.

Decides layout only. A tool's own text is indented, so that no line of it can be taken for one of ours.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TypedDict

from remit.core.addresses import attachment_address
from remit.core.canonical import Json, JsonObject
from remit.render.escape import escape_terminal, json_lines, well_formed
from remit.render.layout import Painter, Style
from remit.render.shapes import FORMAT_VERSION

__all__ = ["CallDocument", "CallResultDocument", "call_document", "call_text"]

_LONGEST_ESCAPE = len(r"\U000e0041")


class CallResultDocument(TypedDict):
    """What the tool, or remit in its place, answered; `metadata` and the blocks are open objects, whole."""

    content: str
    structured_content: Json
    content_blocks: Sequence[JsonObject]
    metadata: JsonObject
    is_error: bool


class CallDocument(TypedDict):
    """One call. `code` is the stable code of a failure, null where the tool itself answered."""

    format_version: str
    assistant: str
    tool: str
    run_id: str
    trace_id: str
    code: str | None
    result: CallResultDocument


def call_document(
    result: CallResultDocument, *, assistant: str, tool: str, run_id: str, trace_id: str, code: str | None
) -> CallDocument:
    """`{format_version, assistant, tool, run_id, trace_id, code, result}`."""
    return {
        "format_version": FORMAT_VERSION,
        "assistant": well_formed(assistant),
        "tool": well_formed(tool),
        "run_id": run_id,
        "trace_id": trace_id,
        "code": code,
        "result": result,
    }


def call_text(document: CallDocument, *, colour: bool) -> str:
    """How the call ended, its text, and its structured content where the text is not just that; ends with a newline."""
    paint, result = Painter(colour=colour), document["result"]
    address = escape_terminal(attachment_address(document["assistant"], document["tool"]))
    if result["is_error"]:
        ended = paint(Style.REMOVE, "failed")
        why = document["code"] or "the tool says so"
        lines = [f"{ended}  {address}  {escape_terminal(why)}"]
    else:
        lines = [f"{paint(Style.ADD, 'ok')}  {address}"]
    lines += _content_lines(result["content"])
    structured = result["structured_content"]
    if structured is not None and not _says(result["content"], structured):
        lines += ["structured content", *(f"  {line}" for line in json_lines(structured))]
    return "\n".join(lines) + "\n"


def _content_lines(content: str) -> Iterator[str]:
    for line in content.split("\n") if content else ():
        shown = escape_terminal(line.removesuffix("\r"), limit=_LONGEST_ESCAPE * len(line))
        yield f"  {shown}".rstrip()


def _says(content: str, structured: Json) -> bool:
    try:
        return bool(json.loads(content) == structured)
    except (ValueError, RecursionError):
        return False
