"""What a permission of an assistant does to its tools: it loosens those that ask for it, and is missed where it lacks."""

from dataclasses import replace

import pytest

from remit.core.addresses import address_of
from remit.core.desired import DesiredServer
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.envelope import MOST_RESTRICTIVE, EnvelopePatch
from remit.core.live import Observation, Skipped, SkipReason, Unreachable, UnreachableReason
from remit.core.operations import Reason, Risk, RiskCode, UpdateAssistant
from remit.core.plan import Held, HoldReason, Plan
from remit.core.recorded import RecordedAssistant
from tests.states import (
    ASSISTANT,
    OTHER_WORKSPACE,
    assistant,
    attachment,
    definition,
    desired,
    listed,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
)

READ = EnvelopePatch(required_permission="read")
READING = replace(MOST_RESTRICTIVE, required_permission="read")
GITHUB = server("github", envelope=READ)
KNOWN = registration(GITHUB)
SEARCH = attachment(KNOWN, "search", envelope=READING)
DOWN = Unreachable(reason=UnreachableReason.TIMEOUT, detail="no answer")
DRIFTED, UNCHECKED = HoldReason.LOOSENED_WHILE_DRIFTED, HoldReason.LOOSENED_WHILE_UNCHECKED


def update(before: tuple[str, ...], after: tuple[str, ...], *risks: Risk) -> UpdateAssistant:
    return UpdateAssistant(
        assistant="ops", before=before, after=after, reason=Reason.FIELDS_CHANGED, risks=risks, source=ASSISTANT
    )


GRANT = update((), ("read",), Risk(RiskCode.LOOSENED, "may read"))


@pytest.mark.parametrize(
    ("before", "after", "risks"),
    [
        ((), ("read",), [Risk(RiskCode.LOOSENED, "may read")]),
        (("a",), ("c", "b", "a"), [Risk(RiskCode.LOOSENED, "may b; may c")]),
        (("read",), ("write",), [Risk(RiskCode.MIXED, "may write; may no longer read")]),
        (("read", "write"), ("write",), []),
    ],
    ids=["one more", "two more", "another", "one less"],
)
def test_a_change_of_permissions_says_what_it_frees(
    before: tuple[str, ...], after: tuple[str, ...], risks: list[Risk]
) -> None:
    made = plan(desired(assistant("ops", permissions=after)), recorded(recorded_assistant(permissions=before)))
    assert (made.operations, made.held) == ((update(before, after, *risks),), ())


def test_permissions_in_another_order_are_no_change() -> None:
    known = recorded(recorded_assistant(permissions=("read", "write")))
    made = plan(desired(assistant("ops", permissions=("write", "read"))), known)
    assert (made.operations, made.held) == ((), ())


def granting(of: DesiredServer, observation: Observation, *, drifted: bool = False) -> Plan:
    wanted = desired(of, assistant("ops", select("github", "search"), permissions=("read",)))
    row = replace(SEARCH, drifted_when_last_listed=drifted)
    return plan(wanted, recorded(registration(of), recorded_assistant(), row), {"github": observation})


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (listed("other"), DRIFTED),
        (listed(quarantined=["search"]), DRIFTED),
        (listed(search=definition("Finds other things.")), DRIFTED),
        (DOWN, UNCHECKED),
        (Skipped(SkipReason.CACHE_ONLY), UNCHECKED),
        (Skipped(SkipReason.NEVER_LISTED), UNCHECKED),
    ],
    ids=["vanished", "quarantined", "refresh held", "down", "not asked", "never listed"],
)
def test_a_permission_waits_while_a_tool_that_asks_for_it_is_not_as_approved(
    observation: Observation, reason: HoldReason
) -> None:
    made = granting(GITHUB, observation)
    assert made.operations == ()
    assert [each for each in made.held if each.operation.op == "update_assistant"] == [
        Held(operation=GRANT, because=(reason,))
    ]


def test_a_permission_is_given_where_its_tools_are_as_approved() -> None:
    made = granting(GITHUB, listed("search"))
    assert (made.operations, made.held, made.problems) == ((GRANT,), (), ())


@pytest.mark.parametrize("drifted", [False, True])
def test_a_permission_for_a_tool_of_a_disabled_server_waits_only_if_the_tool_had_drifted(*, drifted: bool) -> None:
    made = granting(replace(GITHUB, enabled=False), DOWN, drifted=drifted)
    held = (Held(operation=GRANT, because=(DRIFTED,)),)
    assert (made.operations, made.held) == (((), held) if drifted else ((GRANT,), ()))


def test_a_permission_that_no_tool_in_doubt_asks_for_is_given() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "search"), permissions=("read", "write")))
    known = recorded(KNOWN, recorded_assistant(permissions=("read",)), SEARCH)
    made = plan(wanted, known, {"github": DOWN})
    grant = update(("read",), ("read", "write"), Risk(RiskCode.LOOSENED, "may write"))
    assert (made.operations, made.held) == ((grant,), ())


