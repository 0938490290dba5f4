"""Observe: ask every declared server what it lists, all at once, each under its own deadlines.

Decides which servers are asked and what an empty answer means; a slow, dead or hostile server costs the others nothing.
Never raises for what a server does: that is an `Unreachable` in the result.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from remit.core.desired import Desired, DesiredServer
from remit.core.identity import ServerId, identity_key_of
from remit.core.live import Era, Listed, Live, Observation, Skipped, SkipReason, judge_empty
from remit.core.matching import Known, match_servers
from remit.core.ports import ListingTarget, ServerLister
from remit.core.recorded import Recorded, RecordedServer
from remit.core.report import DiscoveryLine

__all__ = ["ObserveProgress", "ObserveRequest", "RefreshMode", "live_of", "observe", "observe_cached", "observe_nobody"]

CONCURRENT_LISTINGS = 8
"""So many servers are listed at a time: enough to hide waiting, few enough not to start 50 processes at once."""


class RefreshMode(StrEnum):
    """Where a plan's live state comes from: the servers, or what was kept of their last good listings."""

    LIVE = "live"
    CACHED = "cached"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveRequest:
    """`scope` limits to server names (None: all), `allow_empty` are servers that may list nothing from now on.

    `untrusted` are servers that nobody may ask, and why (`untrusted.distrusted`).
    """

    scope: frozenset[str] | None = None
    allow_empty: frozenset[str] = frozenset()
    untrusted: Mapping[str, SkipReason] = field(default_factory=dict[str, SkipReason])


class ObserveProgress(Protocol):
    """Told as listings begin and end, from one thread."""

    def started(self, server: str) -> None:
        """A server is being asked."""
        ...

    def finished(self, server: str, observation: Observation) -> None:
        """A server answered, or did not."""
        ...


def live_of(lines: Sequence[DiscoveryLine]) -> Live:
    """The observations of discovery lines by server name."""
    return {line.server: line.observation for line in lines}


async def observe(
    desired: Desired, recorded: Recorded, lister: ServerLister, request: ObserveRequest, progress: ObserveProgress
) -> tuple[DiscoveryLine, ...]:
    """List every enabled server in scope. One line per declared server, in the file's order."""
    registrations = _registrations(desired, recorded)
    gate = asyncio.Semaphore(CONCURRENT_LISTINGS)

    async def one(server: DesiredServer) -> DiscoveryLine:
        registration = registrations.get(server.name)
        kept = None if registration is None else registration.last_good
        skipped = _skipped(server, request)
        if skipped is not None:
            return DiscoveryLine(server=server.name, observation=skipped, last_good=kept)
        async with gate:
            progress.started(server.name)
            observation = await lister.list_server(_target(server, registration))
            if isinstance(observation, Listed):
                before = 0 if kept is None else kept.tools
                observation = judge_empty(observation, before, allowed=server.name in request.allow_empty)
            progress.finished(server.name, observation)
        return DiscoveryLine(server=server.name, observation=observation, last_good=kept)

    return tuple(await asyncio.gather(*(one(server) for server in desired.servers)))


def observe_cached(
    desired: Desired, recorded: Recorded, kept: Mapping[ServerId, Listed] | None, request: ObserveRequest
) -> tuple[DiscoveryLine, ...]:
    """Discovery lines without asking anybody, from kept listings by registration.

    With `kept` None the kept listings may not be used either, and every server counts as not asked.
    """
    registrations = _registrations(desired, recorded)
    lines: list[DiscoveryLine] = []
    for server in desired.servers:
        registration = registrations.get(server.name)
        last_good = None if registration is None else registration.last_good
        observation: Observation | None = _skipped(server, request)
        if observation is None and kept is None:
            observation = Skipped(SkipReason.CACHE_ONLY)
        if observation is None and kept is not None and registration is not None:
            # A listing of another endpoint says nothing about this one.
            same = registration.identity_key == identity_key_of(server.endpoint, server.instance)
            observation = kept.get(registration.server_id) if same else None
        lines.append(
            DiscoveryLine(
                server=server.name,
                observation=observation or Skipped(SkipReason.NEVER_LISTED),
                cached=isinstance(observation, Listed),
                last_good=last_good,
            )
        )
    return tuple(lines)


def observe_nobody(desired: Desired, recorded: Recorded, request: ObserveRequest) -> tuple[DiscoveryLine, ...]:
    """Discovery lines where nobody is asked and no listing counts, as in `plan --offline`."""
    registrations = _registrations(desired, recorded)
    return tuple(
        DiscoveryLine(
            server=server.name,
            observation=_skipped(server, request) or Skipped(SkipReason.OFFLINE),
            last_good=registration.last_good if (registration := registrations.get(server.name)) else None,
        )
        for server in desired.servers
    )


def _registrations(desired: Desired, recorded: Recorded) -> dict[str, RecordedServer]:
    matches = match_servers(desired, recorded).matches
    return {name: match.registration for name, match in matches.items() if isinstance(match, Known)}


def _skipped(server: DesiredServer, request: ObserveRequest) -> Skipped | None:
    if request.scope is not None and server.name not in request.scope:
        return Skipped(SkipReason.NOT_REQUESTED)
    if not server.enabled:
        return Skipped(SkipReason.DISABLED)
    reason = request.untrusted.get(server.name)
    return None if reason is None else Skipped(reason)


def _target(server: DesiredServer, registration: RecordedServer | None) -> ListingTarget:
    era = None if registration is None or registration.era is None else Era(registration.era)
    return ListingTarget(server=server, remembered_era=era)
