"""What a governed call adds to a bare one: both programs in turn, over each transport, alone and with callers at once.

Decides what is compared and proves that the work was done: every answer is the right one (bench/calling.py), and the audit
trail of each governed run verifies and holds an intent and a good outcome for each call, the protocol trace its two events.
"""

import json
import shutil
import sqlite3
import statistics
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from bench.calling import FACTS, WARM_UP
from bench.measure import Failed, Program, measured
from bench.workspaces import Workspace, make_workspace

__all__ = ["MOST", "TRANSPORTS", "CallBench", "Calls", "Compared"]

TRANSPORTS: Mapping[str, str] = {"stdio": "stdio", "http": "HTTP"}
MOST = 10_000
"""Calls of one run; the schema of the tool (bench/definitions.py) takes no larger number."""

TOOLS = 50
"""Tools of the one server, so that a listing has a usual size."""

_ENVELOPE = "{surface: locked, side_effecting: true}"
_BARE, _GOVERNED = "bare-calls", "governed-calls"

_AUDITED = """
SELECT count(*), count(DISTINCT json_extract(body, '$."remit.action_id"')) FROM audit_events
WHERE kind = ? AND coalesce(json_extract(body, '$."remit.outcome"'), '') = ?
"""
_TRACED = "SELECT count(*) FROM protocol_events WHERE kind = 'call'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What calls took: CPU milliseconds a call, latencies in milliseconds, calls a second."""

    cpu_ms: float
    p50_ms: float
    p99_ms: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Medians of both programs' runs, and of the differences between runs that followed each other (`rate` aside)."""

    bare: Calls
    governed: Calls
    added: Calls


@dataclass(frozen=True, slots=True)
class CallBench:
    """Measures below one folder, so many times each; `counts` says how many calls are made by so many callers."""

    parent: Path
    times: int
    counts: Mapping[int, int]
    found: dict[tuple[str, int], Compared] = field(default_factory=dict[tuple[str, int], Compared])

    def run(self) -> None:
        """Compare over every transport. Raises Failed where a program did not do its work."""
        for transport in TRANSPORTS:
            workspace = make_workspace(self.parent, TOOLS, _ENVELOPE)
            with workspace.serving_http() if transport == "http" else nullcontext():
                apply = ("apply", "--auto-approve", "--create-db")
                measured(Program(name="remit", arguments=apply, folder=workspace.folder), times=1)
                for callers, count in self.counts.items():
                    self._note(transport, callers, self._pairs(workspace, callers, count))
            shutil.rmtree(workspace.folder)

    def _pairs(self, workspace: Workspace, callers: int, count: int) -> Sequence[tuple[Calls, Calls]]:
        pairs: list[tuple[Calls, Calls]] = []
        for _ in range(self.times):
            bare = _calls(workspace.folder, _BARE, callers, count)
            # Each run on a database of its own, as large as after an apply.
            fresh = workspace.folder / "applied"
            if not fresh.exists():
                shutil.copytree(workspace.folder / ".remit", fresh)
            shutil.rmtree(workspace.folder / ".remit")
            shutil.copytree(fresh, workspace.folder / ".remit")
            pairs.append((bare, _calls(workspace.folder, _GOVERNED, callers, count)))
            _prove(workspace.folder, count + WARM_UP)
        return pairs

    def _note(self, transport: str, callers: int, pairs: Sequence[tuple[Calls, Calls]]) -> None:
        compared = Compared(
            bare=_median([bare for bare, _ in pairs]),
            governed=_median([governed for _, governed in pairs]),
            added=_median([_difference(*pair) for pair in pairs]),
        )
        self.found[transport, callers] = compared
        each = " ".join(f"{governed.cpu_ms - bare.cpu_ms:.3f}" for bare, governed in pairs)
        sys.stderr.write(
            f"bench: {TRANSPORTS[transport]:<5} {callers:>3} callers  added {compared.added.cpu_ms:7.3f} CPU ms a call "
            f"({each})  p50 {compared.added.p50_ms:+.2f} ms  p99 {compared.added.p99_ms:+.2f} ms\n"
        )


def _calls(folder: Path, name: str, callers: int, count: int) -> Calls:
    facts = folder / FACTS
    facts.unlink(missing_ok=True)
    measured(Program(name=name, arguments=(str(callers), str(count)), folder=folder), times=1)
    found = json.loads(facts.read_text("utf-8"))
    latencies = sorted(found["latencies"])
    return Calls(
        cpu_ms=found["cpu_seconds"] * 1000 / count,
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        rate=count / found["seconds"],
    )


def _median(runs: Sequence[Calls]) -> Calls:
    return Calls(
        cpu_ms=statistics.median(run.cpu_ms for run in runs),
        p50_ms=statistics.median(run.p50_ms for run in runs),
        p99_ms=statistics.median(run.p99_ms for run in runs),
        rate=statistics.median(run.rate for run in runs),
    )


def _difference(bare: Calls, governed: Calls) -> Calls:
    return Calls(
        cpu_ms=governed.cpu_ms - bare.cpu_ms,
        p50_ms=governed.p50_ms - bare.p50_ms,
        p99_ms=governed.p99_ms - bare.p99_ms,
        rate=governed.rate - bare.rate,
    )


def _prove(folder: Path, calls: int) -> None:
    """Raises Failed unless the trail is sound and knows so many calls that went out and came back well."""
    measured(Program(name="remit", arguments=("audit", "verify"), folder=folder), times=1)
    (file,) = (folder / ".remit").glob("*.db")
    with closing(sqlite3.connect(file)) as database:
        intents = database.execute(_AUDITED, ("call_intent", "")).fetchone()
        outcomes = database.execute(_AUDITED, ("call_outcome", "ok")).fetchone()
        (traced,) = database.execute(_TRACED).fetchone()
    if intents != (calls, calls) or outcomes != (calls, calls) or traced != 2 * calls:
        raise Failed(f"{calls} calls, but {intents} intents, {outcomes} good outcomes and {traced} protocol events")
