"""The lock file of a run: where it lies, and what a run does with one that is broken, missing or not wanted.

Decides that a broken lock ends a run before anything is planned: nobody may guess what was approved.
"""

import click

from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.lockfile import LockFile, lock_place, read_lock
from remit.core.desired import Desired, LockUse
from remit.core.diagnostics import Diagnostic
from remit.errors import ConfigError, UsageError
from remit.reconcile.outcome import ExitCode

__all__ = ["check_lock_flags", "lock_and_faults", "lock_in_force", "lock_or_exit"]


def lock_and_faults(config: FileSet) -> tuple[LockFile | None, tuple[Diagnostic, ...]]:
    """The lock of a configuration and what is wrong with its file; None where there is none or it cannot be read.

    One that was only written otherwise than remit writes it is there with its fault.
    """
    place = lock_place(config)
    found = read_lock(place, str(place), config.environment)
    if isinstance(found, tuple):
        return None, found
    return found, () if found is None or found.misshapen is None else (found.misshapen,)


def lock_in_force(config: FileSet, desired: Desired) -> LockFile | None:
    """The lock that is in force; None where there is none or the file wants none. Raises ConfigError for a broken one."""
    if desired.lock is LockUse.NONE:
        return None
    lock, faults = lock_and_faults(config)
    for fault in faults:
        place = None if fault.source is None else f"{fault.source.file}:{fault.source.line}"
        raise ConfigError(fault.message, code=fault.code, place=place or fault.address, hint=fault.hint)
    return lock


def lock_or_exit(config: FileSet, desired: Desired, terminal: Terminal, *, annotate: bool = False) -> LockFile | None:
    """The lock that is in force; None where there is none or the file wants none. A broken one ends the run with 1.

    With `annotate` what is wrong is told as workflow commands on stdout as well.
    """
    if desired.lock is LockUse.NONE:
        if lock_place(config).exists():
            terminal.note(f"{lock_place(config)} is not looked at: the configuration says `lock: none`")
        return None
    lock, faults = lock_and_faults(config)
    if faults:
        terminal.diagnose(faults)
        if annotate:
            terminal.annotate(faults)
        raise click.exceptions.Exit(ExitCode.ERROR)
    return lock


def check_lock_flags(lock: LockFile | None, *, accept: bool, offline: bool) -> None:
    """Refuse flags that do not go with the lock. Raises UsageError, or ConfigError where `--offline` has nothing to plan from."""
    if lock is not None and accept:
        raise UsageError(
            f"{lock.file.path} is the approval of what servers say, so nothing is accepted beside it",
            code="accept-with-lock",
            place="--accept",
            hint="run `remit lock`, have its change reviewed, and leave out --accept",
        )
    if lock is None and offline:
        raise ConfigError(
            "there is no lock to plan from",
            code="lock-needed",
            place="--offline",
            hint="write one with `remit lock`, or leave out --offline",
        )
