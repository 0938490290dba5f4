"""Fakes of the ports in core, for tests in which the other side is what the test says it is."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from remit.core.canonical import JsonObject
from remit.core.live import Listed, Observation, Unreachable, UnreachableReason
from remit.core.ports import ListingTarget
from remit.core.recorded import RecordedServer
from remit.core.remote_ports import RemoteAnswer, RemoteCall, RemoteContract

__all__ = ["FakeConnection", "FakeConnections", "FakeLister", "SilentProgress"]

GONE = Unreachable(reason=UnreachableReason.REFUSED, detail="nobody listens there")


@dataclass
class FakeLister:
    """Lists each server as `answers` says by its name; a server that is not in there is unreachable."""

    answers: Mapping[str, Listed | Unreachable]
    asked: list[str] = field(default_factory=list[str])

    async def list_server(self, target: ListingTarget) -> Listed | Unreachable:
        self.asked.append(target.server.name)
        return self.answers.get(target.server.name, GONE)


class SilentProgress:
    """Progress that nobody looks at."""

    def started(self, server: str) -> None:
        """A server is being asked."""

    def finished(self, server: str, observation: Observation) -> None:
        """A server answered, or did not."""


@dataclass
class FakeConnection:
    """The connection to one server, whose listing is what `listing` says now and whose calls `carry` carries out."""

    server: str
    listing: Callable[[str], Listed | Unreachable]
    carry: Callable[[str, RemoteCall], Awaitable[RemoteAnswer]]

    async def contract(self, *, max_age: float, timeout: float, trace_id: str) -> RemoteContract:
        """The listing of this moment."""
        return RemoteContract(live=self.listing(self.server), session=1)

    async def call(self, call: RemoteCall) -> RemoteAnswer:
        """What `carry` makes of it."""
        return await self.carry(self.server, call)


@dataclass
class FakeConnections:
    """Connections without anything behind them; see FakeConnection."""

    listing: Callable[[str], Listed | Unreachable]
    carry: Callable[[str, RemoteCall], Awaitable[RemoteAnswer]]

    def of(self, server: RecordedServer) -> FakeConnection:
        """A connection to a registration, by its name."""
        return FakeConnection(server.name, self.listing, self.carry)

    def known(self, server: RecordedServer) -> RemoteContract | None:
        """Nothing: nobody has listed anything before."""
        return None

    def masked(self, server: RecordedServer, value: JsonObject) -> JsonObject:
        """The very same: these servers have no secrets."""
        return value

    async def close(self) -> None:
        """Nothing is open."""
