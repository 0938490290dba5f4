"""Windsurf: `mcpServers` with `serverUrl` and `disabledTools`."""

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, entries_have, has_table
from remit.config.dialects.model import Dialect

__all__ = ["WINDSURF"]

WINDSURF = Dialect(
    name="windsurf",
    title="Windsurf",
    paths=("windsurf/mcp_config.json", ".codeium/mcp_config.json"),
    fits=has_table("mcpServers"),
    telling=entries_have(frozenset({"serverUrl"}), "mcpServers"),
    drafts=drafts_at(
        {
            **COMMAND_KEYS,
            **REMOTE_KEYS,
            "serverUrl": Role.URL,
        },
        "mcpServers",
    ),
)
