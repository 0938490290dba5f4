"""What waits together: changes of an endpoint or of a name's holder are done whole or not at all.

Decides which operations one that waits pulls along (DESIGN.md sections 4 and 6): what came out of a new endpoint's listing,
what a replaced server still serves, and whoever needs a name or an endpoint that is not free until then. Pure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from remit.core.aliases import fold
from remit.core.identity import ServerId, identity_key_of
from remit.core.operations import (
    Attach,
    Detach,
    Operation,
    Reason,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    ServerFacts,
    ToolKey,
    UnregisterServer,
    UpdateServer,
)
from remit.core.plan import HoldReason

__all__ = ["changes_endpoint", "hold_groups"]

_Reasons: TypeAlias = Sequence[list[HoldReason]]
"""Why each candidate waits, in their order; empty for what runs. Added to in place."""


def hold_groups(
    candidates: Sequence[Operation],
    reasons: _Reasons,
    unlisted: Collection[ServerId],
    replaced: Mapping[ServerId, ServerId],
    awaited: Mapping[ToolKey, ToolKey],
    unlike_lock: Collection[ServerId],
) -> None:
    """Add to `reasons` why operations wait for each other.

    `unlisted` are enabled servers without a listing, `replaced` leads from a registration to the server that takes its name,
    `awaited` from a tool of such a registration to the one that takes its place, `unlike_lock` are the servers that offer
    something else than a lock approves.
    """
    _hold_unlisted(candidates, reasons, unlisted, replaced)
    _hold_unreplaced(candidates, reasons, unlisted, awaited)
    _hold_unaccepted(candidates, reasons, unlike_lock)
    while waiting := _pulled_along(candidates, reasons, replaced, awaited):
        for at in waiting:
            reasons[at].append(HoldReason.ENDPOINT_GROUP)


def _hold_unlisted(
    candidates: Sequence[Operation],
    reasons: _Reasons,
    unlisted: Collection[ServerId],
    replaced: Mapping[ServerId, ServerId],
) -> None:
    """Let an endpoint serve until the new one was listed, and a server until the one that takes its name was.

    A server that goes and has no tool to be replaced serves nobody then, so nothing waits for its sake.
    """
    old = {each for each, successor in replaced.items() if successor in unlisted} - _idle(candidates)
    new = {replaced[each] for each in old}
    for operation, because in zip(candidates, reasons, strict=True):
        match operation:
            case (UpdateServer() | RenameServer()) as change if (
                changes_endpoint(change) and change.server_id in unlisted
            ):
                waits = True
            case RegisterServer() | UpdateServer() | RenameServer():
                waits = operation.server_id in new
            case _:
                waits = _serves_for(operation, old)
        if waits:
            because.append(HoldReason.ENDPOINT_UNLISTED)


def _idle(candidates: Sequence[Operation]) -> set[ServerId]:
    """Servers that go, of whose tools another server's take no place: what else was attached goes in the same plan."""
    going = {each.server_id for each in candidates if isinstance(each, UnregisterServer)}
    return going - {
        each.tool.server_id for each in candidates if isinstance(each, Detach) and each.reason is Reason.SERVER_REPLACED
    }


def _hold_unreplaced(
    candidates: Sequence[Operation],
    reasons: _Reasons,
    unlisted: Collection[ServerId],
    awaited: Mapping[ToolKey, ToolKey],
) -> None:
    """Let a tool serve while the server that was listed in place of its own has no such tool to give."""
    offered = {each.tool.key for each in candidates if isinstance(each, Attach)} if awaited else set[ToolKey]()
    for each, because in zip(candidates, reasons, strict=True):
        successor = awaited.get(each.tool.key) if isinstance(each, Detach) else None
        if successor is not None and successor not in offered and successor[1] not in unlisted:
            because.append(HoldReason.NOT_REPLACED)


