"""What of a plan may run: everything a file asked for, and of what a server said only what somebody accepted.

Decides which operations are held and why (DESIGN.md section 6, Origin): unaccepted live ones, definitions whose text has a
high finding, loosenings of a tool that is drifted, held or cannot be looked at, and an endpoint change with all that it causes. Of what
is held, the approved definition stays in service. Pure.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from remit.core.addresses import address_of, tool_address
from remit.core.definition import DIGEST_VERSION
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.envelope import Direction
from remit.core.identity import ServerId, identity_key_of
from remit.core.operations import (
    Attach,
    Detach,
    Operation,
    Origin,
    Reason,
    Refresh,
    RegisterServer,
    RiskCode,
    ServerFacts,
    SetEnvelope,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.plan import Held, HoldReason

__all__ = ["MIN_DIGEST", "Acceptance", "Settled", "Unsettled", "acceptance_of", "settle"]

MIN_DIGEST = 8
"""The fewest hex characters of a digest that accept anything."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """`--accept ADDRESS@DIGEST`: an attachment's or a tool's address, and the start of the definition digest meant.

    `digest` is hex, 8 or more characters, with or without the version in front.
    """

    address: str
    digest: str

    def concerns(self, operation: Attach | Refresh) -> bool:
        """Whether the address is this operation's, as attachment or as tool."""
        tool = operation.tool
        return self.address in (address_of(operation), tool_address(tool.server, tool.remote_name))

    def names(self, operation: Attach | Refresh) -> bool:
        """Whether the digest is that of the definition the operation brings into force."""
        full = _definition(operation).removeprefix(DIGEST_VERSION)
        given = self.digest.removeprefix(DIGEST_VERSION)
        return len(given) >= MIN_DIGEST and full.startswith(given)


def acceptance_of(operation: Attach | Refresh) -> Acceptance:
    """The acceptance that lets exactly this operation through."""
    return Acceptance(address_of(operation), _definition(operation))


def _definition(operation: Attach | Refresh) -> str:
    match operation:
        case Attach(definition=definition):
            return definition.definition_digest
        case Refresh(after=after):
            return after.definition_digest
        case _:
            assert_never(operation)


@dataclass(frozen=True, slots=True)
class Settled:
    """What runs, what waits, and acceptances that named another definition."""

    operations: tuple[Operation, ...]
    held: tuple[Held, ...]
    problems: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """What is in doubt while a plan is made.

    `drifted` are addresses of attachments that drifted, as far as anybody knows, `unchecked` those whose server gave no
    listing to compare with, `unlisted` the enabled servers without a listing, `replaced` leads from a registration to the
    other server that takes its name, `guarded` from an assistant and a permission to the attachments that ask for it.
    """

    drifted: Collection[str] = ()
    unchecked: Collection[str] = ()
    unlisted: Collection[ServerId] = ()
    replaced: Mapping[ServerId, ServerId] = field(default_factory=dict[ServerId, ServerId])
    guarded: Mapping[tuple[str, str], Collection[str]] = field(default_factory=dict[tuple[str, str], Collection[str]])


def settle(candidates: Sequence[Operation], acceptances: Collection[Acceptance], unsettled: Unsettled) -> Settled:
    """Divide candidates into what runs and what waits."""
    reasons = [_own_reasons(operation, acceptances) for operation in candidates]
    _hold_endpoint_groups(candidates, reasons, unsettled.unlisted)
    _hold_replacements(candidates, reasons, unsettled)
    uneasy = {*unsettled.drifted, *_held_refreshes(candidates, reasons)}
    for operation, because in zip(candidates, reasons, strict=True):
        loosened = _loosened(operation, unsettled)
        if loosened & uneasy:
            because.append(HoldReason.LOOSENED_WHILE_DRIFTED)
        elif not loosened.isdisjoint(unsettled.unchecked):
            because.append(HoldReason.LOOSENED_WHILE_UNCHECKED)
    running = [operation for operation, because in zip(candidates, reasons, strict=True) if not because]
    held = [
        Held(operation=op, because=tuple(because)) for op, because in zip(candidates, reasons, strict=True) if because
    ]
    return Settled(tuple(_without_superseded(running)), tuple(held), tuple(_mismatches(candidates, acceptances)))


def _own_reasons(operation: Operation, acceptances: Collection[Acceptance]) -> list[HoldReason]:
    if not isinstance(operation, Attach | Refresh):
        return []
    suspicious = any(risk.code is RiskCode.FINDING_HIGH for risk in operation.risks)
    reasons = [HoldReason.LIVE_NOT_ACCEPTED] if operation.origin is Origin.LIVE else []
    reasons += [HoldReason.FINDING] if suspicious else []
    if reasons and any(each.concerns(operation) and each.names(operation) for each in acceptances):
        return []
    return reasons


