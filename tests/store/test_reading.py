import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.canonical import JsonObject
from remit.core.live import Era, Quarantine, QuarantineReason, ServerIdentity
from remit.core.ports import AppliedRecord, HistoryEntry, Store
from remit.core.recorded import LastGood
from remit.errors import DatabaseUnusable, StoreError
from tests.store.samples import (
    NOW,
    assistant,
    attach,
    created_store,
    definition,
    listed,
    register,
    server_id,
    tool,
)


def test_the_store_is_the_one_that_core_asks_for(tmp_path: Path) -> None:
    store: Store = created_store(tmp_path)
    assert store.dialect == "sqlite"


def test_the_last_good_listing_comes_back_whole(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    full = replace(
        listed(search=definition(), Fetch=definition("Fetch.")),
        era=Era.LEGACY,
        quarantined=(Quarantine(remote_name="b\0d", reason=QuarantineReason.INVALID_NAME, detail="NUL"),),
        server_info=ServerIdentity(name="GitHub", version="1"),
        capabilities={"tools": {"listChanged": True}},
        instructions="Say \ud800 and \0.",
        notes=("one line on stdout was skipped",),
    )
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), register("mirror"), register("silent")])
        transaction.keep_listing(server_id("github"), full)
        transaction.keep_listing(server_id("mirror"), listed())
    asked = [server_id("github"), server_id("mirror"), server_id("silent"), server_id("unknown")]
    assert store.last_good(asked) == {server_id("github"): full, server_id("mirror"): listed()}
    assert {each.name: (each.era, each.last_good) for each in store.recorded().servers} == {
        "github": ("legacy", LastGood(tools=2, observed_at=NOW)),
        "mirror": ("modern", LastGood(tools=0, observed_at=NOW)),
        "silent": (None, None),
    }


def test_a_newer_listing_replaces_the_older_one_tool_by_tool(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    newer = replace(listed(b=definition("B2."), c=definition("C.")), observed_at=NOW + timedelta(hours=1))
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
        transaction.keep_listing(
            server_id("github"), listed(a=definition("A."), b=definition("B1."), c=definition("C."))
        )
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.keep_listing(server_id("github"), newer)
    assert store.last_good([server_id("github")]) == {server_id("github"): newer}


def test_a_listing_of_a_server_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with pytest.raises(StoreError) as refused, store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.keep_listing(server_id("github"), listed())
    assert refused.value.code == "server-not-registered"


def test_history_counts_up_for_each_workspace_and_is_read_newest_first(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    record = AppliedRecord(
        actor="ci", at=NOW, commit="9c1e2f", digest="d1:ab", outcome="applied", plan={"summary": {"attach": 1}, "x": []}
    )
    for workspace in ("web", "infra", "web"):
        with store.workspace(workspace, owner="local", lock_timeout=1) as transaction:
            transaction.execute([register(f"{workspace}-{len(store.history(workspace, limit=9))}")])
            serial = transaction.keep_apply(record)
    entry = HistoryEntry(
        workspace="web",
        serial=2,
        actor="ci",
        at=NOW,
        commit="9c1e2f",
        digest="d1:ab",
        outcome="applied",
        summary={"attach": 1},
    )
    assert serial == 2
    assert store.history("web", limit=9) == (entry, replace(entry, serial=1))
    assert store.history("web", limit=1) == (entry,)
    assert store.history("unknown", limit=9) == ()
    assert {name: each.serial for name, each in store.recorded().workspaces.items()} == {"web": 2, "infra": 1}


def test_tool_configs_are_the_functions_of_one_assistant_by_name(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        operations = [attach(tool(of, "github", name)) for of in ("ops", "desk") for name in ("search", "Fetch")]
        transaction.execute([register("github"), assistant("ops"), assistant("desk"), *operations[:3]])
    parameters: JsonObject = {"properties": {}, "type": "object"}
    assert store.tool_configs(owner="local", assistant="ops") == [
        {"type": "function", "function": {"name": name, "description": "Search.", "parameters": parameters}}
        for name in ("github__Fetch", "github__search")
    ]
    assert len(store.tool_configs(owner="local", assistant="desk")) == 1
    assert store.tool_configs(owner="mallory", assistant="ops") == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE mcp_server_registrations SET transport = 'dummy-secret-value'",
        "UPDATE mcp_server_registrations SET connection = '\"dummy-secret-value\"'",
        "UPDATE assistants SET permissions = 'dummy-secret-value'",
    ],
)
def test_a_row_that_no_remit_wrote_is_an_error_that_shows_no_value(tmp_path: Path, damage: str) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops")])
    with sqlite3.connect(tmp_path / "remit.db") as raw:
        raw.execute(damage)
    raw.close()
    with pytest.raises(DatabaseUnusable) as refused:
        store.recorded()
    assert refused.value.code == "database-row"
    assert refused.value.place == str(tmp_path / "remit.db")
    assert "dummy-secret-value" not in f"{refused.value} {refused.value.hint}"
