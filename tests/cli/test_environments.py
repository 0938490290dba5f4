"""Several files and environments, end to end: promotion, lost files, two workspaces in one database."""

import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.workspace import Ended, Workspace, tool

MAIN = """\
version: 1
workspace: demo
include: [mcp.d/*.yaml]
mcp:
  servers:
    - name: issues
      command: {server:dev}
"""
OPS = """\
version: 1
assistants:
  - name: ops
    tools:
      - server: issues
        include: [search, close]
"""
PROD = """\
version: 1
mcp:
  servers:
    - name: issues
      command: {server:prod}
      envelope: {surface: locked}
assistants:
  - name: ops
    permissions: [write]
"""


@pytest.fixture
def two(here: Workspace) -> Workspace:
    """A workspace of two files with the environments dev and prod, which have servers of their own."""
    here.serve("dev", tool("search"), tool("close"))
    here.serve("prod", tool("search", "Searches in production."), tool("close"))
    here.write(MAIN)
    here.write(OPS, "mcp.d/ops.yaml")
    here.write("version: 1\n", "envs/dev.yaml")
    here.write(PROD, "envs/prod.yaml")
    return here


def database(here: Workspace, name: str) -> str:
    return f"sqlite:///{here.folder / name}.db"


def of(here: Workspace, environment: str, *arguments: str) -> Ended:
    """A run for an environment, whose database is named after it."""
    return here.run(*arguments, "--env", environment, REMIT_DATABASE_URL=database(here, environment))


def applied(here: Workspace, environment: str, *arguments: str) -> Ended:
    return of(here, environment, "apply", "--auto-approve", "--create-db", "--format", "json", *arguments)


def test_promotion_from_one_environment_to_the_next_is_a_plan(two: Workspace):
    assert applied(two, "dev").code == 0
    first = of(two, "prod", "plan", "--out", "prod-plan.json", "--format", "json")
    assert (first.document["environment"], first.done["attach"]) == ("prod", 2)
    assert [each["path"] for each in first.document["config"]["files"]] == [
        "mcp.yaml",
        "mcp.d/ops.yaml",
        "envs/prod.yaml",
    ]
    places = {
        each["address"]: f"{each['source']['file']}:{each['source']['line']}" for each in first.document["operations"]
    }
    assert places == {
        "server.issues": "envs/prod.yaml:4",
        "assistant.ops": "envs/prod.yaml:8",
        "assistant.ops/issues__search": "mcp.d/ops.yaml:6",
        "assistant.ops/issues__close": "mcp.d/ops.yaml:6",
    }
    assert "Plan for workspace demo, environment prod" in of(two, "prod", "plan").out
    assert of(two, "prod", "apply", "prod-plan.json", "--create-db").code == 0
    # What is tried in dev next comes to prod as the same change, and as nothing else.
    two.write(OPS.replace("[search, close]", "[search]"), "mcp.d/ops.yaml")
    seen: list[list[str]] = []
    for environment in ("dev", "prod"):
        plan = of(two, environment, "plan", "--format", "json", "--allow-detach", "1")
        seen.append([f"{each['op']} {each['address']}" for each in plan.document["operations"]])
        assert applied(two, environment, "--allow-detach", "1").code == 0
        assert of(two, environment, "plan", "--detailed-exitcode").code == 0
    assert seen == [["detach assistant.ops/issues__close"]] * 2


def test_a_plan_of_one_environment_is_refused_for_another(two: Workspace):
    of(two, "prod", "plan", "--out", "prod-plan.json")
    refused = of(two, "dev", "apply", "prod-plan.json", "--create-db")
    assert (refused.code, "made for environment 'prod'" in refused.err, "pass --env prod" in refused.err) == (
        64,
        True,
        True,
    )
    two.run("plan", "--out", "plain.json")
    assert "leave out --env" in of(two, "dev", "apply", "plain.json").err


def test_a_misspelt_environment_is_a_usage_error_with_the_names(two: Workspace):
    for command in (("validate",), ("plan",), ("drift",), ("status",), ("config", "show")):
        ended = two.run(*command, "--env", "prd")
        assert (ended.code, "did you mean 'prod'? the environments are: dev, prod" in ended.err) == (64, True), command