def _hold_endpoint_groups(
    candidates: Sequence[Operation], reasons: Sequence[list[HoldReason]], unlisted: Collection[ServerId]
) -> None:
    for index, update in enumerate(candidates):
        if not isinstance(update, UpdateServer) or update.reason is not Reason.ENDPOINT_CHANGED:
            continue
        if update.server_id in unlisted:
            reasons[index].append(HoldReason.ENDPOINT_UNLISTED)
            continue
        group = [at for at, each in enumerate(candidates) if _listed_from(each, update.server_id)]
        if any(isinstance(candidates[at], Refresh) and reasons[at] for at in group):
            for at in (index, *group):
                reasons[at].append(HoldReason.ENDPOINT_GROUP)
    _hold_successors(candidates, reasons)


def _hold_successors(candidates: Sequence[Operation], reasons: Sequence[list[HoldReason]]) -> None:
    """Hold whoever should move to an endpoint that its holder does not leave yet, as two registrations never share one."""
    kept = {
        _identity(each.before)
        for each, because in zip(candidates, reasons, strict=True)
        if because and isinstance(each, UpdateServer)
    }
    while kept:
        successors = [
            each
            for each, because in zip(candidates, reasons, strict=True)
            if not because and isinstance(each, RegisterServer | UpdateServer) and _identity(_target(each)) in kept
        ]
        for successor in successors:
            for at, each in enumerate(candidates):
                if each is successor or _listed_from(each, successor.server_id):
                    reasons[at].append(HoldReason.ENDPOINT_GROUP)
        kept = {_identity(each.before) for each in successors if isinstance(each, UpdateServer)}


def _target(operation: RegisterServer | UpdateServer) -> ServerFacts:
    return operation.facts if isinstance(operation, RegisterServer) else operation.after


def _identity(facts: ServerFacts) -> str:
    return identity_key_of(facts.endpoint, facts.instance)


def _listed_from(operation: Operation, server_id: ServerId) -> bool:
    """Whether an operation came out of the listing of the new endpoint, so that it cannot go ahead of it."""
    return (
        isinstance(operation, Attach | Refresh)
        and operation.tool.server_id == server_id
        and operation.reason is not Reason.DATABASE_DRIFT
    )


def _held_refreshes(candidates: Sequence[Operation], reasons: Sequence[list[HoldReason]]) -> Iterator[str]:
    for operation, because in zip(candidates, reasons, strict=True):
        if isinstance(operation, Refresh) and because:
            yield address_of(operation)


def _hold_replacements(
    candidates: Sequence[Operation], reasons: Sequence[list[HoldReason]], unsettled: Unsettled
) -> None:
    """Let a server serve until the one that takes its name was listed, as its tools could not be attached there yet."""
    waiting = {old: new for old, new in unsettled.replaced.items() if new in unsettled.unlisted}
    for operation, because in zip(candidates, reasons, strict=True):
        match operation:
            case RegisterServer(server_id=server_id) if server_id in waiting.values():
                because.append(HoldReason.ENDPOINT_UNLISTED)
            case UnregisterServer(server_id=server_id) if server_id in waiting:
                because.append(HoldReason.ENDPOINT_UNLISTED)
            case Detach(tool=tool, reason=Reason.SERVER_REPLACED) if tool.server_id in waiting:
                because.append(HoldReason.ENDPOINT_UNLISTED)
            case _:
                pass


def _loosened(operation: Operation, unsettled: Unsettled) -> frozenset[str]:
    """The attachments that an operation gives more freedom: by their policy, or by a permission that they ask for."""
    match operation:
        case SetEnvelope(direction=Direction.LOOSENED | Direction.MIXED):
            return frozenset({address_of(operation)})
        case UpdateAssistant(assistant=name, before=before, after=after):
            added = (unsettled.guarded.get((name, each), ()) for each in set(after) - set(before))
            return frozenset(address for addresses in added for address in addresses)
        case _:
            return frozenset()


def _without_superseded(running: Iterable[Operation]) -> Iterator[Operation]:
    """Drop repairs of attachments that an accepted refresh writes anew anyway."""
    running = tuple(running)
    renewed = {address_of(each) for each in running if isinstance(each, Refresh) and each.origin is Origin.LIVE}
    for operation in running:
        repair = isinstance(operation, Refresh) and operation.reason is Reason.DATABASE_DRIFT
        if not (repair and address_of(operation) in renewed):
            yield operation


def _mismatches(candidates: Sequence[Operation], acceptances: Collection[Acceptance]) -> Iterator[Diagnostic]:
    tools = [each for each in candidates if isinstance(each, Attach | Refresh)]
    for acceptance in sorted(acceptances, key=lambda each: (each.address, each.digest)):
        concerned = [each for each in tools if acceptance.concerns(each)]
        if concerned and not any(acceptance.names(each) for each in concerned):
            yield Diagnostic(
                code="accept-mismatch",
                severity=Severity.WARNING,
                message=f"the accepted digest {acceptance.digest} is not that of the definition offered now",
                address=acceptance.address,
                hint=f"look at the change again; its digest is {_definition(concerned[0])}",
            )
