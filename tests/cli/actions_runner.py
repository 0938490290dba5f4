"""What GitHub is to the action in a test: a runner for composite actions, and the comments of one repository over HTTP."""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import yaml

from tests.cli.workspace import clean_environment

__all__ = ["BOT", "ROOT", "TOKEN", "GitHub", "Job", "Step", "checked_out", "git", "github", "outputs_in", "use"]

ROOT = Path(__file__).parents[2]
SECONDS = 60
BOT = "github-actions[bot]"
TOKEN = "dummy-token-value"


@dataclass
class GitHub:
    """Comments by pull request, and which pull request each commit was merged from."""

    url: str = ""
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict[int, list[dict[str, Any]]])
    merged: dict[str, int] = field(default_factory=dict[str, int])
    asked: list[str] = field(default_factory=list[str])
    tokens: set[str] = field(default_factory=set[str])
    refuses: int = 0
    """The status that writing is answered with; 0: it is done."""

    def comment(self, pull: int, body: str, author: str = BOT) -> dict[str, Any]:
        """Add a comment as somebody."""
        every = self.comments.setdefault(pull, [])
        made = {"id": 1000 * pull + len(every), "user": {"login": author}, "body": body}
        every.append(made)
        return made

    def ours(self, pull: int = 1) -> list[str]:
        """The bodies of what the bot wrote."""
        return [each["body"] for each in self.comments.get(pull, []) if each["user"]["login"] == BOT]

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """One request, as the REST API answers it."""
        self.asked.append(method)
        if method != "GET" and self.refuses:
            return self.refuses, {"message": "Resource not accessible by integration"}
        at = r"/repos/acme/tools/"
        if match := re.fullmatch(rf"{at}issues/(\d+)/comments\?per_page=(\d+)&page=(\d+)", path):
            pull, size, page = (int(each) for each in match.groups())
            return 200, self.comments.get(pull, [])[size * (page - 1) : size * page]
        if match := re.fullmatch(rf"{at}issues/(\d+)/comments", path):
            return 201, self.comment(int(match[1]), body["body"])
        if match := re.fullmatch(rf"{at}issues/comments/(\d+)", path):
            (found,) = (each for every in self.comments.values() for each in every if each["id"] == int(match[1]))
            found["body"] = body["body"]
            return 200, found
        if match := re.fullmatch(rf"{at}commits/([0-9a-f]+)/pulls\?per_page=\d+", path):
            open_one = {"number": 99, "merged_at": None, "base": {"ref": "main"}}
            elsewhere = {"number": 98, "merged_at": "2027-01-01T00:00:00Z", "base": {"ref": "other"}}
            number = self.merged.get(match[1])
            merged = {"number": number, "merged_at": "2026-11-30T12:00:00Z", "base": {"ref": "main"}}
            return 200, [open_one, elsewhere, *([merged] if number else [])]
        return 404, {"message": "Not Found"}


@contextmanager
def github() -> Generator[GitHub]:
    """The API on loopback."""
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            text = self.rfile.read(int(self.headers.get("content-length", 0)))
            state.tokens.add(self.headers.get("authorization", ""))
            status, document = state.answer(self.command, self.path, json.loads(text) if text else {})
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_PATCH(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base class)
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield state
        server.shutdown()
        thread.join(5)


@dataclass(frozen=True, slots=True)
class Step:
    """How a step ended; `log` is what it printed on both streams."""

    name: str
    code: int
    log: str


@dataclass(frozen=True, slots=True)
class Job:
    """How one use of the action ended. `summary` is the job summary, `outputs` are those of the steps."""

    steps: tuple[Step, ...]
    outputs: Mapping[str, Mapping[str, str]]
    summary: str

    @property
    def ok(self) -> bool:
        """Whether the job is green."""
        return not any(each.code for each in self.steps)

    @property
    def log(self) -> str:
        """Everything that was printed."""
        return "".join(each.log for each in self.steps)

    @property
    def run(self) -> Mapping[str, str]:
        """The outputs of the run itself."""
        return self.outputs.get("run", {})


