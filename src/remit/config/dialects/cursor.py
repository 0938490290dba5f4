"""Cursor: `mcpServers` with `envFile` and OAuth client data."""

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, entries_have, has_table
from remit.config.dialects.model import Dialect

__all__ = ["CURSOR"]

CURSOR = Dialect(
    name="cursor",
    title="Cursor",
    paths=(".cursor/mcp.json",),
    fits=has_table("mcpServers"),
    telling=entries_have(frozenset({"envFile"}), "mcpServers"),
    drafts=drafts_at(
        {
            **COMMAND_KEYS,
            **REMOTE_KEYS,
            "envFile": Role.ENV_FILE,
            "auth": Role.OAUTH,
        },
        "mcpServers",
    ),
)
