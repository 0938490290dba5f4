"""A plan that takes too much away is refused as a whole, and only its exact number lets it through."""

from collections.abc import Iterable

import pytest

from remit.core.desired import Desired
from remit.core.diagnostics import Diagnostic
from remit.core.operations import Detach
from remit.core.recorded import Recorded, RecordedAttachment, RecordedServer
from tests.states import (
    OTHER_WORKSPACE,
    assistant,
    attachment,
    desired,
    listed,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
)

GITHUB, JIRA = server("github"), server("jira")
KNOWN, OTHER = registration(GITHUB), registration(JIRA)
OPS = recorded_assistant()


def tools(of: RecordedServer, numbers: Iterable[int], to: str = "ops") -> list[RecordedAttachment]:
    return [attachment(of, f"t{number}", assistant=to, alias=f"{of.name}_{number}") for number in numbers]


def refusal(address: str, planned: int, attached: int, limit: int, *, total: int | None = None) -> Diagnostic:
    return Diagnostic(
        code="too-many-detaches",
        message=(
            f"{planned} of {attached} attachments of {address} would be detached; "
            f"the limit is {limit} (the larger of 3 and 30 %)"
        ),
        address=address,
        hint=f"if that is meant, run again with --allow-detach {planned if total is None else total}",
    )


def emptied(name: str, had: int, total: int) -> Diagnostic:
    return Diagnostic(
        code="assistant-emptied",
        message=f"assistant {name} would lose {'its only tool' if had == 1 else f'all of its {had} tools'}",
        address=f"assistant.{name}",
        hint=f"if that is meant, run again with --allow-detach {total}",
    )


@pytest.mark.parametrize(
    ("attached", "detached", "limit"),
    [(5, 3, None), (5, 4, 3), (10, 3, None), (10, 4, 3), (20, 6, None), (20, 7, 6), (100, 30, None), (100, 31, 30)],
)
def test_more_detaches_than_three_and_thirty_percent_are_refused(
    attached: int, detached: int, limit: int | None
) -> None:
    wanted = desired(
        GITHUB, assistant("ops", select("github", *(f"t{number}" for number in range(detached, attached))))
    )
    made = plan(wanted, recorded(KNOWN, OPS, *tools(KNOWN, range(attached))))
    expected = ("assistant.ops", "server.github", "workspace.acme-ops")
    assert sum(isinstance(each, Detach) for each in made.operations) == detached
    assert made.vetoes == (
        () if limit is None else tuple(refusal(address, detached, attached, limit) for address in expected)
    )


def test_one_server_is_guarded_where_assistants_and_workspace_are_not_concerned() -> None:
    rows = [
        *tools(KNOWN, range(4), "dev"),
        *tools(KNOWN, range(4)),
        *tools(OTHER, range(20), "dev"),
        *tools(OTHER, range(20)),
    ]
    wanted = desired(
        GITHUB,
        JIRA,
        *(assistant(name, select("github", "t0", "t1"), select("jira", "*")) for name in ("dev", "ops")),
    )
    made = plan(wanted, recorded(KNOWN, OTHER, OPS, recorded_assistant("dev"), *rows))
    assert made.vetoes == (refusal("server.github", 4, 8, 3),)


def test_one_assistant_is_guarded_where_servers_and_workspace_are_not_concerned() -> None:
    rows = [
        *tools(KNOWN, range(4), "dev"),
        *tools(OTHER, range(4), "dev"),
        *tools(KNOWN, range(20)),
        *tools(OTHER, range(20)),
    ]
    wanted = desired(
        GITHUB,
        JIRA,
        assistant("dev", select("github", "t0", "t1"), select("jira", "t0", "t1")),
        assistant("ops", select("github", "*"), select("jira", "*")),
    )
    made = plan(wanted, recorded(KNOWN, OTHER, OPS, recorded_assistant("dev"), *rows))
    assert made.vetoes == (refusal("assistant.dev", 4, 8, 3),)


def test_a_workspace_is_guarded_where_each_server_and_assistant_loses_little() -> None:
    servers = [server(f"s{number}") for number in range(4)]
    known = [registration(each) for each in servers]
    rows = [attachment(each, name, assistant=f"a{at}") for at, each in enumerate(known) for name in ("keep", "drop")]
    wanted = desired(*servers, *(assistant(f"a{at}", select(f"s{at}", "keep")) for at in range(4)))
    made = plan(wanted, recorded(*known, *(recorded_assistant(f"a{at}") for at in range(4)), *rows))
    assert made.vetoes == (refusal("workspace.acme-ops", 4, 8, 3),)


def test_an_assistant_that_loses_its_only_tool_is_guarded() -> None:
    made = plan(desired(GITHUB, assistant("ops")), recorded(KNOWN, OPS, *tools(KNOWN, [1])), {"github": listed("t1")})
    assert (made.vetoes, made.errors, made.complete) == ((emptied("ops", 1, 1),), (), True)


def test_an_assistant_whose_replacements_all_wait_is_guarded() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "n*")))
    made = plan(wanted, recorded(KNOWN, OPS, *tools(KNOWN, [1])), {"github": listed("new")})
    assert (len(made.held), made.vetoes) == (1, (emptied("ops", 1, 1),))


def test_an_assistant_whose_tools_are_replaced_is_not_emptied() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "new")))
    made = plan(wanted, recorded(KNOWN, OPS, *tools(KNOWN, [1])), {"github": listed("new")})
    assert (len(made.operations), made.vetoes) == (2, ())


EMPTIED = recorded(KNOWN, OPS, *tools(KNOWN, [1, 2]))


def test_a_file_that_asks_for_nothing_any_more_is_refused() -> None:
    made = plan(desired(), EMPTIED)
    assert made.vetoes == (
        emptied("ops", 2, 2),
        Diagnostic(
            code="desired-emptied",
            message="the file asks for nothing any more, while 2 attachments and 1 registration are recorded",
            address="workspace.acme-ops",
            hint="if that is meant, run again with --allow-detach 2",
        ),
    )


@pytest.mark.parametrize(
    ("known", "allow", "codes"),
    [
        (recorded(), None, []),
        (recorded(KNOWN), None, ["desired-emptied"]),
        (recorded(KNOWN), 0, []),
        (recorded(registration(GITHUB, workspace=OTHER_WORKSPACE)), None, []),
    ],
    ids=["nothing recorded", "a registration", "a registration, agreed", "another workspace's"],
)
def test_an_empty_file_is_refused_only_where_something_is_recorded(
    known: Recorded, allow: int | None, codes: list[str]
) -> None:
    assert [each.code for each in plan(desired(), known, allow_detach=allow).vetoes] == codes


@pytest.mark.parametrize(("allow", "refused"), [(None, True), (0, True), (3, True), (4, False), (5, True)])
def test_only_the_exact_number_of_detaches_lets_a_plan_through(allow: int | None, *, refused: bool) -> None:
    wanted: Desired = desired(GITHUB, assistant("ops", select("github", "t4")))
    made = plan(wanted, recorded(KNOWN, OPS, *tools(KNOWN, range(5))), allow_detach=allow)
    assert (bool(made.vetoes), len(made.operations)) == (refused, 4)
