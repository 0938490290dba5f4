import contextlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from remit.core.envelope import MOST_RESTRICTIVE, AuditedArguments, Envelope, Recording, Surface, UnknownArguments
from remit.core.identity import ProviderName
from remit.core.operations import Reason, Refresh, ToolRef
from remit.core.ports import Failure
from remit.core.recorded import Recorded, WorkspaceRecord
from remit.errors import StoreError
from remit.store.store import DatabaseStore
from tests.store.samples import (
    assistant,
    attach,
    created_store,
    definition,
    detach,
    facts,
    listed,
    opened,
    refresh,
    register,
    remove_assistant,
    rename,
    rename_server,
    server_id,
    set_envelope,
    tool,
    unregister,
    update_server,
)

SEARCH = tool("ops", "github", "search")
FETCH = tool("ops", "github", "fetch")


def _aliases(recorded: Recorded) -> dict[tuple[str, str], str]:
    return {(each.assistant, each.remote_name): each.provider_name for each in recorded.attachments}


def _add_foreign_function(path: Path, name: str) -> None:
    """What the API's developers do: a function that no attachment stands behind."""
    with sqlite3.connect(path) as raw:
        raw.execute(
            "INSERT INTO assistant_functions (assistant_id, folded_name, name, document) "
            "SELECT id, ?, ?, ? FROM assistants WHERE name = 'ops'",
            (name.casefold(), name, json.dumps({"type": "function", "function": {"name": name}})),
        )
    raw.close()


def test_two_tools_can_swap_their_aliases(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH), attach(FETCH)])
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        swap = [rename(SEARCH, FETCH.provider_name), rename(FETCH, SEARCH.provider_name)]
        assert transaction.execute(swap) == ()
    assert _aliases(store.recorded()) == {("ops", "search"): "github__fetch", ("ops", "fetch"): "github__search"}
    assert [each["function"]["name"] for each in _functions(store.tool_configs(owner="local", assistant="ops"))] == [
        "github__fetch",
        "github__search",
    ]
    assert all(each.is_coherent for each in store.recorded().attachments)


def _functions(configs: object) -> list[dict[str, dict[str, str]]]:
    return json.loads(json.dumps(configs))


