"""The action for GitHub, step by step in a repository: branch, plan, merge, apply; and what a hostile server cannot do to it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from tests.cli.actions_runner import BOT, ROOT, TOKEN, GitHub, Job, checked_out, git, github, use
from tests.cli.preloaded import Preloaded
from tests.cli.test_ci_output import FORGED, HOSTILE, hostile_tools
from tests.cli.workspace import SERVER, Workspace, clean_environment, tool
from tests.render.reading import commands_in, structure_of

pytestmark = pytest.mark.slow

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: COMMAND
      envelope: {surface: locked, side_effecting: false}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [search]
"""
KEYS = {"has_changes", "held", "incomplete", "digest", "counts", "plan", "markdown"}


class Repository:
    """A checkout with a history, and the runner it is on: the server and the database lie outside of it."""

    def __init__(self, folder: Path, api: GitHub, remit: Path):
        self.api = api
        self.here = Workspace(folder / "checkout")
        self.runner = folder / "runner"
        for each in (self.here.folder, self.runner):
            each.mkdir()
        checked_out(self.runner, remit)
        self.environ = {"REMIT_DATABASE_URL": f"sqlite:///{self.runner / 'remit.db'}", "GITHUB_API_URL": api.url}
        self.server = Workspace(self.runner)
        self.server.serve("issues", tool("search"), tool("other"))
        git(self.here.folder, "init", "-q")
        self.commit(CONFIG)
        assert self.here.run("db", "upgrade", **self.environ).code == 0

    def commit(self, text: str, file: str = "mcp.yaml") -> str:
        """Write a file and commit it; gives the commit."""
        command = ["{python}", str(SERVER), f"@{self.runner}/issues.json"]
        self.here.write(text.replace("COMMAND", json.dumps(command)), file)
        git(self.here.folder, "add", "-A")
        git(self.here.folder, "commit", "-q", "-m", "Change tools")
        return git(self.here.folder, "rev-parse", "HEAD")

    def on_pull_request(self, *, fork: bool = False, **inputs: str) -> Job:
        """`command: plan` on pull request 1."""
        repos = {"head": "mallory/tools" if fork else "acme/tools", "base": "acme/tools"}
        pull = {"number": 1, **{side: {"repo": {"full_name": name}} for side, name in repos.items()}}
        return self._use("pull_request", {"pull_request": pull}, **{"command": "plan", **inputs})

    def on_push(self, **inputs: str) -> Job:
        """`command: apply` on what is checked out, pushed to main."""
        return self._use("push", {}, **{"command": "apply", **inputs})

    def on_schedule(self, **inputs: str) -> Job:
        return self._use("schedule", {}, **{"command": "drift", **inputs})

    def _use(self, name: str, event: dict[str, Any], **inputs: str) -> Job:
        sha = git(self.here.folder, "rev-parse", "HEAD")
        environ = {**self.environ, "GITHUB_EVENT_NAME": name, "GITHUB_SHA": sha, "GITHUB_REF_NAME": "main"}
        return use(self.here.folder, self.runner, event, environ, **inputs)


@pytest.fixture(scope="module")
def remit(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with Preloaded(tmp_path_factory.mktemp("remit")) as preloaded:
        yield preloaded.command


@pytest.fixture
def repository(tmp_path: Path, remit: Path) -> Generator[Repository]:
    with github() as api:
        yield Repository(tmp_path, api, remit)


@pytest.fixture
def applied(repository: Repository) -> Repository:
    assert repository.here.apply(**repository.environ).code == 0
    return repository


WANTED = CONFIG.replace("[search]", "[search, other]")


def test_from_a_branch_to_an_empty_second_run(applied: Repository):
    folder, api = applied.here.folder, applied.api
    git(folder, "checkout", "-q", "-b", "more")
    applied.commit(WANTED)

    planned = applied.on_pull_request()
    assert planned.ok, planned.log
    assert {key: planned.run[key] for key in ("has_changes", "held", "incomplete", "attach")} == {
        "has_changes": "true",
        "held": "0",
        "incomplete": "false",
        "attach": "1",
    }
    assert planned.run.keys() == KEYS | json.loads(planned.run["counts"]).keys()
    (comment,) = api.ours()
    assert comment == Path(planned.run["markdown"]).read_text("utf-8") == planned.summary
    assert comment.startswith("<!-- remit plan demo -->\n")
    assert planned.run["digest"] in comment

    again = applied.commit(WANTED.replace("version: 1", "# Says why.\nversion: 1"))
    replanned = applied.on_pull_request()
    (replaced,) = api.ours()
    assert again in replaced
    assert replanned.run["digest"] == planned.run["digest"]

    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "Merge", "more")
    api.merged[git(folder, "rev-parse", "HEAD")] = 1
    done = applied.on_push()
    assert done.ok, done.log
    assert (done.run["has_changes"], done.run["digest"]) == ("true", planned.run["digest"])

    second = applied.on_push()
    assert second.ok, second.log
    assert "there is nothing left to do" in second.log
    assert applied.here.plan("--detailed-exitcode", **applied.environ).code == 0

    night = applied.on_schedule()
    assert (night.ok, night.run["has_changes"]) == (True, "false")
    applied.server.serve("issues", tool("search", "Says something else."), tool("other"))
    moved = applied.on_schedule()
    assert (moved.ok, moved.steps[-1].code, moved.run["has_changes"]) == (False, 2, "true")
    assert api.tokens == {f"Bearer {TOKEN}"}


