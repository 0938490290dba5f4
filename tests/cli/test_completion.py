"""Completion in the shells: the scripts, and what they are answered."""

import shutil
import subprocess

import pytest

from tests.cli.workspace import Workspace, tool

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
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    (here.folder / "script").write_text(here.run("completion", shell).out, "utf-8")
    ended = subprocess.run(
        [program, "-n", "script"], cwd=here.folder, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


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


def test_a_file_that_is_not_valid_completes_nothing_and_says_nothing(here: Workspace):
    (here.folder / "mcp.yaml").write_text("version: 2\n", "utf-8")
    assert completed(here, "remit plan --server i") == []


def completed(here: Workspace, words: str) -> list[str]:
    ended = here.process(_REMIT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1))
    assert (ended.code, ended.err) == (0, "")
    return [line.partition(",")[2] for line in ended.out.splitlines() if line]
