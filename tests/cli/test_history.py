"""`remit history`: what was applied, when and by whom."""

import sqlite3
from contextlib import closing

import pytest

from tests.cli.workspace import Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a, b]
"""


@pytest.fixture
def twice(here: Workspace) -> Workspace:
    """A workspace with two applies: two tools, then one of them detached."""
    here.serve("issues", tool("a"), tool("b"))
    here.write(CONFIG)
    assert here.apply().code == 0
    here.write(CONFIG.replace("[a, b]", "[a]"))
    assert here.apply().code == 0
    return here


def test_applies_are_listed_newest_first_with_what_they_did(twice: Workspace):
    document = twice.run("history", "--format", "json").document
    assert (document["format_version"], document["workspace"]) == ("1.0", "demo")
    assert [
        (each["serial"], each["outcome"], each["summary"]["attach"], each["summary"]["detach"])
        for each in document["applies"]
    ] == [(2, "applied", 0, 1), (1, "applied", 2, 0)]
    first, second = twice.run("history").out.splitlines()[1:]
    assert (first.split()[:2], second.split()[:2]) == (["serial", "2"], ["serial", "1"])
    assert document["applies"][0]["digest"] in first


def test_an_apply_that_did_nothing_leaves_no_entry(twice: Workspace):
    assert twice.apply().code == 0
    assert len(twice.run("history", "--format", "json").document["applies"]) == 2


def test_the_limit_keeps_the_newest(twice: Workspace):
    (only,) = twice.run("history", "--limit", "1", "--format", "json").document["applies"]
    assert only["serial"] == 2
    assert twice.run("history", "--limit", "0").code == 64


def test_one_apply_is_shown_with_its_plan_as_show_does(twice: Workspace):
    ended = twice.run("history", "2", "--format", "json")
    apply = ended.document["apply"]
    assert (ended.code, apply["serial"], apply["digest"]) == (0, 2, apply["plan"]["digest"])
    text = twice.run("history", "2").out
    assert text.startswith("Apply of workspace demo\n  serial 2  ")
    assert "  - detach     issues/b" in text
    assert f"\nDigest {apply['digest']}\n" in text


def test_a_serial_that_is_nobodys_is_refused(twice: Workspace):
    ended = twice.run("history", "3")
    assert (ended.code, "has no apply with serial 3" in ended.err) == (64, True)


def test_a_plan_that_was_edited_in_the_database_is_not_shown(twice: Workspace):
    with closing(sqlite3.connect(twice.folder / ".remit" / "remit.db")) as database, database:
        database.execute("update applies set plan = replace(plan, 'issues__b', 'issues__c') where serial = 2")
        database.execute("update applies set plan = 'no json' where serial = 1")
    edited, broken = twice.run("history", "2"), twice.run("history", "1")
    assert (edited.code, edited.out, broken.code, broken.out) == (1, "", 1, "")
    assert "error plan-unreadable: " in edited.err
    assert "error database-row: " in broken.err


def test_without_a_database_there_is_no_history(here: Workspace):
    here.serve("issues", tool("a"), tool("b"))
    here.write(CONFIG)
    assert "no-database" in here.run("history").err
