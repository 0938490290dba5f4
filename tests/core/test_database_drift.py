"""Rows that somebody changed outside remit: the approved state comes back, and where it is lost nothing builds on it."""

from dataclasses import replace

import pytest

from remit.core.acceptance import Acceptance
from remit.core.addresses import address_of
from remit.core.aliases import suffixed_alias
from remit.core.definition import Definition, function_of
from remit.core.desired import Desired
from remit.core.diagnostics import Diagnostic
from remit.core.envelope import EnvelopePatch, Surface
from remit.core.identity import ProviderName
from remit.core.live import Live, Observation, Unreachable, UnreachableReason
from remit.core.model import apply_operations
from remit.core.operations import Attach, Detach, Origin, Reason, Refresh
from remit.core.plan import HoldReason, Plan
from remit.core.recorded import RecordedAttachment
from tests.states import (
    LINE,
    OTHER_WORKSPACE,
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

NO_FUNCTION = replace(SEARCH, function_text=None, function_name=None)
EDITED_FUNCTION = replace(SEARCH, function_text=function_of(ProviderName("github__search"), OTHER))
EDITED_TEXT = replace(SEARCH, definition=replace(SEARCH.definition, text=OTHER.text))
EDITED_ALIAS = replace(SEARCH, provider_name=ProviderName("edited"))
EDITED_NAME = replace(SEARCH, function_name="edited")
NOT_FOLDED = replace(SEARCH, function_name=None)
EDITED_BOTH = replace(SEARCH, provider_name=ProviderName("edited"), function_name="edited")
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
        (EDITED_ALIAS, DOWN),
        (EDITED_ALIAS, listed("search")),
        (EDITED_NAME, DOWN),
        (NOT_FOLDED, DOWN),
        (EDITED_BOTH, DOWN),
        (EDITED_BOTH, listed("search")),
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


@pytest.mark.parametrize(
    "damaged",
    [NO_FUNCTION, EDITED_FUNCTION, EDITED_TEXT, BROKEN_TEXT, EDITED_ALIAS, EDITED_NAME, NOT_FOLDED, EDITED_BOTH],
)
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


# --- the alias ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damaged", [EDITED_ALIAS, EDITED_BOTH])
def test_a_tool_whose_alias_was_edited_is_planned_under_the_approved_one(damaged: RecordedAttachment) -> None:
    made, _ = after(damaged, {"github": DOWN})
    [repair] = made.operations
    assert (address_of(repair), made.problems) == (ADDRESS, ())
    assert damaged.with_approved_alias() == replace(damaged, provider_name=SEARCH.provider_name, alias_restored=True)


@pytest.mark.parametrize(
    "row",
    [
        SEARCH,
        NO_FUNCTION,
        EDITED_NAME,
        replace(EDITED_ALIAS, function_text=None),
        replace(EDITED_ALIAS, function_text=EDITED_FUNCTION.function_text),
        replace(EDITED_ALIAS, function_text="{}"),
    ],
    ids=["as written", "no function", "function renamed", "no function either", "text edited too", "text broken too"],
)
def test_the_recorded_alias_is_trusted_where_the_function_says_nothing_else_that_apply_wrote(
    row: RecordedAttachment,
) -> None:
    assert row.with_approved_alias() == row


def test_an_alias_edited_together_with_the_function_s_text_stays_and_gets_its_function_back() -> None:
    made, rows = after(replace(EDITED_ALIAS, function_text="{}"), {"github": DOWN})
    assert (kinds(made), rows) == (REPAIRED, [attachment(KNOWN, "search", alias="edited")])


@pytest.mark.parametrize("damaged", [EDITED_ALIAS, EDITED_BOTH])
def test_an_accepted_refresh_does_not_make_an_edited_alias_the_approved_one(damaged: RecordedAttachment) -> None:
    accept = Acceptance(ADDRESS, OTHER.definition_digest)
    made, rows = after(damaged, {"github": listed(search=OTHER)}, WANTED, accept)
    assert kinds(made) == [*REPAIRED, (Origin.LIVE, Reason.DEFINITION_CHANGED)]
    assert rows == [attachment(KNOWN, "search", OTHER)]


def test_an_alias_edited_to_the_one_that_the_file_declares_is_mended_and_then_renamed_in_the_open() -> None:
    made, rows = after(replace(SEARCH, provider_name=ProviderName("find")), {"github": DOWN}, RENAMED)
    assert [(each.op.value, address_of(each)) for each in made.operations] == [
        ("refresh", ADDRESS),
        ("rename_alias", ADDRESS),
    ]
    assert rows == [attachment(KNOWN, "search", alias="find")]


def test_a_new_tool_may_take_the_name_that_an_edited_row_held() -> None:
    damaged = replace(SEARCH, provider_name=ProviderName("github__read"))
    wanted = desired(GITHUB, assistant("ops", select("github", "search", "read")))
    made, rows = after(damaged, {"github": listed("read", "search")}, wanted)
    assert (made.problems, [each.op.value for each in made.operations]) == ((), ["refresh", "attach"])
    assert rows == [replace(attachment(KNOWN, "read"), source=made.operations[1].source), SEARCH]


def test_two_tools_whose_aliases_were_swapped_swap_back() -> None:
    read = attachment(KNOWN, "read")
    swapped = (
        replace(SEARCH, provider_name=read.provider_name, function_name=read.provider_name),
        replace(read, provider_name=SEARCH.provider_name, function_name=SEARCH.provider_name),
    )
    wanted = desired(GITHUB, assistant("ops", select("github", "search", "read")))
    state = recorded(KNOWN, OPS, *swapped)
    made = plan(wanted, state, {"github": DOWN})
    applied = apply_operations(state, made.operations, workspace=WORKSPACE, owner=OWNER)
    assert (kinds(made), made.problems) == (REPAIRED * 2, ())
    assert {replace(each, row_version=1) for each in applied.attachments} == {SEARCH, read}


def test_an_edited_alias_of_another_workspace_s_tool_keeps_its_approved_name_taken() -> None:
    theirs = replace(
        attachment(registration(server("jira")), "search", alias="github__search", workspace=OTHER_WORKSPACE),
        provider_name=ProviderName("edited"),
    )
    made = plan(WANTED, recorded(KNOWN, OPS, theirs), {"github": listed("search")})
    assert [each.tool.provider_name for each in made.operations if isinstance(each, Attach)] == [
        suffixed_alias("github", "search")
    ]


@pytest.mark.parametrize(
    ("row", "coherent"),
    [
        (SEARCH, True),
        (NO_FUNCTION, False),
        (EDITED_FUNCTION, False),
        (EDITED_TEXT, False),
        (EDITED_ALIAS, False),
        (EDITED_NAME, False),
        (NOT_FOLDED, False),
        (EDITED_BOTH.with_approved_alias(), False),
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
