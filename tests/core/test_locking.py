"""What `remit lock` writes, how a change of it is told, and what a check without servers finds."""

from dataclasses import replace

import pytest

from remit.core.addresses import address_of
from remit.core.definition import Definition
from remit.core.desired import Desired, Move
from remit.core.diagnostics import Severity
from remit.core.identity import ProviderName
from remit.core.live import Live, Observation, Unreachable, UnreachableReason
from remit.core.lock import Lock, LockedTool
from remit.core.lock_review import check_lock, lock_changes
from remit.core.locking import LockDraft, draft_lock
from remit.core.planner import PlanRequest
from remit.core.recorded import Recorded, WorkspaceRecord
from remit.core.subjects import AssistantSubject, ServerSubject, Subject, ToolSubject
from tests.states import (
    LINE,
    WORKSPACE,
    assistant,
    attachment,
    definition,
    desired,
    listed,
    locked,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
    whole_change,
)

GITHUB, FILES = server("github"), server("files")
KNOWN, OPS = registration(GITHUB), recorded_assistant()
A, B = definition("Finds A."), definition("Finds B.")
DOWN = Unreachable(reason=UnreachableReason.REFUSED, detail="connection refused")
BY_NAME = desired(GITHUB, assistant("ops", select("github", "search")))
BY_GLOB = desired(GITHUB, assistant("ops", select("github", "*")))
NOTHING = Recorded()


def drafted(
    wanted: Desired, known: Recorded, live: Live, old: Lock | None = None, *, scope: frozenset[str] | None = None
) -> LockDraft:
    return draft_lock(wanted, known, live, PlanRequest(diff=whole_change, lock=old, scope=scope), None)


def entry(alias: str, approved: Definition = A) -> LockedTool:
    return LockedTool(alias=ProviderName(alias), definition=approved)


def test_a_glob_is_spelled_out() -> None:
    draft = drafted(BY_GLOB, NOTHING, {"github": listed(read=B, search=A)})
    assert (draft.lock, draft.unlisted) == (locked("github", read=B, search=A), ())


def test_every_assistant_has_its_own_entries() -> None:
    wanted = desired(GITHUB, assistant("dev", select("github", "read")), assistant("ops", select("github", "search")))
    draft = drafted(wanted, NOTHING, {"github": listed(read=B, search=A)})
    assert draft.lock == Lock(
        assistants={
            "dev": {"github": {"read": entry("github__read", B)}},
            "ops": {"github": {"search": entry("github__search")}},
        }
    )


def test_what_is_not_selected_leaves_the_lock() -> None:
    old = locked("github", read=B, search=A)
    assert drafted(BY_NAME, NOTHING, {"github": listed(read=B, search=A)}, old).lock == locked("github", search=A)
    assert drafted(BY_NAME, NOTHING, {"github": DOWN}, old).lock == locked("github", search=A)
    assert drafted(desired(GITHUB), NOTHING, {"github": listed("read")}, old).lock == Lock()


def test_an_entry_holds_what_the_server_lists_now_and_not_what_was_approved() -> None:
    known = recorded(KNOWN, OPS, attachment(KNOWN, "search", A))
    assert drafted(BY_NAME, known, {"github": listed(search=B)}, locked("github", search=A)).lock == locked(
        "github", search=B
    )


def test_a_server_that_cannot_be_listed_keeps_its_entries_and_is_named() -> None:
    old = locked("github", search=A, read=B)
    draft = drafted(BY_GLOB, NOTHING, {"github": DOWN}, old)
    assert (draft.lock, draft.unlisted) == (old, ("github",))


@pytest.mark.parametrize("wanted", [BY_NAME, BY_GLOB])
def test_a_server_that_lists_nothing_where_the_lock_has_tools_of_it_is_not_believed_until_it_may(
    wanted: Desired,
) -> None:
    old = locked("github", search=A)
    request = PlanRequest(diff=whole_change, lock=old)
    draft = draft_lock(wanted, NOTHING, {"github": listed()}, request, None)
    assert (draft.lock, draft.unlisted) == (old, ("github",))
    assert draft.live["github"] == Unreachable(reason=UnreachableReason.EMPTY, detail="lists no tools, the lock has 1")
    allowed = draft_lock(BY_GLOB, NOTHING, {"github": listed()}, request, None, allow_empty=frozenset({"github"}))
    assert (allowed.lock, allowed.unlisted) == (Lock(), ())


