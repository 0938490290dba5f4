"""Cline and Roo Code, which grew out of it: `mcpServers`, timeouts in seconds, lists of tools approved without asking."""

from collections.abc import Mapping

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, entries_have, has_table
from remit.config.dialects.model import Dialect

__all__ = ["CLINE", "ROO"]

_KEYS: Mapping[str, Role] = {
    **COMMAND_KEYS,
    **REMOTE_KEYS,
    "transportType": Role.TRANSPORT,
    "timeout": Role.TIMEOUT_SECONDS,
    "watchPaths": Role.LEFT_OUT,
    "autoStart": Role.IGNORED,
    "remoteConfigured": Role.IGNORED,
}

CLINE = Dialect(
    name="cline",
    title="Cline",
    paths=("cline_mcp_settings.json",),
    fits=has_table("mcpServers"),
    telling=entries_have(frozenset({"autoApprove"}), "mcpServers"),
    drafts=drafts_at(_KEYS, "mcpServers"),
)

ROO = Dialect(
    name="roo",
    title="Roo Code",
    paths=(".roo/mcp.json", "rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    fits=has_table("mcpServers"),
    telling=entries_have(frozenset({"alwaysAllow", "disabledTools", "watchPaths"}), "mcpServers"),
    drafts=drafts_at(_KEYS, "mcpServers"),
)