@dataclass(frozen=True, slots=True)
class Context:
    """What expressions in action.yml can name."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, Mapping[str, str]]
    event: Mapping[str, Any]
    action: Path

    def value(self, text: str) -> str:
        """A text with its `${{ }}` evaluated."""
        return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(self.evaluate(match[1])), text)

    def evaluate(self, expression: str) -> Any:
        """One expression of the kinds that the action uses."""
        python = expression.strip().replace("&&", " and ").replace("||", " or ").replace("always()", "True")
        named = re.sub(r"\b(inputs|steps|github)((?:\.[\w-]+)+)", lambda match: f"look({match[0]!r})", python)
        return eval(" ".join(named.split()), {"look": self._look})

    def _look(self, name: str) -> str:
        match name.split("."):
            case ["inputs", key]:
                return self.inputs[key]
            case ["steps", step, "outputs", key]:
                return self.outputs.get(step, {}).get(key, "")
            case ["github", "action_path"]:
                return str(self.action)
            case ["github", "token"]:
                return TOKEN
            case ["github", "event", "pull_request", "number"]:
                return str(self.event.get("pull_request", {}).get("number", ""))
            case _:
                raise AssertionError(f"the action names {name!r}")


def checked_out(runner: Path, remit: Path) -> None:
    """The action as a runner has it, in `runner/action`, and in `runner/kept` an install of it whose `remit` is the given one.

    Without the code of remit, which is not what is tried here, and which somebody may be editing.
    """
    action = runner / "action"
    shutil.copytree(ROOT / "action", action / "action", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", action)
    script = ["python3", "-I", str(action / "action" / "identity.py")]
    ended = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True, timeout=SECONDS)
    install = runner / "kept" / ended.stdout.strip()
    (install / "bin").mkdir(parents=True)
    (install / "bin" / "remit").symlink_to(remit)
    (install / "complete").touch()


def use(workspace: Path, runner: Path, event: Mapping[str, Any], environ: Mapping[str, str], **inputs: str) -> Job:
    """Run the steps of action.yml as a runner does: `with:` is `inputs`, `_` for `-`; `environ` is the job's.

    The action is in `runner/action` (`checked_out`).
    """
    action = cast("dict[str, Any]", yaml.safe_load((ROOT / "action.yml").read_text("utf-8")))
    defaults = {key: str(each.get("default", "")) for key, each in action["inputs"].items()}
    given = {key.replace("_", "-"): value for key, value in inputs.items()}
    assert given.keys() <= defaults.keys()
    outputs: dict[str, dict[str, str]] = {}
    settled = {
        key: Context({}, {}, event, runner / "action").value(value) for key, value in {**defaults, **given}.items()
    }
    temporary = runner / "temp"
    temporary.mkdir(exist_ok=True)
    (runner / "event.json").write_text(json.dumps(event), "utf-8")
    summary, failed, steps = "", False, list[Step]()
    for step in action["runs"]["steps"]:
        context = Context(settled, outputs, event, runner / "action")
        condition = step.get("if", "True")
        if (failed and "always()" not in condition) or not context.evaluate(condition):
            continue
        files = {name: runner / f"{step['id']}.{name}" for name in ("output", "summary")}
        for file in files.values():
            file.write_text("", "utf-8")
        assert step["shell"] == "sh"
        assert "${{" not in step["run"]
        ended = subprocess.run(
            ["sh", "-e", "-c", step["run"]],
            cwd=workspace,
            env={
                **clean_environment(),
                "GITHUB_ACTION_PATH": str(runner / "action"),
                "GITHUB_WORKSPACE": str(workspace),
                "GITHUB_EVENT_PATH": str(runner / "event.json"),
                "GITHUB_REPOSITORY": "acme/tools",
                "GITHUB_OUTPUT": str(files["output"]),
                "GITHUB_STEP_SUMMARY": str(files["summary"]),
                "RUNNER_TEMP": str(temporary),
                "REMIT_VENV": str(runner / "kept"),
                **environ,
                **{key: context.value(value) for key, value in step.get("env", {}).items()},
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        outputs[step["id"]] = outputs_in(files["output"].read_text("utf-8"))
        summary += files["summary"].read_text("utf-8")
        failed = failed or ended.returncode != 0
        steps.append(Step(step["id"], ended.returncode, ended.stdout))
    return Job(tuple(steps), outputs, summary)


def outputs_in(text: str) -> dict[str, str]:
    """What the runner reads from GITHUB_OUTPUT: both forms, a later value replaces an earlier one."""
    values: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if "<<" in line:
            name, _, delimiter = line.partition("<<")
            values[name] = "\n".join(iter(lambda: next(lines), delimiter))
        else:
            name, _, value = line.partition("=")
            values[name] = value
    return values


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as somebody."""
    who = ["-c", "user.name=Dummy", "-c", "user.email=dummy@example.com", "-c", "init.defaultBranch=main"]
    ended = subprocess.run(
        ["git", *who, *arguments],
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return ended.stdout.strip()
