"""The budgets of DESIGN.md section 14, as a table, and how measured figures stand against them.

Budgets are in CPU seconds and hold at 5,000 tools; growth is from 1,000 to 5,000. What was not measured is not judged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.measure import Spent
from bench.works import APPLY, CACHED, HELP, LISTING, LIVE, VALIDATE

__all__ = ["BUDGETS", "Budget", "Figures", "Verdict", "growth", "judged"]

Figures = Mapping[tuple[str, int], Spent]

SMALL, LARGE = 1_000, 5_000
GROWTH = 6.0


@dataclass(frozen=True, slots=True)
class Budget:
    """A work may take `seconds`, and `times` what another work took `beside` it in the same run."""

    work: str
    seconds: float
    times: float = 0.0
    beside: str | None = None


BUDGETS = (
    Budget(HELP, 0.10),
    Budget(VALIDATE, 1.0),
    Budget(CACHED, 1.2),
    Budget(LIVE["stdio"], 1.2, 1.5, LISTING["stdio"]),
    Budget(LIVE["http"], 1.2, 1.5, LISTING["http"]),
    Budget(APPLY, 4.0, 1.0, LISTING["stdio"]),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure beside what is allowed; `rule` says it in words."""

    work: str
    rule: str
    measured: float
    allowed: float

    @property
    def kept(self) -> bool:
        """Whether it is within the budget."""
        return self.measured <= self.allowed


def judged(spent: Figures) -> tuple[Verdict, ...]:
    """Every budget that these figures can be held against."""
    return (*_by_seconds(spent), *_by_growth(spent))


def growth(spent: Figures, work: str) -> float | None:
    """How many times more CPU a work takes at 5,000 than at 1,000."""
    small, large = spent.get((work, SMALL)), spent.get((work, LARGE))
    return None if small is None or large is None else large.cpu / small.cpu


def _by_seconds(spent: Figures) -> Iterator[Verdict]:
    for budget in BUDGETS:
        found = spent.get((budget.work, LARGE))
        beside = None if budget.beside is None else spent.get((budget.beside, LARGE))
        if found is None or (budget.beside is not None and beside is None):
            continue
        rule = f"{budget.seconds:g} s" + (f" + {budget.times:g} x {budget.beside}" if beside else "")
        allowed = budget.seconds + (budget.times * beside.cpu if beside else 0.0)
        yield Verdict(budget.work, rule, found.cpu, allowed)


def _by_growth(spent: Figures) -> Iterator[Verdict]:
    for budget in BUDGETS:
        times = growth(spent, budget.work)
        if times is not None:
            yield Verdict(budget.work, f"growth {SMALL:,} -> {LARGE:,}", times, GROWTH)
