"""MCPHub: `mcpServers` with a switch for each tool, beside users and keys of the hub, which are none of our business."""

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table
from remit.config.dialects.model import Dialect, Document

__all__ = ["MCPHUB"]

_HUB_KEYS = frozenset({"systemConfig", "users", "bearerKeys", "groups"})


def _telling(document: Document) -> bool:
    return any(not _HUB_KEYS.isdisjoint(root.entries) for root in document.roots)


MCPHUB = Dialect(
    name="mcphub",
    title="MCPHub",
    paths=(),
    fits=has_table("mcpServers"),
    telling=_telling,
    drafts=drafts_at(
        {
            **COMMAND_KEYS,
            **REMOTE_KEYS,
            "description": Role.NOTE,
            "owner": Role.IGNORED,
            "keepAliveInterval": Role.IGNORED,
            "enableKeepAlive": Role.IGNORED,
            "prompts": Role.IGNORED,
            "options": Role.LEFT_OUT,
            "timeout": Role.TIMEOUT_MILLISECONDS,
            "passthroughHeaders": Role.LEFT_OUT,
            "oauth": Role.LEFT_OUT,
        },
        "mcpServers",
    ),
)