def test_every_command_reads_all_files_of_the_command_line(two: Workspace):
    two.write(MAIN.replace("include: [mcp.d/*.yaml]\n", ""))
    files = ("-f", "mcp.yaml", "-f", "mcp.d/ops.yaml")
    assert "1 assistant, 1 selection" in two.run("validate", *files).out
    plan = two.run("plan", *files)
    assert "next: remit apply -f mcp.yaml -f mcp.d/ops.yaml" in plan.err
    assert two.apply(*files).code == 0
    for command in (("status",), ("drift",), ("history",), ("discover",)):
        assert two.run(*command, *files).code == 0, command
    assert two.run("call", "ops", "issues__search", "--args", '{"q": "a"}', *files).code != 64


def test_the_configuration_is_shown_as_one_file_that_reads_the_same(two: Workspace):
    shown = two.run("config", "show", "--env", "prod")
    two.write(shown.out, "flat.yaml")
    flat, composed = (two.run("plan", "--format", "json", *each) for each in (("-f", "flat.yaml"), ("--env", "prod")))
    assert flat.document["digest"] == composed.document["digest"]
    places = two.run("config", "show", "--env", "prod", "--origin").out
    assert "surface: locked" in places
    assert any(line.endswith("# envs/prod.yaml:6") and "surface: locked" in line for line in places.splitlines())
    document = two.run("config", "show", "--env", "prod", "--format", "json").document
    assert (document["environment"], document["config"]["assistants"][0]["permissions"]) == ("prod", ["write"])


def test_no_value_of_a_reference_is_shown(two: Workspace):
    two.write(MAIN + '      env: {TOKEN: "${env:TOKEN}"}\n')
    for form in ("text", "json"):
        ended = two.run("config", "show", "--origin", "--format", form, TOKEN="dummy-secret-value")
        assert ("${env:TOKEN}" in ended.out, "dummy-secret-value" in ended.out) == (True, False)


@pytest.mark.parametrize("gone", ["", "# nothing left\n", None])
def test_an_included_file_that_is_lost_or_emptied_detaches_nothing(two: Workspace, gone: str | None):
    assert applied(two, "dev").code == 0
    if gone is None:
        (two.folder / "mcp.d" / "ops.yaml").unlink()
    else:
        two.write(gone, "mcp.d/ops.yaml")
    refused = applied(two, "dev", "--allow-detach", "2")
    assert refused.code == (3 if gone is None else 1)
    two.write(OPS, "mcp.d/ops.yaml")
    assert of(two, "dev", "plan", "--detailed-exitcode").code == 0


def test_a_lost_file_is_named_and_let_go_by_name_only(two: Workspace):
    assert applied(two, "dev").code == 0
    (two.folder / "mcp.d" / "ops.yaml").rename(two.folder / "mcp.d" / "all.yaml")
    renamed = applied(two, "dev")
    assert (renamed.code, renamed.document["changed"], renamed.document["serial"]) == (0, False, None)
    (two.folder / "mcp.d" / "all.yaml").unlink()
    vetoes = [
        each["message"].split(" ")[0]
        for each in of(two, "dev", "plan", "--format", "json").document["problems"]
        if each["code"] == "files-vanished"
    ]
    assert vetoes == ["mcp.d/all.yaml"]
    wrong = of(two, "dev", "plan", "--allow-missing-file", "mcp.d/al.yaml")
    assert (wrong.code, "did you mean 'mcp.d/all.yaml'?" in wrong.err) == (64, True)
    allowed = ("--allow-detach", "2", "--allow-missing-file", "mcp.d/all.yaml")
    assert of(two, "dev", "plan", "--out", "p.json", *allowed).code == 0
    assert of(two, "dev", "apply", "p.json").code == 0
    assert applied(two, "dev", *allowed).code == 0


def environment_of(here: Workspace, name: str) -> str | None:
    with contextlib.closing(sqlite3.connect(here.folder / f"{name}.db")) as raw:
        return raw.execute("SELECT environment FROM workspaces WHERE name = 'demo'").fetchone()[0]


def narrowed(here: Workspace) -> dict[str, str]:
    """The environment prod applied, whose overlay selects less than the files below it; gives its database."""
    here.write(
        "version: 1\nassistants:\n  - name: ops\n    tools:\n      - server: issues\n        include: [search]\n",
        "envs/prod.yaml",
    )
    assert applied(here, "prod").code == 0
    assert environment_of(here, "prod") == "prod"
    return {"REMIT_DATABASE_URL": database(here, "prod")}


