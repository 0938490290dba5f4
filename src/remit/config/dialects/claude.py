"""Claude Code (`.mcp.json`) and Claude Desktop, and every other file with a plain `mcpServers` table."""

from collections.abc import Mapping

from remit.config.dialects.drafting import Role, drafts_at, entries_have, has_table
from remit.config.dialects.model import Dialect, Document
from remit.config.nodes import MapNode, Scalar

__all__ = ["CLAUDE_CODE", "CLAUDE_DESKTOP", "COMMAND_KEYS", "REMOTE_KEYS", "servers_of_projects"]

COMMAND_KEYS: Mapping[str, Role] = {
    "type": Role.TRANSPORT,
    "transport": Role.TRANSPORT,
    "command": Role.COMMAND,
    "args": Role.ARGS,
    "env": Role.ENV,
    "cwd": Role.CWD,
}
"""Keys that nearly every client has for a command."""

REMOTE_KEYS: Mapping[str, Role] = {"url": Role.URL, "headers": Role.HEADERS}

_KEYS: Mapping[str, Role] = {
    **COMMAND_KEYS,
    **REMOTE_KEYS,
    "envFile": Role.ENV_FILE,
    "timeout": Role.TIMEOUT_MILLISECONDS,
    "description": Role.NOTE,
    "headersHelper": Role.LEFT_OUT,
    "oauth": Role.OAUTH,
}


def servers_of_projects(document: Document) -> tuple[Scalar, int] | None:
    """Where `projects` stands and how many servers are below it, for single folders of one machine; None where there is none."""
    for root in document.roots:
        projects, place = root.mapping("projects"), root.key("projects")
        tables = (
            [each.value.mapping("mcpServers") for each in projects.entries.values() if isinstance(each.value, MapNode)]
            if projects
            else []
        )
        count = sum(len(table.entries) for table in tables if table)
        if place and count:
            return place, count
    return None


CLAUDE_CODE = Dialect(
    name="claude-code",
    title="Claude Code",
    paths=(".mcp.json", ".claude.json", "claude/mcp.json"),
    fits=lambda document: has_table("mcpServers")(document) or servers_of_projects(document) is not None,
    telling=entries_have(frozenset({"headersHelper"}), "mcpServers"),
    drafts=drafts_at(_KEYS, "mcpServers"),
)

CLAUDE_DESKTOP = Dialect(
    name="claude-desktop",
    title="Claude Desktop",
    paths=("claude_desktop_config.json",),
    fits=has_table("mcpServers"),
    telling=lambda _: False,
    drafts=drafts_at(_KEYS, "mcpServers"),
)
