"""Exit codes: how a run ended, as one number, from facts (DESIGN.md section 7).

0 fine (held live changes included), 1 error, 2 changes or held, 3 refused by a safeguard or a held file operation,
4 incomplete, 5 saved plan stale, 6 workspace busy, 64 usage. Where several hold, the first in PRECEDENCE counts; 1, 5, 6
and 64 come as errors (errors.py) and end a run before there is anything to judge here.
"""

from enum import IntEnum

from remit.core.operations import Origin
from remit.core.plan import HoldReason, Plan

__all__ = ["PRECEDENCE", "ExitCode", "first_of", "plan_exit"]


class ExitCode(IntEnum):
    """What the shell sees."""

    OK = 0
    ERROR = 1
    CHANGES = 2
    REFUSED = 3
    INCOMPLETE = 4
    STALE = 5
    BUSY = 6
    USAGE = 64


PRECEDENCE = (
    ExitCode.USAGE,
    ExitCode.ERROR,
    ExitCode.STALE,
    ExitCode.BUSY,
    ExitCode.REFUSED,
    ExitCode.INCOMPLETE,
    ExitCode.CHANGES,
    ExitCode.OK,
)
"""Gravest first: 1 5 6 3 4 2 0, a usage error before all, as it is found before anything runs."""


def first_of(*codes: ExitCode) -> ExitCode:
    """The gravest of some codes."""
    return next(code for code in PRECEDENCE if code in (*codes, ExitCode.OK))


def plan_exit(plan: Plan, *, detailed: bool, untrusted: bool = False) -> ExitCode:
    """The exit code of a plan; `detailed` tells changes and held operations apart from nothing to do.

    With `untrusted` nobody was allowed to look at a changed endpoint, so that its change is not refused but unknown.
    """
    held_file = [set(held.because) for held in plan.held if held.operation.origin is Origin.FILE]
    unseen = [because for because in held_file if untrusted and because == {HoldReason.ENDPOINT_UNLISTED}]
    refused = ExitCode.REFUSED if plan.vetoes or len(unseen) < len(held_file) else ExitCode.OK
    incomplete = ExitCode.OK if plan.complete and not unseen else ExitCode.INCOMPLETE
    changes = ExitCode.CHANGES if detailed and (plan.has_changes or plan.held) else ExitCode.OK
    return first_of(refused, incomplete, changes)
