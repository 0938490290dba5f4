"""What is measured, step by step, for one size: each work by its name with what it spent.

Decides what a work is and proves that it was done: a no-op plan must come out empty, a listing complete. What it may cost
is decided in bench/budgets.py.
"""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
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

_NO_OP = ("plan", "--detailed-exitcode")
"""With that flag a plan that is not empty exits with 2, so it is no figure."""
_FIRST_APPLY = ("apply", "--auto-approve", "--create-db")


@dataclass(frozen=True, slots=True)
class Bench:
    """Measures below one folder, so many times each; `spent` gathers what came out, by work and size."""

    parent: Path
    times: int
    spent: dict[tuple[str, int], Spent] = field(default_factory=dict[tuple[str, int], Spent])

    def plan(self, size: int) -> None:
        """Help, validate, and plans without changes."""
        workspace = make_workspace(self.parent, size)
        self._take(HELP, workspace, "remit", "--help")
        self._take(VALIDATE, workspace, "remit", "validate")
        measured(_program(workspace, "remit", *_FIRST_APPLY), times=1)
        self._take(CACHED, workspace, "remit", *_NO_OP, "--refresh", "cached")
        self._take(LISTING["stdio"], workspace, "listing")
        self._take(LIVE["stdio"], workspace, "remit", *_NO_OP)
        self._plan_over_http(workspace)
        shutil.rmtree(workspace.folder)

    def _plan_over_http(self, workspace: Workspace) -> None:
        shutil.rmtree(workspace.folder / ".remit")
        with workspace.serving_http():
            measured(_program(workspace, "remit", *_FIRST_APPLY), times=1)
            self._take(LISTING["http"], workspace, "listing")
            self._take(LIVE["http"], workspace, "remit", *_NO_OP)

    def apply(self, size: int) -> None:
        """The first apply, which attaches everything; each time to a database of its own."""
        workspace = make_workspace(self.parent, size)
        self._take(LISTING["stdio"], workspace, "listing")
        self._take(APPLY, workspace, "remit", *_FIRST_APPLY)
        shutil.rmtree(workspace.folder)

    def octodns(self, size: int) -> None:
        """The no-op plan of another tool."""
        program = octodns_program(self.parent, size)
        self._note(OCTODNS, size, measured(program, times=self.times))
        shutil.rmtree(program.folder)

    def _take(self, work: str, workspace: Workspace, name: str, *arguments: str) -> None:
        program = _program(workspace, name, *arguments)

        def before() -> None:
            if work == APPLY:
                shutil.rmtree(workspace.folder / ".remit", ignore_errors=True)

        self._note(work, workspace.size, measured(program, times=self.times, before=before))

    def _note(self, work: str, size: int, spent: Spent) -> None:
        sys.stderr.write(f"bench: {size:>5}  {work:<26} {spent.cpu:8.2f} CPU s  {spent.peak / 2**20:6.0f} MiB\n")
        self.spent[work, size] = spent


def _program(workspace: Workspace, name: str, *arguments: str) -> Program:
    return Program(name=name, arguments=arguments, folder=workspace.folder)