@pytest.mark.parametrize("others", [(), ("--env", "dev")], ids=["forgotten", "wrong"])
def test_another_environment_than_the_one_applied_attaches_nothing(two: Workspace, others: tuple[str, ...]):
    url = narrowed(two)
    right = two.run("plan", "--env", "prod", "--out", "saved.json", "--format", "json", **url)
    assert (right.code, right.document["environment"], right.document["operations"]) == (0, "prod", [])
    for command in (("plan",), ("plan", "--rebind"), ("plan", "--refresh", "cached")):
        ended = two.run(*command, *others, "--format", "json", **url)
        codes = [each["code"] for each in ended.document["problems"] if each["severity"] == "error"]
        assert (ended.code, codes[0]) == (3, "environment-other"), command
    refused = two.run("apply", "--auto-approve", "--format", "json", *others, **url)
    assert (refused.code, refused.document["changed"]) == (3, False)
    assert [each["code"] for each in refused.document["refused"]] == ["environment-other"]
    assert "pass --env prod" in two.run("plan", *others, **url).out
    assert of(two, "prod", "plan", "--detailed-exitcode").code == 0
    assert environment_of(two, "prod") == "prod"


def test_a_pull_request_is_planned_for_the_environment_that_is_applied(
    two: Workspace, tmp_path_factory: pytest.TempPathFactory
):
    url = {"REMIT_DATABASE_URL": f"sqlite:///{tmp_path_factory.mktemp('elsewhere') / 'prod.db'}"}
    assert two.run("apply", "--env", "prod", "--auto-approve", "--create-db", **url).code == 0
    # A branch's servers are not asked, which is 4.
    assert [two.run("plan", "--untrusted", *each, **url).code for each in ((), ("--env", "prod"))] == [3, 4]


def test_a_saved_plan_of_another_environment_is_no_way_round(two: Workspace):
    url = narrowed(two)
    assert two.run("plan", "--env", "dev", "--out", "dev-plan.json", **url).code == 3
    ended = two.run("apply", "dev-plan.json", "--env", "dev", "--format", "json", **url)
    assert (ended.code, [each["code"] for each in ended.document["refused"]]) == (3, ["environment-other"])


def test_a_workspace_changes_its_environment_when_that_is_said(two: Workspace):
    url = narrowed(two)
    planned = two.run("plan", "--env", "dev", "--change-env", "--format", "json", **url)
    assert (planned.code, planned.done["attach"]) == (0, 1)
    assert "environment-changes" in [each["code"] for each in planned.document["problems"]]
    assert "next: remit apply --change-env --env dev" in two.run("plan", "--env", "dev", "--change-env", **url).err
    changed = two.run("apply", "--env", "dev", "--change-env", "--auto-approve", **url)
    assert (changed.code, environment_of(two, "prod")) == (0, "dev")
    assert two.run("plan", "--env", "dev", "--detailed-exitcode", **url).code == 0
    assert two.run("plan", "--env", "prod", **url).code == 3
    assert two.run("apply", "--change-env", "--auto-approve", **url).code == 0
    assert environment_of(two, "prod") == ""
    assert two.run("plan", "--env", "dev", **url).code == 3


@pytest.mark.parametrize(("given", "after"), [(("--env", "dev"), "dev"), ((), "")], ids=["named", "none"])
def test_the_command_that_the_refusal_names_changes_to_the_environment_that_was_planned(
    two: Workspace, given: tuple[str, ...], after: str
):
    url = narrowed(two)
    refused = two.run("plan", *given, "--format", "json", **url)
    (hint,) = [each["hint"] for each in refused.document["problems"] if each["code"] == "environment-other"]
    (command,) = re.findall("`remit (apply [^`]*)`", hint)
    assert two.run(*command.split(), "--auto-approve", **url).code == 0
    assert (environment_of(two, "prod"), two.run("plan", *given, **url).code) == (after, 0)


def test_the_next_step_of_a_saved_plan_that_changes_the_environment_is_not_refused(two: Workspace):
    url = narrowed(two)
    told = two.run("plan", "--env", "dev", "--change-env", "--out", "p.json", **url).err
    assert told.endswith("next: remit apply p.json --change-env --env dev\n")
    assert two.run(*told.split("next: remit ")[1].split(), **url).code == 0
    assert environment_of(two, "prod") == "dev"