def test_a_server_that_lists_nothing_and_has_no_entry_that_is_selected_is_believed() -> None:
    for old in (None, locked("github", other=A), locked("files", search=A)):
        draft = drafted(BY_NAME, NOTHING, {"github": listed()}, old)
        assert (draft.lock, draft.unlisted) == (Lock(), ())


def test_a_server_that_cannot_be_listed_gets_entries_of_what_is_in_service() -> None:
    known = recorded(KNOWN, OPS, attachment(KNOWN, "search", A, alias="old_name"))
    draft = drafted(BY_GLOB, known, {"github": DOWN})
    assert draft.lock == Lock(assistants={"ops": {"github": {"search": entry("old_name")}}})


def test_a_server_out_of_scope_keeps_its_entries_and_is_not_missed() -> None:
    wanted = desired(GITHUB, FILES, assistant("ops", select("github", "*"), select("files", "*")))
    old = Lock(
        assistants={"ops": {"github": {"search": entry("github__search")}, "files": {"read": entry("files__read")}}}
    )
    draft = drafted(wanted, NOTHING, {"github": listed(search=B)}, old, scope=frozenset({"github"}))
    assert draft.lock == Lock(
        assistants={"ops": {"github": {"search": entry("github__search", B)}, "files": {"read": entry("files__read")}}}
    )
    assert draft.unlisted == ()


def test_a_disabled_server_keeps_its_entries_and_is_not_missed() -> None:
    off = replace(GITHUB, enabled=False)
    draft = drafted(desired(off, assistant("ops", select("github", "*"))), NOTHING, {}, locked("github", search=A))
    assert (draft.lock, draft.unlisted) == (locked("github", search=A), ())


@pytest.mark.parametrize(
    ("wanted", "known", "live", "stays"),
    [
        (BY_NAME, NOTHING, listed("other"), True),
        (BY_GLOB, NOTHING, listed("other"), False),
        (BY_GLOB, recorded(KNOWN, OPS, attachment(KNOWN, "search", A)), listed("other"), True),
        (BY_GLOB, NOTHING, listed("other", quarantined=["search"]), True),
    ],
    ids=["named", "under a glob and unused", "under a glob and attached", "quarantined"],
)
def test_a_tool_that_left_its_listing_stays_locked_while_the_file_names_it_or_it_serves(
    wanted: Desired, known: Recorded, live: Observation, *, stays: bool
) -> None:
    draft = drafted(wanted, known, {"github": live}, locked("github", search=A))
    tools = draft.lock.of_assistant("ops").get("github", {})
    assert (tools.get("search") == entry("github__search")) == stays


def test_aliases_are_kept_declared_before_recorded_before_locked_before_computed() -> None:
    live: Live = {"github": listed(search=A)}
    attached = recorded(KNOWN, OPS, attachment(KNOWN, "search", A, alias="recorded_name"))
    declaring = desired(GITHUB, assistant("ops", select("github", "search", aliases={"search": "declared_name"})))
    old = Lock(assistants={"ops": {"github": {"search": entry("locked_name")}}})
    names = [
        [tool.alias for *_, tool in drafted(wanted, known, live, before).lock.tools()]
        for wanted, known, before in (
            (declaring, attached, old),
            (BY_NAME, attached, old),
            (BY_NAME, NOTHING, old),
            (BY_NAME, NOTHING, None),
        )
    ]
    assert names == [["declared_name"], ["recorded_name"], ["locked_name"], ["github__search"]]


def test_what_is_drafted_fits_the_file_and_lets_everything_through() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "read", "s*")))
    known = recorded(KNOWN, OPS, attachment(KNOWN, "search", A))
    live: Live = {"github": listed(search=B, second=A, read=B)}
    lock = drafted(wanted, known, live).lock
    made = plan(wanted, known, live, lock=lock)
    assert check_lock(wanted, lock) == ()
    assert [(each.op.value, address_of(each)) for each in made.operations] == [
        ("attach", "assistant.ops/github__read"),
        ("attach", "assistant.ops/github__second"),
        ("refresh", "assistant.ops/github__search"),
    ]
    assert (made.held, made.drift, made.problems) == ((), (), ())


