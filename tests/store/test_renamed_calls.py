"""Approvals and keys of an assistant that is renamed, and of a tool that is moved: nothing runs twice, nothing runs unasked."""

from dataclasses import replace
from pathlib import Path

import pytest

from remit.core.approvals import ApprovalState
from remit.core.call_ports import ApprovalWaiting, Begun, KeyConflict, Replayed, Started, StillRunning, StoredOutcome
from remit.core.calls import ActionState
from remit.core.identity import RemoteName
from remit.core.operations import CreateAssistant, Operation, Reason, UpdateAssistant
from remit.store.database import Location, open_store
from remit.store.journal import Journal
from tests.store.calls import BINDING, SECONDS, Site, a_call, ended, intent, new_id, site
from tests.store.samples import attach, definition, refresh, server_id, tool

RENAME = UpdateAssistant(
    reason=Reason.MOVED, assistant="triage", before=("issues:read",), after=("issues:read",), renamed_to="support"
)


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def apply(here: Site, *operations: Operation) -> None:
    store = open_store(Location(here.path), new_id=new_id, clock=here.clock)
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute(operations) == ()


def call(
    here: Site,
    journal: Journal,
    *,
    assistant: str = "triage",
    principal: str | None = None,
    fingerprint: str = "same",
) -> Begun:
    """Begin a call under a key, in a run of its own of this assistant."""
    who, grants = principal or f"assistant:{assistant}", here.governance.grants("local", assistant)
    assert grants is not None
    run = replace(here.run(new_id()), assistant=assistant, principal=who)
    journal.ledger.start_run(run)
    facts = a_call(here, run.run_id, stamp=grants.stamp, assistant=assistant, principal=who)
    return journal.begin(intent(facts, key="k", fingerprint=fingerprint)).result(SECONDS)


def done(here: Site, journal: Journal, *, principal: str = "assistant:triage") -> str:
    """A call of `triage` under the key `k` that came back; its action."""
    facts = a_call(here, principal=principal)
    assert journal.begin(intent(facts, key="k")).result(SECONDS) == Started()
    assert journal.end(ended(facts)).result(SECONDS)
    return facts.action_id


def state(here: Site, approval_id: str) -> ApprovalState:
    found = here.governance.approvals.approval("local", approval_id)
    assert found is not None
    return found.state


def test_a_call_repeated_under_its_key_after_the_rename_is_not_sent_again(here: Site) -> None:
    with here.journal("r1") as journal:
        action = done(here, journal)
        apply(here, RENAME)
        replayed = StoredOutcome(action_id=action, state=ActionState.COMPLETED, result={"content": "two issues"})
        assert call(here, journal, assistant="support") == Replayed(replayed)
        assert call(here, journal, assistant="support", fingerprint="other") == KeyConflict()


def test_the_key_of_another_caller_follows_as_well(here: Site) -> None:
    with here.journal("r1") as journal:
        action = done(here, journal, principal="user:ana")
        apply(here, RENAME)
        begun = call(here, journal, assistant="support", principal="user:ana")
        assert isinstance(begun, Replayed)
        assert begun.outcome.action_id == action


def test_a_call_that_is_under_way_while_its_assistant_is_renamed_ends_its_key(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        assert journal.begin(intent(facts, key="k")).result(SECONDS) == Started()
        apply(here, RENAME)
        assert call(here, journal, assistant="support") == StillRunning(facts.action_id)
        assert journal.end(ended(facts)).result(SECONDS)
        assert isinstance(call(here, journal, assistant="support"), Replayed)


def test_a_key_that_the_new_name_has_used_already_stays_and_the_other_is_not_forgotten(here: Site) -> None:
    with here.journal("r1") as journal:
        done(here, journal)
        action = done(here, journal, principal="assistant:support")
        apply(here, RENAME)
        begun = call(here, journal, assistant="support")
        assert isinstance(begun, Replayed)
        assert begun.outcome.action_id == action


@pytest.mark.parametrize("approved", [False, True])
def test_an_approval_of_the_old_name_ends_with_the_rename_and_with_it_what_waits(here: Site, approved: bool) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        asked = journal.begin(intent(facts, approval=BINDING)).result(SECONDS)
        assert isinstance(asked, ApprovalWaiting)
        if approved:
            here.governance.approvals.decide_approval(
                "local", asked.approval_id, ApprovalState.APPROVED, approver="user:ana", reason=None, at=here.clock.now
            )
        apply(here, RENAME)
        assert state(here, asked.approval_id) is ApprovalState.EXPIRED
        assert here.action(facts.action_id) == ("failed", "approval_required")


def test_the_next_assistant_of_the_old_name_uses_no_approval_and_no_key_of_the_one_before(here: Site) -> None:
    with here.journal("r1") as journal:
        done(here, journal)
        asked = journal.begin(intent(a_call(here), approval=BINDING)).result(SECONDS)
        assert isinstance(asked, ApprovalWaiting)
        here.governance.approvals.decide_approval(
            "local", asked.approval_id, ApprovalState.APPROVED, approver="user:ana", reason=None, at=here.clock.now
        )
        apply(here, RENAME)
        apply(here, CreateAssistant(reason=Reason.DECLARED, assistant="triage", permissions=()))
        apply(here, attach(tool("triage", "github", "search")))
        anew = journal.begin(intent(a_call(here), approval=BINDING)).result(SECONDS)
        assert isinstance(anew, ApprovalWaiting)
        assert anew.approval_id != asked.approval_id
        assert call(here, journal) == Started()


def test_another_assistants_approvals_and_keys_stay_as_they_are(here: Site) -> None:
    apply(
        here,
        CreateAssistant(reason=Reason.DECLARED, assistant="other", permissions=()),
        attach(tool("other", "github", "search")),
    )
    with here.journal("r1") as journal:
        binding = replace(BINDING, assistant="other", principal="assistant:other")
        assert call(here, journal, assistant="other") == Started()
        grants = here.governance.grants("local", "other")
        assert grants is not None
        facts = a_call(here, stamp=grants.stamp, assistant="other", principal="assistant:other")
        asked = journal.begin(intent(facts, approval=binding)).result(SECONDS)
        assert isinstance(asked, ApprovalWaiting)
        apply(here, RENAME)
        assert state(here, asked.approval_id) is ApprovalState.PENDING
        assert isinstance(call(here, journal, assistant="other"), StillRunning)


def test_an_approval_of_a_tool_ends_when_the_tool_is_moved(here: Site) -> None:
    binding = replace(BINDING, server_id=server_id("github"))
    with here.journal("r1") as journal:
        asked, other = (
            journal.begin(intent(a_call(here), approval=each)).result(SECONDS)
            for each in (binding, replace(binding, remote_name="other"))
        )
        assert isinstance(asked, ApprovalWaiting)
        assert isinstance(other, ApprovalWaiting)
        moved = refresh(tool("triage", "github", "search"), definition())
        apply(here, replace(moved, reason=Reason.MOVED, moved_to=RemoteName("find")))
        assert state(here, asked.approval_id) is ApprovalState.EXPIRED
        assert state(here, other.approval_id) is ApprovalState.PENDING
