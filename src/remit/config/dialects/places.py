"""Where clients keep their configuration on a machine, and what lies there.

Decides the places: a table of paths below the home folder and below the working folder, and nothing else is looked at, not
even through a link that leads out of the two. Counts servers; what they are is `remit import`'s.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from remit.config.dialects.importing import read_document
from remit.config.dialects.model import Report
from remit.config.dialects.table import dialect_of
from remit.config.findings import Findings
from remit.config.nodes import Node, Scalar
from remit.core.diagnostics import Severity

__all__ = ["Found", "found_on", "places_on"]

_PROGRAMS: Mapping[str, str] = {
    "darwin": "Library/Application Support",
    "win32": "AppData/Roaming",
    "linux": ".config",
}
"""Where programs keep their settings below the home folder, by platform (`sys.platform`)."""

_BELOW_HOME: tuple[tuple[str, str], ...] = (
    ("claude-code", ".claude.json"),
    ("claude-desktop", "{programs}/Claude/claude_desktop_config.json"),
    ("cline", "{programs}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    ("codex", ".codex/config.toml"),
    ("continue", ".continue/config.yaml"),
    ("cursor", ".cursor/mcp.json"),
    ("gemini", ".gemini/settings.json"),
    ("opencode", ".config/opencode/opencode.json"),
    ("opencode", ".config/opencode/opencode.jsonc"),
    ("roo", "{programs}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    ("vscode", "{programs}/Code/User/mcp.json"),
    ("vscode", "{programs}/Code/User/settings.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("zed", ".config/zed/settings.json"),
    ("zed", "AppData/Roaming/Zed/settings.json"),
)
_BELOW_FOLDER: tuple[tuple[str, str], ...] = (
    ("claude-code", ".mcp.json"),
    ("codex", ".codex/config.toml"),
    ("continue", ".continue/mcpServers/*.yaml"),
    ("continue", ".continue/mcpServers/*.json"),
    ("cursor", ".cursor/mcp.json"),
    ("gemini", ".gemini/settings.json"),
    ("librechat", "librechat.yaml"),
    ("litellm", "litellm_config.yaml"),
    ("mcp-agent", "mcp_agent.config.yaml"),
    ("opencode", "opencode.json"),
    ("opencode", "opencode.jsonc"),
    ("roo", ".roo/mcp.json"),
    ("vscode", ".vscode/mcp.json"),
    ("zed", ".zed/settings.json"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file with a server table. `servers` is None where it is there and cannot be read."""

    dialect: str
    path: Path
    servers: int | None


def places_on(platform: str, home: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Every place with the dialect of the client that it belongs to; those below the working folder are relative."""
    for dialect, pattern in _BELOW_FOLDER:
        matches = sorted(folder.glob(pattern)) if "*" in pattern else [folder / pattern]
        yield from ((dialect, match.relative_to(folder)) for match in matches)
    programs = _PROGRAMS.get(platform, _PROGRAMS["linux"])
    yield from ((dialect, home / pattern.format(programs=programs)) for dialect, pattern in _BELOW_HOME)


def found_on(platform: str, home: Path, folder: Path) -> tuple[Found, ...]:
    """The files that are there and have servers, or cannot be read, each once."""
    seen: set[Path] = set()
    found: list[Found] = []
    for dialect, path in places_on(platform, home, folder):
        real = (folder / path).resolve()
        if (
            real in seen
            or not real.is_file()
            or not any(real.is_relative_to(each.resolve()) for each in (home, folder))
        ):
            continue
        seen.add(real)
        servers = _count(folder / path)
        if servers != 0:
            found.append(Found(dialect=dialect, path=path, servers=servers))
    return tuple(found)


def _count(path: Path) -> int | None:
    findings = Findings({})
    document = read_document(path, findings)
    if document is None:
        return None
    dialect = dialect_of(document, path)
    return len(list(dialect.drafts(document, _silent))) if dialect else 0


def _silent(_name: Scalar) -> Report:
    def report(
        code: str, place: Node, message: str, *, hint: str | None = None, severity: Severity = Severity.WARNING
    ) -> None:
        """Findings are told when the file is imported."""

    return report
