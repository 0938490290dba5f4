"""May this tool be listed, and may this call go out: one decision for both, so that no cached list can outlive a grant.

Decides steps 2 to 4 of a governed call (DESIGN.md section 10) in their order: attached and in service, contract as its
surface demands, permission, arguments. Whether a human has approved exact arguments, and whether a key was used before, is
settled with the intent in one transaction of the store. Pure; an error inside it denies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from remit.core.calls import FailureCode
from remit.core.definition import Definition
from remit.core.envelope import Envelope, Surface
from remit.core.live import Listed, Unreachable
from remit.core.operations import ChangeClass
from remit.core.ports import DefinitionDiff

__all__ = [
    "REFUSED_DRIFT",
    "Allow",
    "AskHuman",
    "Contract",
    "ContractDrifted",
    "ContractQuarantined",
    "ContractSame",
    "ContractUnknown",
    "ContractVanished",
    "Decision",
    "Deny",
    "ToolFacts",
    "contract_of",
    "decide",
]


@dataclass(frozen=True, slots=True)
class ContractSame:
    """The server advertises what was approved."""


@dataclass(frozen=True, slots=True)
class ContractDrifted:
    """The server advertises another definition; every class of change that was found."""

    classes: frozenset[ChangeClass]


@dataclass(frozen=True, slots=True)
class ContractQuarantined:
    """The server advertises the tool in a form that cannot be used."""

    reason: str


@dataclass(frozen=True, slots=True)
class ContractVanished:
    """A complete listing does not have the tool."""


@dataclass(frozen=True, slots=True)
class ContractUnknown:
    """There is no listing to compare with; `why` is the outage in words."""

    why: str


Contract: TypeAlias = ContractSame | ContractDrifted | ContractQuarantined | ContractVanished | ContractUnknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What is known about one attached tool at this moment.

    `suspended_by` is the address that a suspension names, `permissions` what the caller holds, `objection` what is wrong
    with the arguments in words a model can use (None: nothing, or nobody calls).
    """

    envelope: Envelope
    attachment_enabled: bool
    server_enabled: bool
    coherent: bool
    suspended_by: str | None
    contract: Contract
    permissions: frozenset[str]
    objection: str | None = None


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may go out. `drift` names contract drift that an `open` surface lets pass, for the log."""

    drift: frozenset[ChangeClass] = frozenset()


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not go out."""

    code: FailureCode
    message: str


@dataclass(frozen=True, slots=True)
class AskHuman:
    """The call may go out once a human has approved these very arguments."""


Decision: TypeAlias = Allow | Deny | AskHuman

REFUSED_DRIFT: Mapping[Surface, frozenset[ChangeClass]] = {
    Surface.OPEN: frozenset(),
    Surface.LOCKED: frozenset({ChangeClass.BREAKING, ChangeClass.CLAIMS}),
    Surface.HUMAN_CONTROLLED: frozenset({ChangeClass.COMPATIBLE, ChangeClass.BREAKING, ChangeClass.CLAIMS}),
}
"""The classes of drift that each surface refuses. A changed text alone is no contract drift: the model reads ours."""


def contract_of(
    remote_name: str, approved: Definition, live: Listed | Unreachable | None, diff: DefinitionDiff
) -> Contract:
    """How the live listing of the calling connection compares with the approved definition of one tool."""
    match live:
        case None:
            return ContractUnknown("the server was not listed on this connection")
        case Unreachable(reason=reason, detail=detail):
            return ContractUnknown(f"the server could not be listed ({reason.value}): {detail}")
        case Listed():
            return _listed_contract(remote_name, approved, live, diff)
        case _:
            assert_never(live)


def _listed_contract(remote_name: str, approved: Definition, live: Listed, diff: DefinitionDiff) -> Contract:
    found = next((tool.definition for tool in live.tools if tool.remote_name == remote_name), None)
    if found is None:
        bad = next((each for each in live.quarantined if each.remote_name == remote_name), None)
        return ContractVanished() if bad is None else ContractQuarantined(bad.reason.value)
    if found.definition_digest == approved.definition_digest:
        return ContractSame()
    if found.contract_digest == approved.contract_digest:
        return ContractDrifted(frozenset({ChangeClass.TEXT}))
    return ContractDrifted(frozenset(change.change_class or ChangeClass.BREAKING for change in diff(approved, found)))


def decide(facts: ToolFacts) -> Decision:
    """The decision on a tool: for a listing with `objection` None, for a call with what its arguments came to."""
    try:
        return _decide(facts)
    except Exception as error:  # noqa: BLE001 (a gate that fails must not stand open)
        return Deny(FailureCode.INTERNAL_ERROR, f"the decision failed ({type(error).__name__}), so the call is refused")


def _decide(facts: ToolFacts) -> Decision:
    denied = _out_of_service(facts) or _contract_denial(facts) or _permission_denial(facts)
    if denied is not None:
        return denied
    if facts.objection is not None:
        return Deny(FailureCode.INVALID_ARGUMENTS, facts.objection)
    if facts.envelope.surface is Surface.HUMAN_CONTROLLED:
        return AskHuman()
    drifted = facts.contract.classes if isinstance(facts.contract, ContractDrifted) else frozenset[ChangeClass]()
    return Allow(drift=drifted)


def _out_of_service(facts: ToolFacts) -> Deny | None:
    if facts.suspended_by is not None:
        return Deny(FailureCode.SUSPENDED, f"{facts.suspended_by} is suspended by an operator")
    if not facts.attachment_enabled:
        return Deny(FailureCode.TOOL_DISABLED, "this tool is disabled for this assistant")
    if not facts.server_enabled:
        return Deny(FailureCode.TOOL_DISABLED, "the server of this tool is disabled")
    if not facts.coherent:
        return Deny(
            FailureCode.DATABASE_DRIFT, "the recorded function of this tool was edited outside of apply; run apply"
        )
    return None


def _contract_denial(facts: ToolFacts) -> Deny | None:
    surface, contract = facts.envelope.surface, facts.contract
    checked = surface is not Surface.OPEN
    match contract:
        case ContractQuarantined(reason=reason):
            return Deny(FailureCode.TOOL_QUARANTINED, f"the server advertises this tool in an unusable form ({reason})")
        case ContractUnknown(why=why):
            return Deny(FailureCode.CONTRACT_UNKNOWN, f"its contract cannot be checked: {why}") if checked else None
        case ContractVanished():
            return Deny(FailureCode.TOOL_VANISHED, "the server no longer offers this tool") if checked else None
        case ContractDrifted(classes=classes):
            refused = sorted(classes & REFUSED_DRIFT[surface])
            words = ", ".join(refused)
            drifted = f"the server changed this tool since it was approved ({words}); an operator must review it"
            return Deny(FailureCode.DEFINITION_DRIFTED, drifted) if refused else None
        case ContractSame():
            return None
        case _:
            assert_never(contract)


def _permission_denial(facts: ToolFacts) -> Deny | None:
    needed = facts.envelope.required_permission
    if needed is None or needed in facts.permissions:
        return None
    return Deny(
        FailureCode.PERMISSION_DENIED, f"this tool needs the permission {needed}, which the caller does not hold"
    )
