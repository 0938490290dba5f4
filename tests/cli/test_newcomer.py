"""What a new user reads on the way to a first apply."""

import re
from pathlib import Path

import click
import pytest

from remit.cli.main import cli
from tests.cli.workspace import Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - {name: s, command: {server:s}}
assistants:
  - {name: ops, tools: [{include: [a, b], server: s}]}
"""
README = Path(__file__).parents[2] / "README.md"


def test_a_plan_without_a_database_says_so_and_what_comes_next(here: Workspace):
    here.serve("s", *map(tool, "ab"))
    here.write(CONFIG)

    told = here.run("plan")

    database = here.folder / ".remit" / "remit.db"
    assert (told.code, told.err.splitlines()) == (
        0,
        [
            f"no database at {database} yet: planned from nothing; `remit apply` needs --create-db or "
            "`remit db upgrade` first, or set REMIT_DATABASE_URL to the right one",
            "next: remit apply",
        ],
    )


def test_the_next_step_of_a_saved_plan_is_to_apply_that_file(here: Workspace):
    here.serve("s", *map(tool, "ab"))
    here.write(CONFIG)
    here.run("db", "upgrade")

    assert here.run("plan", "--out", "p 1.json").err == "saved as p 1.json\nnext: remit apply 'p 1.json'\n"
    assert here.run("plan", "--server", "s").err == "next: remit apply --server s\n"
    assert here.run("plan", "-f", "./mcp.yaml", "--format", "json").err == ""


def test_an_apply_with_nothing_to_do_says_so_once(here: Workspace):
    here.serve("s", *map(tool, "ab"))
    here.write(CONFIG)
    here.apply()

    told = here.run("apply", "--auto-approve")

    assert (told.code, (told.out + told.err).count("Nothing to do")) == (0, 1)
    assert here.run("plan").err == ""


def test_a_new_configuration_elsewhere_is_named_as_it_was_asked_for(here: Workspace):
    (here.folder / "sub").mkdir()

    told = here.run("init", "-f", "sub/mcp.yaml")

    assert told.out.splitlines()[:2] == ["sub/mcp.yaml: written", "sub/schemas/mcp.schema.json: written"]
    assert told.err == (
        "next: edit sub/mcp.yaml, then `remit validate -f sub/mcp.yaml`, `remit plan -f sub/mcp.yaml`, "
        "`remit apply -f sub/mcp.yaml`\n"
    )
    assert here.run("validate", "-f", "sub/mcp.yaml").out.splitlines()[-1] == (
        "sub/mcp.yaml: valid. workspace sub, 0 servers, 0 assistants, 0 selections"
    )


def test_an_unknown_server_of_discover_is_not_spoken_of_as_a_flag(here: Workspace):
    here.write(CONFIG)

    assert here.run("discover", "ss").err == "error usage: no server is called 'ss'\n  hint: did you mean 's'?\n"


def test_a_missing_file_has_no_line(here: Workspace):
    told = here.run("validate", "-f", "nope.yaml")

    assert told.out.splitlines()[0] == "nope.yaml: error config-missing: there is no such file"


@pytest.mark.parametrize("digest", ["", "sha256:abc", "d1:" + "a" * 64, "sha256:" + "A" * 64])
def test_an_approved_digest_that_is_none_is_refused(here: Workspace, digest: str):
    here.write(CONFIG)

    told = here.run("apply", "--approve-digest", digest)

    assert (told.code, "is not sha256: and 64 hex characters" in told.err) == (64, True)


def test_a_limited_plan_speaks_only_of_what_it_looked_at(here: Workspace):
    here.serve("s", *map(tool, "ab"))
    here.serve("other", tool("c"))
    here.write(
        CONFIG.replace("assistants:", "    - {name: other, command: {server:other}}\nassistants:")
        + "  - {name: beside, tools: [{include: [c], server: other}]}\n"
    )
    here.apply()

    document = here.plan("--server", "s").document

    assert document["summary"]["unchanged"] == 2
    assert [each["name"] for each in document["config"]["assistants"]] == ["ops"]


def test_an_allowance_that_does_not_match_is_named(here: Workspace):
    here.serve("s", *map(tool, "ab"))
    here.write(CONFIG)
    here.apply()
    here.write(CONFIG.replace("[{include: [a, b], server: s}]", "[]"))

    told = here.run("plan", "--allow-detach", "1")

    assert (told.code, [line for line in told.out.splitlines() if "veto" in line]) == (
        3,
        [
            "  ! veto: --allow-detach 1 was given, 2 would be detached; if that is meant, "
            "run again with --allow-detach 2"
        ],
    )


def test_the_tables_of_the_readme_name_the_flags_that_there_are():
    """Every flag of plan and apply stands in the README's table, and no other."""
    table = README.read_text("utf-8").partition("Flags of `plan` and `apply`")[2].partition("\n\nExit codes")[0]
    listed = set(re.findall(r"^\| `(-[a-z-]+)", table, re.MULTILINE))
    context = click.Context(cli)
    there: set[str] = set()
    for name in ("plan", "apply"):
        command = cli.get_command(context, name)
        assert command is not None
        there |= {each.opts[0] for each in command.params if isinstance(each, click.Option)}

    assert listed == there


@pytest.mark.parametrize("arguments", [("db", "upgrade"), ("apply", "--auto-approve", "--create-db")])
def test_whatever_makes_the_embedded_database_keeps_it_out_of_version_control(
    here: Workspace, arguments: tuple[str, ...]
):
    here.write("version: 1\nworkspace: demo\n")
    assert here.run(*arguments).code == 0
    assert (here.folder / ".remit" / ".gitignore").read_text("utf-8") == "*\n"


def test_a_database_that_was_named_gets_no_file_beside_it(here: Workspace):
    here.write("version: 1\nworkspace: demo\n")
    assert here.run("db", "upgrade", REMIT_DATABASE_URL="sqlite:///shared/remit.db").code == 0
    assert [each.name for each in (here.folder / "shared").iterdir()] == ["remit.db"]
