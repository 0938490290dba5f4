"""Lines of a stdio server: cut out of chunks under a cap, and read one by one.

Decides what a line is: a JSON-RPC message, noise (a banner, a log line), or broken (it claims to be a message and cannot
be read). The standard library's JSON parser is used instead of the SDK's because it keeps lone surrogates and integers of
any size, so that one odd tool is judged on its own and does not cost the whole listing.
"""

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from remit.upstream.overlong import MAX_DISCARDED, Outline, Overlong

__all__ = ["MAX_LINE", "Broken", "LineSplitter", "Noise", "read_json", "read_line"]

MAX_LINE = 4 * 1024 * 1024
"""Bytes of one line, its end not counted."""

_MARKER = b'"jsonrpc"'


@dataclass(frozen=True, slots=True)
class Noise:
    """Text that is no message; empty for an empty line."""

    text: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that holds (a part of) a message and cannot be read; `why` goes on from "a line on stdout"."""

    text: str
    why: str


class LineSplitter:
    """Cuts lines out of chunks; the cost of a line is linear in its length.

    A line over `limit` is thrown away while it arrives and comes out as Overlong. `lost` is set where that makes no sense:
    one that is no JSON object, so that nobody knows whom it was for, or one over `ceiling`, which may never end.
    """

    def __init__(self, limit: int = MAX_LINE, ceiling: int = MAX_DISCARDED):
        self._limit = limit
        self._ceiling = ceiling
        self._parts: list[bytes] = []
        self._outline: Outline | None = None
        self._size = 0
        self.lost: Overlong | None = None

    @property
    def rest(self) -> bytes:
        """What came after the last line end; nothing of a line over the limit."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> Iterator[bytes | Overlong]:
        """The lines that end in this chunk; nothing any more once a line is `lost`."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            if self.lost:
                return
            yield self._line()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        if self.lost:
            return
        self._size += len(piece)
        if self._size > self._limit:
            self._discard(piece)
        elif piece:
            self._parts.append(piece)

    def _discard(self, piece: bytes) -> None:
        outline = self._outline = self._outline or Outline()
        for kept in (*self._parts, piece):
            outline.feed(kept)
        self._parts.clear()
        if outline.unreadable or self._size > self._ceiling:
            self.lost = Overlong(size=self._size, limit=self._limit, whole=False)

    def _line(self) -> bytes | Overlong:
        line = self.rest
        if self._outline is not None:
            line = Overlong(size=self._size, limit=self._limit, members=self._outline.members())
        self._parts.clear()
        self._outline = None
        self._size = 0
        return line


def read_json(text: str | bytes) -> object:
    """A JSON document; an integer that is too long to read becomes NaN, which costs the tool that holds it and no other.

    Raises ValueError for what is no JSON, RecursionError for what is nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_bounded_int)


def _bounded_int(digits: str) -> int | float:
    limit = sys.get_int_max_str_digits()
    return math.nan if limit and len(digits) > limit else int(digits)


def read_line(line: bytes) -> SessionMessage | Noise | Broken:
    """What one line is. An answer whose body is no JSON-RPC comes back as an error for its request, so that nobody waits."""
    text = line.decode("utf-8", "replace").strip()
    try:
        document = read_json(text) if text else None
    except RecursionError:
        return Broken(text, "is nested too deeply")
    except ValueError:
        if _MARKER not in line:
            return Noise(text)
        return Broken(text, "is cut off or not valid JSON" if text.startswith("{") else "mixes text with a message")
    if not isinstance(document, dict):
        return Noise(text)
    return _message(cast("dict[str, Any]", document), text)


def _message(document: dict[str, Any], text: str) -> SessionMessage | Noise:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(document, by_name=False))
    except ValidationError:
        request_id = document.get("id")
        if not isinstance(request_id, int | str) or isinstance(request_id, bool) or "method" in document:
            return Noise(text)
        error = ErrorData(code=PARSE_ERROR, message="the answer is no valid JSON-RPC message")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
