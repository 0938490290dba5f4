"""The steps that plan, apply and discover share: read the file, open the database, ask the servers, make the report.

Decides the order of the steps; each is some other part's work.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from remit.app import Database, Host, NoSink, difference, host_of
from remit.cli.links import refuse_links
from remit.cli.lock_files import check_lock_flags, lock_or_exit
from remit.cli.logs import configure_logging
from remit.cli.progress import listing_progress
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.loader import Loaded, Rejected, load
from remit.config.lockfile import LockFile
from remit.config.repository import Repository
from remit.core.acceptance import Acceptance
from remit.core.binding import Leave
from remit.core.desired import Desired
from remit.core.identity import ServerId
from remit.core.live import Listed, SkipReason
from remit.core.moves import as_declared
from remit.core.planner import PlanRequest
from remit.core.ports import Store
from remit.core.recorded import Recorded
from remit.core.report import DiscoveryLine, PlanReport
from remit.core.subjects import WorkspaceSubject
from remit.errors import NoDatabase
from remit.reconcile.checkout import Checkout
from remit.reconcile.observe import ObserveRequest, RefreshMode, observe, observe_cached, observe_nobody
from remit.reconcile.outcome import ExitCode
from remit.reconcile.planning import (
    Provenance,
    Surroundings,
    check_acceptances,
    check_allow_empty,
    check_allow_missing,
    check_scope,
    make_report,
)
from remit.reconcile.untrusted import distrusted

__all__ = ["PlanFlags", "Session", "load_or_exit", "observe_live", "open_session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFlags:
    """The flags of plan and apply that shape a plan, as values."""

    refresh: RefreshMode
    servers: frozenset[str]
    accept: tuple[Acceptance, ...]
    allow_detach: int | None
    allow_empty: frozenset[str]
    allow_missing: frozenset[str] = frozenset()
    offline: bool = False
    untrusted: bool = False
    leave: Leave = field(default_factory=Leave)

    @classmethod
    def of(
        cls,
        *,
        refresh: str,
        servers: tuple[str, ...],
        accept: tuple[str, ...],
        allow_detach: int | None,
        allow_empty: tuple[str, ...],
        allow_missing: tuple[str, ...] = (),
        offline: bool = False,
        untrusted: bool = False,
        leave: Leave | None = None,
    ) -> "PlanFlags":
        """From the command line's own words."""
        parts = (each.rpartition("@") for each in accept)
        return cls(
            refresh=RefreshMode(refresh),
            servers=frozenset(servers),
            accept=tuple(Acceptance(address, digest) for address, _, digest in parts),
            allow_detach=allow_detach,
            allow_empty=frozenset(allow_empty),
            allow_missing=frozenset(allow_missing),
            offline=offline,
            untrusted=untrusted,
            leave=leave or Leave(),
        )

    @property
    def scope(self) -> frozenset[str] | None:
        """The servers the plan is limited to; None is all."""
        return self.servers or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run over one configuration and its database. `store` is None where there is no database yet.

    `lock` is the one in force: None where there is none, where the file says `lock: none`, and where a command needs none.
    """

    host: Host
    terminal: Terminal
    loaded: Loaded
    database: Database
    store: Store | None
    recorded: Recorded
    lock: LockFile | None
    config: FileSet

    @property
    def desired(self) -> Desired:
        """What the file asks for."""
        return self.loaded.desired

    def existing_store(self) -> Store:
        """The store. Raises NoDatabase where there is none: a forgotten URL in CI must not look like nothing recorded."""
        if self.store is None:
            raise NoDatabase(
                "there is no database",
                place=str(self.database),
                hint="create it with `remit db upgrade` or --create-db, or set REMIT_DATABASE_URL to the right one",
            )
        return self.store

    def surroundings(self, flags: PlanFlags | None = None) -> Surroundings:
        """The facts a report carries beside its plan; with `flags`, also where the files come from."""
        # A pull request comes from wherever it comes from, and is applied by nobody.
        judged = flags is not None and not flags.untrusted
        repository = Repository(self.config.main)
        return Surroundings(
            dialect="sqlite" if self.store is None else self.store.dialect,
            exists=self.store is not None,
            commit=self.host.commit(self.loaded.base_dir),
            lock=None if self.lock is None else self.lock.file,
            provenance=Provenance(source=repository.source(), age_against=repository.age_against) if judged else None,
            leave=None if flags is None else flags.leave,
        )

    def discovery(
        self, flags: PlanFlags, *, attach_from_cache: bool, place: str | None = "--server"
    ) -> tuple[DiscoveryLine, ...]:
        """Observe the servers as the flags say. Raises UsageError for a server, named at `place`, that is nobody's."""
        check_scope(flags.servers, self.desired, self.recorded, place=place)
        check_allow_empty(flags.allow_empty, self.desired)
        check_allow_missing(flags.allow_missing, self.desired, self.recorded)
        request = ObserveRequest(
            scope=flags.scope, allow_empty=flags.allow_empty, untrusted=self._untrusted() if flags.untrusted else {}
        )
        if flags.offline:
            return observe_nobody(self.desired, self.recorded, request)
        if flags.refresh is RefreshMode.CACHED:
            kept = self._kept_listings() if attach_from_cache else None
            return observe_cached(self.desired, self.recorded, kept, request)
        if flags.untrusted:
            return self._observe_for_a_branch(request)
        return observe_live(self, request)

    def _untrusted(self) -> Mapping[str, SkipReason]:
        recorded = None if self.store is None else self.recorded
        return distrusted(self.desired, recorded, self.loaded.base_dir, self._checkout())

    def _checkout(self) -> Checkout:
        return Checkout.around(self.loaded.base_dir, self.host.environ)

    def _observe_for_a_branch(self, request: ObserveRequest) -> tuple[DiscoveryLine, ...]:
        """Ask what is left to ask from an empty folder, so that nothing relative leads into the checkout."""
        environ = {**self.host.environ, "PATH": self._checkout().search_path()}
        with TemporaryDirectory(prefix="remit-untrusted-") as empty:
            return observe_live(replace(self, host=replace(self.host, environ=environ)), request, Path(empty))

    def _kept_listings(self) -> Mapping[ServerId, Listed]:
        if self.store is None:
            return {}
        recorded = as_declared(self.desired, self.recorded)
        own = [each.server_id for each in recorded.servers if each.workspace == self.desired.workspace]
        return self.store.last_good(own)

    def request(self, flags: PlanFlags) -> PlanRequest:
        """What comes with the plan beside the three states. Raises UsageError where the flags do not go with the lock."""
        check_lock_flags(self.lock, accept=bool(flags.accept), offline=flags.offline)
        return PlanRequest(
            diff=difference,
            accept=flags.accept,
            allow_detach=flags.allow_detach,
            scope=flags.scope,
            allow_missing=flags.allow_missing,
            lock=None if self.lock is None else self.lock.lock,
        )

    def report(
        self, discovery: tuple[DiscoveryLine, ...], request: PlanRequest, surroundings: Surroundings
    ) -> PlanReport:
        """The plan. Raises UsageError for an acceptance that names nothing."""
        report = make_report(self.desired, self.recorded, discovery, request, surroundings)
        check_acceptances(request.accept, report.plan, self.desired, self.recorded, discovery)
        return report


