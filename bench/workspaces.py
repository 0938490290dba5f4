"""A workspace of a given size: servers with their tools, and an mcp.yaml that selects every tool by name."""

import json
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.definitions import tool_names, tools_of
from bench.server import FRESH

__all__ = ["TOOLS_A_SERVER", "Workspace", "make_workspace"]

TOOLS_A_SERVER = 250
"""20 servers at 5,000 tools."""

TOOLS_A_PAGE = 50
SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with mcp.yaml and what its servers list; `envelope` is the policy of all their tools, in YAML."""

    folder: Path
    size: int
    envelope: str | None = None

    def use_stdio(self) -> None:
        """Let mcp.yaml start its servers."""
        self._write({name: ["-I", "-S", str(SERVER), "stdio", str(self._pages(name))] for name in self._counts()})

    @contextmanager
    def serving_http(self) -> Generator[None]:
        """Let mcp.yaml name servers on loopback, all in one process that ends with the context."""
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(SERVER), "http", str(self.folder)], stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout is not None  # noqa: S101 (it was asked for)
                port = int(process.stdout.readline())
                self._write({name: f"http://127.0.0.1:{port}/{name}/mcp" for name in self._counts()})
                yield
            finally:
                process.kill()

    def write_pages(self) -> None:
        """Write what every server lists."""
        for name, count in self._counts().items():
            tools = tools_of(name, count)
            pages = [tools[start : start + TOOLS_A_PAGE] for start in range(0, count, TOOLS_A_PAGE)]
            lines = [
                json.dumps(
                    {"tools": page, **FRESH, **({"nextCursor": str(number)} if number < len(pages) else {})},
                    separators=(",", ":"),
                )
                for number, page in enumerate(pages, start=1)
            ]
            self._pages(name).write_text("\n".join(lines), "utf-8")

    def _pages(self, name: str) -> Path:
        return self.folder / f"{name}.pages"

    def _counts(self) -> Mapping[str, int]:
        starts = range(0, self.size, TOOLS_A_SERVER)
        return {f"server{n:02}": min(TOOLS_A_SERVER, self.size - start) for n, start in enumerate(starts, start=1)}

    def _write(self, endpoints: Mapping[str, str | Sequence[str]]) -> None:
        lines = ["version: 1", "workspace: bench", "mcp:", "  servers:"]
        for name, endpoint in endpoints.items():
            where = (
                f"url: {endpoint}" if isinstance(endpoint, str) else f"command: {json.dumps(['{python}', *endpoint])}"
            )
            lines += [f"    - name: {name}", f"      {where}", "      start_timeout_seconds: 120"]
            lines += [] if self.envelope is None else [f"      envelope: {self.envelope}"]
        lines += ["assistants:"]
        for name, count in self._counts().items():
            lines += [f"  - name: for-{name}", "    tools:", f"      - server: {name}", "        include:"]
            lines += [f"          - {tool}" for tool in tool_names(count)]
        (self.folder / "mcp.yaml").write_text("\n".join(lines) + "\n", "utf-8")
        bare = [each if isinstance(each, str) else [sys.executable, *each] for each in endpoints.values()]
        (self.folder / "servers.json").write_text(json.dumps({"tools": self.size, "servers": bare}), "utf-8")


def make_workspace(parent: Path, size: int, envelope: str | None = None) -> Workspace:
    """Make a workspace with so many tools below a folder."""
    folder = parent / f"tools-{size}"
    folder.mkdir()
    workspace = Workspace(folder, size, envelope)
    workspace.write_pages()
    workspace.use_stdio()
    return workspace
