"""Each real server with the transport it is spoken to over, and what it is known to list in the pinned version."""

import os
import select
import signal
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.interop.install import VERSIONS, Registry

__all__ = ["CASES", "Case", "connected"]

LOOPBACK = Path(__file__).with_name("loopback.cjs")
SECONDS = 20
"""How long a server may take to listen, and to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One server over one transport.

    In `command` and `env`, `{bin}` is the folder of the installed programs, `{prefix}` that of their registry and `{here}`
    the folder of the workspace. With a `url` the test starts the server; `{port}` in it is the port that it listens on.
    `repository` is whether the workspace needs a git repository of that name. `chosen` is the tool that the file selects
    by name.
    """

    name: str
    registry: Registry
    package: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    transport: str = "stdio"
    url: str | None = None
    repository: bool = False
    era: str
    protocol: str
    chosen: str
    tools: tuple[str, ...]
    quarantined: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version that is installed."""
        return VERSIONS[self.registry][self.package]


@contextmanager
def connected(case: Case, programs: Path, here: Path) -> Generator[dict[str, Any]]:
    """How mcp.yaml names the server; one over HTTP runs while this is held."""
    bin_folder = programs / "bin" if case.registry is Registry.PYPI else programs / "node_modules" / ".bin"
    places = {"bin": str(bin_folder), "prefix": str(programs), "here": str(here)}
    command = [part.format_map(places) for part in case.command]
    if case.url is None:
        yield {"command": command, "env": {name: value.format_map(places) for name, value in case.env.items()}}
        return
    with listening(command) as port:
        yield {"url": case.url.format(port=port), "transport": case.transport}


@contextmanager
def listening(command: list[str]) -> Generator[int]:
    """The port that a node server listens on; it is ended with its whole process group."""
    environ = {"PATH": os.environ["PATH"], "PORT": "0", "NODE_OPTIONS": f"--require={LOOPBACK}"}
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        bufsize=0,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield announced_port(process)
    finally:
        end(process)


def announced_port(process: subprocess.Popen[bytes]) -> int:
    """The port in the line that loopback.cjs prints, among the server's own."""
    assert process.stdout is not None
    while True:
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline().decode() if ready else ""
        assert line, "the server did not listen"
        if line.startswith("listening on "):
            return int(line.split()[-1])


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything in its group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS)
    assert process.returncode is not None
    if process.stdout is not None:
        process.stdout.close()


EVERYTHING: Mapping[str, Any] = {
    "registry": Registry.NPM,
    "package": "@modelcontextprotocol/server-everything",
    "era": "legacy",
    "protocol": "2025-11-25",
    "chosen": "get-sum",
    "tools": (
        "echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference",
        "get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource", "toggle-simulated-logging",
        "toggle-subscriber-updates", "trigger-long-running-operation",
    ),
    "quarantined": ("simulate-research-query",),
}  # fmt: skip
"""It lists more to a client that offers sampling, elicitation and roots; remit offers none of them."""

CASES: tuple[Case, ...] = (
    Case(name="everything over stdio", command=("{bin}/mcp-server-everything", "stdio"), **EVERYTHING),
    Case(
        name="everything started by npx",
        command=("npx", "--no", "--prefix", "{prefix}", "mcp-server-everything"),
        **EVERYTHING,
    ),
    Case(
        name="everything over streamable HTTP",
        command=("{bin}/mcp-server-everything", "streamableHttp"),
        transport="streamable_http",
        url="http://127.0.0.1:{port}/mcp",
        **EVERYTHING,
    ),
    Case(
        name="everything over SSE",
        command=("{bin}/mcp-server-everything", "sse"),
        transport="sse",
        url="http://127.0.0.1:{port}/sse",
        **EVERYTHING,
    ),
    Case(
        name="filesystem",
        registry=Registry.NPM,
        package="@modelcontextprotocol/server-filesystem",
        command=("{bin}/mcp-server-filesystem", "{here}"),
        era="legacy",
        protocol="2025-11-25",
        chosen="read_text_file",
        tools=(
            "create_directory", "directory_tree", "edit_file", "get_file_info", "list_allowed_directories",
            "list_directory", "list_directory_with_sizes", "move_file", "read_file", "read_media_file",
            "read_multiple_files", "read_text_file", "search_files", "write_file",
        ),
    ),
    Case(
        name="memory",
        registry=Registry.NPM,
        package="@modelcontextprotocol/server-memory",
        command=("{bin}/mcp-server-memory",),
        env={"MEMORY_FILE_PATH": "{here}/memory.json"},
        era="legacy",
        protocol="2025-11-25",
        chosen="read_graph",
        tools=(
            "add_observations", "create_entities", "create_relations", "delete_entities", "delete_observations",
            "delete_relations", "open_nodes", "read_graph", "search_nodes",
        ),
    ),
    Case(
        name="sequential-thinking",
        registry=Registry.NPM,
        package="@modelcontextprotocol/server-sequential-thinking",
        command=("{bin}/mcp-server-sequential-thinking",),
        era="legacy",
        protocol="2025-11-25",
        chosen="sequentialthinking",
        tools=("sequentialthinking",),
    ),
    Case(
        name="time",
        registry=Registry.PYPI,
        package="mcp-server-time",
        command=("{bin}/mcp-server-time",),
        era="modern",
        protocol="2026-07-28",
        chosen="convert_time",
        tools=("convert_time", "get_current_time"),
    ),
    Case(
        name="git",
        registry=Registry.PYPI,
        package="mcp-server-git",
        command=("{bin}/mcp-server-git", "--repository", "{here}/repository"),
        repository=True,
        era="modern",
        protocol="2026-07-28",
        chosen="git_status",
        tools=(
            "git_add", "git_branch", "git_checkout", "git_commit", "git_create_branch", "git_diff", "git_diff_staged",
            "git_diff_unstaged", "git_log", "git_reset", "git_show", "git_status",
        ),
    ),
    Case(
        name="fetch",
        registry=Registry.PYPI,
        package="mcp-server-fetch",
        command=("{bin}/mcp-server-fetch",),
        era="modern",
        protocol="2026-07-28",
        chosen="fetch",
        tools=("fetch",),
    ),
)  # fmt: skip
