"""What a person is told to run next: commands as they can be pasted into a shell.

Decides spelling only; whether there is a next step is the command's.
"""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from remit.config.file_set import MAIN_FILE, FileSet

if TYPE_CHECKING:
    from remit.cli.session import PlanFlags

__all__ = ["file_flag", "flags_again", "leave_again"]


def file_flag(config: FileSet) -> str:
    """` -f FILE` for each file and ` --env NAME`; nothing for what is read anyway."""
    named = () if config.main == MAIN_FILE and not config.others else (config.main, *config.others)
    environment = "" if config.environment is None else f" --env {shlex.quote(config.environment)}"
    return "".join(f" -f {shlex.quote(str(each))}" for each in named) + environment


def flags_again(flags: "PlanFlags", accept: tuple[str, ...]) -> Iterator[str]:
    """The flags that made a plan what it is, each behind a space: an apply without the saved plan makes its own."""
    for flag, values in (
        ("--server", sorted(flags.servers)),
        ("--accept", accept),
        ("--allow-empty", sorted(flags.allow_empty)),
        ("--allow-missing-file", sorted(flags.allow_missing)),
    ):
        yield from (f" {flag} {shlex.quote(value)}" for value in values)
    yield from leave_again(flags)
    if flags.allow_detach is not None:
        yield f" --allow-detach {flags.allow_detach}"


def leave_again(flags: "PlanFlags") -> Iterator[str]:
    """The flags that a saved plan needs as well, each behind a space: where and when it is applied is judged anew."""
    yield from (
        f" {flag}"
        for flag, given in (
            ("--rebind", flags.leave.rebind),
            ("--change-env", flags.leave.environment),
            ("--allow-older-commit", flags.leave.older_commit),
        )
        if given
    )
