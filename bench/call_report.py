"""The outcome of `bench call`: what calls took, what a governed one adds, and how that stands against DESIGN.md section 14."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from bench.budgets import Verdict
from bench.calls import TRANSPORTS, Calls, Compared
from bench.report import budget_table, machine

__all__ = ["ALLOWED_MS", "call_document", "call_text", "call_verdicts"]

ALLOWED_MS: Mapping[tuple[str, int], float] = {("stdio", 1): 1.5, ("stdio", 32): 0.3}
"""CPU milliseconds that a governed call may add, by transport and callers; what is not named has no budget."""

_PROGRAMS = {"bare": "bare SDK call", "governed": "governed call", "added": "added"}

Found = Mapping[tuple[str, int], Compared]


def call_verdicts(found: Found) -> tuple[Verdict, ...]:
    """Every budget that these figures can be held against."""
    return tuple(
        Verdict(f"governed call, {_words(*key)}", f"{allowed:g} ms CPU added a call", found[key].added.cpu_ms, allowed)
        for key, allowed in ALLOWED_MS.items()
        if key in found
    )


def call_text(found: Found, counts: Mapping[int, int]) -> str:
    """Two Markdown tables: what calls took, and how what is added stands against the budgets."""
    return "\n".join((*_table(found, counts), "", *budget_table(call_verdicts(found))))


def call_document(found: Found, counts: Mapping[int, int], *, date: str, command: str) -> dict[str, Any]:
    """Everything as JSON; CPU and latencies are in milliseconds, `rate` is calls a second."""
    return {
        "date": date,
        "command": command,
        "machine": machine(),
        "figures": [
            {"transport": transport, "callers": callers, "calls": counts[callers], **asdict(compared)}
            for (transport, callers), compared in found.items()
        ],
        "budgets": [asdict(each) | {"kept": each.kept} for each in call_verdicts(found)],
    }


def _table(found: Found, counts: Mapping[int, int]) -> Iterator[str]:
    yield "| | calls | | CPU ms a call | p50 ms | p99 ms | calls a second |"
    yield "|---|---|---|---|---|---|---|"
    for (transport, callers), compared in found.items():
        for field, program in _PROGRAMS.items():
            calls: Calls = getattr(compared, field)
            rate = "" if field == "added" else f"{calls.rate:,.0f}"
            times = f"{calls.cpu_ms:.3f} | {calls.p50_ms:.2f} | {calls.p99_ms:.2f}"
            yield f"| {_words(transport, callers)} | {counts[callers]:,} | {program} | {times} | {rate} |"


def _words(transport: str, callers: int) -> str:
    return f"{TRANSPORTS[transport]}, {callers} caller{'' if callers == 1 else 's'}"
