"""Which declared server is which registration.

Decides by name, identity and origin (DESIGN.md section 4): the same name and identity is the same server; the same name at
the same origin was updated; the same identity under a name that is no longer declared was renamed; anything else is
another server, unless `moved` says so. What was released is adopted by whoever declares its endpoint. Where two registrations claim one declaration, or the endpoint belongs to somebody else, it says so and
claims nothing. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from remit.core.desired import Desired, DesiredServer
from remit.core.identity import ServerId, identity_key_of, origin_of, server_id_of
from remit.core.moves import Moves, resolve_moves
from remit.core.ownership import released_workspace
from remit.core.recorded import Recorded, RecordedServer

__all__ = [
    "Ambiguous",
    "ForeignOwner",
    "Known",
    "Match",
    "Matching",
    "RegisteredElsewhere",
    "Unknown",
    "claims_of",
    "match_servers",
]


@dataclass(frozen=True, slots=True)
class Known:
    """The declaration is this registration; whether its name or facts changed is for the plan to see."""

    server: DesiredServer
    registration: RecordedServer


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is registered for the declaration; this will be its id."""

    server: DesiredServer
    server_id: ServerId


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Two registrations could be meant."""

    server: DesiredServer
    claimants: tuple[RecordedServer, RecordedServer]


@dataclass(frozen=True, slots=True)
class RegisteredElsewhere:
    """Another workspace of the same owner registered the endpoint. `own` is our registration of that name, if any."""

    server: DesiredServer
    registration: RecordedServer
    own: RecordedServer | None


@dataclass(frozen=True, slots=True)
class ForeignOwner:
    """The registration belongs to another principal."""

    server: DesiredServer
    registration: RecordedServer


Match: TypeAlias = Known | Unknown | Ambiguous | RegisteredElsewhere | ForeignOwner


@dataclass(frozen=True, slots=True)
class Matching:
    """Every declaration's match by server name, and the own registrations that no declaration claims."""

    matches: Mapping[str, Match]
    unclaimed: tuple[RecordedServer, ...]


def match_servers(desired: Desired, recorded: Recorded, moves: Moves | None = None) -> Matching:
    """Match all declared servers; deterministic and independent of the order of either side.

    `moves` are those of the file where a caller has them already; what they lead to counts as the recorded state.
    """
    moves = moves or resolve_moves(desired, recorded)
    index = _Index.of(desired, moves)
    recorded = moves.recorded
    matches: dict[str, Match] = {}
    taken = set(recorded.used_server_ids)
    for server in sorted(desired.servers, key=lambda each: each.name):
        match = _match(server, index, frozenset(taken))
        matches[server.name] = match
        if isinstance(match, Unknown):
            taken.add(match.server_id)
    claimed = {registration.server_id for match in matches.values() for registration in claims_of(match)}
    left = [each for each in index.own.values() if each.server_id not in claimed and each.owner == desired.owner]
    return Matching(matches, tuple(sorted(left, key=lambda each: each.name)))


@dataclass(frozen=True, slots=True)
class _Index:
    desired: Desired
    declared: frozenset[str]
    own: Mapping[str, RecordedServer]
    by_identity: Mapping[str, RecordedServer]
    moved: Mapping[str, RecordedServer]

    @classmethod
    def of(cls, desired: Desired, moves: Moves) -> "_Index":
        recorded = moves.recorded
        own = {each.name: each for each in recorded.servers if each.workspace == desired.workspace}
        by_identity = {each.identity_key: each for each in recorded.servers if each.owner == desired.owner}
        by_id = {each.server_id: each for each in recorded.servers}
        moved = {name: by_id[server_id] for name, server_id in moves.servers.items()}
        return cls(desired, frozenset(each.name for each in desired.servers), own, by_identity, moved)

    def is_elsewhere(self, registration: RecordedServer) -> bool:
        """Whether a registration is another workspace's; a released one is nobody's."""
        return registration.workspace not in (self.desired.workspace, released_workspace(self.desired.owner))


def _match(server: DesiredServer, index: _Index, taken: frozenset[ServerId]) -> Match:
    key = identity_key_of(server.endpoint, server.instance)
    named, same = index.own.get(server.name), index.by_identity.get(key)
    moved = index.moved.get(server.name)
    if named is not None and named.owner != index.desired.owner:
        return ForeignOwner(server, named)
    if same is not None and index.is_elsewhere(same):
        return RegisteredElsewhere(server, same, named)
    if moved is not None:
        return Known(server, moved) if same in (None, moved) else Ambiguous(server, (moved, same))
    return _unmoved(server, index, key, taken)


def _unmoved(server: DesiredServer, index: _Index, key: str, taken: frozenset[ServerId]) -> Match:
    named, same = index.own.get(server.name), index.by_identity.get(key)
    if named is not None and named.identity_key == key:
        return Known(server, named)
    released = same is not None and same.workspace != index.desired.workspace
    renamed = same if same is not None and (released or same.name not in index.declared) else None
    if named is not None and origin_of(named.endpoint) == origin_of(server.endpoint):
        return Known(server, named) if renamed is None else Ambiguous(server, (named, renamed))
    if renamed is not None:
        return Known(server, renamed)
    return Unknown(server, server_id_of(index.desired.owner, key, taken))


def claims_of(match: Match) -> Sequence[RecordedServer]:
    """The own registrations that a declaration stands for, or might."""
    match match:
        case Known(registration=registration) | ForeignOwner(registration=registration):
            return (registration,)
        case Ambiguous(claimants=claimants):
            return claimants
        case RegisteredElsewhere(own=own):
            return () if own is None else (own,)
        case Unknown():
            return ()
        case _:
            assert_never(match)
