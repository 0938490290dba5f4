"""`./run bench plan|apply`: measure, print, and exit with 1 over a budget."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from bench.budgets import judged
from bench.measure import Failed
from bench.report import document, machine, text
from bench.works import Bench

__all__ = ["main"]


def main() -> int:
    """Run the benchmark. 0 within the budgets, 1 over one or where a measured program failed."""
    options = _options()
    command = " ".join(["./run", "bench", *sys.argv[1:]])
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as parent:
        bench = Bench(Path(parent), options.times)
        try:
            for size in options.sizes:
                (bench.plan if options.what == "plan" else bench.apply)(size)
                if options.against == "octodns":
                    bench.octodns(size)
        except Failed as failure:
            sys.stderr.write(f"bench: {failure}\n")
            return 1
    date = time.strftime("%Y-%m-%d")
    sys.stdout.write(f"{date}, {machine()}\n{command}\n\n{text(bench.spent)}\n")
    if options.json is not None:
        found = document(bench.spent, date=date, command=command)
        options.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    return int(not all(verdict.kept for verdict in judged(bench.spent)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("what", choices=["plan", "apply"])
    parser.add_argument(
        "--sizes", type=_sizes, default="10,100,1000,5000", metavar="N,N", help="numbers of tools (%(default)s)"
    )
    parser.add_argument(
        "--times", type=int, default=3, metavar="N", help="runs of each; the median counts (%(default)s)"
    )
    parser.add_argument("--against", choices=["octodns"], help="run the same size through another tool")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, for machines")
    return parser.parse_args()


def _sizes(given: str) -> list[int]:
    return [int(size) for size in given.split(",")]


if __name__ == "__main__":
    sys.exit(main())
