"""The gate, as tables: every surface against every contract, every fact that stops a call, and what is looked at first."""

from dataclasses import replace

import pytest

from remit.core.calls import FailureCode
from remit.core.definition import Definition
from remit.core.envelope import Envelope, Surface
from remit.core.gatekeeper import (
    Allow,
    AskHuman,
    Contract,
    ContractDrifted,
    ContractQuarantined,
    ContractSame,
    ContractUnknown,
    ContractVanished,
    Decision,
    Deny,
    ToolFacts,
    contract_of,
    decide,
)
from remit.core.live import Unreachable, UnreachableReason
from remit.core.operations import Change, ChangeClass
from tests.states import definition, listed, whole_change

OPEN, LOCKED, HUMAN = Surface.OPEN, Surface.LOCKED, Surface.HUMAN_CONTROLLED
TEXT, COMPATIBLE = ChangeClass.TEXT, ChangeClass.COMPATIBLE
BREAKING, CLAIMS = ChangeClass.BREAKING, ChangeClass.CLAIMS


def facts(surface: Surface = LOCKED, contract: Contract | None = None, permission: str | None = None) -> ToolFacts:
    """A tool in service whose contract is as approved."""
    return ToolFacts(
        envelope=Envelope(surface=surface, side_effecting=True, reversible=False, required_permission=permission),
        attachment_enabled=True,
        server_enabled=True,
        coherent=True,
        suspended_by=None,
        contract=contract or ContractSame(),
        permissions=frozenset({"read"}),
    )


def code_of(decision: Decision) -> str:
    """The decision in a word: allow, ask, or the code of a denial."""
    match decision:
        case Allow():
            return "allow"
        case AskHuman():
            return "ask"
        case Deny(code=code):
            return code.value


def drifted(*classes: ChangeClass) -> ContractDrifted:
    """Drift of these classes."""
    return ContractDrifted(frozenset(classes))


CONTRACTS: tuple[tuple[Contract, str, str, str], ...] = (
    (ContractSame(), "allow", "allow", "ask"),
    (drifted(TEXT), "allow", "allow", "ask"),
    (drifted(TEXT, COMPATIBLE), "allow", "allow", "definition_drifted"),
    (drifted(COMPATIBLE), "allow", "allow", "definition_drifted"),
    (drifted(BREAKING), "allow", "definition_drifted", "definition_drifted"),
    (drifted(CLAIMS), "allow", "definition_drifted", "definition_drifted"),
    (drifted(TEXT, CLAIMS), "allow", "definition_drifted", "definition_drifted"),
    (ContractVanished(), "allow", "tool_vanished", "tool_vanished"),
    (ContractUnknown("no answer"), "allow", "contract_unknown", "contract_unknown"),
    (ContractQuarantined("too_large"), "tool_quarantined", "tool_quarantined", "tool_quarantined"),
)


def named(value: object) -> str:
    """A contract as the id of a test; a set prints in another order in each process."""
    return "+".join(sorted(value.classes)) if isinstance(value, ContractDrifted) else str(value)


@pytest.mark.parametrize(("contract", "when_open", "when_locked", "when_human"), CONTRACTS, ids=named)
def test_each_surface_demands_its_own_of_the_contract(
    contract: Contract, when_open: str, when_locked: str, when_human: str
) -> None:
    found = [code_of(decide(facts(surface, contract))) for surface in (OPEN, LOCKED, HUMAN)]

    assert found == [when_open, when_locked, when_human]


def test_an_open_tool_is_called_under_drift_and_says_which() -> None:
    assert decide(facts(OPEN, drifted(BREAKING, TEXT))) == Allow(drift=frozenset({BREAKING, TEXT}))


