"""`McpToolExecutor`: one attached tool and the way to its server (managed-mcp-architecture, section 14).

Decides that only a call by the tool's provider_name is its own, and that the server hears the remote name. Whether the
call may go out at all is remit.runtime.governed's.
"""

from collections.abc import Callable
from dataclasses import dataclass

from remit.core.call_ports import GrantedTool
from remit.core.canonical import JsonObject
from remit.core.gatekeeper import Contract, contract_of
from remit.core.ports import DefinitionDiff
from remit.core.remote_ports import (
    OnProgress,
    RemoteAnswer,
    RemoteCall,
    RemoteContract,
    ServerConnection,
)

__all__ = ["CONTRACT_SECONDS", "Limits", "McpToolExecutor"]

CONTRACT_SECONDS = 60.0
"""The oldest listing that a call may rely on (DESIGN.md section 10)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a call may take: seconds without progress, and in all."""

    idle_seconds: float
    total_seconds: float


class McpToolExecutor:
    """Binds one attached tool to a factory of its server's connection; asks for the connection at each use."""

    def __init__(
        self,
        tool: GrantedTool,
        connection: Callable[[GrantedTool], ServerConnection],
        known: Callable[[GrantedTool], RemoteContract | None],
        diff: DefinitionDiff,
    ):
        self.tool = tool
        self.provider_name = str(tool.attachment.provider_name)
        self._connection = connection
        self._known = known
        self._diff = diff
        self._input_schema: tuple[str, JsonObject] | None = None
        self._compared: tuple[object, str, Contract] | None = None

    async def contract(self, tool: GrantedTool, *, timeout: float, trace_id: str) -> RemoteContract:
        """The live contract of the tool's server, as its registration is recorded in `tool`."""
        return await self._connection(tool).contract(max_age=CONTRACT_SECONDS, timeout=timeout, trace_id=trace_id)

    def compared(self, tool: GrantedTool, live: RemoteContract) -> Contract:
        """How a live listing compares with the approved definition; looked at once for each listing and definition."""
        approved = tool.attachment.definition
        seen = self._compared
        if seen is not None and seen[0] is live.live and seen[1] == approved.definition_digest:
            return seen[2]
        contract = contract_of(tool.attachment.remote_name, approved, live.live, self._diff)
        self._compared = (live.live, approved.definition_digest, contract)
        return contract

    def known(self, tool: GrantedTool) -> RemoteContract | None:
        """What is known of the live contract without asking anybody, and without a connection for what may be old."""
        return self._known(tool)

    async def carry(
        self,
        tool: GrantedTool,
        arguments: JsonObject,
        limits: Limits,
        *,
        trace_id: str,
        session: int | None,
        on_progress: OnProgress | None,
        full_record: bool,
    ) -> RemoteAnswer:
        """Send tools/call with the remote name and these very arguments; `tool` is the grant as it was read for this call."""
        call = RemoteCall(
            remote_name=tool.attachment.remote_name,
            arguments=arguments,
            input_schema=self._schema_of(tool),
            trace_id=trace_id,
            idle_seconds=limits.idle_seconds,
            total_seconds=limits.total_seconds,
            session=session,
            on_progress=on_progress,
            full_record=full_record,
        )
        return await self._connection(tool).call(call)

    def _schema_of(self, tool: GrantedTool) -> JsonObject:
        # Parsing the definition costs more than the rest of a small call, and it changes only with an apply.
        definition = tool.attachment.definition
        if self._input_schema is None or self._input_schema[0] != definition.definition_digest:
            self._input_schema = (definition.definition_digest, definition.content().input_schema)
        return self._input_schema[1]
