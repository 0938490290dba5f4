"""`./run bench plan|apply|call`: measure, print, and exit with 1 over a budget."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.budgets import Verdict, judged
from bench.call_report import call_document, call_text, call_verdicts
from bench.calls import MOST, CallBench
from bench.measure import Failed
from bench.report import document, machine, text
from bench.works import Bench

__all__ = ["main"]


def main() -> int:
    """Run the benchmark. 0 within the budgets, 1 over one or where a measured program failed."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as parent:
        try:
            measure = _calls if options.what == "call" else _plan_or_apply
            shown, found, verdicts = measure(Path(parent), options)
        except Failed as failure:
            sys.stderr.write(f"bench: {failure}\n")
            return 1
    sys.stdout.write(f"{_date()}, {machine()}\n{_command()}\n\n{shown}\n")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    return int(not all(verdict.kept for verdict in verdicts))


_Outcome = tuple[str, dict[str, Any], tuple[Verdict, ...]]


def _plan_or_apply(parent: Path, options: argparse.Namespace) -> _Outcome:
    bench = Bench(parent, options.times)
    for size in options.sizes:
        (bench.plan if options.what == "plan" else bench.apply)(size)
        if options.against == "octodns":
            bench.octodns(size)
    return text(bench.spent), document(bench.spent, date=_date(), command=_command()), judged(bench.spent)


def _calls(parent: Path, options: argparse.Namespace) -> _Outcome:
    bench = CallBench(parent, options.times, options.calls)
    bench.run()
    found = call_document(bench.found, bench.counts, date=_date(), command=_command())
    return call_text(bench.found, bench.counts), found, call_verdicts(bench.found)


def _date() -> str:
    return time.strftime("%Y-%m-%d")


def _command() -> str:
    return " ".join(["./run", "bench", *sys.argv[1:]])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("what", choices=["plan", "apply", "call"])
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default="10,100,1000,5000",
        metavar="N,N",
        help="plan, apply: numbers of tools (%(default)s)",
    )
    parser.add_argument(
        "--calls",
        type=_counts,
        default="1:2000,32:6400",
        metavar="CALLERS:N,...",
        help="call: how many calls by how many callers (%(default)s)",
    )
    parser.add_argument(
        "--times", type=int, default=3, metavar="N", help="runs of each; the median counts (%(default)s)"
    )
    parser.add_argument("--against", choices=["octodns"], help="plan: run the same size through another tool")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, for machines")
    return parser.parse_args()


def _sizes(given: str) -> list[int]:
    return [int(size) for size in given.split(",")]


def _counts(given: str) -> dict[int, int]:
    counts = {int(callers): int(count) for callers, count in (pair.split(":") for pair in given.split(","))}
    if max(counts.values()) > MOST:
        raise argparse.ArgumentTypeError(f"at most {MOST:,} calls: the tool takes no larger number")
    return counts


if __name__ == "__main__":
    sys.exit(main())
