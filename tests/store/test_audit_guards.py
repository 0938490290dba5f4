"""What keeps anybody from editing the trail, and what the rest of the database says of it: both are part of its proof."""

from pathlib import Path

import pytest

from remit.core.audit import AuditKind
from remit.core.audit_review import AuditReview, review
from remit.core.call_ports import ApprovalWaiting, Started
from remit.core.governance import Suspension, SuspensionTarget
from remit.core.ports import AppliedRecord
from remit.store.database import Location, open_store
from remit.store.guards import GUARDS
from tests.store.calls import BINDING, SECONDS, Site, a_call, intent, new_id, site
from tests.store.tampering import edited


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def judged(site: Site) -> AuditReview:
    audit = site.governance.audit
    witness = audit.witness()
    return review(audit.audit_events(), witness=witness)


# --- what guards it ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_that_is_gone_or_does_nothing_any_more_is_named(here: Site, name: str) -> None:
    assert judged(here).faults == ()
    idle = GUARDS[name].replace("SELECT RAISE(ABORT, 'audit_events is append-only')", "SELECT 1")
    edited(here, again=False, more=[idle, *(sql for other, sql in GUARDS.items() if other != name)])
    assert judged(here).faults == (
        f"the trigger {name} does something else than remit's: the audit trail can be edited",
    )
    edited(here, again=False, more=[sql for other, sql in GUARDS.items() if other != name])
    assert judged(here).faults == (f"the trigger {name} is gone: the audit trail can be edited",)
    assert not judged(here).is_sound


def test_a_trigger_that_is_none_of_remits_is_named(here: Site) -> None:
    quiet = "CREATE TRIGGER quiet AFTER INSERT ON runs BEGIN DELETE FROM runs; END"
    edited(here, more=[quiet])
    assert judged(here).faults == ("the trigger quiet is none of remit's",)


# --- what the rest of the database tells ---------------------------------------------------------------------------------------


def told_of(here: Site) -> None:
    """Do one of each thing that is a row and an event."""
    at = here.clock.now
    record = AppliedRecord(actor="user:ana", at=at, commit=None, digest="p1:x", outcome="applied", plan={})
    server = Suspension(
        target=SuspensionTarget(server_id="s"), address="server.s", actor="user:ana", at=at, reason=None
    )
    with here.journal("r1") as journal:
        assert isinstance(journal.begin(intent(a_call(here))).result(SECONDS), Started)
        assert isinstance(journal.begin(intent(a_call(here), approval=BINDING)).result(SECONDS), ApprovalWaiting)
    assert here.governance.suspensions.suspend("local", server)
    store = open_store(Location(here.path), new_id=new_id, clock=here.clock)
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        transaction.keep_apply(record)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (AuditKind.APPLIED, "applies"),
        (AuditKind.RUN_STARTED, "runs"),
        (AuditKind.CALL_INTENT, "calls that went out"),
        (AuditKind.APPROVAL_REQUESTED, "requests for approval"),
        (AuditKind.SUSPENDED, "suspensions"),
    ],
)
def test_what_the_database_has_and_the_trail_tells_nothing_of_is_missing_from_it(
    here: Site, kind: AuditKind, what: str
) -> None:
    told_of(here)
    assert judged(here).is_sound
    edited(here, f"DELETE FROM audit_events WHERE kind = '{kind}'")
    assert f"missing: the database has 1 {what}, and the trail tells of 0 ({kind})" in judged(here).faults


def test_a_trail_that_was_emptied_is_not_sound(here: Site) -> None:
    told_of(here)
    edited(here, "DELETE FROM audit_events")
    found = judged(here)
    assert (found.chains, found.damages, found.is_sound) == ((), (), False)
    assert [fault.partition(", and")[0] for fault in found.faults] == [
        "missing: the database has 1 applies",
        "missing: the database has 1 runs",
        "missing: the database has 1 calls that went out",
        "missing: the database has 1 requests for approval",
        "missing: the database has 1 suspensions",
    ]
