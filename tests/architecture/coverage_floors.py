"""How much of each part the tests must reach, branches included: `./run test` runs this after the tests.

The floors are the two constants below and stand nowhere else. With ENFORCED off the table is shown and nothing fails.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict, cast

from coverage import Coverage

ENFORCED = True

FLOORS: Mapping[str, float] = {"core": 99.0, "render": 99.0, "app.py": 80.0, "__main__.py": 50.0}
"""Percent by part of src/remit. What decides and what shows is pure; what is left are answers to schemas nobody wrote yet.

The two files beside the packages are a few lines each, so one line more or less is many percent.
"""

FLOOR = 90.0
"""Percent for every other part."""


class Summary(TypedDict):
    """What a coverage report counts in one file."""

    num_statements: int
    covered_lines: int
    num_branches: int
    covered_branches: int


def summaries() -> Mapping[str, Summary]:
    """The counts by file, from the combined data in .coverage."""
    coverage = Coverage()
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        coverage.json_report(outfile=str(report))
        files = cast("dict[str, dict[str, Summary]]", json.loads(report.read_text("utf-8"))["files"])
    return {path: counts["summary"] for path, counts in files.items()}


def part_of(path: str) -> str:
    """The package under src/remit that a file belongs to, or the file's own name where it lies beside them."""
    return Path(path).relative_to(Path("src", "remit")).parts[0]


def percentages(files: Mapping[str, Summary]) -> Iterator[tuple[str, float]]:
    """Each part with its percentage of lines and branches reached, by name."""
    for part in sorted({part_of(path) for path in files}):
        counts = [summary for path, summary in files.items() if part_of(path) == part]
        total = sum(one["num_statements"] + one["num_branches"] for one in counts)
        reached = sum(one["covered_lines"] + one["covered_branches"] for one in counts)
        yield part, 100.0 * reached / total if total else 100.0


def main() -> int:
    """Show the table; 1 where a floor is missed and floors are enforced."""
    missed = False
    for part, percent in percentages(summaries()):
        floor = FLOORS.get(part, FLOOR)
        below = percent < floor
        missed = missed or below
        sys.stdout.write(f"{part:<14} {percent:6.2f} %  floor {floor:3.0f} %{'  BELOW' if below else ''}\n")
    if missed:
        hint = "" if ENFORCED else " (not enforced)"
        sys.stdout.write(f"below the floor{hint}; `.venv/bin/coverage report -m` shows the lines\n")
    return int(missed and ENFORCED)


if __name__ == "__main__":
    sys.exit(main())
