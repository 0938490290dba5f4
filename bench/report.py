"""The outcome of a benchmark: a table for people and for docs/performance.md, and a document for machines."""

import os
import platform
from collections.abc import Iterator
from typing import Any

from bench.budgets import Figures, Verdict, growth, judged
from bench.works import CACHED, OCTODNS

__all__ = ["budget_table", "document", "machine", "text"]


def machine() -> str:
    """The machine in words that name nobody: cores, memory, system and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def text(spent: Figures) -> str:
    """Two Markdown tables: what was spent, and how it stands against the budgets; then the ratios to octoDNS."""
    return "\n".join((*_spent_table(spent), "", *budget_table(judged(spent)), *_ratios(spent)))


def _spent_table(spent: Figures) -> Iterator[str]:
    sizes = sorted({size for _, size in spent})
    yield "| CPU seconds, peak MiB | " + " | ".join(f"{size:,}" for size in sizes) + " | growth |"
    yield "|---" * (len(sizes) + 2) + "|"
    for work in dict.fromkeys(work for work, _ in spent):
        cells = [_cell(spent, work, size) for size in sizes]
        times = growth(spent, work)
        yield f"| {work} | {' | '.join(cells)} | {'' if times is None else f'{times:.1f}x'} |"


def _cell(spent: Figures, work: str, size: int) -> str:
    found = spent.get((work, size))
    return "" if found is None else f"{found.cpu:.2f} s, {found.peak / 2**20:.0f}"


def budget_table(verdicts: tuple[Verdict, ...]) -> Iterator[str]:
    """The lines of a Markdown table: what is allowed, what was measured."""
    yield "| budget | rule | allowed | measured | |"
    yield "|---|---|---|---|---|"
    for each in verdicts:
        yield (
            f"| {each.work} | {each.rule} | {each.allowed:.2f} | {each.measured:.2f} | "
            f"{'kept' if each.kept else 'OVER'} |"
        )


def _ratios(spent: Figures) -> Iterator[str]:
    for work, size in spent:
        if work == OCTODNS and (CACHED, size) in spent:
            ratio = spent[CACHED, size].cpu / spent[OCTODNS, size].cpu
            yield f"\n{CACHED}, {size:,} tools: {ratio:.2f} of what octoDNS spends on {size:,} records in the same run"


def document(spent: Figures, *, date: str, command: str) -> dict[str, Any]:
    """Everything as JSON; seconds are CPU seconds, memory is in bytes."""
    return {
        "date": date,
        "command": command,
        "machine": machine(),
        "figures": [
            {"work": work, "size": size, "cpu_seconds": each.cpu, "peak_bytes": each.peak, "runs": each.runs}
            for (work, size), each in spent.items()
        ],
        "budgets": [
            {
                "work": each.work,
                "rule": each.rule,
                "measured": each.measured,
                "allowed": each.allowed,
                "kept": each.kept,
            }
            for each in judged(spent)
        ],
    }