def test_an_alias_can_change_its_case_only(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
        assert transaction.execute([rename(SEARCH, "GitHub__Search")]) == ()
    assert _aliases(store.recorded()) == {("ops", "search"): "GitHub__Search"}


def test_an_alias_that_a_detached_tool_gives_up_is_free_in_the_same_apply(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        successor = replace(FETCH, provider_name=SEARCH.provider_name)
        assert transaction.execute([attach(successor), detach(SEARCH)]) == ()
    assert _aliases(store.recorded()) == {("ops", "fetch"): "github__search"}


def test_a_clash_across_workspaces_names_both_origins_and_costs_other_assistants_nothing(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    clash = tool("ops", "mirror", "find", "GITHUB__search")
    with store.workspace("infra", owner="local", lock_timeout=1) as transaction:
        failures = transaction.execute(
            [
                register("mirror"),
                assistant("desk"),
                attach(tool("ops", "mirror", "fetch")),
                attach(clash),
                attach(tool("desk", "mirror", "find")),
            ]
        )
    assert failures == (
        Failure(
            assistant="ops",
            message="mirror/find (workspace infra) cannot be called GITHUB__search: github__search is taken by "
            "github/search (workspace web); names count without case. Give one of them another name under aliases:",
        ),
    )
    assert _aliases(store.recorded()) == {("ops", "search"): "github__search", ("desk", "find"): "mirror__find"}


def test_a_name_that_a_foreign_function_has_is_not_taken_from_it(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops")])
    _add_foreign_function(tmp_path / "remit.db", "Github__Search")
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        (failure,) = transaction.execute([attach(SEARCH)])
    assert "Github__Search is taken by a foreign function" in failure.message
    assert store.recorded().attachments == ()
    assert [each.foreign_functions for each in store.recorded().assistants] == [("Github__Search",)]


def test_two_tools_of_one_apply_that_want_one_name_are_both_named(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        (failure,) = transaction.execute(
            [
                register("github"),
                assistant("ops"),
                attach(SEARCH),
                attach(replace(FETCH, provider_name=ProviderName("GITHUB__SEARCH"))),
            ]
        )
    assert "github/fetch" in failure.message
    assert "github/search" in failure.message
    assert store.recorded().assistants == ()


def test_attaching_an_attached_tool_refreshes_it_under_its_old_alias(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    before = store.recorded().attachments[0]
    newer = definition("Search better.")
    loose = Envelope(surface=Surface.OPEN, side_effecting=False, reversible=True, required_permission=None)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([attach(replace(SEARCH, provider_name=ProviderName("other")), newer, loose)]) == ()
    (after,) = store.recorded().attachments
    assert after.is_coherent
    assert after == replace(
        before,
        definition=newer,
        function_text=after.function_text,
        function_digest=after.function_digest,
        row_version=2,
    )


@pytest.mark.parametrize(
    "policy",
    [
        replace(MOST_RESTRICTIVE, unknown_arguments=UnknownArguments.PASS),
        replace(MOST_RESTRICTIVE, record=Recording.DIGEST),
        replace(MOST_RESTRICTIVE, audit_arguments=AuditedArguments.VALUES),
    ],
    ids=["unknown arguments", "record", "audit arguments"],
)
def test_each_field_of_a_policy_is_kept_apart_from_the_others(tmp_path: Path, policy: Envelope) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH), attach(FETCH, envelope=policy)])
    first = {each.remote_name: each.envelope for each in store.recorded().attachments}
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([set_envelope(SEARCH, policy)])
    then = {each.remote_name: each.envelope for each in store.recorded().attachments}
    assert (first, then) == (
        {SEARCH.remote_name: MOST_RESTRICTIVE, FETCH.remote_name: policy},
        {SEARCH.remote_name: policy, FETCH.remote_name: policy},
    )


def repair(of: ToolRef) -> Refresh:
    return replace(refresh(of, definition()), reason=Reason.DATABASE_DRIFT)


def test_a_refresh_mends_an_attachment_whose_function_is_gone_or_changed(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH), attach(FETCH)])
    healthy = store.recorded()
    with sqlite3.connect(tmp_path / "remit.db") as raw:
        raw.execute("DELETE FROM assistant_functions WHERE name = 'github__search'")
        raw.execute("UPDATE assistant_functions SET document = '{}' WHERE name = 'github__fetch'")
    raw.close()
    assert [each.is_coherent for each in store.recorded().attachments] == [False, False]
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([refresh(SEARCH, definition()), refresh(FETCH, definition())]) == ()
    mended = store.recorded().attachments
    assert tuple(replace(each, row_version=1) for each in mended) == healthy.attachments


def test_a_repair_writes_the_alias_back_that_somebody_edited(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH), attach(FETCH)])
    healthy = store.recorded()
    with sqlite3.connect(tmp_path / "remit.db") as raw:
        raw.execute("UPDATE assistant_mcp_tools SET provider_name = 'edited' WHERE remote_name = 'search'")
        raw.execute("UPDATE assistant_functions SET name = 'Other', folded_name = 'other' WHERE name = 'github__fetch'")
    raw.close()
    edited = store.recorded().attachments
    assert {(each.provider_name, each.function_name) for each in edited} == {
        ("edited", "github__search"),
        ("github__fetch", "Other"),
    }
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([repair(SEARCH), repair(FETCH)]) == ()
    mended = store.recorded().attachments
    assert tuple(replace(each, row_version=1) for each in mended) == healthy.attachments


