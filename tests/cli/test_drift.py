"""`remit drift`: what moved without a commit, and nothing else."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import jsonschema_rs
import pytest

from remit.render.plan_schema import drift_schema
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
        include: [a, b, "g*"]
"""
VALIDATOR = jsonschema_rs.validator_for(drift_schema())


@pytest.fixture
def applied(here: Workspace) -> Workspace:
    here.serve("issues", tool("a"), tool("b"))
    here.write(CONFIG)
    assert here.apply().code == 0
    return here


def edit_a_function(here: Workspace) -> None:
    with closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as database, database:
        database.execute("update assistant_functions set document = '{}' where name = 'issues__a'")


KINDS: dict[str, tuple[Callable[[Workspace], None], dict[str, int]]] = {
    "a tool that vanished": (lambda here: here.serve("issues", tool("a")), {"vanished": 1}),
    "a tool that cannot be used": (
        lambda here: here.serve("issues", tool("a"), {"name": "b", "inputSchema": {"type": "string"}}),
        {"quarantined": 1},
    ),
    "a changed definition": (lambda here: here.serve("issues", tool("a"), tool("b", "Other.")), {"refresh": 1}),
    "a new tool under a glob": (lambda here: here.serve("issues", tool("a"), tool("b"), tool("g")), {"attach": 1}),
    "an edited row": (edit_a_function, {"database_drift": 1}),
}


def test_without_drift_it_is_zero_and_says_so(applied: Workspace):
    ended = applied.run("drift")
    assert (ended.code, "\nNo drift\n" in ended.out, ended.err) == (0, True, "")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_drift_is_exit_2_and_counted(applied: Workspace, kind: str):
    move, counts = KINDS[kind]
    move(applied)
    ended = applied.run("drift", "--format", "json", "--summary", "s.json")
    found = {name: number for name, number in ended.document["summary"].items() if number}
    assert (ended.code, found, ended.err) == (2, counts, "")
    assert [error.message for error in VALIDATOR.iter_errors(ended.document)] == []
    assert applied.run("drift").code == 2


def test_what_the_file_asks_for_is_no_drift(applied: Workspace):
    applied.write(CONFIG.replace("[a, b,", "[a,").replace("name: ops", "name: ops\n    permissions: [p]"))
    assert applied.plan().done != {"unchanged": 1}
    assert applied.run("drift").code == 0


def test_a_server_that_does_not_answer_is_incomplete_and_no_drift(applied: Workspace):
    applied.serve("issues", die_on={"tools/list": 1})
    ended = applied.run("drift", "--format", "json")
    assert (ended.code, ended.document["complete"], ended.document["summary"]["deferred"]) == (4, False, 3)
    assert ended.document["drift"] == []


def test_one_server_can_be_looked_at_and_a_misspelt_one_is_refused(applied: Workspace):
    assert applied.run("drift", "--server", "issues").code == 0
    assert applied.run("drift", "--server", "isues").code == 64


def test_without_a_database_it_is_an_error_and_not_no_drift(here: Workspace):
    here.serve("issues", tool("a"), tool("b"))
    here.write(CONFIG)
    ended = here.run("drift")
    assert (ended.code, ended.out, "error no-database: " in ended.err) == (1, "", True)


def test_it_asks_no_server_where_only_kept_listings_are_wanted(applied: Workspace):
    applied.serve("issues", die_on={"initialize": 1})
    assert applied.run("drift", "--refresh", "cached").code == 0


def test_it_writes_nothing_to_the_database(applied: Workspace):
    applied.serve("issues", tool("a", "Other."))
    before = (applied.folder / ".remit" / "remit.db").read_bytes()
    assert applied.run("drift").code == 2
    assert (applied.folder / ".remit" / "remit.db").read_bytes() == before
