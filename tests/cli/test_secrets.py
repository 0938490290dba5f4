"""A secret is read when a connection is opened and exists nowhere else."""

import json
from pathlib import Path

from tests.cli.workspace import Workspace, tool

SECRET = "dummy-secret-value-7141"
CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: echo
      command: {server:echo}
      env: {API_TOKEN: "${env:PLANTED}"}
assistants:
  - name: ops
    tools:
      - server: echo
        include: [say]
"""


def test_a_server_that_echoes_its_secret_puts_it_nowhere(here: Workspace):
    here.serve("echo", tool("say"), env_in="API_TOKEN", stderr=f"starting with {SECRET}\n")
    here.write(CONFIG)
    outputs: list[str] = []
    commands = (
        ("plan",),
        ("plan", "--format", "json", "--out", "p.json"),
        ("apply", "--auto-approve", "--create-db"),
        ("discover",),
        ("discover", "--format", "json"),
        ("status",),
        ("status", "--format", "json"),
        ("show", "p.json"),
    )
    for command in commands:
        ended = here.run(*command, PLANTED=SECRET)
        assert ended.code == 0, ended.err
        outputs += [ended.out, ended.err]
    here.serve("echo", tool("say"), env_in="API_TOKEN", stderr=f"dying with {SECRET}\n", die_on={"tools/list": 1})
    ended = here.run("plan", PLANTED=SECRET)
    assert ended.code == 4
    written = "".join((*outputs, ended.out, ended.err)).encode() + b"".join(
        each.read_bytes() for each in Path(here.folder).rglob("*") if each.is_file() and each.name != "echo.json"
    )
    assert b"say" in written
    assert SECRET.encode() not in written


def test_debug_output_holds_no_secret_either(here: Workspace):
    here.serve("echo", tool("say"), env_in="API_TOKEN")
    here.write(CONFIG)
    ended = here.process("plan", PLANTED=SECRET, REMIT_DEBUG="1")
    assert (ended.code, SECRET in ended.out + ended.err) == (0, False)


def test_an_unset_reference_names_server_field_and_variable_and_starts_nothing(here: Workspace):
    here.serve("echo", tool("say"), pids=str(here.folder / "pids"))
    here.write(CONFIG)
    ended = here.plan()
    (line,) = ended.document["discovery"]
    assert (ended.code, line["status"], line["reason"]) == (4, "unreachable", "secret_unresolved")
    assert "API_TOKEN" in line["detail"]
    assert "PLANTED" in line["detail"]
    assert not (here.folder / "pids").exists()


def test_a_plan_keeps_references_as_written(here: Workspace):
    here.serve("echo", tool("say"))
    here.write(CONFIG)
    register = next(
        each for each in here.plan(PLANTED=SECRET).document["operations"] if each["op"] == "register_server"
    )
    assert register["after"]["env"] == {"API_TOKEN": "${env:PLANTED}"}


def test_an_inline_secret_is_refused_and_never_repeated(here: Workspace):
    here.serve("echo", tool("say"))
    here.write(CONFIG.replace("${env:PLANTED}", SECRET))
    for command in (("validate",), ("validate", "--format", "json"), ("plan",), ("apply",), ("status",)):
        ended = here.run(*command)
        assert (ended.code, SECRET in ended.out + ended.err) == (1, False), command
        assert "inline-secret" in ended.out + ended.err


def test_a_rotated_secret_is_no_change(here: Workspace):
    here.serve("echo", tool("say"))
    here.write(CONFIG)
    assert here.apply(PLANTED=SECRET).code == 0
    assert here.plan(PLANTED=SECRET + "-rotated").done == {"unchanged": 1}
    assert json.dumps("rotated") not in here.run("status", "--format", "json").out