def test_with_a_lock_a_new_server_goes_from_branch_to_service_without_being_asked_for_the_branch(applied: Repository):
    started = applied.runner / "started"
    applied.server.serve("more", tool("look"), pids=str(started))
    more = json.dumps(["{python}", str(SERVER), f"@{applied.runner}/more.json"])
    text = CONFIG.replace("assistants:", f"    - {{name: more, command: {more}}}\nassistants:")
    applied.commit(f"{text}      - {{include: [look], server: more}}\n")
    assert applied.here.run("lock", "--yes", **applied.environ).code == 0
    head = applied.commit("", "empty.txt")
    started.unlink()

    planned = applied.on_pull_request()
    assert (planned.ok, planned.run["incomplete"], planned.run["attach"]) == (True, "false", "1"), planned.log
    assert not started.exists()

    applied.api.merged[head] = 1
    done = applied.on_push()
    assert done.ok, done.log
    assert (done.run["digest"], started.exists()) == (planned.run["digest"], True)
    assert applied.here.plan("--detailed-exitcode", **applied.environ).code == 0


def test_each_environment_and_workspace_has_one_comment(applied: Repository):
    applied.commit("version: 1\n", "envs/prod.yaml")
    for environment in ("", "prod", "prod"):
        assert applied.on_pull_request(env=environment).run["digest"]
    applied.commit(CONFIG.replace("workspace: demo", "workspace: second"), "sub/mcp.yaml")
    applied.on_pull_request(working_directory="sub")
    markers = [each.partition("\n")[0] for each in applied.api.ours()]
    assert markers == ["<!-- remit plan demo -->", "<!-- remit plan demo prod -->", "<!-- remit plan second -->"]


def test_an_annotation_names_the_file_from_the_root_of_the_repository(applied: Repository):
    applied.commit(
        CONFIG.replace("workspace: demo", "workspace: second").replace("[search]", "[missing]"), "sub/mcp.yaml"
    )
    job = applied.on_pull_request(working_directory="sub", trusted="true")
    assert {each.properties.get("file") for each in commands_in(job.log)} == {"sub/mcp.yaml"}


def test_a_branch_runs_nothing_of_its_own_and_is_told_so(tmp_path: Path):
    with github() as api:
        # The real command: what matters is where a python that starts takes its modules from.
        applied = Repository(tmp_path, api, Path(sys.prefix) / "bin" / "remit")
        assert applied.here.apply(**applied.environ).code == 0
        evil = applied.runner / "evil"
        command = json.dumps(["sh", "-c", f"echo > {evil}"])
        text = CONFIG.replace("assistants:", f"    - {{name: evil, command: {command}}}\nassistants:")
        applied.commit(text)
        for name in ("click.py", "json.py", "venv.py", "remit.py", "sitecustomize.py"):
            (applied.here.folder / name).write_text(f"open({str(evil)!r}, 'w')\n", "utf-8")
        job = applied.on_pull_request()
        assert (job.ok, job.run["incomplete"], evil.exists()) == (True, "true", False)
        assert "its entry is not the one that was applied" in api.ours()[0]


def test_apply_refuses_a_branch_and_what_nobody_reviewed(applied: Repository):
    applied.commit(WANTED)
    branch = applied.on_pull_request(command="apply", approve="auto")
    direct = applied.on_push()
    assert [branch.steps[-1].code, direct.steps[-1].code] == [1, 1]
    assert "not on a branch" in branch.log
    assert "nobody reviewed a plan of this commit" in direct.log
    assert applied.here.plan(**applied.environ).done["attach"] == 1