# --- what has another name ---------------------------------------------------------------------------------------------


def moved(wanted: Desired, *moves: tuple[Subject, Subject]) -> Desired:
    return replace(wanted, moved=tuple(Move(before=old, after=new, source=LINE) for old, new in moves))


def test_a_moved_tool_keeps_its_alias_in_the_lock_recorded_or_not() -> None:
    renamed = desired(GITHUB, assistant("ops", select("github", "find")))
    wanted = moved(renamed, (ToolSubject("github", "search"), ToolSubject("github", "find")))
    old = Lock(assistants={"ops": {"github": {"search": entry("old_name")}}})
    attached = recorded(KNOWN, OPS, attachment(KNOWN, "search", A, alias="old_name"))
    for known, before in ((attached, None), (NOTHING, old), (attached, old)):
        draft = drafted(wanted, known, {"github": listed(find=B)}, before)
        assert draft.lock == Lock(assistants={"ops": {"github": {"find": entry("old_name", B)}}})


def test_a_moved_tool_of_a_silent_server_keeps_its_entry_under_its_new_name() -> None:
    renamed = desired(GITHUB, assistant("ops", select("github", "find")))
    wanted = moved(renamed, (ToolSubject("github", "search"), ToolSubject("github", "find")))
    draft = drafted(wanted, NOTHING, {"github": DOWN}, locked("github", search=A))
    assert draft.lock == Lock(assistants={"ops": {"github": {"find": entry("github__search")}}})


def test_a_renamed_server_and_a_moved_assistant_keep_their_entries_under_their_new_names() -> None:
    hub = replace(GITHUB, name="hub")
    wanted = moved(
        desired(hub, assistant("crew", select("hub", "search"))), (AssistantSubject("ops"), AssistantSubject("crew"))
    )
    known = recorded(KNOWN, OPS, attachment(KNOWN, "search", A))
    draft = drafted(wanted, known, {"hub": DOWN}, locked("github", search=A))
    assert draft.lock == Lock(assistants={"crew": {"hub": {"search": entry("github__search")}}})


def told(draft: LockDraft, wanted: Desired) -> list[tuple[str, str]]:
    changes = lock_changes(draft.before, draft.lock, wanted, whole_change)
    return [(each.op.value, address_of(each)) for each in changes]


def test_a_moved_tool_with_another_text_is_told_as_moved_and_changed_recorded_or_not() -> None:
    renamed = desired(GITHUB, assistant("ops", select("github", "find")))
    wanted = moved(renamed, (ToolSubject("github", "search"), ToolSubject("github", "find")))
    for known in (NOTHING, recorded(KNOWN, OPS, attachment(KNOWN, "search", A))):
        draft = drafted(wanted, known, {"github": listed(find=B)}, locked("github", search=A))
        assert draft.moved == {("ops", "github", "find"): ("ops", "github", "search")}
        assert told(draft, wanted) == [("refresh", "assistant.ops/github__search")]


def test_what_is_renamed_is_told_as_moved_also_where_no_database_knows_the_old_name() -> None:
    hub = replace(GITHUB, name="hub")
    crew = desired(hub, assistant("crew", select("hub", "*")))
    wanted = moved(
        crew,
        (AssistantSubject("ops"), AssistantSubject("crew")),
        (ServerSubject("github"), ServerSubject("hub")),
    )
    for known in (NOTHING, recorded(KNOWN, OPS, attachment(KNOWN, "search", A))):
        draft = drafted(wanted, known, {"hub": listed(search=B, read=A)}, locked("github", search=A, gone=A))
        assert draft.moved == {("crew", "hub", "search"): ("ops", "github", "search")}
        assert told(draft, wanted) == [
            ("detach", "assistant.crew/github__gone"),
            ("attach", "assistant.crew/github__read"),
            ("refresh", "assistant.crew/github__search"),
        ]


def test_an_entry_whose_new_name_is_in_the_lock_already_is_told_as_removed() -> None:
    renamed = desired(GITHUB, assistant("ops", select("github", "find")))
    wanted = moved(renamed, (ToolSubject("github", "search"), ToolSubject("github", "find")))
    draft = drafted(wanted, NOTHING, {"github": listed(find=A)}, locked("github", search=A, find=A))
    assert (draft.moved, told(draft, wanted)) == ({}, [("detach", "assistant.ops/github__search")])