def test_a_function_whose_two_names_disagree_stands_under_none(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    (before,) = store.recorded().attachments
    with sqlite3.connect(tmp_path / "remit.db") as raw:
        raw.execute("UPDATE assistant_functions SET folded_name = 'other'")
    raw.close()
    (after,) = store.recorded().attachments
    assert (after, after.is_coherent) == (replace(before, function_name=None), False)


@pytest.mark.parametrize("operations", [("repair", "rename"), ("rename", "repair")])
def test_a_rename_comes_on_top_of_a_repair_in_any_order(tmp_path: Path, operations: tuple[str, ...]) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    with sqlite3.connect(tmp_path / "remit.db") as raw:
        raw.execute("UPDATE assistant_mcp_tools SET provider_name = 'edited'")
    raw.close()
    made = {"repair": repair(SEARCH), "rename": rename(SEARCH, "find")}
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([made[each] for each in operations]) == ()
    (found,) = store.recorded().attachments
    assert (found.provider_name, found.function_name, found.is_coherent) == ("find", "find", True)


def test_a_refresh_keeps_the_name_that_a_rename_of_the_same_apply_gave(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    newest = definition("Newest.")
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([rename(SEARCH, "find"), refresh(SEARCH, newest)]) == ()
    (found,) = store.recorded().attachments
    assert (found.provider_name, found.definition, found.is_coherent) == ("find", newest, True)


def test_what_is_not_attached_can_be_detached_and_nothing_else(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops")])
    before = store.recorded()
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([detach(SEARCH)]) == ()
        for operation in (
            refresh(SEARCH, definition()),
            rename(SEARCH, "x"),
            set_envelope(SEARCH, attach(SEARCH).envelope),
        ):
            assert transaction.execute([operation]) == (
                Failure(assistant="ops", message="github/search is not attached"),
            )
    assert store.recorded() == before


def test_rows_of_another_workspace_are_never_changed(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops", "read"), assistant("empty"), attach(SEARCH)])
    before = store.recorded()
    with store.workspace("infra", owner="local", lock_timeout=1) as transaction:
        for operation in (attach(SEARCH), detach(SEARCH), refresh(SEARCH, definition("x")), rename(SEARCH, "x")):
            (failure,) = transaction.execute([operation])
            assert "attached by workspace web" in failure.message
        (failure,) = transaction.execute([assistant("ops")])
        assert "made by workspace web" in failure.message
        gone = [remove_assistant("ops"), remove_assistant("empty"), unregister("github")]
        assert transaction.execute(gone) == ()
    assert replace(store.recorded(), workspaces=before.workspaces) == before


def test_a_tool_of_a_server_that_is_not_registered_is_not_attached(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops")])
        transaction.execute([unregister("github")])
        (failure,) = transaction.execute([attach(SEARCH)])
    assert "github is not registered" in failure.message
    assert store.recorded().attachments == ()


def test_a_revision_counts_applies_and_not_operations(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), assistant("desk"), attach(SEARCH)])
        transaction.execute([attach(FETCH)])
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([detach(FETCH), refresh(SEARCH, definition("x"))])
    assert {each.name: each.revision for each in store.recorded().assistants} == {"ops": 2, "desk": 1}


def test_a_deleted_assistant_that_holds_foreign_functions_stays_without_its_attachments(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), assistant("desk"), attach(SEARCH)])
    _add_foreign_function(tmp_path / "remit.db", "own_function")
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        operations = [detach(SEARCH), remove_assistant("ops"), remove_assistant("desk")]
        assert transaction.execute(operations) == ()
    assert [(each.name, each.foreign_functions) for each in store.recorded().assistants] == [("ops", ("own_function",))]
    assert store.recorded().attachments == ()


def test_operations_of_one_assistant_come_out_the_same_in_any_order(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    policy = Envelope(surface=Surface.OPEN, side_effecting=False, reversible=True, required_permission="read")
    newest = definition("Newest.")
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        backwards = [
            set_envelope(SEARCH, policy),
            refresh(SEARCH, newest),
            attach(replace(SEARCH, provider_name=ProviderName("again"))),
            detach(SEARCH),
        ]
        assert transaction.execute(backwards) == ()
    (found,) = store.recorded().attachments
    assert (found.provider_name, found.definition, found.envelope) == ("again", newest, policy)


def test_an_assistant_whose_operations_failed_is_not_deleted(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops")])
    before = store.recorded()
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        failures = transaction.execute([rename(SEARCH, "x"), remove_assistant("ops")])
    assert [each.assistant for each in failures] == ["ops"]
    assert store.recorded() == before


def test_an_unregistered_server_leaves_a_tombstone_and_no_listing(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
        transaction.keep_listing(server_id("github"), listed(search=definition()))
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([unregister("github")])
    recorded = store.recorded()
    assert (recorded.servers, recorded.used_server_ids) == ((), frozenset({server_id("github")}))
    assert store.last_good([server_id("github")]) == {}
    with pytest.raises(StoreError) as refused, store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
    assert refused.value.code == "server-not-free"


def test_two_servers_can_swap_names_or_endpoints(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    a, b = facts("a"), facts("b")
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("a"), register("b")])
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute(
            [
                update_server("a", a, replace(a, endpoint=b.endpoint)),
                update_server("b", b, replace(b, endpoint=a.endpoint)),
            ]
        )
        transaction.execute([rename_server("a", a, replace(b, endpoint=b.endpoint)), rename_server("b", b, a)])
    found = {each.server_id: (each.name, each.endpoint) for each in store.recorded().servers}
    assert found == {server_id("a"): ("b", b.endpoint), server_id("b"): ("a", a.endpoint)}


def test_a_server_can_be_replaced_by_another_of_its_name(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    successor = replace(register("github", host="new.example"), server_id=server_id("successor"))
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([successor, detach(SEARCH), unregister("github")]) == ()
    assert [each.server_id for each in store.recorded().servers] == [server_id("successor")]
    assert store.recorded().used_server_ids == {server_id("successor"), server_id("github")}


def test_a_failed_assistant_keeps_the_server_that_it_uses(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), register("mirror"), assistant("ops"), attach(SEARCH)])
    before = store.recorded()
    missing = tool("ops", "mirror", "gone")
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        failures = transaction.execute(
            [detach(SEARCH), rename(missing, "x"), remove_assistant("ops"), unregister("github"), unregister("mirror")]
        )
    assert failures == (
        Failure(assistant="ops", message="mirror/gone is not attached; so server.github stays registered"),
    )
    after = store.recorded()
    assert (after.attachments, after.assistants) == (before.attachments, before.assistants)
    assert [each.name for each in after.servers] == ["github"]


def test_a_replacement_that_a_failed_assistant_would_split_changes_nothing(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(SEARCH)])
    before = store.recorded()
    successor = replace(register("github", host="new.example"), server_id=server_id("successor"))
    operations = [successor, detach(SEARCH), rename(FETCH, "x"), unregister("github")]
    with pytest.raises(StoreError) as refused, store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute(operations)
    assert refused.value.code == "server-still-used"
    assert store.recorded() == before


def test_an_endpoint_registered_in_another_workspace_is_refused_by_name(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
    with pytest.raises(StoreError) as refused, store.workspace("infra", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("mirror", host="github")])
    assert (refused.value.code, "github of workspace web" in refused.value.message) == ("server-not-free", True)
    assert list(store.recorded().workspaces) == ["web"]


def _swallow_an_error(store: DatabaseStore) -> None:
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
        with contextlib.suppress(StoreError):
            transaction.execute([update_server("gone", facts("gone"), facts("gone"))])


def test_an_error_that_the_caller_lets_pass_still_undoes_everything(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with pytest.raises(StoreError) as refused:
        _swallow_an_error(store)
    assert refused.value.code == "server-not-registered"
    assert store.recorded() == Recorded()


def _fail_by_oneself(store: DatabaseStore) -> None:
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
        "\ud800".encode()


def test_an_exception_of_the_caller_undoes_everything_and_comes_out_as_it_is(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with pytest.raises(UnicodeEncodeError):
        _fail_by_oneself(store)
    assert store.recorded() == Recorded()


def test_the_first_apply_makes_the_workspace_and_later_ones_keep_its_lineage(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
    first = store.recorded().workspaces
    with opened(tmp_path / "remit.db", prefix="later").workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("mirror")])
    assert first == {"web": WorkspaceRecord(name="web", owner="local", lineage="id-1", serial=0)}
    assert store.recorded().workspaces == first


def test_the_files_of_a_workspace_are_kept_without_history_and_only_where_it_is_recorded(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.keep_files(["mcp.yaml"])
    assert store.recorded() == Recorded()
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
        transaction.keep_files(["mcp.d/ä.yaml", "mcp.yaml"])
    with store.workspace("infra", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("other")])
    known = store.recorded().workspaces
    assert {name: each.files for name, each in known.items()} == {"web": ("mcp.d/ä.yaml", "mcp.yaml"), "infra": ()}
    assert (known["web"].serial, store.history("web", limit=9)) == (0, ())


def test_that_a_lock_was_used_is_kept_without_history_and_only_where_the_workspace_is_recorded(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.note_lock()
    assert store.recorded() == Recorded()
    for name in ("web", "infra"):
        with store.workspace(name, owner="local", lock_timeout=1) as transaction:
            transaction.execute([register(f"server-of-{name}")])
            if name == "web":
                transaction.note_lock()
    known = store.recorded().workspaces
    assert {name: each.lock_used for name, each in known.items()} == {"web": True, "infra": False}
    assert (known["web"].serial, store.history("web", limit=9)) == (0, ())


def test_the_environment_is_kept_without_history_only_where_the_workspace_is_recorded_and_moves_with_it(
    tmp_path: Path,
) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.note_environment("prod")
    assert store.recorded() == Recorded()
    for name in ("web", "infra"):
        with store.workspace(name, owner="local", lock_timeout=1) as transaction:
            transaction.execute([register(f"server-of-{name}")])
            if name == "web":
                transaction.note_environment("prod")
    known = store.recorded().workspaces
    assert {name: each.environment for name, each in known.items()} == {"web": "prod", "infra": None}
    assert (known["web"].serial, store.history("web", limit=9)) == (0, ())
    with store.workspace("shop", owner="local", lock_timeout=1) as transaction:
        transaction.move_workspace("web")
        transaction.note_environment("")
    assert {name: each.environment for name, each in store.recorded().workspaces.items()} == {"shop": "", "infra": None}


def test_an_apply_without_operations_writes_nothing(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute(()) == ()
    assert store.recorded() == Recorded()


def test_a_workspace_of_another_owner_is_refused(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
    with pytest.raises(StoreError) as refused, store.workspace("web", owner="mallory", lock_timeout=1):
        pass
    assert refused.value.code == "workspace-owner"
