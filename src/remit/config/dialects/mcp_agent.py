"""mcp-agent: `mcp.servers` in YAML, timeouts in seconds."""

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table
from remit.config.dialects.model import Dialect, Form

__all__ = ["MCP_AGENT"]

MCP_AGENT = Dialect(
    name="mcp-agent",
    title="mcp-agent",
    paths=("mcp_agent.config.yaml", "mcp_agent.secrets.yaml", "fastagent.config.yaml"),
    fits=has_table("mcp", "servers", forms=(Form.YAML,)),
    telling=has_table("mcp", "servers", forms=(Form.YAML,)),
    drafts=drafts_at(
        {
            **COMMAND_KEYS,
            **REMOTE_KEYS,
            "name": Role.NOTE,
            "description": Role.NOTE,
            "read_timeout_seconds": Role.TIMEOUT_SECONDS,
            "http_timeout_seconds": Role.IGNORED,
            "terminate_on_close": Role.IGNORED,
            "roots": Role.LEFT_OUT,
            "auth": Role.OAUTH,
        },
        "mcp",
        "servers",
    ),
)
