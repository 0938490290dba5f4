"""A workspace on disk and the `remit` command as a process: what the command-line tests stand on."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

__all__ = ["Ended", "Workspace", "tool"]

SERVER = Path(__file__).parent / "servers" / "raw_stdio.py"
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

    def write(self, text: str) -> None:
        """Write mcp.yaml; `{server:NAME}` becomes the command of a server that `serve` prepared."""
        for name in {part.split("}")[0] for part in text.split("{server:")[1:]}:
            command = [sys.executable, str(SERVER), f"@{self.folder / name}.json"]
            text = text.replace(f"{{server:{name}}}", json.dumps(command))
        (self.folder / "mcp.yaml").write_text(text, "utf-8")

    def run(self, *arguments: str, stdin: str | None = None, **environ: str) -> Ended:
        """Run remit here, without a terminal."""
        ended = subprocess.run(
            [sys.executable, "-m", "remit", *arguments],
            cwd=self.folder,
            env={**clean_environment(), **environ},
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def plan(self, *arguments: str, **environ: str) -> Ended:
        """`remit plan --format json`."""
        return self.run("plan", "--format", "json", *arguments, **environ)

    def apply(self, *arguments: str, **environ: str) -> Ended:
        """`remit apply --auto-approve --create-db --format json`."""
        return self.run("apply", "--auto-approve", "--create-db", "--format", "json", *arguments, **environ)


def clean_environment() -> dict[str, str]:
    """The environment without anything that configures remit or asks for colour."""
    dropped = ("REMIT_", "NO_COLOR", "FORCE_COLOR", "GITHUB_")
    return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
