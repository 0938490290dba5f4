"""Running one program three times and taking the median of what its process alone has spent."""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Failed", "Program", "Spent", "measured"]

ROOT = Path(__file__).parents[1]
SECONDS = 600


class Failed(Exception):
    """A measured program did not do what it was measured for, so its figures say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """CPU seconds (user and system) and the peak of memory in bytes, medians of `runs`, the CPU seconds of each run."""

    cpu: float
    peak: int
    runs: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of bench.child, where it runs, and the Python that runs it. It must exit with 0.

    `before` is called ahead of each run and does not count.
    """

    name: str
    arguments: Sequence[str]
    folder: Path
    python: str = sys.executable
    before: Callable[[], None] = lambda: None


def measured(*programs: Program, times: int) -> tuple[Spent, ...]:
    """Run programs so many times, in turn, so that what else the machine does meets them alike.

    Raises Failed where one exits with anything but 0.
    """
    runs: list[list[tuple[float, int]]] = [[] for _ in programs]
    for _ in range(times):
        for program, kept in zip(programs, runs, strict=True):
            program.before()
            kept.append(_run(program))
    return tuple(_spent(kept) for kept in runs)


def _spent(runs: Sequence[tuple[float, int]]) -> Spent:
    cpu, peaks = [run[0] for run in runs], [run[1] for run in runs]
    return Spent(cpu=statistics.median(cpu), peak=int(statistics.median(peaks)), runs=tuple(cpu))


def _run(program: Program) -> tuple[float, int]:
    facts = program.folder / "facts"
    ended = subprocess.run(
        [program.python, "-m", "bench.child", str(facts), program.name, *program.arguments],
        cwd=program.folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if ended.returncode:
        shown = f"{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}".strip()
        raise Failed(f"{program.name} {' '.join(program.arguments)} exited {ended.returncode}:\n{shown}")
    cpu, peak = facts.read_text("utf-8").split()
    return float(cpu), int(peak)


def _environment() -> dict[str, str]:
    """The caller's, without what would change remit's work, its output or what the interpreter does at the start."""
    dropped = ("REMIT_", "GITHUB_", "FORCE_COLOR", "PYTHON", "COVERAGE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))}
