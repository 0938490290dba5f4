"""One run of `remit lock`, step by step: ask the servers, show what changes, ask, write; or only compare.

Decides what ends it: 4 where a server or a selection could not be locked, 2 where a check found a difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from remit.app import difference
from remit.cli.lock_files import lock_and_faults
from remit.cli.session import PlanFlags, Session, open_session
from remit.config.file_set import FileSet
from remit.config.lockfile import LockFile, findings_of, lock_place, lock_text
from remit.core.addresses import attachment_address, server_address
from remit.core.desired import LockUse
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.live import Unreachable, UnreachableReason
from remit.core.lock import Lock
from remit.core.lock_review import check_lock, lock_changes
from remit.core.locking import LockDraft, draft_lock
from remit.core.operations import ToolOperation
from remit.core.plan import SAFEGUARD_CODES, DriftKind
from remit.core.planner import PlanRequest
from remit.core.views import absence_of
from remit.errors import ConfigError, NotApproved
from remit.reconcile.observe import live_of
from remit.reconcile.outcome import ExitCode, first_of
from remit.reconcile.whole_file import write_whole
from remit.render.diagnostics import diagnostics_text
from remit.render.github import annotation_lines, lock_annotations
from remit.render.layout import counted
from remit.render.lock_text import LockReport, lock_change_text, lock_report_document

__all__ = ["Asked", "check_locked", "write_lock"]

_NOT_OURS_TO_OVERWRITE = frozenset({"lock-conflict", "lock-newer"})

_MODE = 0o644
"""A lock is committed; it holds no secret, as no server is told one in a listing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which servers are asked (none named: all), and which of them may list nothing from now on."""

    servers: tuple[str, ...] = ()
    allow_empty: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """A session with its lock file: `old` is the lock in it, `faults` what is wrong with it."""

    config: FileSet
    session: Session
    old: LockFile | None
    faults: tuple[Diagnostic, ...]

    @property
    def name(self) -> str:
        return str(lock_place(self.config))

    @property
    def lock(self) -> Lock:
        return Lock(environment=self.config.environment) if self.old is None else self.old.lock

    def report(
        self, found: "_Found | None", problems: Sequence[Diagnostic], *, fits: bool, written: bool = False
    ) -> LockReport:
        return LockReport(
            workspace=self.session.desired.workspace,
            environment=self.config.environment,
            file=self.name,
            before=self.lock if found is None else found.draft.before,
            after=None if found is None else found.draft.lock,
            operations=() if found is None else found.changes,
            moved={} if found is None else found.draft.moved,
            problems=problems,
            fits=fits,
            written=written,
            complete=found is None or found.ending is ExitCode.OK,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the servers say: the lock that comes out, and how it differs from the one that is there.

    `withheld` is why it must not be written, if it must not.
    """

    draft: LockDraft
    changes: tuple[ToolOperation, ...]
    withheld: Diagnostic | None = None

    @property
    def is_change(self) -> bool:
        return bool(self.changes or self.draft.moved)

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        withheld = () if self.withheld is None else (self.withheld,)
        return (*_unlockable(self.draft), *_kept_tools(self.draft), *_kept_servers(self.draft), *withheld)

    @property
    def ending(self) -> ExitCode:
        unresolved = any(each.severity is Severity.ERROR for each in _unlockable(self.draft))
        return ExitCode.INCOMPLETE if self.draft.unlisted or unresolved or self.withheld else ExitCode.OK


def _begin(config: FileSet, *, colour: bool) -> _Run:
    session = open_session(config, colour=colour, obeys_lock=False)
    if session.desired.lock is LockUse.NONE:
        raise ConfigError(
            "the configuration says `lock: none`",
            code="lock-disabled",
            place=str(config),
            hint="remove `lock: none` if the lock is to be the approval of what servers say",
        )
    return _Run(config, session, *lock_and_faults(config))


# --- writing -----------------------------------------------------------------------------------------------------------


