"""The benchmark's own judgement; its figures are no test, as they depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.budgets import Verdict, judged
from bench.call_report import call_text, call_verdicts
from bench.calls import Calls, Compared
from bench.measure import ROOT, Spent
from bench.report import text
from bench.works import APPLY, CACHED, HELP, LISTING, LIVE, OCTODNS, VALIDATE
from tests.cli.workspace import clean_environment


def spent(cpu: float) -> Spent:
    return Spent(cpu=cpu, peak=2**20, runs=(cpu,))


def test_a_figure_over_its_budget_is_not_kept():
    assert judged({(CACHED, 5_000): spent(1.21), (HELP, 5_000): spent(0.1)}) == (
        Verdict(HELP, "0.1 s", 0.1, 0.1),
        Verdict(CACHED, "1.2 s", 1.21, 1.2),
    )
    assert [each.kept for each in judged({(CACHED, 5_000): spent(1.21), (HELP, 5_000): spent(0.1)})] == [True, False]


def test_a_live_plan_and_an_apply_are_judged_beside_a_listing_of_the_same_run():
    figures = {
        (LISTING["stdio"], 5_000): spent(2.0),
        (LIVE["stdio"], 5_000): spent(4.0),
        (APPLY, 5_000): spent(6.5),
        (LIVE["http"], 5_000): spent(99.0),
    }
    assert judged(figures) == (
        Verdict(LIVE["stdio"], "1.2 s + 1.5 x bare SDK listing, stdio", 4.0, 4.2),
        Verdict(APPLY, "4 s + 1 x bare SDK listing, stdio", 6.5, 6.0),
    )


def test_growth_is_judged_where_both_ends_were_measured():
    figures = {(VALIDATE, 1_000): spent(0.1), (VALIDATE, 5_000): spent(0.7), (CACHED, 1_000): spent(9.0)}
    assert [(each.rule, each.kept) for each in judged(figures)] == [("1 s", True), ("growth 1,000 -> 5,000", False)]


def test_the_table_holds_every_figure_and_the_ratio_to_another_tool():
    shown = text({(CACHED, 10): spent(0.5), (OCTODNS, 10): spent(2.0), (CACHED, 5_000): spent(1.5)})
    assert f"| {CACHED} | 0.50 s, 1 | 1.50 s, 1 |  |" in shown.splitlines()
    assert f"{CACHED}, 10 tools: 0.25 of what octoDNS spends on 10 records in the same run" in shown.splitlines()
    assert f"| {CACHED} | 1.2 s | 1.20 | 1.50 | OVER |" in shown.splitlines()


def calls(cpu_ms: float) -> Calls:
    return Calls(cpu_ms=cpu_ms, p50_ms=1.0, p99_ms=2.0, rate=1_000.0)


def test_what_a_governed_call_adds_is_judged_over_stdio_and_shown_over_http():
    compared = Compared(bare=calls(0.25), governed=calls(0.56), added=calls(0.31))
    found = {("stdio", 1): compared, ("stdio", 32): compared, ("http", 32): compared}
    assert call_verdicts(found) == (
        Verdict("governed call, stdio, 1 caller", "1.5 ms CPU added a call", 0.31, 1.5),
        Verdict("governed call, stdio, 32 callers", "0.3 ms CPU added a call", 0.31, 0.3),
    )
    shown = call_text(found, {1: 2_000, 32: 6_400}).splitlines()
    assert "| HTTP, 32 callers | 6,400 | governed call | 0.560 | 1.00 | 2.00 | 1,000 |" in shown
    assert "| governed call, stdio, 32 callers | 0.3 ms CPU added a call | 0.30 | 0.31 | OVER |" in shown


@pytest.mark.slow
def test_the_benchmark_of_calls_runs(tmp_path: Path):
    figures = tmp_path / "figures.json"
    ended = subprocess.run(
        [sys.executable, "-m", "bench", "call", "--calls", "1:20,4:40", "--times", "1", "--json", str(figures)],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    # Its exit code says how fast this machine is just now; figures are written only where every call was proven.
    assert figures.exists(), ended.stderr
    found = json.loads(figures.read_text("utf-8"))["figures"]
    assert [(each["transport"], each["callers"], each["calls"]) for each in found] == [
        ("stdio", 1, 20),
        ("stdio", 4, 40),
        ("http", 1, 20),
        ("http", 4, 40),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["plan", "apply"])
def test_the_benchmark_runs(what: str, tmp_path: Path):
    figures = tmp_path / "figures.json"
    ended = subprocess.run(
        [sys.executable, "-m", "bench", what, "--sizes", "10", "--times", "1", "--json", str(figures)],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    works = {each["work"] for each in json.loads(figures.read_text("utf-8"))["figures"]}
    plans = {HELP, VALIDATE, CACHED, *LISTING.values(), *LIVE.values()}
    assert works == (plans if what == "plan" else {LISTING["stdio"], APPLY})