def test_where_nothing_can_be_planned_the_lock_stays_as_it_is() -> None:
    stranger = WorkspaceRecord(name=WORKSPACE, owner="stranger", lineage="line", serial=1)
    known = replace(recorded(KNOWN, OPS), workspaces={WORKSPACE: stranger})
    draft = drafted(BY_GLOB, known, {"github": listed(search=B)}, locked("github", search=A))
    assert (draft.lock, [each.code for each in draft.refusals]) == (locked("github", search=A), ["not-owner"])


# --- differences -------------------------------------------------------------------------------------------------------


def test_a_change_of_a_lock_is_told_in_the_operations_of_a_plan() -> None:
    before = Lock(
        assistants={
            "ops": {
                "github": {
                    "gone": entry("github__gone"),
                    "search": entry("github__search"),
                    "same": entry("github__same"),
                }
            }
        }
    )
    after = Lock(
        assistants={
            "ops": {
                "github": {"read": entry("github__read"), "search": entry("find", B), "same": entry("github__same")}
            }
        }
    )
    changes = lock_changes(before, after, BY_GLOB, whole_change)
    assert [(each.op.value, address_of(each)) for each in changes] == [
        ("detach", "assistant.ops/github__gone"),
        ("attach", "assistant.ops/github__read"),
        ("rename_alias", "assistant.ops/github__search"),
        ("refresh", "assistant.ops/github__search"),
    ]


def test_two_equal_locks_have_no_change() -> None:
    assert lock_changes(locked("github", search=A), locked("github", search=A), BY_NAME, whole_change) == ()


# --- the check ---------------------------------------------------------------------------------------------------------


def codes(wanted: Desired, lock: Lock) -> list[tuple[str, str | None]]:
    return [(each.code, each.address) for each in check_lock(wanted, lock)]


def test_a_name_without_an_entry_is_found_and_a_glob_is_not() -> None:
    assert codes(BY_NAME, Lock()) == [("lock-incomplete", "tool.github/search")]
    assert codes(BY_GLOB, Lock()) == []


def test_a_name_of_a_disabled_server_needs_no_entry_as_nobody_can_make_one() -> None:
    off = desired(replace(GITHUB, enabled=False), assistant("ops", select("github", "search")))
    assert (codes(off, Lock()), drafted(off, NOTHING, {}).lock) == ([], Lock())


def test_an_entry_that_nothing_selects_is_found() -> None:
    found = [("lock-unselected", "assistant.ops/github__search")]
    excluding = desired(GITHUB, assistant("ops", select("github", "*", exclude=["search"])))
    assert codes(desired(GITHUB), locked("github", search=A)) == found
    assert codes(excluding, locked("github", search=A)) == found


def test_an_alias_that_the_file_declares_otherwise_is_found() -> None:
    declaring = desired(GITHUB, assistant("ops", select("github", "search", aliases={"search": "find"})))
    assert codes(declaring, locked("github", search=A)) == [("lock-alias", "tool.github/search")]


def test_two_entries_of_one_name_are_found() -> None:
    both = Lock(assistants={"ops": {"github": {"read": entry("Find"), "search": entry("find")}}})
    assert codes(BY_GLOB, both) == [("lock-alias", "assistant.ops/find")]


def test_a_reserved_name_is_found_unless_it_was_attached_before_it_was_reserved() -> None:
    reserving = replace(BY_NAME, reserved_names=frozenset({"house_name"}))
    for name in ("House_Name", "web_search"):
        lock = Lock(assistants={"ops": {"github": {"search": entry(name)}}})
        nothing = [(one.code, one.severity, one.address) for one in check_lock(reserving, lock, Recorded())]
        assert nothing == [("lock-alias", Severity.ERROR, f"assistant.ops/{name}")]
        # Where nobody knows what is attached it may be fine.
        unknown = [(one.code, one.severity) for one in check_lock(reserving, lock)]
        assert unknown == [("lock-alias", Severity.WARNING)]
        attached = recorded(KNOWN, OPS, attachment(KNOWN, "search", A, alias=name))
        assert check_lock(reserving, lock, attached) == ()
