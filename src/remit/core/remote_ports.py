"""What the governed runtime needs of connections to MCP servers.

Decides the shapes that go through the port and what each answer obliges the caller to do. upstream implements it, app.py
binds it (DESIGN.md sections 9 and 10).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from remit.core.calls import FailureCode
from remit.core.canonical import JsonObject
from remit.core.live import Listed, Unreachable
from remit.core.recorded import RecordedServer

__all__ = [
    "Connections",
    "Delivery",
    "OnProgress",
    "Progress",
    "RemoteAnswer",
    "RemoteCall",
    "RemoteContract",
    "RemoteError",
    "RemoteFault",
    "RemoteResult",
    "ServerConnection",
]


@dataclass(frozen=True, slots=True)
class Progress:
    """What a server reports while a call runs; an observation that extends no absolute deadline."""

    progress: float
    total: float | None
    message: str | None


OnProgress: TypeAlias = Callable[[Progress], Awaitable[None]]


class Delivery(StrEnum):
    """Whether a failed request can have reached the server."""

    NOT_SENT = "not_sent"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCall:
    """One tools/call. `arguments` go out as they are. `session` pins the call to the session whose contract was checked.

    `idle_seconds` bound the time without progress, `total_seconds` the whole. `full_record` is false where the protocol
    trace keeps digests in place of this call's arguments and result.
    """

    remote_name: str
    arguments: JsonObject
    input_schema: JsonObject
    trace_id: str
    idle_seconds: float
    total_seconds: float
    session: int | None = None
    on_progress: OnProgress | None = None
    full_record: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteResult:
    """The raw result object of tools/call, secrets masked; nobody has judged it yet."""

    result: JsonObject
    era: str
    protocol_version: str
    renewed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteError:
    """The server answered with a JSON-RPC error; `message` is masked and bounded."""

    rpc_code: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFault:
    """No answer. `code` says why, `delivery` whether the call can have run."""

    code: FailureCode
    message: str
    delivery: Delivery
    session_lost: bool = False
    """The session was gone before the call was carried out: check the contract on a new one and send it again."""


RemoteAnswer: TypeAlias = RemoteResult | RemoteError | RemoteFault


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteContract:
    """The listing of the calling connection, or why there is none, and the number of the session it was read on."""

    live: Listed | Unreachable
    session: int


class ServerConnection(Protocol):
    """The one connection of this process to one registration, shared by all callers. Never raises for what a server does."""

    async def contract(self, *, max_age: float, timeout: float, trace_id: str) -> RemoteContract:
        """A complete listing on the calling connection, at most `max_age` seconds old, made anew within `timeout`."""
        ...

    async def call(self, call: RemoteCall) -> RemoteAnswer:
        """Carry a call out. Cancelling the awaiting task cancels the call on the server and returns at once."""
        ...


class Connections(Protocol):
    """The connections of one process, one for each registration."""

    def of(self, server: RecordedServer) -> ServerConnection:
        """The connection of a registration as it is recorded now; another entry replaces the connection."""
        ...

    def known(self, server: RecordedServer) -> RemoteContract | None:
        """The newest listing of the session that is open for a registration as it is given, whatever its age.

        None where there is none, or where the connection is another entry's, which stays: `server` may be an old reading.
        """
        ...

    def masked(self, server: RecordedServer, value: JsonObject) -> JsonObject:
        """A JSON object as it may be kept: without what a connection of this process or one to `server` has as a secret.

        Opens nothing. Values of `server` are read anew where they are referred to, as it may not be connected yet.
        """
        ...

    async def close(self) -> None:
        """End every connection and child process; bounded."""
        ...