STOPS = (
    ({"suspended_by": "assistant.ops"}, FailureCode.SUSPENDED),
    ({"attachment_enabled": False}, FailureCode.TOOL_DISABLED),
    ({"server_enabled": False}, FailureCode.TOOL_DISABLED),
    ({"coherent": False}, FailureCode.DATABASE_DRIFT),
    ({"contract": ContractVanished()}, FailureCode.TOOL_VANISHED),
    ({"permissions": frozenset[str]()}, FailureCode.PERMISSION_DENIED),
    ({"objection": "q: is missing"}, FailureCode.INVALID_ARGUMENTS),
)
"""What stops a call, in the order it is looked at."""


@pytest.mark.parametrize(
    ("surface", "change", "code"),
    [
        (surface, change, code)
        for surface in Surface
        for change, code in STOPS
        # An open tool is called whatever the listing says; the table above has it.
        if (surface, code) != (OPEN, FailureCode.TOOL_VANISHED)
    ],
    ids=lambda value: str(value) if isinstance(value, Surface | FailureCode) else "-".join(value),
)
def test_whatever_stops_a_call_stops_it_on_every_surface(
    surface: Surface, change: dict[str, object], code: FailureCode
) -> None:
    decision = decide(replace(facts(surface, permission="read"), **change))  # type: ignore[arg-type]  # the table holds fields

    assert code_of(decision) == code.value


def test_of_several_reasons_the_first_in_the_order_of_the_design_is_given() -> None:
    given = replace(facts(permission="read"), **{key: value for change, _ in STOPS for key, value in change.items()})  # type: ignore[arg-type]  # the table holds fields
    seen: list[str] = []
    for change, _ in STOPS:
        seen.append(code_of(decide(given)))
        sound = facts(permission="read")
        given = replace(given, **{key: getattr(sound, key) for key in change})

    assert seen == [code.value for _, code in STOPS]
    assert decide(given) == Allow()


def test_a_permission_that_is_held_lets_the_call_pass() -> None:
    assert decide(facts(permission="read")) == Allow()


def test_a_message_names_the_missing_permission_and_nothing_of_the_caller() -> None:
    assert decide(facts(permission="write")) == Deny(
        FailureCode.PERMISSION_DENIED, "this tool needs the permission write, which the caller does not hold"
    )


def test_an_error_inside_the_gate_denies() -> None:
    broken = replace(facts(), permissions=None, envelope=replace(facts().envelope, required_permission="read"))  # type: ignore[arg-type]  # the defect that is meant

    assert code_of(decide(broken)) == "internal_error"


# --- the live contract ---------------------------------------------------------------------------------------------------


def test_the_contract_of_a_tool_that_is_listed_as_approved_is_the_same() -> None:
    assert contract_of("search", definition(), listed("search"), whole_change) == ContractSame()


def test_a_changed_text_is_told_from_a_changed_contract_without_a_diff() -> None:
    def never(before: Definition, after: Definition) -> tuple[Change, ...]:
        raise AssertionError("digests are enough")

    live = listed(search=definition("Another text."))

    assert contract_of("search", definition(), live, never) == drifted(TEXT)


def test_a_changed_schema_has_the_classes_of_its_changes() -> None:
    live = listed(search=definition(q={"type": "string"}))

    assert contract_of("search", definition(), live, whole_change) == drifted(BREAKING)


def test_a_tool_that_a_complete_listing_lacks_has_vanished() -> None:
    assert contract_of("search", definition(), listed("other"), whole_change) == ContractVanished()


def test_a_quarantined_tool_is_no_vanished_one() -> None:
    live = listed("other", quarantined=["search"])

    assert contract_of("search", definition(), live, whole_change) == ContractQuarantined("empty_ref")


def test_an_outage_leaves_the_contract_unknown() -> None:
    down = Unreachable(reason=UnreachableReason.REFUSED, detail="connection refused")

    assert contract_of("search", definition(), down, whole_change) == ContractUnknown(
        "the server could not be listed (refused): connection refused"
    )
    assert contract_of("search", definition(), None, whole_change) == ContractUnknown(
        "the server was not listed on this connection"
    )