def test_taking_a_permission_away_never_waits() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "search")))
    made = plan(wanted, recorded(KNOWN, recorded_assistant(permissions=("read",)), SEARCH), {"github": DOWN})
    assert (made.operations, made.held) == ((update(("read",), ()),), ())


def test_a_permission_waits_for_a_tool_that_asks_for_it_until_its_held_policy_changes() -> None:
    free = server("github", envelope=EnvelopePatch(required_permission="write"))
    made = granting(free, DOWN)
    assert made.operations == ()
    assert [(address_of(each.operation), each.because) for each in made.held] == [
        ("assistant.ops", (UNCHECKED,)),
        ("assistant.ops/github__search", (UNCHECKED,)),
    ]


def test_a_permission_waits_for_a_tool_whose_server_has_a_problem() -> None:
    two = registration(server("hub", server("github").endpoint), workspace=OTHER_WORKSPACE)
    moved = registration(server("github", server("old-github").endpoint))
    row = attachment(moved, "search", envelope=READING)
    wanted = desired(server("github"), assistant("ops", select("github", "search"), permissions=("read",)))
    made = plan(wanted, recorded(moved, two, recorded_assistant(), row), {"github": listed("search")})
    assert [each.code for each in made.problems] == ["registered-elsewhere"]
    assert (made.operations, made.held) == ((), (Held(operation=GRANT, because=(UNCHECKED,)),))


# --- missed ------------------------------------------------------------------------------------------------------------


def missing(permission: str, count: int, *addresses: str) -> Diagnostic:
    return Diagnostic(
        code="permission-missing",
        severity=Severity.WARNING,
        message=f"{count} of its tools ask for {permission}, which it does not hold: no call of them is allowed",
        address="assistant.ops",
        source=ASSISTANT,
        hint=f"add {permission} to its `permissions`, or take the tools out: {', '.join(addresses)}",
    )


def test_a_permission_that_attached_and_new_tools_ask_for_and_nobody_gave_is_missed() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "search", "a", "b", "c"), permissions=("write",)))
    known = recorded(KNOWN, recorded_assistant(permissions=("write",)), SEARCH)
    made = plan(wanted, known, {"github": listed("search", "a", "b", "c")})
    addresses = ("assistant.ops/github__a", "assistant.ops/github__b", "assistant.ops/github__c")
    assert (made.problems, made.complete) == ((missing("read", 4, *addresses),), True)


def test_a_permission_is_missed_under_the_policy_that_the_file_asks_for() -> None:
    writing = server("github", envelope=EnvelopePatch(required_permission="write"))
    wanted = desired(writing, assistant("ops", select("github", "search"), permissions=("read",)))
    known = recorded(KNOWN, recorded_assistant(permissions=("read",)), SEARCH)
    made = plan(wanted, known, {"github": listed("search")})
    assert made.problems == (missing("write", 1, "assistant.ops/github__search"),)


@pytest.mark.parametrize("known", [None, recorded_assistant()], ids=["creates", "created"])
def test_the_file_s_permissions_count_where_this_workspace_creates_or_created_the_assistant(
    known: RecordedAssistant | None,
) -> None:
    rows = (KNOWN,) if known is None else (KNOWN, known)
    states = recorded(*rows), {"github": listed("search")}
    given = plan(desired(GITHUB, assistant("ops", select("github", "search"), permissions=("read",))), *states)
    lacking = plan(desired(GITHUB, assistant("ops", select("github", "search"))), *states)
    assert (given.problems, lacking.problems) == ((), (missing("read", 1, "assistant.ops/github__search"),))


def elsewhere(holds: str) -> Diagnostic:
    return Diagnostic(
        code="assistant-elsewhere",
        severity=Severity.WARNING,
        message="workspace acme-web created this assistant and sets its permissions; these have no effect",
        address="assistant.ops",
        source=ASSISTANT,
        hint=f"set them there, or leave `permissions` out here; it holds: {holds}",
    )


@pytest.mark.parametrize(
    ("recorded_there", "stated", "problems"),
    [
        ((), ("read",), (elsewhere("none"), missing("read", 1, "assistant.ops/github__search"))),
        (
            ("write", "admin"),
            ("read",),
            (elsewhere("write, admin"), missing("read", 1, "assistant.ops/github__search")),
        ),
        ((), (), (missing("read", 1, "assistant.ops/github__search"),)),
        (("read", "write"), ("write", "read"), ()),
        (("read",), (), ()),
    ],
    ids=["states more", "states another", "states none", "states the same", "leaves it to them"],
)
def test_the_recorded_permissions_count_where_another_workspace_created_the_assistant(
    recorded_there: tuple[str, ...], stated: tuple[str, ...], problems: tuple[Diagnostic, ...]
) -> None:
    theirs = recorded_assistant(permissions=recorded_there, workspace=OTHER_WORKSPACE)
    wanted = desired(GITHUB, assistant("ops", select("github", "search"), permissions=stated))
    made = plan(wanted, recorded(KNOWN, theirs), {"github": listed("search")})
    assert (made.problems, made.complete) == (problems, True)
    assert [each.op.value for each in made.operations] == ["attach"]
