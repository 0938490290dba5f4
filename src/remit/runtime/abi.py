"""The tool ABI: what goes into a tool call and what comes out, whoever carries it out (managed-mcp-architecture, section 13).

Decides the shapes and the JSON form of a result; MCP's own shapes stay behind the executors. Nothing here does anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from remit.core.calls import FailureCode
from remit.core.canonical import Json, JsonObject
from remit.core.remote_ports import OnProgress

__all__ = ["HandOff", "Principal", "ToolCallEnvelope", "ToolExecutor", "ToolResultEnvelope", "failure"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls. `permissions` narrow the assistant's own (None: not narrowed)."""

    name: str
    permissions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnvelope:
    """One call as a model emitted it. `name` is the provider_name, `arguments` JSON text, or an object that was parsed.

    Text is better: only in text do duplicate keys show.
    """

    name: str
    arguments: str | JsonObject
    run_id: str
    thread_id: str | None
    assistant_id: str
    tool_call_id: str
    principal: Principal
    trace_id: str
    idempotency_key: str | None = None
    timeout_seconds: float | None = None
    """A tighter absolute limit than the server's own `call_timeout_seconds`; a longer one has no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEnvelope:
    """What a call came to. Only `is_error` says whether it failed; nothing the tool sent is dropped.

    `content` is the text projection, `content_blocks` every block as it came, `metadata` what else is known: `mcp_meta`,
    `mcp_result_type`, `era`, and of a failure its stable `code`.
    """

    content: str
    structured_content: Json = None
    content_blocks: Sequence[JsonObject] = ()
    metadata: JsonObject = field(default_factory=dict[str, Json])
    is_error: bool = False

    @property
    def code(self) -> str | None:
        """The stable code of a failure that remit or the connection caused; None for what the tool itself said."""
        code = self.metadata.get("code")
        return code if isinstance(code, str) else None

    def document(self) -> JsonObject:
        """The JSON form, as it is stored under an idempotency key."""
        return {
            "content": self.content,
            "structured_content": self.structured_content,
            "content_blocks": list(self.content_blocks),
            "metadata": self.metadata,
            "is_error": self.is_error,
        }

    @classmethod
    def of(cls, document: JsonObject) -> "ToolResultEnvelope":
        """The result from its JSON form."""
        return cls(
            content=cast("str", document["content"]),
            structured_content=document["structured_content"],
            content_blocks=tuple(cast("Sequence[JsonObject]", document["content_blocks"])),
            metadata=cast("JsonObject", document["metadata"]),
            is_error=bool(document["is_error"]),
        )


@dataclass(frozen=True, slots=True)
class HandOff:
    """A call for the consumer: no executor is bound to its name, so it goes on untouched."""

    call: ToolCallEnvelope


class ToolExecutor(Protocol):
    """Carries calls out. Never raises for what a tool or a connection does; every failure is a result."""

    async def execute(self, call: ToolCallEnvelope, on_progress: OnProgress | None = None) -> ToolResultEnvelope:
        """The result of one call."""
        ...


def failure(code: FailureCode, message: str, **more: Json) -> ToolResultEnvelope:
    """A failed call in words for the model, with its stable code."""
    return ToolResultEnvelope(content=f"{code.value}: {message}", metadata={"code": code.value, **more}, is_error=True)
