"""A message over its byte limit: thrown away while it arrives, read only far enough to know whom it was for.

Decides what an overlong message means to its session: an error for the one request that it answers, nothing at all, or the
end of the session where neither can be told. What is kept of it is the outermost level of its JSON object, as its `id` may
stand before or behind a result of any size, and an `id` deeper down is anybody's. It does not say where messages end; that
is decided in remit.upstream.lines and remit.upstream.events_stream.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault

__all__ = ["MAX_DISCARDED", "MAX_OUTLINE", "Outline", "Overlong"]

MAX_DISCARDED = 64 * 1024 * 1024
"""Bytes of one message after which nobody waits for its end any more."""

MAX_OUTLINE = 64 * 1024
"""Bytes of the outermost level that are kept."""

_MAX_STEPS = 1_000_000
"""Strings and brackets looked at one by one: about a second's work. A real message of 64 MiB comes to less."""

_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_PLAIN = re.compile(rb'[^"{}\[\]]*+')
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT = rb'(?:[^"{}\[\]]++|' + _STRING + rb")"
# Below the outermost level whatever holds no other container is passed in one step: that is most of any message.
_NESTED = re.compile(rb"(?:" + _FLAT + rb"|[{\[]" + _FLAT + rb"*+[}\]])*+", re.DOTALL)
_QUOTE, _BACKSLASH = b'"\\'
_OPENING = b"{["


class Outline:
    """The outermost level of a JSON object that is fed in pieces; what is nested in it becomes null.

    Costs time linear in what is fed, a second at most, and MAX_OUTLINE bytes. `unreadable` is set as soon as it is no
    single JSON object, or too costly to read on.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._steps = 0
        self.unreadable = False

    def feed(self, piece: bytes) -> None:
        """The next bytes, cut anywhere."""
        at = 0
        while at < len(piece) and not self.unreadable:
            at = self._string(piece, at) if self._in_string else self._structure(piece, at)
            self._steps += 1
            self.unreadable = self.unreadable or self._steps > _MAX_STEPS

    def members(self) -> Mapping[str, object] | None:
        """The object's own members; None where it is not complete or no JSON object."""
        if self.unreadable or self._depth or self._in_string:
            return None
        try:
            document = json.loads(self._kept.decode("utf-8", "replace"))
        except ValueError:
            return None
        return cast("Mapping[str, object]", document) if isinstance(document, dict) else None

    def _string(self, piece: bytes, begin: int) -> int:
        """Through a string, up to its end or that of the piece."""
        found = _IN_STRING.match(piece, begin + self._escaped)
        at = found.end() if found else len(piece)
        self._escaped = False
        if at < len(piece):
            # Only a backslash that ends the piece is left over: what it escapes comes with the next one.
            self._in_string = piece[at] != _QUOTE
            self._escaped = piece[at] == _BACKSLASH
            at += 1
        if self._depth <= 1:
            self._keep(piece[begin:at])
        return at

    def _structure(self, piece: bytes, begin: int) -> int:
        """Up to the next quote or bracket, and over it."""
        found = (_PLAIN if self._depth <= 1 else _NESTED).match(piece, begin)
        at = found.end() if found else len(piece)
        if self._depth <= 1:
            self._keep(piece[begin:at])
        if at == len(piece):
            return at
        mark = piece[at]
        if mark == _QUOTE:
            self._in_string = True
            if self._depth <= 1:
                self._keep(b'"')
        elif mark in _OPENING:
            self._open(piece[at : at + 1])
        else:
            self._close(piece[at : at + 1])
        return at + 1

    def _open(self, bracket: bytes) -> None:
        if self._depth <= 1:
            self._keep(b"null" if self._depth else bracket)
        self._depth += 1

    def _close(self, bracket: bytes) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._kept += bracket
            self.unreadable = self.unreadable or self._depth < 0

    def _keep(self, text: bytes) -> None:
        # Outside of the object there is nothing but space, and there is no second one.
        outside = not self._depth and text.strip() and (self._kept.strip() or text != b"{")
        self._kept += text
        self.unreadable = self.unreadable or bool(outside) or len(self._kept) > MAX_OUTLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlong:
    """A message of `size` bytes where `limit` were allowed; `whole` is false where its end was not waited for."""

    size: int
    limit: int
    members: Mapping[str, object] | None = None
    """Its outermost level, None where it has none that can be read."""
    whole: bool = True

    @property
    def request_id(self) -> int | str | None:
        """The request that it answers, if it is an answer that says so. A server can only harm requests of its own session."""
        members = self.members or {}
        match members.get("id"):
            case (int() | str()) as found if not isinstance(found, bool) and "method" not in members:
                return found
            case _:
                return None

    @property
    def answers_nobody(self) -> bool:
        """Whether it is known that no request waits for it: a notification, a request of the server's, or no message."""
        members = self.members
        if members is None or self.request_id is not None:
            return False
        return "method" in members or not members.keys() & {"result", "error"}

    def fault(self, what: str) -> Fault:
        """The fault `too_large`, for a request or a session. `what` is a line or an event."""
        size = f"{self.size} bytes" if self.whole else f"at least {self.size} bytes"
        return Fault(UnreachableReason.TOO_LARGE, f"{what} has {size}; the limit is {self.limit}")
