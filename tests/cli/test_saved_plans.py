"""A saved plan does exactly what it showed, or nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cli.workspace import Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
      envelope: {surface: locked, side_effecting: false}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a, "g*"]
"""


@pytest.fixture
def saved(here: Workspace) -> Workspace:
    """A plan in p.json: `a` by name, `g1` under a glob and accepted."""
    here.serve("issues", tool("a"), tool("g1"))
    here.write(CONFIG)
    held = here.plan().document["held"][0]
    accept = f"{held['address']}@{held['after']['definition_digest']}"
    assert here.run("plan", "--accept", accept, "--out", "p.json").code == 0
    return here


def test_it_is_readable_by_its_owner_only_and_shows_as_it_was_shown(saved: Workspace):
    assert (saved.folder / "p.json").stat().st_mode & 0o777 == 0o600
    accept = json.loads((saved.folder / "p.json").read_text("utf-8"))["operations"]
    digest = next(each for each in accept if each.get("remote_name") == "g1")["after"]["definition_digest"]
    planned = saved.run("plan", "--accept", f"assistant.ops/issues__g1@{digest}")
    assert saved.run("show", "p.json").out == planned.out
    assert saved.run("show", "p.json", "--format", "json").document == json.loads(
        (saved.folder / "p.json").read_text("utf-8")
    )


def test_what_its_reviewers_accepted_needs_no_second_acceptance(saved: Workspace):
    ended = saved.run("apply", "p.json", "--create-db", "--format", "json")
    assert (ended.code, saved.plan().done) == (0, {"unchanged": 2})


def test_applied_twice_it_is_done_already(saved: Workspace):
    saved.run("apply", "p.json", "--create-db")
    again = saved.run("apply", "p.json", "--format", "json").document
    assert (again["done"], len(again["already_done"]), again["serial"]) == ([], 4, None)


def test_what_nobody_reviewed_is_reported_and_not_run(saved: Workspace):
    saved.serve("issues", tool("a"), tool("g1"), tool("b"))
    saved.write(CONFIG.replace("[a,", "[a, b,"))
    ended = saved.run("apply", "p.json", "--create-db", "--format", "json").document
    assert ended["not_reviewed"] == ["attach assistant.ops/issues__b"]
    assert saved.plan().done == {"attach": 1, "unchanged": 2}


def test_a_tool_that_changed_since_makes_it_stale_and_nothing_runs(saved: Workspace):
    saved.serve("issues", tool("a"), tool("g1", "Now something else."))
    ended = saved.run("apply", "p.json", "--create-db")
    assert (ended.code, "attach assistant.ops/issues__g1" in ended.err) == (5, True)
    assert not (saved.folder / ".remit").exists()


def test_a_file_that_changed_since_makes_it_stale_and_nothing_runs(saved: Workspace):
    saved.write(CONFIG.replace("locked", "open"))
    assert saved.run("apply", "p.json", "--create-db").code == 5


def test_lines_that_moved_do_not_make_it_stale(saved: Workspace):
    saved.write("# a comment\n\n" + CONFIG)
    assert saved.run("apply", "p.json", "--create-db").code == 0


def test_detaches_that_its_reviewers_saw_need_no_number_again(here: Workspace):
    here.serve("issues", *(tool(name) for name in "abcdef"))
    here.write(CONFIG.replace('[a, "g*"]', "[a, b, c, d, e, f]"))
    here.apply()
    here.write(CONFIG.replace('[a, "g*"]', "[a]"))
    assert here.run("plan", "--allow-detach", "5", "--out", "p.json").code == 0
    assert (here.run("apply", "p.json").code, here.plan().done) == (0, {"unchanged": 1})


def test_a_plan_that_a_safeguard_refused_is_refused_when_it_is_applied(here: Workspace):
    here.serve("issues", *(tool(name) for name in "abcdef"))
    here.write(CONFIG.replace('[a, "g*"]', "[a, b, c, d, e, f]"))
    here.apply()
    here.write(CONFIG.replace('[a, "g*"]', "[a]"))
    assert here.run("plan", "--out", "p.json").code == 3
    assert (here.run("apply", "p.json").code, here.plan("--allow-detach", "5").done) == (
        3,
        {"detach": 5, "unchanged": 1},
    )


def test_an_edited_plan_is_refused(saved: Workspace):
    plan = json.loads((saved.folder / "p.json").read_text("utf-8"))
    plan["operations"][-1]["reason"] = "selected_by_name"
    plan["operations"][-1]["after"]["envelope"]["surface"] = "open"
    (saved.folder / "p.json").write_text(json.dumps(plan), "utf-8")
    ended = saved.run("apply", "p.json", "--create-db")
    assert (ended.code, "plan-unreadable" in ended.err) == (1, True)


def test_a_plan_with_any_required_key_dropped_is_refused(saved: Workspace):
    whole = json.loads((saved.folder / "p.json").read_text("utf-8"))
    for at, smaller in without_each_key(whole):
        (saved.folder / "q.json").write_text(json.dumps(smaller), "utf-8")
        ended = saved.run("show", "q.json")
        assert (ended.code, "plan-unreadable" in ended.err) == (1, True), at


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format_version": "2.0"}', "[" * 100_000])
def test_what_is_no_plan_is_refused_in_words(here: Workspace, text: str):
    (here.folder / "p.json").write_text(text, "utf-8")
    ended = here.run("show", "p.json")
    assert (ended.code, ended.out, "plan-unreadable" in ended.err) == (1, "", True)


def test_a_plan_that_is_not_there_is_refused_in_words(here: Workspace):
    assert "plan-unreadable" in here.run("show", "nowhere.json").err


def without_each_key(whole: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The document with one key dropped, for every key that the format knows: schemas and maps of names are free."""
    free = {"inputSchema", "outputSchema", "annotations", "env", "headers"}

    def paths(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        if isinstance(value, list):
            for index, item in enumerate(cast("list[Any]", value)):
                yield from paths(item, (*path, index))
        for key, item in cast("dict[str, Any]", value).items() if isinstance(value, dict) else ():
            yield (*path, key)
            if key not in free:
                yield from paths(item, (*path, key))

    for path in paths(whole, ()):
        copy = json.loads(json.dumps(whole))
        holder = copy
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
        yield ".".join(map(str, path)), copy


@pytest.mark.parametrize("command", [("plan",), ("apply", "--auto-approve", "--create-db")], ids=" ".join)
def test_a_plan_is_saved_over_no_file_that_is_none(saved: Workspace, command: tuple[str, ...]):
    before = (saved.folder / "mcp.yaml").read_bytes()
    (saved.folder / "list.json").write_text("[]", "utf-8")
    for target in ("mcp.yaml", "list.json"):
        ended = saved.run(*command, "--out", target)
        assert (ended.code, f"{target} exists and is no saved plan" in ended.err, ended.out) == (64, True, "")
    assert ((saved.folder / "mcp.yaml").read_bytes(), (saved.folder / ".remit").exists()) == (before, False)
    assert saved.run("plan", "--out", "p.json").code == 0


def test_a_plan_is_saved_whole_or_not_at_all(saved: Workspace):
    before = (saved.folder / "p.json").read_bytes()
    (saved.folder / "mcp.yaml").write_text("version: 2\n", "utf-8")
    assert saved.run("plan", "--out", "p.json").code == 1
    assert ((saved.folder / "p.json").read_bytes(), list(Path(saved.folder).glob("*.partial"))) == (before, [])
