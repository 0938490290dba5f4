"""Fakes of the ports in core, for tests in which the other side is what the test says it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from remit.core.live import Listed, Observation, Unreachable, UnreachableReason
from remit.core.ports import ListingTarget

__all__ = ["FakeLister", "SilentProgress"]

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
