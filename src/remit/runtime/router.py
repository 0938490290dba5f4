"""Where a tool call goes: to the executor that is bound to its name, or on to the consumer untouched.

Decides nothing but that (managed-mcp-architecture, section 16): MCP is additive, an unbound name keeps its old way.
"""

from remit.runtime.abi import HandOff, ToolCallEnvelope, ToolExecutor
from remit.runtime.registry import ExecutorRegistry

__all__ = ["Router"]


class Router:
    """Routes the calls of one run."""

    def __init__(self, registry: ExecutorRegistry, governed: ToolExecutor):
        self._registry = registry
        self._governed = governed

    def route(self, call: ToolCallEnvelope) -> ToolExecutor | HandOff:
        """The governed executor for a bound name; the call itself, unchanged, for every other."""
        if self._registry.get(call.name) is None:
            return HandOff(call)
        return self._governed