def test_a_change_of_environment_without_operations_is_told_and_kept_in_the_history(two: Workspace):
    url = narrowed(two)
    two.write((two.folder / "envs/prod.yaml").read_text(), "envs/dev.yaml")
    planned = two.run("plan", "--env", "dev", "--change-env", "--format", "json", **url)
    assert planned.document["operations"] == []
    changed = two.run("apply", "--env", "dev", "--change-env", "--auto-approve", **url)
    assert (changed.code, changed.out.splitlines()[-1]) == (0, "Applied: environment dev from now on. Serial 2.")
    changed = two.run("apply", "--env", "prod", "--change-env", "--auto-approve", "--format", "json", **url).document
    bound = {"environment": "prod", "source": None}
    assert (changed["changed"], changed["serial"], changed["binding"]) == (True, 3, bound)
    again = two.run("apply", "--env", "prod", "--change-env", "--auto-approve", "--format", "json", **url).document
    assert (again["changed"], again["serial"], again["binding"]) == (False, None, None)
    told = two.run("history", **url).out.splitlines()
    assert ["environment prod from now on" in each for each in told] == [False, True, False, False]
    status = two.run("status", "--format", "json", **url).document
    assert (status["binding"], len(status["applies"])) == (bound, 3)
    assert "  applied   for environment prod, from no repository\n" in two.run("status", **url).out


def test_two_environments_of_one_database_are_two_workspaces(two: Workspace):
    tools = "tools:\n      - server: issues\n        $new: true\n        include: [search]\n"
    own = f"assistants:\n  - {{name: ops, $delete: true}}\n  - name: ops-dev\n    $new: true\n    {tools}"
    two.write(MAIN.replace("workspace: demo\n", ""))
    two.write(PROD + "workspace: demo\n", "envs/prod.yaml")
    two.write(f"version: 1\nworkspace: demo-dev\n{own}", "envs/dev.yaml")
    shared = {"REMIT_DATABASE_URL": database(two, "shared")}
    for environment in ("prod", "dev", "prod"):
        applied = two.run("apply", "--env", environment, "--auto-approve", "--create-db", **shared)
        assert applied.code == 0
        assert two.run("plan", "--env", environment, "--detailed-exitcode", **shared).code == 0
    with contextlib.closing(sqlite3.connect(two.folder / "shared.db")) as raw:
        found = dict(raw.execute("SELECT name, environment FROM workspaces").fetchall())
    assert found == {"demo": "prod", "demo-dev": "dev"}


def test_a_workspace_whose_environment_nobody_recorded_takes_the_next_one(two: Workspace):
    url = narrowed(two)
    with contextlib.closing(sqlite3.connect(two.folder / "prod.db")) as raw, raw:
        raw.execute("UPDATE workspaces SET environment = NULL")
    assert two.run("apply", "--env", "prod", "--auto-approve", **url).code == 0
    assert environment_of(two, "prod") == "prod"


def test_a_workspace_that_moves_keeps_its_environment(two: Workspace):
    url = narrowed(two)
    two.write(MAIN.replace("demo", "acme") + "moved: [{from: workspace.demo, to: workspace.acme}]\n")
    forgotten = two.run("apply", "--auto-approve", "--format", "json", **url)
    assert (forgotten.code, [each["code"] for each in forgotten.document["refused"]]) == (3, ["environment-other"])
    assert two.run("apply", "--auto-approve", "--env", "prod", **url).code == 0
    assert two.run("plan", **url).code == 3


def test_the_owner_of_an_environment_is_the_overlay_s(two: Workspace):
    two.write(PROD + "owner: platform\n", "envs/prod.yaml")
    assert applied(two, "prod").code == 0
    assert of(two, "prod", "suspend", "assistant.ops").code == 0
    stranger = two.run("suspend", "assistant.ops", REMIT_DATABASE_URL=database(two, "prod"))
    assert (stranger.code, "owner 'local'" in stranger.err) == (64, True)


def test_an_environment_whose_overlay_is_broken_is_an_error_and_no_other_environment(two: Workspace):
    assert applied(two, "prod").code == 0
    for text in ("", "# version: 1\n", "version: 1\nmcp: {servers: [{name: isues}]}\n"):
        two.write(text, "envs/prod.yaml")
        assert [of(two, "prod", *each).code for each in (("validate",), ("plan",), ("apply", "--auto-approve"))] == [
            1,
            1,
            1,
        ]
        assert of(two, "dev", "validate").code == 0


# --- two workspaces in one database ------------------------------------------------------------------------------------


def workspace(folder: Path, name: str, server: str, *tools: str) -> Workspace:
    """A folder with one server and its tools for the assistant `ops` that both share."""
    folder.mkdir()
    here = Workspace(folder)
    here.serve(server, *map(tool, tools))
    here.write(
        f"version: 1\nworkspace: {name}\nmcp:\n  servers:\n    - name: {server}\n      command: {{server:{server}}}\n"
        f"assistants:\n  - name: ops\n    tools:\n      - server: {server}\n        include: [{', '.join(tools)}]\n"
    )
    return here