def write_lock(config: FileSet, asked: Asked, *, yes: bool, form: str, colour: bool) -> ExitCode:
    """Write the lock as the servers are now. Raises NotApproved where nobody said yes; then nothing was written."""
    run = _begin(config, colour=colour)
    _refuse_to_overwrite(run)
    found = _ask_servers(run, asked)
    text, terminal = lock_text(found.draft.lock), run.session.terminal
    fits = run.old is not None and not run.faults and text == lock_text(run.old.lock, run.old.findings)
    if found.withheld is not None:
        terminal.diagnose(found.problems)
    else:
        _show(run, found, aside=form != "text")
        if fits:
            terminal.note(f"{run.name} is up to date")
        else:
            _write(run, text, yes=yes)
    if form == "json":
        written = not fits and found.withheld is None
        terminal.document(lock_report_document(run.report(found, found.problems, fits=fits, written=written)))
    return found.ending


def _write(run: _Run, text: str, *, yes: bool) -> None:
    """Write the file once somebody said yes. Raises NotApproved."""
    terminal = run.session.terminal
    if not yes and not terminal.interactive:
        raise NotApproved(
            f"nobody is there to look at this change of {run.name}", hint="run it on a terminal, or pass --yes"
        )
    if not yes and not terminal.ask(f"Write {run.name}?"):
        raise NotApproved("not approved; nothing was written")
    write_whole(lock_place(run.config), text, mode=_MODE)
    terminal.note(f"wrote {run.name}; commit it and have the change reviewed: it is the approval of what models read")


def _refuse_to_overwrite(run: _Run) -> None:
    run.session.terminal.diagnose(run.faults)
    if any(each.code in _NOT_OURS_TO_OVERWRITE for each in run.faults):
        raise click.exceptions.Exit(ExitCode.ERROR)
    if run.faults:
        run.session.terminal.note(f"{run.name} does not hold: it is written anew")


def _ask_servers(run: _Run, asked: Asked) -> _Found:
    session = run.session
    flags = PlanFlags.of(
        refresh="live", servers=asked.servers, accept=(), allow_detach=None, allow_empty=asked.allow_empty
    )
    live = live_of(session.discovery(flags, attach_from_cache=False))
    request = PlanRequest(diff=difference, scope=flags.scope, lock=run.lock)
    draft = draft_lock(
        session.desired,
        session.recorded,
        live,
        request,
        run.config.environment,
        allow_empty=flags.allow_empty,
    )
    if draft.refusals:
        session.terminal.diagnose(draft.refusals)
        raise click.exceptions.Exit(ExitCode.ERROR)
    changes = lock_changes(draft.before, draft.lock, session.desired, difference)
    return _Found(draft, changes, _withheld(run, draft, flags.scope))


def _withheld(run: _Run, draft: LockDraft, scope: frozenset[str] | None) -> Diagnostic | None:
    """Why a lock must not be written: no lock that can be read has the entries of servers that are not asked or do not answer.

    A first lock of what did answer is written; one of nothing would hold everything from then on.
    """
    if run.old is not None:
        return None
    desired = run.session.desired
    enabled = {each.name for each in desired.servers if each.enabled}
    selected = {one.server for each in desired.assistants for one in each.selections} & enabled
    silent = selected & set(draft.unlisted)
    if run.faults:
        silent |= frozenset[str]() if scope is None else selected - scope
    elif any(draft.lock.tools()):
        return None
    if not silent:
        return None
    lost = "the lock cannot be read, so" if run.faults else "there is no lock yet, and"
    return Diagnostic(
        code="lock-not-written",
        message=f"{lost} nothing is known of {', '.join(sorted(silent))}; nothing was written",
        address=run.name,
        hint="bring the file back (`git checkout`), or run `remit lock` for all servers when they answer"
        if run.faults
        else "run `remit lock` when it answers",
    )


def _show(run: _Run, found: _Found, *, aside: bool) -> None:
    """Show what would change and what is wrong; `aside` on stderr, where stdout is for machines."""
    terminal = run.session.terminal
    text = lock_change_text(
        run.name,
        found.changes,
        found.draft.moved,
        locked=sum(1 for _ in found.draft.lock.tools()),
        colour=terminal.error_colour if aside else terminal.colour,
    )
    tell = terminal.note if aside else terminal.result
    tell(text)
    terminal.diagnose(found.problems)


def _kept_servers(draft: LockDraft) -> Iterator[Diagnostic]:
    for server in draft.unlisted:
        kept, observation = sum(server == one for _, one, _, _ in draft.lock.tools()), draft.live[server]
        is_empty = isinstance(observation, Unreachable) and observation.reason is UnreachableReason.EMPTY
        yield Diagnostic(
            code="lock-unlisted",
            severity=Severity.WARNING,
            message=f"it was not listed ({absence_of(observation)}); kept as they were: {counted(kept, 'tool')}",
            address=server_address(server),
            hint=f"pass --allow-empty {server} if it is to have no tools any more"
            if is_empty
            else f"run `remit lock --server {server}` when it answers",
        )