def test_apply_without_a_reviewed_plan_is_fine_where_nothing_is_to_do(applied: Repository):
    assert applied.on_push().ok


def test_apply_refuses_a_plan_that_is_not_the_reviewed_one(applied: Repository):
    applied.commit(WANTED)
    applied.on_pull_request()
    head = git(applied.here.folder, "rev-parse", "HEAD")
    applied.server.serve("issues", tool("search"), tool("other", "Says something else by now."))
    applied.api.merged[head] = 1
    job = applied.on_push()
    assert (job.steps[-1].code, applied.here.plan(**applied.environ).done["attach"]) == (5, 1)
    looked_at = applied.here.plan(**applied.environ).document["digest"]
    assert applied.on_push(approve=looked_at).ok


def test_apply_does_whatever_the_merged_files_ask_where_it_is_told_so(applied: Repository):
    applied.commit(WANTED)
    assert applied.on_push(approve="auto").run["attach"] == "1"
    assert applied.here.plan("--detailed-exitcode", **applied.environ).code == 0


def test_a_digest_in_a_comment_of_somebody_else_approves_nothing(applied: Repository):
    head = applied.commit(WANTED)
    digest = applied.here.plan(**applied.environ).document["digest"]
    applied.api.merged[head] = 1
    applied.api.comment(1, f"<!-- remit plan demo -->\n\nDigest `{digest}`\n", author="mallory")
    applied.api.comment(1, f"Look:\n<!-- remit plan demo -->\n\nDigest `{digest}`\n", author=BOT)
    applied.api.comment(1, f"<!-- remit plan demo -->\n\n### Held\n\n```text\nDigest `{digest}`\n```\n", author=BOT)
    job = applied.on_push()
    assert (job.steps[-1].code, "nobody reviewed" in job.log) == (1, True)


# --- hostile words -----------------------------------------------------------------------------------------------------


def test_a_hostile_server_forges_nothing_in_log_comment_summary_or_outputs(applied: Repository):
    others = applied.api.comment(1, "<!-- remit plan demo -->\nMine.", author="mallory")
    bots = applied.api.comment(1, f"Some other bot's report, which quotes:\n{FORGED}\n<!-- remit plan demo -->")
    applied.server.serve("issues", *hostile_tools(), tool("search", FORGED), **HOSTILE)
    applied.commit(CONFIG.replace("[search]", '[search, a, "g*"]'))
    job = applied.on_pull_request()
    assert {each.name for each in commands_in(job.log)} <= {"warning", "error", "notice"}
    assert not any(each.message.startswith("forged") or "forged" in each.properties for each in commands_in(job.log))
    assert job.run.keys() == KEYS | json.loads(job.run["counts"]).keys()
    assert job.outputs.keys() == {"install", "run", "comment"}
    assert (others["body"], bots["body"].startswith("Some other bot")) == ("<!-- remit plan demo -->\nMine.", True)
    (comment,) = (each for each in applied.api.ours() if each != bots["body"])
    outside_code = [content for _, _, content in structure_of(comment)]
    assert not any("octocat" in each or "evil.example.com" in each or "forged" in each for each in outside_code)
    assert comment.count("<!--") == 1
    assert "forged" in comment


def test_a_hostile_file_forges_nothing_either(applied: Repository):
    text = CONFIG.replace("workspace: demo", 'workspace: "demo -->\\n@octocat\\n::error::forged"')
    applied.commit(text)
    job = applied.on_pull_request()
    assert not job.ok
    assert applied.api.ours() == []
    assert not any(
        "forged" in each.message and each.name == "error" and not each.properties for each in commands_in(job.log)
    )


# --- comments ----------------------------------------------------------------------------------------------------------


def test_a_comment_is_found_behind_a_hundred_others(applied: Repository):
    for number in range(150):
        applied.api.comment(1, f"Comment {number}", author="somebody")
    applied.api.comment(1, "<!-- remit plan demo -->\r\nAn older plan.")
    digest = applied.on_pull_request().run["digest"]
    (comment,) = applied.api.ours()
    assert digest in comment


def test_a_plan_that_reads_the_same_is_not_written_again(applied: Repository):
    applied.on_pull_request()
    applied.api.asked.clear()
    applied.on_pull_request()
    assert set(applied.api.asked) == {"GET"}


def test_a_fork_whose_token_may_not_write_is_planned_all_the_same(applied: Repository):
    applied.api.refuses = 403
    fork, own = applied.on_pull_request(fork=True), applied.on_pull_request()
    assert (fork.ok, own.ok, own.steps[-1].name) == (True, False, "comment")
    assert "the plan is in the job summary" in fork.log
    assert "pull-requests: write" in own.log
    assert TOKEN not in fork.log + own.log