def rows(path: Path, workspace: str) -> list[list[tuple[Any, ...]]]:
    """Every row of one workspace as the database holds it."""
    with contextlib.closing(sqlite3.connect(path)) as raw:
        tables = ("mcp_server_registrations", "assistant_mcp_tools", "applies")
        own = [raw.execute(f"SELECT * FROM {each} WHERE workspace = ?", [workspace]).fetchall() for each in tables]
        return [sorted(each, key=str) for each in own]


@pytest.mark.parametrize("turned", [False, True], ids=["one-first", "two-first"])
def test_two_workspaces_in_one_database_never_touch_each_other(tmp_path: Path, turned: bool):
    shared = tmp_path / "shared.db"
    url = f"sqlite:///{shared}"
    pair = [workspace(tmp_path / "a", "one", "issues", "x", "y"), workspace(tmp_path / "b", "two", "files", "x", "z")]
    if turned:
        pair.reverse()
    names = ["two", "one"] if turned else ["one", "two"]
    assert pair[0].apply(REMIT_DATABASE_URL=url).code == 0
    before = rows(shared, names[0])
    assert pair[1].apply(REMIT_DATABASE_URL=url).code == 0
    assert rows(shared, names[0]) == before
    other = rows(shared, names[1])
    for each in pair:
        assert each.run("plan", "--detailed-exitcode", REMIT_DATABASE_URL=url).code == 0
    first, second = pair
    first.write((first.folder / "mcp.yaml").read_text("utf-8").replace("include: [x, ", "include: ["))
    assert first.apply("--allow-detach", "1", REMIT_DATABASE_URL=url).code == 0
    assert (rows(shared, names[1]) == other, rows(shared, names[0]) == before) == (True, False)
    assert second.run("plan", "--detailed-exitcode", REMIT_DATABASE_URL=url).code == 0


@pytest.mark.parametrize("turned", [False, True], ids=["one-first", "two-first"])
def test_an_alias_clash_across_workspaces_names_both_origins(tmp_path: Path, turned: bool):
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    pair = [workspace(tmp_path / "a", "one", "issues", "x", "y"), workspace(tmp_path / "b", "two", "files", "x", "z")]
    for each in pair:
        text = (each.folder / "mcp.yaml").read_text("utf-8")
        (each.folder / "mcp.yaml").write_text(text + "        aliases: {x: the_x}\n", "utf-8")
    first, second = reversed(pair) if turned else pair
    names = {"a": ("one", "issues"), "b": ("two", "files")}
    (one, its), (two, other) = names[first.folder.name], names[second.folder.name]
    assert first.apply(REMIT_DATABASE_URL=url).code == 0
    ended = second.run("plan", "--format", "json", REMIT_DATABASE_URL=url)
    told = json.dumps([each for each in ended.document["problems"] if each["code"] == "alias-clash"])
    assert (f"tool.{its}/x of workspace {one}" in told, f"tool.{other}/x" in told, two != one) == (True, True, True)
    assert second.run("apply", "--auto-approve", REMIT_DATABASE_URL=url).code == 4
    assert first.run("plan", "--detailed-exitcode", REMIT_DATABASE_URL=url).code == 0


def test_what_the_lock_of_an_environment_lacks_is_written_by_the_command_that_is_named(two: Workspace):
    two.write(OPS.replace("[search, close]", "[search]"), "mcp.d/ops.yaml")
    assert of(two, "prod", "lock", "--yes").code == 0
    assert applied(two, "prod").code == 0
    two.write(OPS, "mcp.d/ops.yaml")
    two.serve("prod", tool("search", "Searches everywhere."), tool("close"))
    for form in ("text", "markdown", "github"):
        told = of(two, "prod", "plan", "--format", form).out
        # One is held, as it is not in the lock, and one drifted.
        assert (told.count("`remit lock --env prod`"), "`remit lock`" in told) == (2, False), form
    checked = of(two, "prod", "lock", "--check")
    assert (checked.code, "run `remit lock --env prod` and" in checked.out + checked.err) == (2, True)
    (two.folder / "mcp.prod.lock").unlink()
    refused = of(two, "prod", "plan", "--format", "json").document["problems"]
    (command,) = re.findall(
        "`remit (lock[^`]*)`", next(each["hint"] for each in refused if each["code"] == "lock-missing")
    )
    assert two.run(*command.split(), "--yes", REMIT_DATABASE_URL=database(two, "prod")).code == 0
    assert of(two, "prod", "plan").code == 0