def _hold_unaccepted(candidates: Sequence[Operation], reasons: _Reasons, unlike_lock: Collection[ServerId]) -> None:
    for index, update in enumerate(candidates):
        if isinstance(update, UpdateServer | RenameServer) and changes_endpoint(update) and not reasons[index]:
            unaccepted = (
                isinstance(each, Refresh) and because and _is_listed_from(each, {update.server_id})
                for each, because in zip(candidates, reasons, strict=True)
            )
            # What differs from a lock is drift and no operation, but the new endpoint has it all the same.
            if update.server_id in unlike_lock or any(unaccepted):
                reasons[index].append(HoldReason.ENDPOINT_GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What stays as it is for now: endpoints, servers that were to go, servers that were to come, and aliases.

    `early` are servers that take the name of one that has to stay.
    """

    endpoints: frozenset[str]
    leaving: frozenset[ServerId]
    arriving: frozenset[ServerId]
    early: frozenset[ServerId]
    aliases: frozenset[tuple[str, str]]

    @classmethod
    def of(
        cls, held: Iterable[Operation], replaced: Mapping[ServerId, ServerId], unreplaced: Collection[ServerId]
    ) -> "_Kept":
        held = tuple(held)
        arriving = frozenset(
            each.server_id for each in held if isinstance(each, RegisterServer | UpdateServer | RenameServer)
        )
        leaving = frozenset(old for old, new in replaced.items() if new in arriving or old in unreplaced)
        return cls(
            endpoints=frozenset(
                _identity(each.before)
                for each in held
                if isinstance(each, UpdateServer | UnregisterServer)
                or (isinstance(each, RenameServer) and changes_endpoint(each))
            ),
            leaving=leaving,
            arriving=arriving,
            early=frozenset(replaced[old] for old in leaving),
            aliases=frozenset(
                (each.tool.assistant, fold(each.tool.provider_name))
                for each in held
                if isinstance(each, Detach | RenameAlias)
            ),
        )


def _pulled_along(
    candidates: Sequence[Operation],
    reasons: _Reasons,
    replaced: Mapping[ServerId, ServerId],
    awaited: Mapping[ToolKey, ToolKey],
) -> list[int]:
    """Which candidates have to wait for one that does, as far as can be seen in one look."""
    judged = tuple(zip(candidates, reasons, strict=True))
    attached = {each.tool.key for each, because in judged if awaited and isinstance(each, Attach) and not because}
    unreplaced = {server_id for (_, server_id, _), successor in awaited.items() if successor not in attached}
    kept = _Kept.of((each for each, because in judged if because), replaced, unreplaced)
    return [
        at
        for at, (each, because) in enumerate(judged)
        if (_is_listed_from(each, kept.arriving) and HoldReason.ENDPOINT_GROUP not in because)
        or (not because and _waits_for(each, kept))
    ]


def _waits_for(operation: Operation, kept: _Kept) -> bool:
    match operation:
        case RegisterServer(facts=facts) | UpdateServer(after=facts) | RenameServer(after=facts):
            return _identity(facts) in kept.endpoints or operation.server_id in kept.early
        case Attach(tool=tool):
            return (tool.assistant, fold(tool.provider_name)) in kept.aliases
        case RenameAlias(tool=tool, after=name):
            return (tool.assistant, fold(name)) in kept.aliases
        case _:
            return _serves_for(operation, kept.leaving)


def _serves_for(operation: Operation, leaving: Collection[ServerId]) -> bool:
    """Whether an operation ends what a server that another one replaces still does."""
    match operation:
        case UnregisterServer(server_id=server_id):
            return server_id in leaving
        case Detach(tool=tool, reason=Reason.SERVER_REPLACED):
            return tool.server_id in leaving
        case _:
            return False


_WHILE_IT_ARRIVES = frozenset({Reason.DATABASE_DRIFT, Reason.RELEASED})
"""Reasons of a refresh that concerns what serves already; one that adopts a tool adopts it together with its server."""


def _is_listed_from(operation: Operation, servers: Collection[ServerId]) -> bool:
    """Whether an operation came with one of these servers or out of its listing, so that it cannot go ahead of it."""
    return (
        isinstance(operation, Attach | Refresh)
        and operation.tool.server_id in servers
        and operation.reason not in _WHILE_IT_ARRIVES
    )


def changes_endpoint(operation: UpdateServer | RenameServer) -> bool:
    """Whether somebody else answers afterwards, as far as endpoints tell."""
    return _identity(operation.before) != _identity(operation.after)


def _identity(facts: ServerFacts) -> str:
    return identity_key_of(facts.endpoint, facts.instance)
