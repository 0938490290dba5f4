"""What is measured, step by step, for one size: each work by its name with what it spent.

Decides what a work is and proves that it was done: a no-op plan must come out empty, a listing complete. What it may cost
is decided in bench/budgets.py.
"""

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.measure import Program, Spent, measured
from bench.octodns import octodns_program
from bench.workspaces import Workspace, make_workspace

__all__ = ["APPLY", "CACHED", "HELP", "LISTING", "LIVE", "OCTODNS", "VALIDATE", "Bench"]

HELP = "remit --help"
VALIDATE = "validate"
CACHED = "no-op plan, cached"
LIVE: Mapping[str, str] = {"http": "no-op plan, live, HTTP", "stdio": "no-op plan, live, stdio"}
LISTING: Mapping[str, str] = {"http": "bare SDK listing, HTTP", "stdio": "bare SDK listing, stdio"}
APPLY = "first apply, stdio"
OCTODNS = "octoDNS no-op plan"

_NO_OP = ("remit", "plan", "--detailed-exitcode")
"""With that flag a plan that is not empty exits with 2, so it is no figure."""
_FIRST_APPLY = ("remit", "apply", "--auto-approve", "--create-db")


@dataclass(frozen=True, slots=True)
class Bench:
    """Measures below one folder, so many times each; `spent` gathers what came out, by work and size."""

    parent: Path
    times: int
    spent: dict[tuple[str, int], Spent] = field(default_factory=dict[tuple[str, int], Spent])

    def plan(self, size: int) -> None:
        """Help, validate, and plans without changes."""
        workspace = make_workspace(self.parent, size)
        self._take(workspace, {HELP: ("remit", "--help"), VALIDATE: ("remit", "validate")})
        measured(_program(workspace, *_FIRST_APPLY), times=1)
        self._take(workspace, {CACHED: (*_NO_OP, "--refresh", "cached")})
        self._take(workspace, {LISTING["stdio"]: ("listing",), LIVE["stdio"]: _NO_OP})
        _forget(workspace)
        with workspace.serving_http():
            measured(_program(workspace, *_FIRST_APPLY), times=1)
            self._take(workspace, {LISTING["http"]: ("listing",), LIVE["http"]: _NO_OP})
        shutil.rmtree(workspace.folder)

    def apply(self, size: int) -> None:
        """The first apply, which attaches everything; each time to a database of its own."""
        workspace = make_workspace(self.parent, size)
        self._take(workspace, {LISTING["stdio"]: ("listing",), APPLY: _FIRST_APPLY})
        shutil.rmtree(workspace.folder)

    def octodns(self, size: int) -> None:
        """The no-op plan of another tool."""
        program = octodns_program(self.parent, size)
        (spent,) = measured(program, times=self.times)
        self._note(OCTODNS, size, spent)
        shutil.rmtree(program.folder)

    def _take(self, workspace: Workspace, works: Mapping[str, Sequence[str]]) -> None:
        programs = [_program(workspace, *words) for words in works.values()]
        for work, spent in zip(works, measured(*programs, times=self.times), strict=True):
            self._note(work, workspace.size, spent)

    def _note(self, work: str, size: int, spent: Spent) -> None:
        sys.stderr.write(f"bench: {size:>5}  {work:<26} {spent.cpu:8.2f} CPU s  {spent.peak / 2**20:6.0f} MiB\n")
        self.spent[work, size] = spent


def _forget(workspace: Workspace) -> None:
    """Remove the database, if there is one."""
    shutil.rmtree(workspace.folder / ".remit", ignore_errors=True)


def _program(workspace: Workspace, name: str, *arguments: str) -> Program:
    before = partial(_forget, workspace) if arguments == _FIRST_APPLY[1:] else _nothing
    return Program(name=name, arguments=arguments, folder=workspace.folder, before=before)


def _nothing() -> None:
    pass
