"""Answers that the SDK refuses as a whole, carried past it.

Its JSON parser stops at 200 levels, at half of a surrogate pair and at very long integers, so one odd tool would cost a
whole listing; its client for legacy SSE takes no event over 1 MiB (measured with 2.3.0). Such an answer is read with
the standard library, parked here, and a stub takes its place on the way through the SDK's transport; the tap puts the
parked result back before it is recorded and judged. A server can forge a stub; it gets at most a parked result of its own.
"""

import json
import time
from collections.abc import Callable
from typing import Any, cast

import pydantic_core
from mcp_types import JSONRPCMessage, JSONRPCResponse

from remit.upstream.lines import read_json

__all__ = ["Parking"]

_STUB = "remit/parked"
_MAX_PARKED = 16
_FORGOTTEN_SECONDS = 60.0
"""Seconds after which nobody comes for an answer any more: its request was given up while it was on its way."""


class Parking:
    """The parked answers of one connection. `clock` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._parked: dict[int, tuple[float, dict[str, Any]]] = {}
        self._next = 0

    def passable(self, body: bytes) -> bytes:
        """The body itself where the SDK can parse it (or nobody can), else one with a stub as result."""
        return self.read(body)[0]

    def read(self, body: bytes) -> tuple[bytes, object]:
        """A passable body, and the document in it as far as the SDK can parse it, else None."""
        try:
            return body, pydantic_core.from_json(body)
        except ValueError:
            return self.parked(body), None

    def parked(self, body: bytes) -> bytes:
        """The body with a stub as result; the body itself where it has none that could be parked."""
        try:
            document = read_json(body)
        except (ValueError, RecursionError):
            return body
        answer = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
        result = answer.get("result")
        if not isinstance(result, dict) or not self._has_room():
            return body
        self._next += 1
        self._parked[self._next] = (self._clock(), cast("dict[str, Any]", result))
        return json.dumps({**answer, "result": {_STUB: self._next}}).encode("utf-8")

    def restore(self, message: JSONRPCMessage) -> None:
        """Put the parked result back into an answer that is a stub."""
        number = message.result.get(_STUB) if self._parked and isinstance(message, JSONRPCResponse) else None
        # A forged stub may hold anything, also what is no key.
        if isinstance(number, int) and number in self._parked and isinstance(message, JSONRPCResponse):
            _, message.result = self._parked.pop(number)

    def _has_room(self) -> bool:
        if len(self._parked) >= _MAX_PARKED:
            before = self._clock() - _FORGOTTEN_SECONDS
            self._parked = {number: kept for number, kept in self._parked.items() if kept[0] > before}
        return len(self._parked) < _MAX_PARKED
