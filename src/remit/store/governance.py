"""Everything that people look at and decide about the governed runtime, behind one object: `DatabaseStore.governance`."""

from collections.abc import Callable
from datetime import datetime

from remit.core.call_ports import Grants, Stamp
from remit.store.access import Access
from remit.store.approval_desk import Approvals
from remit.store.archives import AuditArchive, TraceArchive
from remit.store.grants import read_grants, read_stamp
from remit.store.retention import Retention
from remit.store.run_desk import Runs
from remit.store.suspension_desk import Suspensions

__all__ = ["Governance"]


class Governance:
    """One reader and one desk for each port. Keeps no connection open and may be used from several threads."""

    def __init__(self, access: Access, clock: Callable[[], datetime]):
        self._access = access
        self.runs = Runs(access)
        """The RunDesk."""
        self.approvals = Approvals(access, clock)
        """The ApprovalDesk."""
        self.suspensions = Suspensions(access)
        """The SuspensionDesk."""
        self.audit = AuditArchive(access)
        """The AuditTrail."""
        self.traces = TraceArchive(access)
        """The TraceArchive."""
        self.retention = Retention(access, clock)
        """The Retention."""

    def grants(self, owner: str, assistant: str) -> Grants | None:
        """GrantSource: what an assistant may use, read at one moment; None where there is no such assistant."""
        return self._access.read(lambda connection: read_grants(connection, owner, assistant))

    def stamp(self, owner: str, assistant: str) -> Stamp | None:
        """GrantSource: what grants read now would carry; None where there is no such assistant."""
        return self._access.read(lambda connection: read_stamp(connection, owner, assistant))
