"""Server-sent events, cut out of a byte stream under a cap (HTML Standard, section 9.2.6: an empty line ends an event).

Decides where an event ends and what its payload is. An event over the cap is thrown away while it arrives; what is left of
it says whom it was for, see remit.upstream.overlong.
"""

import re
from collections.abc import Iterator

from remit.upstream.overlong import MAX_DISCARDED, Outline, Overlong
from remit.upstream.parking import Parking

__all__ = ["EventCutter", "overlong_event", "passable_event", "payload_of"]

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_OVERLAP = 3
_FIELD = b"data:"


class EventCutter:
    """Cuts events, their ending empty line included.

    An event over `limit` comes out as Overlong. `lost` is set for one that is no JSON object or is over `ceiling`.
    """

    def __init__(self, limit: int, ceiling: int = MAX_DISCARDED):
        self._limit = limit
        self._ceiling = ceiling
        self._open = bytearray()
        self._discarded: _Discarded | None = None
        self.lost: Overlong | None = None

    def feed(self, part: bytes) -> Iterator[bytes | Overlong]:
        """The events that end in this part; nothing any more once one is `lost`."""
        while part and self.lost is None:
            if self._discarded is None:
                yield from self._events(part)
                if len(self._open) <= self._limit:
                    return
                part, self._discarded = bytes(self._open), _Discarded()
                self._open.clear()
            part = self._discarded.feed(part)
            yield from self._settled(self._discarded)

    def _events(self, part: bytes) -> Iterator[bytes | Overlong]:
        searched = max(len(self._open) - _OVERLAP, 0)
        self._open += part
        begin = 0
        for match in _BLANK_LINE.finditer(self._open, searched):
            event = bytes(self._open[begin : match.end()])
            begin = match.end()
            yield event if len(event) <= self._limit else overlong_event(event, self._limit)
        del self._open[:begin]

    def _settled(self, discarded: "_Discarded") -> Iterator[Overlong]:
        if discarded.ended:
            self._discarded = None
            yield discarded.overlong(self._limit)
        elif discarded.outline.unreadable or discarded.size > self._ceiling:
            self.lost = Overlong(size=discarded.size, limit=self._limit, whole=False)


class _Discarded:
    """An event that is thrown away piece by piece but for the outline of its payload."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.size = 0
        self.ended = False
        self._field = bytearray()
        self._is_payload: bool | None = None
        self._after_cr = False

    def feed(self, part: bytes) -> bytes:
        """The next bytes, cut anywhere. Gives what follows the end of the event, nothing where it has not ended."""
        begin = 0
        for end in _LINE_END.finditer(part):
            if end.start() == 0 and end[0] == b"\n" and self._after_cr:
                # The second half of an end of line that was cut in two.
                begin = 1
                continue
            self._take(part[begin : end.start()])
            self.ended = self._ends_line()
            begin = end.end()
            if self.ended:
                self.size += begin
                return part[begin:]
        self._after_cr = part.endswith(b"\r")
        self._take(part[begin:])
        self.size += len(part)
        return b""

    def overlong(self, limit: int) -> Overlong:
        """What it was, once it has ended."""
        return Overlong(size=self.size, limit=limit, members=self.outline.members())

    def _take(self, piece: bytes) -> None:
        if self._is_payload is None:
            missing = len(_FIELD) + 1 - len(self._field)
            self._field += piece[:missing]
            if len(self._field) <= len(_FIELD):
                return
            self._settle_field()
            piece = piece[missing:]
        if self._is_payload:
            self.outline.feed(piece)

    def _settle_field(self) -> None:
        self._is_payload = self._field.startswith(_FIELD)
        if self._is_payload:
            self.outline.feed(_value(bytes(self._field)))
        self._field.clear()

    def _ends_line(self) -> bool:
        """Whether the line that ends here is the empty one that ends the event."""
        if self._is_payload is None:
            if not self._field:
                return True
            self._settle_field()
        self._is_payload = None
        return False


def overlong_event(event: bytes, limit: int) -> Overlong:
    """A whole event that is longer than `limit`."""
    discarded = _Discarded()
    discarded.feed(event)
    return discarded.overlong(limit)


def passable_event(event: bytes, parking: Parking, room: int) -> tuple[bytes, object]:
    """The event itself, or one whose payload the SDK can parse and has `room` for (see remit.upstream.parking).

    With it comes the document in the payload, None where there is none.
    """
    payload = payload_of(event)
    if not payload:
        return event, None
    passable, document = (parking.parked(payload), None) if len(event) > room else parking.read(payload)
    if passable is payload:
        return event, document
    kept = [line for line in _LINE_END.split(event) if line and not line.startswith(b"data")]
    return b"\n".join([*kept, b"data: " + passable, b"", b""]), parking.read(passable)[1]


def payload_of(event: bytes) -> bytes:
    """The payload of a whole event, empty where it has none."""
    return b"\n".join(_value(line) for line in _LINE_END.split(event) if line.startswith(b"data"))


def _value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ")
