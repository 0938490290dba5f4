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
    """Cuts lines out of chunks; the cost of a line is linear in its length. `overlong` is set once a line is over the cap."""

    def __init__(self, limit: int = MAX_LINE):
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self.overlong = False

    @property
    def rest(self) -> bytes:
        """What came after the last line end."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that end in this chunk; nothing any more once a line was too long."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            if not self._add(piece):
                return
            yield self.rest
            self._parts.clear()
            self._size = 0
        self._add(rest)

    def _add(self, piece: bytes) -> bool:
        self._size += len(piece)
        self.overlong = self.overlong or self._size > self._limit
        if self.overlong:
            self._parts.clear()
        elif piece:
            self._parts.append(piece)
        return not self.overlong


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
