"""`remit lock` and its check for programs: the same as the text says, as JSON and as annotations."""

import json
from typing import Any

import pytest

from tests.cli.test_lock import CONFIG, DOWN, HIDDEN, NEW, OLD, locked
from tests.cli.workspace import Workspace, tool


def report(here: Workspace, *arguments: str) -> tuple[int, dict[str, Any]]:
    ended = here.run("lock", *arguments, "--format", "json")
    return ended.code, ended.document


def facts(document: dict[str, Any]) -> dict[str, Any]:
    """All but what changes, what is wrong, and where."""
    left_out = {"format_version", "workspace", "environment", "file", "problems", "changes"}
    return {key: value for key, value in document.items() if key not in left_out}


def tally(**counts: int) -> dict[str, int]:
    return {**dict.fromkeys(("added", "changed", "renamed", "removed", "moved", "unchanged"), 0), **counts}


def test_a_lock_that_was_written_is_told_with_every_definition_that_came_in(here: Workspace):
    here.serve("issues", HIDDEN)
    here.write(CONFIG)
    code, document = report(here, "--yes")
    assert code == 0
    assert facts(document) == {
        "asked": True,
        "fits": False,
        "written": True,
        "complete": True,
        "locked": 1,
        "summary": tally(added=1),
    }
    assert (document["workspace"], document["environment"], document["file"]) == ("demo", None, "mcp.lock")
    (change,) = document["changes"]
    assert (change["kinds"], change["assistant"], change["server"], change["remote_name"]) == (
        ["added"],
        "ops",
        "issues",
        "search",
    )
    assert change["before"] is None
    assert change["after"]["alias"] == "issues__search"
    assert change["after"]["definition"]["description"] == HIDDEN["description"]
    assert "finding-high" in {each["code"] for each in change["risks"]}
    assert change["source"] == {"file": "mcp.yaml", "line": 12, "column": 19}


def test_a_lock_that_is_up_to_date_is_not_written_and_fits(here: Workspace):
    locked(here, OLD)
    code, document = report(here, "--yes")
    assert (code, facts(document)) == (
        0,
        {
            "asked": True,
            "fits": True,
            "written": False,
            "complete": True,
            "locked": 1,
            "summary": tally(unchanged=1),
        },
    )


def test_without_a_yes_stdout_stays_empty_and_the_change_is_shown_on_stderr(here: Workspace):
    here.serve("issues", OLD)
    here.write(CONFIG)
    ended = here.run("lock", "--format", "json")
    assert (ended.code, ended.out, "+ attach" in ended.err) == (1, "", True)
    assert not (here.folder / "mcp.lock").exists()


def test_a_tool_that_is_renamed_and_changed_is_one_change_of_two_kinds(here: Workspace):
    locked(here, OLD)
    here.serve("issues", NEW)
    here.write(CONFIG + "        aliases: {search: find}\n")
    code, document = report(here, "--yes")
    (change,) = document["changes"]
    assert (code, change["kinds"], document["summary"]) == (0, ["renamed", "changed"], tally(renamed=1, changed=1))
    assert (change["before"]["alias"], change["after"]["alias"]) == ("issues__search", "find")
    assert [(each["path"], each["class"]) for each in change["changes"]] == [(["description"], "text")]
    assert change["classes"] == ["text"]


def test_a_server_that_cannot_be_listed_is_told_as_incomplete(here: Workspace):
    locked(here, OLD)
    here.serve("issues", **DOWN)
    code, document = report(here, "--yes")
    assert (code, document["complete"], document["fits"]) == (4, False, True)
    assert [each["code"] for each in document["problems"]] == ["lock-unlisted"]


def test_a_check_that_fits_asked_nobody_and_says_so(here: Workspace):
    locked(here, OLD)
    here.serve("issues", **DOWN)
    code, document = report(here, "--check")
    assert (code, document["problems"], document["changes"]) == (0, [], None)
    assert facts(document) == {
        "asked": False,
        "fits": True,
        "written": False,
        "complete": True,
        "locked": 1,
        "summary": None,
    }


def test_a_check_says_every_difference_that_its_text_says(here: Workspace):
    locked(here, OLD)
    here.write(CONFIG.replace("[search]", "[other]"))
    code, document = report(here, "--check")
    assert (code, document["fits"]) == (2, False)
    assert [each["code"] for each in document["problems"]] == ["lock-incomplete", "lock-unselected"]
    assert document["problems"][0]["source"] == {"file": "mcp.yaml", "line": 12, "column": 19}


def test_a_check_of_a_lock_that_is_missing_or_broken_says_so_too(here: Workspace):
    here.serve("issues", OLD)
    here.write(CONFIG)
    code, document = report(here, "--check", "--live")
    assert (code, [each["code"] for each in document["problems"]], document["asked"]) == (2, ["lock-absent"], False)
    (here.folder / "mcp.lock").write_text("{}")
    code, document = report(here, "--check")
    assert (code, document["fits"], len(document["problems"])) == (1, False, 1)


def test_a_live_check_says_what_servers_say_otherwise(here: Workspace):
    locked(here, OLD)
    here.serve("issues", NEW)
    code, document = report(here, "--check", "--live")
    assert (code, document["fits"], document["summary"]) == (2, False, tally(changed=1))
    assert document["changes"][0]["after"]["definition"]["description"] == NEW["description"]
    assert (document["locked"], document["written"]) == (1, False)


def test_a_live_check_names_the_selection_that_it_could_not_resolve(here: Workspace):
    here.serve("issues", OLD)
    here.write(CONFIG.replace("[search]", "[search, gone]"))
    assert here.run("lock", "--yes").code == 4
    ended = here.run("lock", "--check", "--live")
    assert (ended.code, "tool-not-advertised" in ended.err) == (4, True)
    code, document = report(here, "--check", "--live")
    assert (code, document["complete"]) == (4, False)
    assert "tool-not-advertised" in [each["code"] for each in document["problems"]]


def test_a_check_annotates_each_difference_at_its_line(here: Workspace):
    locked(here, OLD)
    here.write(CONFIG.replace("[search]", "[search, other]"))
    ended = here.run("lock", "--check", "--format", "github")
    assert ended.code == 2
    assert ended.out.startswith("::error file=mcp.yaml,line=12,col=27,title=lock-incomplete::tool.issues/other: ")
    assert "lock-incomplete" in ended.err


def test_a_live_check_annotates_what_servers_say_otherwise_and_no_server_writes_a_command(here: Workspace):
    locked(here, OLD)
    here.serve("issues", tool("search", "Finds.\n::error::forged"))
    ended = here.run("lock", "--check", "--live", "--format", "github")
    assert ended.code == 2
    (line,) = ended.out.splitlines()
    assert line.startswith(
        "::error file=mcp.yaml,line=12,col=19,title=lock changed ops%3A issues/search::run `remit lock`"
    )
    assert "\n::error::forged" not in ended.err


@pytest.mark.parametrize("arguments", [(), ("--yes",)])
def test_annotations_go_with_the_check_only(here: Workspace, arguments: tuple[str, ...]):
    locked(here, OLD)
    assert here.run("lock", *arguments, "--format", "github").code == 64


def test_the_lock_itself_is_no_report(here: Workspace):
    locked(here, OLD)
    lock = json.loads((here.folder / "mcp.lock").read_text("ascii"))
    assert set(lock).isdisjoint(facts(report(here, "--check")[1]))
