"""A workspace is bound to the repository and path of its first apply, and no older commit takes back what a later one did."""

import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.cli.workspace import Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp: {servers: [{name: issues, command: {server:issues}, envelope: {surface: locked}}]}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [find]
"""


def git(folder: Path, *words: str) -> str:
    """Run git as a user of no machine in particular; gives what it says."""
    settings = ("user.name=Test", "user.email=test@example.com", "init.defaultBranch=main", "commit.gpgsign=false")
    options = [part for each in settings for part in ("-c", each)]
    ended = subprocess.run(
        ["git", *options, *words], cwd=folder, capture_output=True, text=True, timeout=10, check=True
    )
    return ended.stdout.strip()


@pytest.fixture
def applied(here: Workspace) -> Workspace:
    """A repository with a remote whose URL holds a credential, applied at its first commit."""
    here.serve("issues", tool("find"))
    here.write(CONFIG)
    git(here.folder, "init", "-q")
    git(here.folder, "remote", "add", "origin", "https://user:dummy-secret-value@Git.Example.com/acme/ops.git")
    git(here.folder, "add", "mcp.yaml")
    git(here.folder, "commit", "-q", "-m", "first")
    assert here.apply().code == 0
    return here


def source(here: Workspace) -> str | None:
    database = sqlite3.connect(here.folder / ".remit" / "remit.db")
    try:
        return database.execute("SELECT source FROM workspaces WHERE name = 'demo'").fetchone()[0]
    finally:
        database.close()


def vetoes(here: Workspace, *arguments: str) -> tuple[int, list[str]]:
    ended = here.apply(*arguments)
    return ended.code, [each["code"] for each in ended.document["refused"]]


def test_the_first_apply_binds_to_remote_and_path_and_stores_no_credential(applied: Workspace):
    assert source(applied) == "git.example.com/acme/ops//mcp.yaml"
    assert b"dummy-secret-value" not in (applied.folder / ".remit" / "remit.db").read_bytes()


def test_another_way_to_clone_it_is_the_same_source(applied: Workspace):
    git(applied.folder, "remote", "set-url", "origin", "git@git.example.com:acme/ops.git")
    assert vetoes(applied) == (0, [])


def test_another_source_is_refused_until_it_is_bound_anew(applied: Workspace):
    git(applied.folder, "remote", "set-url", "origin", "https://git.example.com/fork/ops.git")
    assert applied.plan().code == 3
    assert vetoes(applied) == (3, ["bound-elsewhere"])
    assert "--rebind" in applied.run("plan").out
    moved = applied.apply("--rebind").document
    bound = {"environment": None, "source": "git.example.com/fork/ops//mcp.yaml"}
    assert (moved["refused"], moved["changed"], moved["binding"]) == ([], True, bound)
    assert "source git.example.com/fork/ops//mcp.yaml from now on" in applied.run("history").out
    assert "applied   without an environment, from git.example.com/fork/ops//mcp.yaml" in applied.run("status").out
    assert source(applied) == "git.example.com/fork/ops//mcp.yaml"
    assert vetoes(applied) == (0, [])


def test_the_next_step_of_a_saved_plan_takes_along_what_the_plan_was_allowed(applied: Workspace):
    git(applied.folder, "remote", "set-url", "origin", "https://git.example.com/fork/ops.git")
    applied.serve("issues", tool("find"), tool("close"))
    applied.write(CONFIG.replace("[find]", "[find, close]"))
    told = applied.run("plan", "--rebind", "--allow-older-commit", "--server", "issues", "--out", "p.json").err
    assert told.endswith("next: remit apply p.json --rebind --allow-older-commit\n")
    assert applied.run(*told.split("next: remit ")[1].split()).code == 0


def test_a_copy_without_its_repository_is_another_source(applied: Workspace):
    (applied.folder / ".git").rename(applied.folder / "git.away")
    assert vetoes(applied) == (3, ["bound-elsewhere"])


def test_a_folder_that_is_no_repository_binds_nothing(here: Workspace):
    here.serve("issues", tool("find"))
    here.write(CONFIG)
    assert here.apply().code == 0
    assert source(here) is None


def test_an_older_commit_is_refused_and_a_revert_is_none(applied: Workspace):
    first = git(applied.folder, "rev-parse", "HEAD")
    applied.serve("issues", tool("find"), tool("close"))
    applied.write(CONFIG.replace("[find]", "[find, close]"))
    git(applied.folder, "commit", "-q", "-a", "-m", "second")
    assert applied.apply().code == 0
    git(applied.folder, "checkout", "-q", first)
    assert vetoes(applied) == (3, ["older-commit"])
    assert vetoes(applied, "--allow-older-commit") == (0, [])
    git(applied.folder, "checkout", "-q", "main")
    assert applied.apply().code == 0
    git(applied.folder, "revert", "--no-edit", "HEAD")
    assert vetoes(applied) == (0, [])


def test_a_commit_that_the_clone_lacks_is_a_warning(applied: Workspace):
    database = sqlite3.connect(applied.folder / ".remit" / "remit.db")
    with database:
        database.execute("UPDATE applies SET \"commit\" = '0123456789012345678901234567890123456789'")
    database.close()
    planned = applied.plan()
    assert (planned.code, [each["code"] for each in planned.document["problems"]]) == (0, ["commit-unknown"])


def test_a_pull_request_is_judged_by_no_binding(applied: Workspace):
    git(applied.folder, "remote", "set-url", "origin", "https://git.example.com/fork/ops.git")
    codes = [each["code"] for each in applied.plan("--untrusted").document["problems"]]
    assert "bound-elsewhere" not in codes


def test_a_repository_without_a_commit_names_none(here: Workspace):
    here.serve("issues", tool("find"))
    here.write(CONFIG)
    git(here.folder, "init", "-q")
    assert here.plan().document["config"]["commit"] is None
