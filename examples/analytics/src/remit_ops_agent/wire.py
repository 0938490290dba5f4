"""The chat-completions format of OpenAI-compatible endpoints: our messages to JSON, their JSON to a reply.

Decides what of an answer is accepted. Arguments of a call stay the text that the model wrote: whether they are valid is the
governed call's verdict, and a text that was parsed and written again would hide duplicate keys. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from typing import assert_never, cast

from remit.core.canonical import Json, JsonObject
from remit_ops_agent.model import (
    AssistantMessage,
    Message,
    ModelFailed,
    Reply,
    SystemMessage,
    TextReply,
    ToolCall,
    ToolCallsReply,
    ToolMessage,
    UserMessage,
)

__all__ = ["reply_of", "request_body"]


def request_body(model_name: str, messages: Sequence[Message], tools: Sequence[JsonObject]) -> JsonObject:
    """The body of POST /chat/completions. An empty `tools` is left out: many endpoints refuse an empty list."""
    body: dict[str, Json] = {"model": model_name, "messages": [_message(message) for message in messages]}
    if tools:
        body["tools"] = list(tools)
    return body


def reply_of(body: bytes) -> Reply:
    """The reply in an answer. Raises ModelFailed where there is none, where it was cut off or where it has another shape."""
    try:
        answer = cast("Json", json.loads(body))
    except (ValueError, RecursionError):
        raise ModelFailed("the model's answer is not JSON; is the base URL that of an OpenAI-compatible API?") from None
    choice = _first(_field(answer, "choices"), "choices")
    message = _field(choice, "message")
    if _optional(choice, "finish_reason") == "length":
        raise ModelFailed("the model's answer was cut off at its length limit")
    text = _text(_optional(message, "content")) or _text(_optional(message, "refusal"))
    calls = _optional(message, "tool_calls") or []
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise _malformed("tool_calls is no list")
    if calls:
        return ToolCallsReply(calls=_unique(tuple(_call(call) for call in calls)), text=text)
    if not text:
        raise _malformed("the message has neither content nor tool_calls")
    return TextReply(text=text)


def _message(message: Message) -> JsonObject:
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case UserMessage():
            return {"role": "user", "content": message.text}
        case AssistantMessage():
            calls: list[Json] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in message.calls
            ]
            return {"role": "assistant", "content": message.text or None, "tool_calls": calls}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": _content(message)}
        case _:
            assert_never(message)


def _content(message: ToolMessage) -> str:
    """The text of a result, and its structured content where the text does not say the same already."""
    text = f"error: {message.text}" if message.is_error else message.text
    if message.structured is None:
        return text
    try:
        same = json.loads(message.text) == message.structured
    except (ValueError, RecursionError):
        same = False
    return text if same else f"{text}\n{json.dumps(message.structured, ensure_ascii=False)}".lstrip()


def _call(call: Json) -> ToolCall:
    function = _field(call, "function")
    arguments = _field(function, "arguments")
    if not isinstance(arguments, str):
        raise _malformed("the arguments of a tool call are no text")
    return ToolCall(id=_name(call, "id"), name=_name(function, "name"), arguments=arguments)


def _unique(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    if len({call.id for call in calls}) < len(calls):
        raise _malformed("two tool calls have one id")
    return calls


def _field(value: Json, key: str) -> Json:
    if not isinstance(value, Mapping) or key not in value:
        raise _malformed(f"there is no {key}")
    return value[key]


def _optional(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, Mapping) else None


def _name(value: Json, key: str) -> str:
    name = _field(value, key)
    if not isinstance(name, str) or not name:
        raise _malformed(f"the {key} of a tool call is no text")
    return name


def _first(value: Json, key: str) -> Json:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise _malformed(f"{key} is empty or no list")
    return value[0]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _malformed(what: str) -> ModelFailed:
    return ModelFailed(f"the model's answer has another shape than an OpenAI-compatible API gives: {what}")