def observe_live(session: Session, request: ObserveRequest, base_dir: Path | None = None) -> tuple[DiscoveryLine, ...]:
    """Ask the servers, with progress where a person is looking. Paths start from `base_dir`, by default the file's folder."""
    lister = session.host.lister(base_dir or session.loaded.base_dir, NoSink())
    asked = [
        each
        for each in session.desired.servers
        if each.enabled and (not request.scope or each.name in request.scope) and each.name not in request.untrusted
    ]
    terminal = session.terminal
    with listing_progress(len(asked), visible=terminal.interactive, colour=terminal.error_colour) as progress:
        return asyncio.run(observe(session.desired, session.recorded, lister, request, progress))


def load_or_exit(config: FileSet, terminal: Terminal, *, annotate: bool = False) -> Loaded:
    """Read the configuration; where it is not valid, show every diagnostic and end the run with 1.

    With `annotate` they are workflow commands on stdout as well.
    """
    result = load(config)
    match result:
        case Rejected(diagnostics=diagnostics):
            terminal.diagnose(diagnostics)
            if annotate:
                terminal.annotate(diagnostics)
            raise click.exceptions.Exit(ExitCode.ERROR)
        case Loaded(warnings=warnings):
            terminal.diagnose(warnings)
            return result


def open_session(
    config: FileSet, *, colour: bool, annotate: bool = False, obeys_lock: bool = True, untrusted: bool = False
) -> Session:
    """Read the configuration and open its database, if there is one; `annotate` as in `load_or_exit`.

    `obeys_lock` is False for what plans nothing, so that a broken lock is not in its way. With `untrusted` no file is read
    that a branch links to from its checkout, and no database in there is opened. Raises UsageError, StoreError, ConfigError.
    """
    configure_logging()
    terminal = Terminal.of(colour=colour)
    host = host_of()
    checkout = Checkout.around(config.folder, host.environ) if untrusted else None
    if checkout is not None:
        refuse_links(config, checkout)
    loaded = load_or_exit(config, terminal, annotate=annotate)
    database = host.database(loaded.base_dir, loaded.desired.workspace)
    if checkout is None:
        store, recorded = database.recorded()
    else:
        source = Repository(config.main).source
        store, recorded = _recorded_for_a_branch(database, checkout, loaded.desired, source, terminal)
    lock = lock_or_exit(config, loaded.desired, terminal, annotate=annotate) if obeys_lock else None
    return Session(
        host=host,
        terminal=terminal,
        loaded=loaded,
        database=database,
        store=store,
        recorded=recorded,
        lock=lock,
        config=config,
    )


def _recorded_for_a_branch(
    database: Database, checkout: Checkout, desired: Desired, source: Callable[[], str | None], terminal: Terminal
) -> tuple[Store | None, Recorded]:
    """What was applied, from a database that no branch wrote, of workspaces that this repository may show to one."""
    if checkout.holds(database.location.path):
        if database.exists():
            terminal.note(f"the database {database} is in the checkout, where a branch can put one: not looked at")
        return None, Recorded()
    store, recorded = database.recorded()
    moved = (each.before.name for each in desired.moved if isinstance(each.before, WorkspaceSubject))
    bound = {recorded.workspaces[name].source for name in (desired.workspace, *moved) if name in recorded.workspaces}
    if bound - {None} and bound - {None, source()}:
        terminal.note("the workspace is bound to another repository or path: a branch of this one sees nothing of it")
        return None, Recorded()
    return store, recorded
