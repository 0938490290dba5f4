"""Rows that somebody changed outside remit: the approved state comes back, and where it is lost nothing builds on it."""

from dataclasses import replace

import pytest

from remit.core.acceptance import Acceptance
from remit.core.addresses import address_of
from remit.core.definition import Definition, function_of
from remit.core.desired import Desired
from remit.core.diagnostics import Diagnostic
from remit.core.envelope import EnvelopePatch, Surface
from remit.core.identity import ProviderName
from remit.core.live import Live, Observation, Unreachable, UnreachableReason
from remit.core.model import apply_operations
from remit.core.operations import Detach, Origin, Reason, Refresh
from remit.core.plan import HoldReason, Plan
from remit.core.recorded import RecordedAttachment
from tests.states import (
    LINE,
    OWNER,
    WORKSPACE,
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

GITHUB = server("github")
KNOWN = registration(GITHUB)
OPS = recorded_assistant()
WANTED = desired(GITHUB, assistant("ops", select("github", "search")))
SEARCH = attachment(KNOWN, "search")
OTHER = definition("Finds other things.")
DOWN = Unreachable(reason=UnreachableReason.TIMEOUT, detail="no answer")
ADDRESS = "assistant.ops/github__search"

NO_FUNCTION = replace(SEARCH, function_text=None)
EDITED_FUNCTION = replace(SEARCH, function_text=function_of(ProviderName("github__search"), OTHER))
EDITED_TEXT = replace(SEARCH, definition=replace(SEARCH.definition, text=OTHER.text))
BROKEN_TEXT = replace(SEARCH, definition=replace(SEARCH.definition, text='{"annotations":{"destructiveHint":true'))
LOST = Diagnostic(
    code="definition-lost",
    message="the recorded definition was changed outside remit and the server does not offer the approved one",
    address=ADDRESS,
    source=LINE,
    hint="restore the database from a backup, or remove the tool from the file, apply, and select it again",
)


def after(known: RecordedAttachment, live: Live, wanted: Desired = WANTED, *accept: Acceptance) -> tuple[Plan, object]:
    state = recorded(KNOWN, OPS, known)
    made = plan(wanted, state, live, accept=accept)
    applied = apply_operations(state, made.operations, workspace=WORKSPACE, owner=OWNER)
    return made, [replace(each, row_version=1) for each in applied.attachments]


def kinds(made: Plan) -> list[tuple[Origin, Reason]]:
    return [(each.origin, each.reason) for each in made.operations]


REPAIRED = [(Origin.FILE, Reason.DATABASE_DRIFT)]


@pytest.mark.parametrize(
    ("damaged", "observation"),
    [
        (NO_FUNCTION, DOWN),
        (NO_FUNCTION, listed("search")),
        (EDITED_FUNCTION, DOWN),
        (EDITED_FUNCTION, listed("other")),
        (EDITED_TEXT, listed("search")),
        (BROKEN_TEXT, listed("search")),
    ],
)
def test_the_approved_state_comes_back_without_asking(damaged: RecordedAttachment, observation: Observation) -> None:
    made, rows = after(damaged, {"github": observation})
    assert (kinds(made), made.held, rows) == (REPAIRED, (), [SEARCH])


@pytest.mark.parametrize("damaged", [EDITED_TEXT, BROKEN_TEXT], ids=["edited", "broken"])
@pytest.mark.parametrize(
    "observation", [DOWN, listed("other"), listed(search=OTHER)], ids=["down", "vanished", "changed"]
)
def test_a_definition_that_nobody_has_any_more_is_a_problem_and_changes_nothing(
    damaged: RecordedAttachment, observation: Observation
) -> None:
    made, rows = after(damaged, {"github": observation})
    assert (made.operations, made.held, made.problems, made.complete, rows) == ((), (), (LOST,), False, [damaged])


def test_a_repair_does_not_wait_for_the_change_that_the_server_made_meanwhile() -> None:
    made, rows = after(NO_FUNCTION, {"github": listed(search=OTHER)})
    assert (kinds(made), rows) == (REPAIRED, [SEARCH])
    assert [(address_of(each.operation), each.because) for each in made.held] == [
        (ADDRESS, (HoldReason.LIVE_NOT_ACCEPTED,))
    ]


def test_an_accepted_refresh_makes_its_repair_needless() -> None:
    accept = Acceptance(ADDRESS, OTHER.definition_digest)
    made, rows = after(NO_FUNCTION, {"github": listed(search=OTHER)}, WANTED, accept)
    assert kinds(made) == [(Origin.LIVE, Reason.DEFINITION_CHANGED)]
    assert rows == [attachment(KNOWN, "search", OTHER)]


def test_a_damaged_tool_is_detached_where_the_file_no_longer_selects_it() -> None:
    made, rows = after(BROKEN_TEXT, {"github": DOWN}, desired(GITHUB, assistant("ops")))
    assert ([type(each) for each in made.operations], rows) == ([Detach], [])


RENAMED = desired(GITHUB, assistant("ops", select("github", "search", aliases={"search": "find"})))


@pytest.mark.parametrize("damaged", [NO_FUNCTION, EDITED_FUNCTION, EDITED_TEXT, BROKEN_TEXT])
def test_a_renamed_tool_is_mended_first_and_its_function_holds_the_approved_text(damaged: RecordedAttachment) -> None:
    made, rows = after(damaged, {"github": listed("search")}, RENAMED)
    assert [each.reason for each in made.operations] == [Reason.DATABASE_DRIFT, Reason.ALIAS_DECLARED]
    assert rows == [attachment(KNOWN, "search", alias="find")]


@pytest.mark.parametrize("damaged", [EDITED_TEXT, BROKEN_TEXT])
def test_a_tool_whose_approved_text_is_lost_is_not_renamed(damaged: RecordedAttachment) -> None:
    made, rows = after(damaged, {"github": DOWN}, RENAMED)
    assert (made.operations, made.problems, rows) == ((), (LOST,), [damaged])


def test_a_loosening_waits_while_the_approved_text_is_lost() -> None:
    loose = server("github", envelope=EnvelopePatch(surface=Surface.OPEN, side_effecting=False))
    made, _ = after(BROKEN_TEXT, {"github": DOWN}, desired(loose, assistant("ops", select("github", "search"))))
    assert made.operations == ()
    assert [(address_of(each.operation), each.because) for each in made.held] == [
        (ADDRESS, (HoldReason.LOOSENED_WHILE_DRIFTED,))
    ]


@pytest.mark.parametrize(
    ("row", "coherent"),
    [
        (SEARCH, True),
        (NO_FUNCTION, False),
        (EDITED_FUNCTION, False),
        (EDITED_TEXT, False),
        (attachment(KNOWN, "search", OTHER), True),
    ],
)
def test_an_attachment_is_coherent_where_both_rows_are_as_written(row: RecordedAttachment, *, coherent: bool) -> None:
    assert row.is_coherent is coherent


def test_a_refresh_takes_the_alias_that_is_recorded() -> None:
    historic = attachment(KNOWN, "search", alias="find")
    accept = Acceptance("tool.github/search", OTHER.definition_digest)
    made, rows = after(historic, {"github": listed(search=OTHER)}, WANTED, accept)
    assert [each.tool.provider_name for each in made.operations if isinstance(each, Refresh)] == ["find"]
    assert rows == [attachment(KNOWN, "search", OTHER, alias="find")]


def test_a_function_describes_itself_by_its_title_where_there_is_no_description() -> None:
    titled = Definition.of(title="Search", input_schema={"type": "object"})
    bare = Definition.of(input_schema={"type": "object"})
    assert [function_of(ProviderName("f"), each) for each in (titled, bare)] == [
        '{"function":{"description":"Search","name":"f","parameters":{"type":"object"}},"type":"function"}',
        '{"function":{"description":"","name":"f","parameters":{"type":"object"}},"type":"function"}',
    ]
