"""The database and the planning of one `remit watch`: every look opens the database anew, so that one that went away is missed.

Decides that a database which was there and is missing now is an outage and no new beginning; each plan is made as
`remit plan` makes it. Implements reconcile.watch.WatchDesk; called from threads.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from remit.app import Database, Host, NoCaches
from remit.cli.lock_files import lock_in_force
from remit.cli.progress import Silent
from remit.cli.session import PlanFlags, Session
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.loader import Loaded
from remit.core.leases import Lease, LeaseDesk, Watcher
from remit.core.live import Era
from remit.core.matching import Known, match_servers
from remit.core.ports import ServerLister, Store
from remit.core.recorded import Recorded
from remit.errors import NoDatabase
from remit.reconcile.applying import Applied, AppliedBy, ApprovedDigest, Inputs, Planned, apply
from remit.reconcile.observe import ObserveRequest, observe
from remit.reconcile.watch_pace import WatchPace

__all__ = ["Desk"]


@dataclass(slots=True, kw_only=True)
class Desk:
    """One watch's. `required` says that there must be a database, as there was one or the watch applies."""

    config: FileSet
    host: Host
    terminal: Terminal
    flags: PlanFlags
    pace: WatchPace
    watcher: Watcher
    required: bool
    _leases: LeaseDesk | None = field(default=None, init=False)

    def take(self, loaded: Loaded) -> Lease | None:
        """The lease of the workspace; None where there is no database yet. Raises WorkspaceBusy."""
        try:
            self._leases = self._database(loaded).leases(patience=self.pace.patience)
        except NoDatabase:
            if self.required:
                raise
            return None
        self.required = True
        return self._leases.take(loaded.desired.workspace, self.watcher, seconds=self.pace.lease)

    def renew(self, lease: Lease) -> bool:
        """Prolong it; False where it is another's."""
        return self._leases is not None and self._leases.renew(lease, seconds=self.pace.lease)

    def release(self, lease: Lease) -> None:
        """Give it back."""
        if self._leases is not None:
            self._leases.release(lease)

    def serial(self, loaded: Loaded) -> int:
        """The number of the workspace's newest apply; 0 before the first, -1 without a database."""
        store = self._store(self._database(loaded))
        if store is None:
            return -1
        newest = store.history(loaded.desired.workspace, limit=1)
        return newest[0].serial if newest else 0

    def eras(self, loaded: Loaded) -> Mapping[str, Era]:
        """The era that each declared server spoke the last time, as recorded."""
        _, recorded = self._recorded(self._database(loaded))
        matches = match_servers(loaded.desired, recorded).matches
        return {
            name: Era(match.registration.era)
            for name, match in matches.items()
            if isinstance(match, Known) and match.registration.era is not None
        }

    def plan(self, loaded: Loaded, answers: ServerLister) -> Planned:
        """The plan that `remit plan` would make, from what the servers said last. Raises ConfigError for a broken lock."""
        database = self._database(loaded)
        store, recorded = self._recorded(database)
        session = Session(
            host=self.host,
            terminal=self.terminal,
            loaded=loaded,
            database=database,
            store=store,
            recorded=recorded,
            lock=lock_in_force(self.config, loaded.desired),
            config=self.config,
        )
        discovery = asyncio.run(observe(loaded.desired, recorded, answers, ObserveRequest(), Silent()))
        inputs = Inputs(
            desired=loaded.desired,
            discovery=discovery,
            request=session.request(self.flags),
            surroundings=session.surroundings(self.flags),
        )
        return inputs.plan_from(recorded)

    def apply(self, planned: Planned, loaded: Loaded, lease: Lease | None) -> Applied:
        """Carry a plan out: what the file asks for and nothing that is held."""
        surroundings = planned.inputs.surroundings
        return apply(
            self._database(loaded).open(),
            planned,
            ApprovedDigest(planned.document["digest"]),
            by=AppliedBy(actor=self.host.actor(), at=self.host.clock(), commit=surroundings.commit),
            lock_timeout=self.pace.patience,
            caches=NoCaches(),
            lease=lease,
        )

    def _database(self, loaded: Loaded) -> Database:
        return self.host.database(loaded.base_dir, loaded.desired.workspace)

    def _recorded(self, database: Database) -> tuple[Store | None, Recorded]:
        store = self._store(database)
        return store, Recorded() if store is None else store.recorded()

    def _store(self, database: Database) -> Store | None:
        try:
            store = database.open()
        except NoDatabase:
            if self.required:
                raise
            return None
        self.required = True
        return store
