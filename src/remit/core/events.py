"""Protocol events: what went over a connection to an MCP server, in order, with secrets masked.

A sink gets every event in full; what it keeps is its own decision. Pure.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from remit.core.canonical import JsonObject

__all__ = ["Direction", "EventKind", "EventSink", "ProtocolEvent"]


class EventKind(StrEnum):
    """What happened on a connection."""

    OPEN = "open"
    PROBE = "probe"
    FALLBACK = "fallback"
    HANDSHAKE = "handshake"
    PAGE = "page"
    CALL = "call"
    NOTIFICATION = "notification"
    MESSAGE = "message"
    NOISE = "noise"
    CLOSE = "close"


class Direction(StrEnum):
    """Who spoke; `LOCAL` is something we did or noticed."""

    SENT = "sent"
    RECEIVED = "received"
    LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolEvent:
    """One event. `sequence` counts from 1 within `connection_id`; `body` is the message or the facts, secrets masked."""

    trace_id: str
    connection_id: str
    server: str
    sequence: int
    at: datetime
    kind: EventKind
    direction: Direction
    body: JsonObject


class EventSink(Protocol):
    """Where protocol events go. Must return quickly and never raise: a call must not fail for its trace's sake."""

    def record(self, event: ProtocolEvent) -> None:
        """Take one event, in order within its connection."""
        ...
