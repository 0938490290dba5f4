"""Whose answer a stream of events brings: that of the request it was opened for, also where it breaks off and is resumed.

Decides nothing about the events. The SDK's client takes the first answer on a stream for that of its request, whatever its id
(measured with 2.3.0), so a proxy that mixes two streams up would hand one caller another's result.
"""

import re

__all__ = ["Resumable"]

_ID = re.compile(rb"(?:^|[\r\n])id: ?([^\r\n]*)")
_KEPT = 1_000


class Resumable:
    """The requests whose streams may be resumed, by the id of their last event (`Last-Event-ID`)."""

    def __init__(self) -> None:
        self._numbers: dict[str, int | str] = {}

    def note(self, event: bytes, number: int | str) -> None:
        """An event came on the stream of a request."""
        if b"id:" not in event[:_KEPT] and b"id:" not in event[-_KEPT:]:
            return
        for found in _ID.findall(event):
            # The newest last, so that the first is the one that nobody resumes any more.
            self._numbers.pop(last := found.decode("utf-8", "replace"), None)
            self._numbers[last] = number
        while len(self._numbers) > _KEPT:
            del self._numbers[next(iter(self._numbers))]

    def number(self, last_event_id: str | None) -> int | str | None:
        """The request whose stream ended with this event, None where that is nobody's."""
        return None if last_event_id is None else self._numbers.get(last_event_id)
