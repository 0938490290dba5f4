"""The checks of `remit doctor`, in order: versions, files, lock, database, servers, secrets, tools, calls.

Decides that no check stops another one: where the file is not valid the database is still looked at, and the reverse. Writes
nothing and repairs nothing.
"""

import asyncio
import os
import platform
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

from remit.app import Database, Host, NoSink
from remit.cli.lock_files import lock_and_faults
from remit.cli.progress import listing_progress
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.loader import Loaded, load
from remit.config.lockfile import lock_place
from remit.core.addresses import server_address
from remit.core.approvals import ApprovalState
from remit.core.checkup import (
    Check,
    Checkup,
    ServerCheck,
    Soundness,
    alias_findings,
    coherence_findings,
    policy_findings,
    secret_findings,
)
from remit.core.desired import Desired, LockUse
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.holdings import Holdings, holdings_of
from remit.core.live import Listed, Unreachable
from remit.core.lock_review import check_lock
from remit.core.moves import as_declared
from remit.core.plan import LOCK_MISSING
from remit.core.ports import ListingTarget, ServerLister
from remit.core.recorded import Recorded
from remit.core.report import DiscoveryLine
from remit.errors import NoDatabase, RemitError
from remit.reconcile.observe import ObserveRequest, observe, observe_nobody
from remit.render.layout import counted
from remit.version import __version__

__all__ = ["check_all"]


@dataclass(frozen=True, slots=True)
class _Rows:
    """What the database gave, as far as it could be read. `fault` says why it could not."""

    recorded: Recorded = field(default_factory=Recorded)
    soundness: Soundness | None = None
    waiting: int | None = None
    fault: Diagnostic | None = None


def check_all(config: FileSet, host: Host, terminal: Terminal, *, offline: bool) -> Checkup:
    """Look at everything; with `offline` no server is asked. Raises UsageError for an environment that has no overlay."""
    result = load(config)
    loaded = result if isinstance(result, Loaded) else None
    versions = _versions()
    words = ", ".join(f"{name} {number}" for name, number in versions.items())
    findings = result.warnings if isinstance(result, Loaded) else result.diagnostics
    checks = [
        Check(name="versions", summary=words),
        Check(name="config", summary=_files(config, loaded), findings=findings),
    ]
    database, rows = _database(config, host, None if loaded is None else loaded.desired)
    place = "REMIT_DATABASE_URL" if database is None else str(database)
    checks.append(_database_check(place, rows))
    if loaded is None:
        return Checkup(workspace=None, versions=versions, checks=tuple(checks), waiting=rows.waiting)
    desired = loaded.desired
    recorded = as_declared(desired, rows.recorded)
    held = holdings_of(recorded, desired.workspace)
    servers = _asked(loaded, rows.recorded, host, terminal, offline=offline)
    checks += [
        _lock_check(config, desired, recorded, is_known=rows.soundness is not None),
        _secret_check(loaded, host.environ),
        _server_check(servers),
        _tool_check(desired, held),
        *([] if rows.soundness is None else [_call_check(rows, rows.soundness)]),
    ]
    return Checkup(
        workspace=desired.workspace, versions=versions, checks=tuple(checks), servers=servers, waiting=rows.waiting
    )


def _versions() -> dict[str, str]:
    return {
        "remit": __version__,
        "python": platform.python_version(),
        "mcp": version("mcp"),
        "sqlite": sqlite3.sqlite_version,
    }


def _files(config: FileSet, loaded: Loaded | None) -> str:
    if loaded is None:
        return f"{config} is {'not valid' if config.main.exists() else 'missing'}"
    desired = loaded.desired
    environment = "" if desired.environment is None else f" for environment {desired.environment}"
    servers, assistants = counted(len(desired.servers), "server"), counted(len(desired.assistants), "assistant")
    files = counted(len(desired.files), "file")
    return f"{config}{environment}: valid, {files}, workspace {desired.workspace}, {servers}, {assistants}"


# --- the database ------------------------------------------------------------------------------------------------------


def _database(config: FileSet, host: Host, desired: Desired | None) -> tuple[Database | None, _Rows]:
    try:
        database = host.database(config.folder, None if desired is None else desired.workspace)
    except RemitError as error:
        return None, _Rows(fault=_fault(error))
    try:
        store, recorded = database.recorded()
        if store is None:
            return database, _Rows()
        owner = None if desired is None else desired.owner
        return database, _Rows(
            recorded=recorded,
            soundness=database.soundness(),
            waiting=None if owner is None else _waiting(database, owner),
        )
    except RemitError as error:
        return database, _Rows(fault=_fault(error))


def _waiting(database: Database, owner: str) -> int:
    return len(database.governance().approvals.approvals(owner, states=(ApprovalState.PENDING,)))


def _fault(error: RemitError) -> Diagnostic:
    return Diagnostic(code=error.code, message=error.message, hint=error.hint)


def _database_check(place: str, rows: _Rows) -> Check:
    if rows.fault is not None:
        return Check(name="database", summary=f"{place} cannot be used", findings=(rows.fault,))
    if rows.soundness is None:
        absent = Diagnostic(
            code=NoDatabase.default_code,
            severity=Severity.WARNING,
            message="there is no database: nothing is applied, and nothing can be called",
            hint="`remit apply --create-db` makes one; if there should be one, check REMIT_DATABASE_URL",
        )
        return Check(name="database", summary=place, findings=(absent,))
    faults = tuple(
        Diagnostic(
            code="database-damaged",
            message=each,
            hint="keep a copy of the file, and restore the database from a backup",
        )
        for each in rows.soundness.faults
    )
    whole = "" if faults else ", schema up to date, whole"
    return Check(name="database", summary=f"{place}: sqlite{whole}", findings=faults)