def _kept_tools(draft: LockDraft) -> Iterator[Diagnostic]:
    for each in draft.plan.drift:
        if each.kind is not DriftKind.CHANGED:
            yield Diagnostic(
                code="lock-kept",
                severity=Severity.WARNING,
                message=f"{each.kind} ({each.detail}): its entry is kept, as it is attached and selected",
                address=each.address,
                hint="take it out of `include` if it is not to come back",
            )


def _unlockable(draft: LockDraft) -> list[Diagnostic]:
    """What the plan finds of selections; what it finds of the old lock and of an apply is no matter here."""
    beside = {"not-in-lock", "assistant-elsewhere", "alias-historic", "lock-alias-historic", *SAFEGUARD_CODES}
    return [each for each in draft.plan.problems if each.code not in beside and each.severity is not Severity.NOTE]


# --- checking ----------------------------------------------------------------------------------------------------------


def check_locked(config: FileSet, asked: Asked, *, live: bool, form: str, colour: bool) -> ExitCode:
    """Whether the lock is what `remit lock` would write: as far as the files say, and with `live` as the servers say."""
    run = _begin(config, colour=colour)
    differences = run.faults or _differences(run)
    found = _ask_servers(run, asked) if live and run.old is not None and not run.faults else None
    ending = _ending(run, differences, found)
    terminal = run.session.terminal
    if form == "text":
        _tell(run, differences, found, ending)
        return ending
    report = run.report(
        found,
        (*differences, *(() if found is None else found.problems)),
        fits=not (_is_difference(differences) or _is_change(found)),
    )
    if form == "json":
        terminal.document(lock_report_document(report))
        return ending
    terminal.diagnose(differences)
    if found is not None and (found.is_change or found.problems):
        _show(run, found, aside=True)
    for line in annotation_lines(lock_annotations(lock_report_document(report))):
        terminal.result(line)
    return ending


def _is_difference(found: Sequence[Diagnostic]) -> bool:
    return any(each.severity is Severity.ERROR for each in found)


def _is_change(found: _Found | None) -> bool:
    return found is not None and found.is_change


def _ending(run: _Run, differences: Sequence[Diagnostic], found: _Found | None) -> ExitCode:
    if run.faults:
        return ExitCode.ERROR
    return first_of(
        ExitCode.OK if found is None else found.ending,
        ExitCode.CHANGES if _is_difference(differences) or _is_change(found) else ExitCode.OK,
    )


def _tell(run: _Run, differences: Sequence[Diagnostic], found: _Found | None, ending: ExitCode) -> None:
    terminal = run.session.terminal
    if differences:
        terminal.result(diagnostics_text(differences, colour=terminal.colour))
    if found is not None and (found.is_change or found.problems):
        _show(run, found, aside=False)
    if ending is ExitCode.OK:
        locked = sum(1 for _ in run.lock.tools())
        asked = "no server was asked" if found is None else "the servers offer what it has"
        terminal.result(f"{run.name}: {counted(locked, 'tool')} locked, it fits the configuration; {asked}")


def _differences(run: _Run) -> tuple[Diagnostic, ...]:
    if run.old is None:
        absent = Diagnostic(
            code="lock-absent",
            message="there is no such file",
            address=run.name,
            hint="`remit lock` writes it; commit it then",
        )
        return (absent,)
    return (
        *check_lock(run.session.desired, run.lock, run.session.recorded if run.session.store else None),
        *_missing_notes(run.lock, run.old.findings),
    )


def _missing_notes(lock: Lock, noted: Mapping[tuple[str, str, str], tuple[str, ...]]) -> list[Diagnostic]:
    """Findings without a note. Notes beyond ours are of another remit's rules and do no harm."""
    return [
        Diagnostic(
            code="lock-findings",
            message=f"the note of a finding is missing: {finding}",
            address=attachment_address(assistant, tool.alias),
            hint="run `remit lock`, which writes it, and have its change reviewed",
        )
        for assistant, server, name, tool in lock.tools()
        for finding in findings_of(tool.definition)
        if finding not in noted.get((assistant, server, name), ())
    ]
