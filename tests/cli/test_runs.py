"""`remit runs`: what runs there are, and the end of one."""

from tests.cli.governed import Rows
from tests.cli.workspace import Workspace


def test_runs_are_listed_newest_first_up_to_the_limit(here: Workspace, rows: Rows):
    first, second = rows.start(), rows.start()
    listed = here.run("runs", "list", "--format", "json").document
    assert listed["format_version"] == "1.0"
    assert [(each["run_id"], each["state"], each["assistant"]) for each in listed["runs"]] == [
        (second, "in_progress", "ops"),
        (first, "in_progress", "ops"),
    ]
    assert len(here.run("runs", "list", "--limit", "1", "--format", "json").document["runs"]) == 1
    assert (
        here.run("runs", "list")
        .out.splitlines()[1]
        .startswith(f"  {second}  in_progress  assistant ops  by assistant:ops")
    )


def test_one_run_is_shown_with_its_actions(here: Workspace, rows: Rows):
    run = rows.start()
    rows.call(run, {"q": "x"}, output="found \x1b[2J it")
    shown = here.run("runs", "show", run)
    assert "issues__search  mcp  completed" in shown.out
    assert r"found \x1b[2J it" in shown.out
    (action,) = here.run("runs", "show", run, "--format", "json").document["run"]["actions"]
    assert (action["provider_name"], action["state"], action["output"]) == (
        "issues__search",
        "completed",
        "found \x1b[2J it",
    )


def test_a_run_is_cancelled_once_and_again_is_fine(here: Workspace, rows: Rows):
    run = rows.start()
    ended = here.run("runs", "cancel", run, "--format", "json")
    assert (ended.code, ended.document["changed"], ended.document["run"]["state"]) == (0, True, "cancelled")
    again = here.run("runs", "cancel", run)
    assert (again.code, "was cancelled already" in again.out) == (0, True)


def test_a_run_that_ended_cannot_be_cancelled(here: Workspace, rows: Rows):
    run = rows.start()
    rows.complete(run)
    ended = here.run("runs", "cancel", run)
    assert (ended.code, "had ended (completed)" in ended.out) == (1, True)


def test_an_unknown_run_is_refused_with_the_one_that_was_meant(here: Workspace, rows: Rows):
    run = rows.start()
    for verb in ("show", "cancel"):
        ended = here.run("runs", verb, run[:8])
        assert (ended.code, f"did you mean {run}?" in ended.err) == (64, True)
    assert "`remit runs list` lists them" in here.run("runs", "show", "zz").err
