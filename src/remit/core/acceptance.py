"""What of a plan may run: everything a file asked for, and of what a server said only what somebody accepted.

Decides which operations are held and why (DESIGN.md section 6, Origin): unaccepted live ones, definitions whose text has a
high finding, what a lock lacks or has otherwise, and loosenings of a tool that is drifted, held or cannot be looked at; what waits together with others is
core/groups.py's. Of what is held, the approved definition stays in service. Pure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from remit.core.addresses import address_of, tool_address
from remit.core.definition import DIGEST_VERSION
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.envelope import Direction
from remit.core.groups import hold_groups
from remit.core.identity import ServerId
from remit.core.operations import (
    FROM_THE_ROWS,
    Attach,
    Detach,
    Operation,
    Origin,
    Reason,
    Refresh,
    RiskCode,
    SetEnvelope,
    ToolKey,
    UpdateAssistant,
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
    listing to compare with, `misnamed` those whose alias was edited, `unlisted` the enabled servers without a listing,
    `replaced` leads from a registration to the other server that takes its name, `awaited` from a tool of such a registration
    to the one that has to be attached in its place, `guarded` from an assistant and a
    permission to the attachments that ask for it, under the recorded policy or under the file's. `lock_holds` leads from
    tools to why a lock holds them (None: no lock is in force), `unlike_lock` are the servers that offer something else than
    it approves. `lock_missing` where the lock is that this workspace was applied by.
    """

    drifted: Collection[str] = ()
    unchecked: Collection[str] = ()
    misnamed: Collection[str] = ()
    unlisted: Collection[ServerId] = ()
    replaced: Mapping[ServerId, ServerId] = field(default_factory=dict[ServerId, ServerId])
    awaited: Mapping[ToolKey, ToolKey] = field(default_factory=dict[ToolKey, ToolKey])
    guarded: Mapping[tuple[str, str], Collection[str]] = field(default_factory=dict[tuple[str, str], Collection[str]])
    lock_holds: Mapping[ToolKey, HoldReason] | None = None
    unlike_lock: Collection[ServerId] = ()
    lock_missing: bool = False


def settle(candidates: Sequence[Operation], acceptances: Collection[Acceptance], unsettled: Unsettled) -> Settled:
    """Divide candidates into what runs and what waits."""
    reasons = [_own_reasons(operation, acceptances, unsettled) for operation in candidates]
    hold_groups(candidates, reasons, unsettled.unlisted, unsettled.replaced, unsettled.awaited, unsettled.unlike_lock)
    waiting = [operation for operation, because in zip(candidates, reasons, strict=True) if because]
    uneasy = {*unsettled.drifted, *(address_of(each) for each in waiting if isinstance(each, Refresh))}
    # The server of a detach that waits is declared no more, so nobody asks it either.
    unchecked = {*unsettled.unchecked, *(address_of(each) for each in waiting if isinstance(each, Detach))}
    for operation, because in zip(candidates, reasons, strict=True):
        loosened = _loosened(operation, unsettled)
        if loosened & uneasy:
            because.append(HoldReason.LOOSENED_WHILE_DRIFTED)
        elif loosened & unchecked:
            because.append(HoldReason.LOOSENED_WHILE_UNCHECKED)
    running = [operation for operation, because in zip(candidates, reasons, strict=True) if not because]
    held = [
        Held(operation=op, because=tuple(because)) for op, because in zip(candidates, reasons, strict=True) if because
    ]
    kept = _without_superseded(running, unsettled.misnamed)
    return Settled(tuple(kept), tuple(held), tuple(_mismatches(candidates, acceptances)))


def _own_reasons(operation: Operation, acceptances: Collection[Acceptance], unsettled: Unsettled) -> list[HoldReason]:
    if not isinstance(operation, Attach | Refresh):
        return []
    if unsettled.lock_holds is not None:
        # The lock was reviewed, findings and all, and it alone lets anything through.
        held = None if operation.reason in FROM_THE_ROWS else unsettled.lock_holds.get(operation.tool.key)
        return [] if held is None else [held]
    suspicious = any(risk.code is RiskCode.FINDING_HIGH for risk in operation.risks)
    reasons = [HoldReason.LIVE_NOT_ACCEPTED] if operation.origin is Origin.LIVE else []
    reasons += [HoldReason.FINDING] if suspicious else []
    if reasons and unsettled.lock_missing:
        # No acceptance gets round the lock that has to come back first, so none is asked for.
        return [HoldReason.NOT_IN_LOCK]
    if reasons and any(each.concerns(operation) and each.names(operation) for each in acceptances):
        return []
    return reasons


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


def _without_superseded(running: Sequence[Operation], misnamed: Collection[str]) -> Iterator[Operation]:
    """Drop repairs of attachments that an accepted refresh writes anew anyway; an alias only a repair puts right."""
    renewed = {address_of(each) for each in running if isinstance(each, Refresh) and each.reason not in FROM_THE_ROWS}
    renewed -= set(misnamed)
    for operation in running:
        if not (_is_repair(operation) and address_of(operation) in renewed):
            yield operation


def _is_repair(operation: Operation) -> bool:
    return isinstance(operation, Refresh) and operation.reason is Reason.DATABASE_DRIFT


def _mismatches(candidates: Sequence[Operation], acceptances: Collection[Acceptance]) -> Iterator[Diagnostic]:
    tools = [each for each in candidates if isinstance(each, Attach | Refresh) and each.reason not in FROM_THE_ROWS]
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
