"""LibreChat: `mcpServers` in YAML, values per user (`{{NAME}}`), timeouts in milliseconds."""

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table
from remit.config.dialects.model import Dialect, Form

__all__ = ["LIBRECHAT"]

LIBRECHAT = Dialect(
    name="librechat",
    title="LibreChat",
    paths=("librechat.yaml",),
    fits=has_table("mcpServers", forms=(Form.YAML,)),
    telling=has_table("mcpServers", forms=(Form.YAML,)),
    drafts=drafts_at(
        {
            **COMMAND_KEYS,
            **REMOTE_KEYS,
            "timeout": Role.TIMEOUT_MILLISECONDS,
            "initTimeout": Role.START_MILLISECONDS,
            "startup": Role.IGNORED,
            "chatMenu": Role.IGNORED,
            "iconPath": Role.IGNORED,
            "title": Role.NOTE,
            "description": Role.NOTE,
            "serverInstructions": Role.LEFT_OUT,
            "customUserVars": Role.LEFT_OUT,
            "requiresOAuth": Role.OAUTH,
            "oauth": Role.OAUTH,
            "proxy": Role.LEFT_OUT,
            "stderr": Role.IGNORED,
            "sseReadTimeout": Role.IGNORED,
        },
        "mcpServers",
    ),
)
