"""What an assistant may use, as the runtime reads it: attachments, registrations, suspensions and the stamp."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.core.call_ports import GrantSource, Stamp
from remit.core.governance import (
    ApprovalDesk,
    AuditTrail,
    RunDesk,
    Suspension,
    SuspensionDesk,
    SuspensionTarget,
    TraceArchive,
)
from remit.core.ports import AppliedRecord
from remit.errors import DatabaseUnusable
from remit.store.store import DatabaseStore
from tests.store.samples import (
    NOW,
    assistant,
    attach,
    created_store,
    definition,
    detach,
    register,
    server_id,
    tool,
)


def apply(store: DatabaseStore, workspace: str, *operations: object) -> None:
    record = AppliedRecord(actor="user:ana", at=NOW, commit=None, digest="p1:x", outcome="applied", plan={})
    with store.workspace(workspace, owner="local", lock_timeout=1) as transaction:
        assert transaction.execute(operations) == ()  # pyright: ignore[reportArgumentType] (any of the union)
        transaction.keep_apply(record)


@pytest.fixture
def store(tmp_path: Path) -> DatabaseStore:
    """Two workspaces that attach to one assistant, and another assistant beside it."""
    store = created_store(tmp_path)
    apply(
        store,
        "ops",
        register("github"),
        assistant("triage", "issues:read", "ci"),
        attach(tool("triage", "github", "search", alias="z_search")),
        attach(tool("triage", "github", "fetch", alias="a_fetch")),
    )
    apply(store, "infra", register("files"), attach(tool("triage", "files", "read", alias="m_read")))
    apply(store, "other", register("mail"), assistant("clerk"), attach(tool("clerk", "mail", "send")))
    return store


def stamp(store: DatabaseStore, named: str = "triage") -> Stamp:
    grants = store.governance().grants("local", named)
    assert grants is not None
    return grants.stamp


def suspension(address: str, **target: str) -> Suspension:
    return Suspension(target=SuspensionTarget(**target), address=address, actor="user:ana", at=NOW, reason=None)


def test_the_desks_are_the_ones_that_core_asks_for(store: DatabaseStore) -> None:
    governance = store.governance()
    ports: tuple[GrantSource, RunDesk, ApprovalDesk, SuspensionDesk, AuditTrail, TraceArchive] = (
        governance,
        governance.runs,
        governance.approvals,
        governance.suspensions,
        governance.audit,
        governance.traces,
    )
    assert len(ports) == 6


def test_grants_are_the_attachments_of_all_workspaces_by_name_with_their_servers(store: DatabaseStore) -> None:
    grants = store.governance().grants("local", "triage")
    assert grants is not None
    recorded = store.recorded()
    attachments = {str(each.provider_name): each for each in recorded.attachments if each.assistant == "triage"}
    servers = {each.name: each for each in recorded.servers}
    assert [(each.attachment, each.server, each.suspended_by) for each in grants.tools] == [
        (attachments["a_fetch"], servers["github"], None),
        (attachments["m_read"], servers["files"], None),
        (attachments["z_search"], servers["github"], None),
    ]
    assert (grants.owner, grants.assistant, grants.permissions) == ("local", "triage", {"issues:read", "ci"})
    assert grants.stamp == Stamp(revision=2, applies=3, suspensions=0)


def test_an_assistant_that_is_not_there_or_of_another_owner_has_no_grants(store: DatabaseStore) -> None:
    assert store.governance().grants("local", "nobody") is None
    assert store.governance().grants("else", "triage") is None


def test_an_assistant_without_tools_has_grants_that_are_empty(store: DatabaseStore) -> None:
    apply(store, "ops", assistant("idle"))
    grants = store.governance().grants("local", "idle")
    assert grants is not None
    assert grants.tools == ()


def test_an_edited_row_is_shown_as_it_is_and_is_not_coherent(store: DatabaseStore, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "remit.db") as raw:
        raw.execute("UPDATE assistant_mcp_tools SET provider_name = 'b_edited' WHERE provider_name = 'a_fetch'")
        raw.execute("DELETE FROM assistant_functions WHERE name = 'm_read'")
    raw.close()
    grants = store.governance().grants("local", "triage")
    assert grants is not None
    assert [(each.attachment.provider_name, each.attachment.is_coherent) for each in grants.tools] == [
        ("b_edited", False),
        ("m_read", False),
        ("z_search", True),
    ]


def test_a_row_that_no_remit_wrote_is_an_error_that_names_its_table(store: DatabaseStore, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "remit.db") as raw:
        raw.execute("UPDATE assistants SET permissions = 'none' WHERE name = 'triage'")
    raw.close()
    with pytest.raises(DatabaseUnusable) as refused:
        store.governance().grants("local", "triage")
    assert (refused.value.code, "assistants" in refused.value.message) == ("database-row", True)


@pytest.mark.parametrize(
    ("target", "covered"),
    [
        pytest.param({"server_id": "mcp_github"}, {"a_fetch", "z_search"}, id="a-server"),
        pytest.param({"assistant": "triage"}, {"a_fetch", "m_read", "z_search"}, id="an-assistant"),
        pytest.param(
            {"server_id": "mcp_github", "assistant": "triage", "remote_name": "fetch"}, {"a_fetch"}, id="one-attachment"
        ),
        pytest.param({"server_id": "mcp_mail"}, set[str](), id="another-server"),
        pytest.param({"assistant": "clerk"}, set[str](), id="another-assistant"),
    ],
)
def test_a_suspension_covers_what_it_names_and_nothing_else(
    store: DatabaseStore, target: dict[str, str], covered: set[str]
) -> None:
    governance = store.governance()
    assert governance.suspensions.suspend("local", suspension("the.address", **target)) is True
    grants = governance.grants("local", "triage")
    assert grants is not None
    assert {each.attachment.provider_name for each in grants.tools if each.suspended_by == "the.address"} == covered
    assert {each.suspended_by for each in grants.tools} <= {"the.address", None}


def test_a_suspension_of_another_owner_covers_nothing(store: DatabaseStore) -> None:
    governance = store.governance()
    governance.suspensions.suspend("else", suspension("server.github", server_id="mcp_github"))
    grants = governance.grants("local", "triage")
    assert grants is not None
    assert ({each.suspended_by for each in grants.tools}, grants.stamp.suspensions) == ({None}, 0)


def test_the_stamp_differs_after_whatever_can_change_a_grant(store: DatabaseStore) -> None:
    desk, stamps = store.governance().suspensions, [stamp(store)]
    one = suspension("server.github", server_id="mcp_github")
    for change in (
        lambda: apply(store, "ops", detach(tool("triage", "github", "fetch", alias="a_fetch"))),
        lambda: apply(store, "other"),
        lambda: desk.suspend("local", one),
        lambda: desk.resume("local", one.target, actor="user:ana", at=NOW),
        lambda: desk.suspend("local", one),
    ):
        change()
        stamps.append(stamp(store))
    assert len(set(stamps)) == len(stamps)


def test_what_changes_nothing_leaves_the_stamp_as_it_is(store: DatabaseStore) -> None:
    desk, before = store.governance().suspensions, stamp(store)
    target = SuspensionTarget(server_id="mcp_github")
    assert desk.resume("local", target, actor="user:ana", at=NOW) is False
    assert stamp(store) == before


def test_suspending_twice_is_once_and_resuming_ends_it(store: DatabaseStore) -> None:
    governance = store.governance()
    desk = governance.suspensions
    first = Suspension(
        target=SuspensionTarget(server_id="mcp_github"),
        address="server.github",
        actor="user:ana",
        at=datetime(2026, 11, 30, 13, 0, tzinfo=UTC),
        reason="leaks \ud800 tokens",
    )
    other = suspension("assistant.triage", assistant="triage")
    assert [desk.suspend("local", each) for each in (first, first, other)] == [True, False, True]
    assert desk.suspensions("local") == (other, first)
    assert desk.resume("local", first.target, actor="user:bo", at=NOW) is True
    assert desk.suspensions("local") == (other,)
    events = [event for event in governance.audit.audit_events() if event.writer == "desk"]
    assert [(event.kind, event.actor) for event in events if event.kind != "checkpoint"] == [
        ("suspended", "user:ana"),
        ("suspended", "user:ana"),
        ("resumed", "user:bo"),
    ]


def test_a_suspension_that_names_nothing_would_be_everything_and_is_refused(store: DatabaseStore) -> None:
    with pytest.raises(ValueError, match="names a server"):
        store.governance().suspensions.suspend("local", suspension("nothing"))


def test_a_suspension_is_untouched_by_apply(store: DatabaseStore) -> None:
    one = suspension("server.github", server_id=server_id("github"))
    store.governance().suspensions.suspend("local", one)
    apply(store, "ops", attach(tool("triage", "github", "list", alias="c_list"), definition("List.")))
    grants = store.governance().grants("local", "triage")
    assert grants is not None
    assert {each.attachment.provider_name: each.suspended_by for each in grants.tools} == {
        "a_fetch": "server.github",
        "c_list": "server.github",
        "m_read": None,
        "z_search": "server.github",
    }


def test_every_apply_is_in_the_trail_with_its_serial(store: DatabaseStore) -> None:
    events = [event for event in store.governance().audit.audit_events() if event.writer == "apply"]
    assert [(event.seq, event.kind, event.actor) for event in events] == [
        (1, "applied", "user:ana"),
        (2, "applied", "user:ana"),
        (3, "applied", "user:ana"),
    ]
    assert events[1].body == (
        '{"remit.commit":null,"remit.outcome":"applied","remit.plan_digest":"p1:x","remit.serial":1,'
        '"remit.workspace":"infra"}'
    )


def test_an_apply_that_fails_leaves_no_event(store: DatabaseStore) -> None:
    record = AppliedRecord(actor="user:ana", at=NOW, commit=None, digest="p1:x", outcome="applied", plan={})

    def kept_and_given_up() -> None:
        with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
            transaction.keep_apply(record)
            raise RuntimeError("the caller gives up")

    with pytest.raises(RuntimeError):
        kept_and_given_up()
    assert [event.seq for event in store.governance().audit.audit_events()] == [1, 2, 3]
