"""Rows that somebody edits in the database by hand: a plan shows it, an apply puts back what was approved."""

import sqlite3

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
        include: [search, get, list]
"""
TOOL = "UPDATE assistant_mcp_tools SET provider_name = 'stolen' WHERE remote_name = 'search'"
NAME = "UPDATE assistant_functions SET name = 'Stolen', folded_name = 'stolen' WHERE name = 'issues__search'"
FOLDED = "UPDATE assistant_functions SET folded_name = 'stolen' WHERE name = 'issues__search'"
SWAP = (
    "UPDATE assistant_functions SET name = 'x', folded_name = 'x' WHERE name = 'issues__search'",
    "UPDATE assistant_functions SET name = 'issues__search', folded_name = 'issues__search' WHERE name = 'issues__get'",
    "UPDATE assistant_functions SET name = 'issues__get', folded_name = 'issues__get' WHERE name = 'x'",
    "UPDATE assistant_mcp_tools SET provider_name = CASE remote_name WHEN 'get' THEN 'issues__search' "
    "ELSE 'issues__get' END WHERE remote_name IN ('get', 'search')",
)


@pytest.fixture
def applied(here: Workspace) -> Workspace:
    here.serve("issues", tool("search"), tool("get"), tool("list"))
    here.write(CONFIG)
    assert here.apply().code == 0
    return here


def rows(workspace: Workspace) -> list[tuple[str, ...]]:
    """What the tools are called: on the attachment, on the function, folded, and in the text that a model reads."""
    with sqlite3.connect(workspace.folder / ".remit" / "remit.db") as database:
        found = database.execute(
            "SELECT t.remote_name, t.provider_name, f.name, f.folded_name, f.document FROM assistant_mcp_tools t "
            "JOIN assistant_functions f ON f.attachment_id = t.id ORDER BY 1"
        ).fetchall()
    database.close()
    return found


def edit(workspace: Workspace, *statements: str) -> None:
    with sqlite3.connect(workspace.folder / ".remit" / "remit.db") as database:
        assert [database.execute(each).rowcount for each in statements if each]
    database.close()


@pytest.mark.parametrize(
    ("statements", "mended"),
    [
        ([TOOL], ["search"]),
        ([NAME], ["search"]),
        ([FOLDED], ["search"]),
        ([TOOL, NAME], ["search"]),
        (SWAP, ["get", "search"]),
    ],
    ids=["alias", "function name", "folded name", "alias and function name", "two swapped"],
)
@pytest.mark.parametrize("outage", [False, True], ids=["up", "down"])
def test_an_edited_alias_is_shown_and_put_back(
    applied: Workspace, statements: list[str], mended: list[str], *, outage: bool
) -> None:
    before = rows(applied)
    edit(applied, *statements)
    assert rows(applied) != before
    if outage:
        applied.serve("issues", die_on={"tools/list": 1})
    plan = applied.plan()
    assert [(each["op"], each["reason"], each["address"]) for each in plan.document["operations"]] == [
        ("refresh", "database_drift", f"assistant.ops/issues__{name}") for name in mended
    ]
    assert applied.apply().document["done"] == [
        {"op": "refresh", "address": f"assistant.ops/issues__{name}"} for name in mended
    ]
    assert rows(applied) == before
    assert applied.plan().done == ({"deferred": 3} if outage else {"unchanged": 3})


def test_an_accepted_change_of_the_server_does_not_make_an_edited_alias_the_approved_one(applied: Workspace) -> None:
    edit(applied, TOOL, NAME)
    applied.serve("issues", tool("search", "Does another thing."), tool("get"), tool("list"))
    (held,) = applied.plan().document["held"]
    accepted = applied.apply("--accept", f"{held['address']}@{held['after']['definition_digest']}")
    assert (accepted.code, held["address"]) == (0, "assistant.ops/issues__search")
    assert [each[1:4] for each in rows(applied)] == [
        (name, name, name) for name in ("issues__get", "issues__list", "issues__search")
    ]
    assert applied.plan().done == {"unchanged": 3}
