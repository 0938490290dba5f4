"""A workspace on disk and the `remit` command run in it: what the command-line tests stand on."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from remit.cli.main import run
from tests.cli.documents import assert_output_fits

__all__ = ["Ended", "Workspace", "clean_environment", "measured_environment", "tool"]

SERVER = Path(__file__).parents[1] / "servers" / "raw_stdio.py"
SECONDS = 60


def tool(name: str, description: str = "Does one thing.", **more: Any) -> dict[str, Any]:
    """A tool in wire form."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    return {"name": name, "description": description, "inputSchema": schema, **more}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What stdout holds, as JSON."""
        return cast("dict[str, Any]", json.loads(self.out))

    @property
    def done(self) -> dict[str, int]:
        """The non-zero counts of a plan's summary."""
        summary = self.document["summary"]
        return {key: value for key, value in summary.items() if isinstance(value, int) and value}


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with mcp.yaml, and stdio servers whose tools are changed by writing them again."""

    folder: Path

    def serve(self, server: str, *tools: dict[str, Any], **options: Any) -> None:
        """What a server lists (and how it misbehaves) from its next start on."""
        (self.folder / f"{server}.json").write_text(json.dumps({"tools": tools, **options}), "utf-8")

    def write(self, text: str, file: str = "mcp.yaml") -> None:
        """Write mcp.yaml, or another file; `{server:NAME}` becomes the command of a server that `serve` prepared."""
        for name in {part.split("}")[0] for part in text.split("{server:")[1:]}:
            command = [sys.executable, str(SERVER), f"@{self.folder / name}.json"]
            text = text.replace(f"{{server:{name}}}", json.dumps(command))
        (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / file).write_text(text, "utf-8")

    def run(self, *arguments: str, **environ: str) -> Ended:
        """Run remit here in this process, without a terminal: as `process` does, but importing everything once."""
        out, err = io.StringIO(), io.StringIO()
        with (
            _environment({**clean_environment(), **environ}),
            contextlib.chdir(self.folder),
            _no_input(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = run(list(arguments))
        assert "Traceback" not in err.getvalue(), err.getvalue()
        assert_output_fits(arguments, out.getvalue())
        return Ended(code, out.getvalue(), err.getvalue())

    def process(self, *arguments: str, **environ: str) -> Ended:
        """Run remit here as a process of its own, without a terminal."""
        ended = subprocess.run(
            [sys.executable, "-m", "remit", *arguments],
            cwd=self.folder,
            env={**clean_environment(), **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        assert_output_fits(arguments, ended.stdout)
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def plan(self, *arguments: str, **environ: str) -> Ended:
        """`remit plan --format json`."""
        return self.run("plan", "--format", "json", *arguments, **environ)

    def apply(self, *arguments: str, **environ: str) -> Ended:
        """`remit apply --auto-approve --create-db --format json`."""
        return self.run("apply", "--auto-approve", "--create-db", "--format", "json", *arguments, **environ)


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Generator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _no_input() -> Generator[None]:
    before, sys.stdin = sys.stdin, io.StringIO()
    try:
        yield
    finally:
        sys.stdin = before


def clean_environment() -> dict[str, str]:
    """The environment without anything that configures remit or asks for colour, and without a measurement of coverage.

    Measuring costs a process half of its time again, and what nearly all of them run is run in this process too.
    """
    return {key: value for key, value in measured_environment().items() if not key.startswith("COVERAGE_")}


def measured_environment() -> dict[str, str]:
    """The same for a process that does what only a process does: talk to a terminal, take a signal."""
    dropped = ("REMIT_", "NO_COLOR", "FORCE_COLOR", "GITHUB_", "CI")
    return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
