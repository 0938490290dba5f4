"""Codex: `[mcp_servers.NAME]` in TOML; secrets are variables by name, timeouts are seconds, `url` is streamable HTTP."""

from remit.config.dialects.claude import COMMAND_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table
from remit.config.dialects.model import Dialect, Form

__all__ = ["CODEX"]

CODEX = Dialect(
    name="codex",
    title="Codex",
    paths=(".codex/config.toml",),
    fits=has_table("mcp_servers", forms=(Form.TOML,)),
    telling=has_table("mcp_servers", forms=(Form.TOML,)),
    drafts=drafts_at(
        {
            **COMMAND_KEYS,
            "env_vars": Role.ENV_NAMES,
            "url": Role.URL,
            "bearer_token": Role.BEARER,
            "bearer_token_env_var": Role.BEARER_VARIABLE,
            "http_headers": Role.HEADERS,
            "env_http_headers": Role.HEADER_VARIABLES,
            "startup_timeout_sec": Role.START_SECONDS,
            "startup_timeout_ms": Role.START_MILLISECONDS,
            "tool_timeout_sec": Role.TIMEOUT_SECONDS,
            "required": Role.IGNORED,
            "oauth": Role.OAUTH,
            "scopes": Role.OAUTH_FIELD,
            "tools": Role.LEFT_OUT,
            "default_tools_approval_mode": Role.LEFT_OUT,
        },
        "mcp_servers",
    ),
    certain=True,
)