# --- lock and secrets --------------------------------------------------------------------------------------------------


def _lock_check(config: FileSet, desired: Desired, recorded: Recorded, *, is_known: bool) -> Check:
    if desired.lock is LockUse.NONE:
        return Check(name="lock", summary="not wanted: the file says `lock: none`")
    lock, faults = lock_and_faults(config)
    place = lock_place(config)
    if lock is not None:
        tools = counted(sum(1 for _ in lock.lock.tools()), "tool")
        return Check(
            name="lock",
            summary=f"{place}: {tools}",
            findings=(*faults, *check_lock(desired, lock.lock, recorded if is_known else None)),
        )
    if faults:
        return Check(name="lock", summary=f"{place} cannot be used", findings=faults)
    known = recorded.workspaces.get(desired.workspace)
    if known is None or not known.lock_used:
        return Check(name="lock", summary="none; held changes are accepted at the prompt or by --accept")
    missing = Diagnostic(
        code=LOCK_MISSING,
        message=f"{place} is gone, and the workspace was applied by a lock",
        hint="restore it from git, or say `lock: none` in the file",
    )
    return Check(name="lock", summary=f"{place} is missing", findings=(missing,))


def _secret_check(loaded: Loaded, environ: Mapping[str, str]) -> Check:
    def readable(path: str) -> bool:
        return os.access(loaded.base_dir / path, os.R_OK)

    findings = tuple(secret_findings(loaded.desired, environ, readable))
    told = f"{counted(len(findings), 'reference')} without a value" if findings else "every reference has a value"
    return Check(name="secrets", summary=told, findings=findings)


# --- servers -----------------------------------------------------------------------------------------------------------


class _Timed:
    """A lister that keeps how long each server took."""

    def __init__(self, lister: ServerLister):
        self._lister = lister
        self.seconds: dict[str, float] = {}

    async def list_server(self, target: ListingTarget) -> Listed | Unreachable:
        """As the lister does."""
        began = time.monotonic()
        try:
            return await self._lister.list_server(target)
        finally:
            self.seconds[target.server.name] = time.monotonic() - began


def _asked(
    loaded: Loaded, recorded: Recorded, host: Host, terminal: Terminal, *, offline: bool
) -> tuple[ServerCheck, ...]:
    desired, request = loaded.desired, ObserveRequest()
    if offline:
        return tuple(ServerCheck(line=each, seconds=None) for each in observe_nobody(desired, recorded, request))
    timed = _Timed(host.lister(loaded.base_dir, NoSink()))
    asked = sum(each.enabled for each in desired.servers)
    with listing_progress(asked, visible=terminal.interactive, colour=terminal.error_colour) as progress:
        lines = asyncio.run(observe(desired, recorded, timed, request, progress))
    return tuple(ServerCheck(line=each, seconds=timed.seconds.get(each.server)) for each in lines)


def _server_check(servers: tuple[ServerCheck, ...]) -> Check:
    listed = sum(isinstance(each.line.observation, Listed) for each in servers)
    findings = tuple(finding for each in servers for finding in _server_findings(each.line))
    return Check(name="servers", summary=f"{listed} of {counted(len(servers), 'server')} listed", findings=findings)


def _server_findings(line: DiscoveryLine) -> Iterator[Diagnostic]:
    seen, address = line.observation, server_address(line.server)
    if isinstance(seen, Unreachable):
        yield Diagnostic(
            code=seen.reason.value,
            severity=Severity.WARNING,
            message=seen.detail,
            address=address,
            hint=f"`remit explain {seen.reason.value}` says what to look at; what is attached stays",
        )
    elif isinstance(seen, Listed) and seen.quarantined:
        yield Diagnostic(
            code="tool-quarantined",
            severity=Severity.WARNING,
            message=f"{counted(len(seen.quarantined), 'tool')} cannot be used",
            address=address,
            hint=f"`remit discover {line.server}` says why; it is mended on the server",
        )


# --- tools and calls ---------------------------------------------------------------------------------------------------


def _tool_check(desired: Desired, held: Holdings) -> Check:
    findings = (*coherence_findings(held), *alias_findings(held, desired), *policy_findings(held))
    assistants = counted(len(held.assistants), "assistant")
    return Check(
        name="tools", summary=f"{counted(len(held.attachments), 'tool')} attached to {assistants}", findings=findings
    )


def _call_check(rows: _Rows, soundness: Soundness) -> Check:
    waiting = rows.waiting or 0
    findings: list[Diagnostic] = []
    if waiting:
        findings.append(
            Diagnostic(
                code="approval_required",
                severity=Severity.NOTE,
                message=f"{counted(waiting, 'call')} waiting for a human",
                hint="`remit approvals list` shows them",
            )
        )
    if soundness.abandoned:
        named = ", ".join(sorted(set(soundness.abandoned))[:5])
        findings.append(
            Diagnostic(
                code="calls-abandoned",
                severity=Severity.WARNING,
                message=f"{counted(len(soundness.abandoned), 'call')} under way in a process that is gone: {named}",
                hint="the next governed call marks them `unknown`; look on the server whether they happened",
            )
        )
    told = f"{waiting} waiting for approval, {len(soundness.abandoned)} left open by a dead process"
    return Check(name="calls", summary=told, findings=tuple(findings))
