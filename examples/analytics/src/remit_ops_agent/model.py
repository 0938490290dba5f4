"""The port to a language model: what it is told, what it replies, how it fails.

Decides the shapes only. Which model stands behind the port is scripted.py's or openai_compatible.py's; what is done with a
reply is agent.py's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from remit.core.canonical import Json, JsonObject

__all__ = [
    "AssistantMessage",
    "Message",
    "Model",
    "ModelFailed",
    "Reply",
    "SystemMessage",
    "TextReply",
    "ToolCall",
    "ToolCallsReply",
    "ToolMessage",
    "UserMessage",
]


class ModelFailed(Exception):
    """The model gave no usable reply. The text says why and what to do, and holds no credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that a model asks for. `arguments` is JSON text exactly as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReply:
    """The model answers in words and asks for nothing more."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallsReply:
    """The model asks for these calls (at least one, ids unique), all at once; `text` is what it said beside them."""

    calls: tuple[ToolCall, ...]
    text: str = ""


Reply: TypeAlias = TextReply | ToolCallsReply


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    """What the model is to do."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What the user asks."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """An earlier reply of the model with tool calls."""

    text: str
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The result of one call: `text` is its text projection, `structured` its structured content (None: it has none)."""

    call_id: str
    name: str
    text: str
    structured: Json = None
    is_error: bool = False


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class Model(Protocol):
    """A language model that may call tools."""

    async def complete(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> Reply:
        """The next reply. `tools` are `{"type": "function", "function": {...}}`. Raises ModelFailed."""
        ...
