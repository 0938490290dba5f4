"""What goes into a client's inbox: requests with the future their caller awaits, and what happened to a session."""

import asyncio
from dataclasses import dataclass, field

from remit.core.canonical import JsonObject
from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault
from remit.upstream.http_transport import SESSION_LOST
from remit.upstream.sdk_session import Negotiated
from remit.upstream.tickets import Ticket

__all__ = ["Answer", "Close", "Command", "Ended", "Job", "Request", "Retired", "SessionGone", "session_gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. Without a method it only wants the session to be open.

    `session` pins it to the session with that number: on another one it is not sent. `total` bounds its time, `idle` the
    time in which nothing is heard of it.
    """

    method: str | None = None
    params: JsonObject = field(default_factory=dict[str, None])
    input_schema: JsonObject | None = None
    ticket: Ticket
    total: float
    idle: float | None = None
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A raw result, the number of the session it came on, what that one negotiated, and whether it had to be renewed."""

    result: JsonObject
    session: int
    negotiated: Negotiated
    renewed: bool


@dataclass(eq=False, slots=True)
class Job:
    """A request and the future that its caller awaits; `began` is when it was last sent, by the client's clock."""

    request: Request
    answer: "asyncio.Future[Answer]"
    task: "asyncio.Task[None] | None" = None
    repeated: bool = False
    began: float = 0.0

    def settle(self, outcome: Answer | Fault) -> None:
        """Give the caller its one outcome; later ones are dropped."""
        if self.answer.done():
            return
        if isinstance(outcome, Fault):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


@dataclass(frozen=True, slots=True)
class Ended:
    """The server's side of session number `epoch` ended."""

    epoch: int


@dataclass(frozen=True, slots=True)
class SessionGone:
    """The server forgot session number `epoch`; `job`, if there is one, is to be repeated on another one."""

    epoch: int
    job: Job | None


@dataclass(frozen=True, slots=True)
class Retired:
    """Session number `epoch` is to be left as soon as nothing runs on it."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Close:
    """Nobody needs the connection any more."""


Command = Job | Ended | SessionGone | Retired | Close


def session_gone(place: str) -> Fault:
    """The fault of a request that was meant for a session that is no more; it was not sent."""
    return Fault(UnreachableReason.PROTOCOL, "the session is gone", code=SESSION_LOST, place=place, refused=True)
