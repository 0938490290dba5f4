"""Completion in the shells: the scripts, and what they are answered."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.workspace import Workspace, clean_environment, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
    - name: inventory
      command: ["true"]
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a]
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_remit(here: Workspace, shell: str):
    ended = here.run("completion", shell)
    assert ended.code == 0
    assert f"_REMIT_COMPLETE={shell}_complete" in ended.out
    assert here.run("completion", SHELL=f"/usr/bin/{shell}").out == ended.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_can_read(here: Workspace, shell: str):
    program = shutil.which(shell)
    if program is None and shell != "bash":
        pytest.skip(f"{shell} is not installed here")
    assert program is not None, "CI runs in bash, so its script is always tried"
    (here.folder / "script").write_text(here.run("completion", shell).out, "utf-8")
    ended = subprocess.run(
        [program, "-n", "script"], cwd=here.folder, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_bash_completes_a_command_and_a_server_with_the_script(here: Workspace):
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    (here.folder / "script").write_text(here.run("completion", "bash").out, "utf-8")
    typed = """
        source ./script
        for line in "remit val" "remit plan --server iss"; do
            COMP_WORDS=($line) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
            _remit_completion remit
            echo "${COMPREPLY[@]}"
        done
    """
    # The command is looked up as a shell does it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-u", "-c", typed],
        cwd=here.folder,
        env={**clean_environment(), "PATH": path},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (0, ["validate", "issues"], "")


def test_an_unknown_shell_is_refused_with_the_way_out(here: Workspace):
    ended = here.run("completion", SHELL="/bin/csh")
    assert (ended.code, "remit completion bash|zsh|fish" in ended.err) == (64, True)
    assert here.run("completion", "csh").code == 64


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("remit pl", ["plan"]),
        ("remit dr", ["drift"]),
        ("remit --", ["--version", "--help"]),
        ("remit plan --form", ["--format"]),
        ("remit plan --format m", ["markdown"]),
        ("remit plan --server i", ["inventory", "issues"]),
        ("remit drift --server is", ["issues"]),
        ("remit discover inv", ["inventory"]),
        ("remit explain no-dat", ["no-database"]),
    ],
)
def test_commands_flags_servers_and_codes_are_completed(here: Workspace, words: str, expected: list[str]):
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    assert sorted(completed(here, words)) == sorted(expected)


def test_environments_and_their_servers_are_completed(here: Workspace):
    (here.folder / "envs").mkdir()
    (here.folder / "envs" / "prod.yaml").write_text(
        "version: 1\nmcp: {servers: [{name: isolated, $new: true, command: [x]}]}\n", "utf-8"
    )
    (here.folder / "envs" / "dev.yaml").write_text("version: 1\n", "utf-8")
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    assert completed(here, "remit plan --env p") == ["prod"]
    assert sorted(completed(here, "remit plan --env prod --server is")) == ["isolated", "issues"]
    assert completed(here, "remit plan --env prd --server is") == []


def test_a_file_that_is_not_valid_completes_nothing_and_says_nothing(here: Workspace):
    (here.folder / "mcp.yaml").write_text("version: 2\n", "utf-8")
    assert completed(here, "remit plan --server i") == []


def completed(here: Workspace, words: str) -> list[str]:
    ended = here.process(_REMIT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1))
    assert (ended.code, ended.err) == (0, "")
    return [line.partition(",")[2] for line in ended.out.splitlines() if line]
