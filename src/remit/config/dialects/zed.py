"""Zed: `context_servers` in its settings, the command as text with `args` or, in older files, as a mapping."""

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table
from remit.config.dialects.model import Dialect

__all__ = ["ZED"]

ZED = Dialect(
    name="zed",
    title="Zed",
    paths=("zed/settings.json", ".zed/settings.json"),
    fits=has_table("context_servers"),
    telling=has_table("context_servers"),
    drafts=drafts_at(
        {
            **COMMAND_KEYS,
            **REMOTE_KEYS,
            "source": Role.IGNORED,
            "settings": Role.LEFT_OUT,
            "timeout": Role.TIMEOUT_SECONDS,
        },
        "context_servers",
    ),
)
