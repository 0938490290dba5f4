"""Server-sent events, cut out of a byte stream under a cap (HTML Standard, section 9.2.6: an empty line ends an event)."""

import re
from collections.abc import Iterator

from remit.upstream.parking import Parking

__all__ = ["EventCutter", "passable_event"]

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_OVERLAP = 3


class EventCutter:
    """Cuts events, their ending empty line included; `overlong` is set once an event is over the cap."""

    def __init__(self, limit: int):
        self._limit = limit
        self._open = bytearray()
        self.overlong = False

    def feed(self, part: bytes) -> Iterator[bytes]:
        """The events that end in this part."""
        searched = max(len(self._open) - _OVERLAP, 0)
        self._open += part
        begin = 0
        for match in _BLANK_LINE.finditer(self._open, searched):
            yield bytes(self._open[begin : match.end()])
            begin = match.end()
        del self._open[:begin]
        self.overlong = len(self._open) > self._limit


def passable_event(event: bytes, parking: Parking) -> bytes:
    """The event itself, or one whose data the SDK can parse (see remit.upstream.parking)."""
    lines = _LINE_END.split(event)
    payload = b"\n".join(_value(line) for line in lines if line.startswith(b"data"))
    passable = parking.passable(payload) if payload else payload
    if passable is payload:
        return event
    kept = [line for line in lines if line and not line.startswith(b"data")]
    return b"\n".join([*kept, b"data: " + passable, b"", b""])


def _value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ")