def test_without_comments_nobody_asks_the_api(applied: Repository):
    job = applied.on_pull_request(comment="false")
    assert (job.ok, applied.api.asked) == (True, [])


# --- the files of the action -------------------------------------------------------------------------------------------


def recipes() -> list[dict[str, Any]]:
    """The workflow that is ready to copy, and the one on the page."""
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    texts = [
        (ROOT / "examples" / "ci" / "github-actions.yml").read_text("utf-8"),
        page.split("```yaml\n")[1].split("```")[0],
    ]
    return [yaml.safe_load(text) for text in texts]


def test_the_recipes_give_a_pull_request_no_more_than_it_needs():
    for workflow in recipes():
        jobs = workflow["jobs"]
        assert (workflow["permissions"], "env" in workflow, [each for each in jobs.values() if "env" in each]) == (
            {},
            False,
            [],
        )
        writes = {name for name, job in jobs.items() if "write" in job["permissions"].values()}
        assert writes == {"plan"}
        assert jobs["plan"]["runs-on"] != jobs["apply"]["runs-on"] == jobs["drift"]["runs-on"]
        own, others = _environ(jobs["plan"]), _environ(jobs["apply"])
        assert own["REMIT_DATABASE_URL"] != others["REMIT_DATABASE_URL"]
        assert not [key for key in own if "secrets." in own[key] and own[key] == others[key]]


def _environ(job: dict[str, Any]) -> dict[str, str]:
    (found,) = (step["env"] for step in job["steps"] if "env" in step)
    return found


def test_the_recipes_use_nothing_by_a_name_that_can_be_moved_and_keep_no_credentials():
    for workflow in recipes():
        steps = [step for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
        assert not [step for step in steps if not re.search(r"@([0-9a-f]{40}|COMMIT)$", step["uses"])]
        checkouts = [step["with"] for step in steps if step["uses"].startswith("actions/checkout@")]
        assert [each["persist-credentials"] for each in checkouts] == [False] * 3


def test_the_recipe_for_gitlab_shows_a_plan_that_is_incomplete_and_follows_no_link_of_the_branch(
    applied: Repository, remit: Path
):
    checkout, outside = applied.here.folder, applied.runner / "outside"
    outside.mkdir()
    (checkout / "remit-plan").symlink_to(outside)
    more = f"    - {{name: more, command: [{sys.executable}]}}\nassistants:"
    applied.commit(CONFIG.replace("assistants:", more) + '      - {include: ["look*"], server: more}\n')
    assert applied.here.run("lock", "--yes", "--server", "issues", **applied.environ).code in (0, 4)
    pipeline = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab-ci.yml").read_text("utf-8"))
    script = "\n".join(pipeline["plan"]["script"]).replace("/opt/remit/bin/python", sys.executable)
    ended = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=checkout,
        env={**clean_environment(), **applied.environ, "PATH": f"{remit.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 4, ended.stderr
    shown = (checkout / "remit-plan" / "plan.md").read_text("utf-8")
    saved = json.loads((checkout / "remit-plan" / "plan.json").read_text("utf-8"))
    assert shown.startswith("<!-- remit plan demo -->\n")
    assert (checkout / "remit-plan" / "plan.env").read_text("utf-8") == f"DIGEST={saved['digest']}\n"
    assert (list(outside.iterdir()), (checkout / "remit-plan").is_symlink()) == ([], False)


def test_no_expression_stands_in_a_script_of_the_action_or_of_the_examples():
    """GitHub puts the value of an expression into the script before a shell reads it."""
    documents = [ROOT / "action.yml", *sorted((ROOT / "examples" / "ci").glob("*.yml"))]
    assert len(documents) > 1
    for path in documents:
        scripts = _scripts(yaml.safe_load(path.read_text("utf-8")))
        assert not [script for script in scripts if "${{" in script], path
    for path in (ROOT / "action").iterdir():
        assert "${{" not in path.read_text("utf-8")


def _scripts(node: object) -> list[str]:
    if isinstance(node, dict):
        entries = cast("dict[str, object]", node)
        own = [value for key, value in entries.items() if key in ("run", "script") and isinstance(value, str)]
        return [*own, *(script for value in entries.values() for script in _scripts(value))]
    return (
        [script for each in cast("list[object]", node) for script in _scripts(each)] if isinstance(node, list) else []
    )
