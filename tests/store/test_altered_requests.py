"""A request for approval that somebody edits in the database: whatever a person reads of it, the edit shows and opens nothing."""

import shutil
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.approvals import Approval, ApprovalState, is_intact
from remit.core.call_ports import ApprovalRefused, ApprovalWaiting, Started
from remit.errors import StoreError
from remit.render.approvals_text import ApprovalDocument, approval_document, approval_text
from remit.store.runtime_tables import approvals
from tests.store.calls import BINDING, SECONDS, Site, a_call, intent, site

EDITS = {
    "approval_id": "'another'",
    "owner": "'another'",
    "assistant": "'sandbox'",
    "principal": "'user:eve'",
    "binding_hash": f"'{'0' * 64}'",
    "request_digest": f"'{'0' * 64}'",
    "server_id": "'mcp_sandbox'",
    "identity_key": "'http:https://sandbox.example/mcp'",
    "remote_name": "'noop'",
    "definition_digest": "'d1:y'",
    "envelope_digest": "'e1:y'",
    "arguments": "'{}'",
    "provider_name": "'sandbox__noop'",
    "server": "'sandbox'",
    "reversible": "1",
    "state": "'approved'",
    "requested_at": "replace(requested_at, '2026', '2025')",
    "expires_at": "replace(expires_at, '2026', '2036')",
    "approver": "'user:ana'",
    "decided_at": "requested_at",
    "reason": "'\"looked at\"'",
    "action_id": "'a1'",
}
"""A value for every column, as SQL."""

NOT_OF_THE_ROW = {"intact"}


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which one request waits; `here` has a copy of it."""
    made = site(tmp_path_factory.mktemp("waiting"))
    with made.journal("r1") as journal:
        found = journal.begin(intent(a_call(made), approval=BINDING)).result(SECONDS)
    assert isinstance(found, ApprovalWaiting)
    return made.path


@pytest.fixture
def here(waiting: Path, tmp_path: Path) -> Site:
    return Site(Path(shutil.copy(waiting, tmp_path)))


def edit(here: Site, statement: str) -> None:
    raw = sqlite3.connect(here.path)
    assert raw.execute(statement).rowcount == 1
    raw.commit()
    raw.close()


def asked(here: Site) -> Approval:
    (approval,) = here.governance.approvals.approvals("local")
    return approval


def approve(here: Site, approval: Approval) -> None:
    here.governance.approvals.decide_approval(
        approval.binding.owner,
        approval.approval_id,
        ApprovalState.APPROVED,
        approver="user:ana",
        reason=None,
        at=here.clock.now,
    )


def test_every_column_and_whatever_a_person_is_shown_is_edited_here() -> None:
    assert set(EDITS) == {column.name for column in approvals.columns}
    assert set(ApprovalDocument.__annotations__) - set(EDITS) == NOT_OF_THE_ROW


@pytest.mark.parametrize("column", EDITS)
def test_whatever_is_edited_of_a_request_it_is_shown_as_altered_and_cannot_be_approved(here: Site, column: str) -> None:
    before = asked(here)
    edit(here, f"UPDATE approvals SET {column} = {EDITS[column]}")
    (found,) = here.governance.approvals.approvals("another" if column == "owner" else "local")
    assert (is_intact(before), is_intact(found), approval_document(found)["intact"]) == (True, False, False)
    assert "ALTERED" in approval_text(found, now=here.clock.now, colour=False)
    with pytest.raises(StoreError) as refused:
        here.governance.approvals.require_approvable(found, "user:ana")
    assert refused.value.code == "approval-altered"
    if found.state is ApprovalState.PENDING:
        with pytest.raises(StoreError):
            approve(here, found)
    approvals_after = here.governance.approvals.approvals(found.binding.owner, states=[ApprovalState.APPROVED])
    assert [each for each in approvals_after if is_intact(each)] == []


def test_a_request_whose_times_were_both_moved_is_altered_too(here: Site) -> None:
    edit(
        here,
        "UPDATE approvals SET requested_at = replace(requested_at, '2026', '2027'),"
        " expires_at = replace(expires_at, '2026', '2027')",
    )
    (found,) = here.governance.approvals.approvals("local")
    assert found.expires_at - found.requested_at == timedelta(minutes=15)
    assert not is_intact(found)


@pytest.mark.parametrize("column", sorted(set(EDITS) - {"approval_id", "owner", "binding_hash", "state", "decided_at"}))
def test_an_approval_that_was_edited_after_the_yes_lets_no_call_through_and_is_asked_for_again(
    here: Site, column: str
) -> None:
    before = asked(here)
    approve(here, before)
    value = "NULL" if column == "approver" else EDITS[column]
    edit(here, f"UPDATE approvals SET {column} = {value}")
    with here.journal("r2") as journal:
        found = journal.begin(intent(a_call(here, "r2"), approval=BINDING)).result(SECONDS)
    if column == "reason":
        # What a person said to their yes is shown and opens nothing.
        assert isinstance(found, Started)
        return
    assert isinstance(found, ApprovalWaiting)
    assert found.approval_id != before.approval_id


def test_a_yes_that_was_moved_to_another_call_does_not_let_that_one_through(here: Site) -> None:
    before, other = asked(here), replace(BINDING, arguments='{"q":"everything"}')
    approve(here, before)
    edit(here, f"UPDATE approvals SET binding_hash = '{other.hash}'")
    with here.journal("r2") as journal:
        found = journal.begin(intent(a_call(here, "r2"), approval=other)).result(SECONDS)
    assert isinstance(found, ApprovalWaiting)
    assert found.approval_id != before.approval_id


def test_a_no_that_was_edited_is_a_no_all_the_same(here: Site) -> None:
    before, desk = asked(here), here.governance.approvals
    desk.decide_approval(
        "local", before.approval_id, ApprovalState.DENIED, approver="user:ana", reason=None, at=here.clock.now
    )
    edit(here, "UPDATE approvals SET server = 'sandbox'")
    with here.journal("r2") as journal:
        found = journal.begin(intent(a_call(here, "r2"), approval=BINDING)).result(SECONDS)
    assert found == ApprovalRefused(before.approval_id, ApprovalState.DENIED, None)
