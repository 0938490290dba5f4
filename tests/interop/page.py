"""docs/interop.md: what a run on the real servers saw. Written only where REMIT_WRITE_DOCS=1 asks for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGE", "Row", "page_text", "servers_on"]

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"

HEAD = """\
# Interoperability

remit on MCP servers that nobody here wrote, in the versions of `tests/interop/versions.toml`. Each row is one test: the
server is discovered, planned and applied (one tool selected by name; all tools selected by a glob, held at first and then
accepted by their digests), the database holds exactly what the server advertised, the next plan is empty, and no process of
the server is left. `./run interop` runs it and writes this page; `./run test` runs it and leaves the page alone. There a
server that cannot be had is skipped, with the reason; in `.ci/run` that is a failure, except for servers from npm on a machine
without node.

*Era* is how the connection was negotiated: `modern` by `server/discover`, `legacy` by `initialize`. *Unusable* counts tools
that are advertised and quarantined. *Seconds* is one whole `remit discover` of that server alone, with the starts of remit and
of the server in it where remit starts it: by the clock, on the machine that wrote the page, busy or not.

| server | package | version | transport | era | protocol | tools | unusable | seconds | date |
|---|---|---|---|---|---|---:|---:|---:|---|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was seen of one server. `date` is the day of the listing (ISO, UTC)."""

    server: str
    package: str
    version: str
    transport: str
    era: str
    protocol: str
    tools: int
    unusable: int
    seconds: float
    date: str

    def line(self) -> str:
        """The row as Markdown."""
        return (
            f"| {self.server} | `{self.package}` | {self.version} | {self.transport} | {self.era} | {self.protocol} "
            f"| {self.tools} | {self.unusable} | {self.seconds:.1f} | {self.date} |\n"
        )


def page_text(rows: Sequence[Row]) -> str:
    """The page with these rows."""
    return HEAD + "".join(row.line() for row in rows)


def servers_on(page: str) -> list[tuple[str, str, str]]:
    """The server, package and version of each row of a page."""
    lines = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "`" in line]
    return [(cells[0].removeprefix("| "), cells[1].strip("`"), cells[2]) for cells in lines]
