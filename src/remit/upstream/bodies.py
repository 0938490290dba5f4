"""The body of a protocol event: a message as a JSON object, whole or with digests in place of its values.

Decides what of a message stays readable where a tool's policy has values left out: method, ids, the tool's name, the
numbers of its progress and the code of an error; of a message that belongs to no request less, as a server may put its words
anywhere. Digests are taken of what is recorded otherwise, so of masked values.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

import pydantic_core
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from remit.core.canonical import Json, JsonObject, sha256_hex

__all__ = ["body_of", "can_be_sent", "digest_of", "digested"]

_METHODS = frozenset(
    {
        "elicitation/create",
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
        "ping",
        "roots/list",
        "sampling/createMessage",
    }
)
"""What a server says or asks of its own accord."""

_WORD = 16
"""Hexadecimal digits that stand for an id or a method."""

_FINITE = json.JSONEncoder(allow_nan=False)

_READABLE = {
    "params": ("progressToken", "progress", "total"),
    "result": ("isError",),
    "error": ("code",),
}


def body_of(message: JSONRPCMessage) -> JsonObject:
    """A message as it went over the wire; its parts are shared with it, not copied."""
    # By hand instead of model_dump: a page can be 64 MiB, and its result is a plain JSON object already.
    body: dict[str, Any] = {"jsonrpc": "2.0"}
    if not isinstance(message, JSONRPCNotification):
        body["id"] = message.id
    match message:
        case JSONRPCRequest(method=method, params=params) | JSONRPCNotification(method=method, params=params):
            body["method"] = method
            if params is not None:
                body["params"] = params
        case JSONRPCResponse(result=result):
            body["result"] = result
        case JSONRPCError(error=error):
            body["error"] = error.model_dump(by_alias=True, exclude_unset=True)
    return cast("JsonObject", body)


def can_be_sent(arguments: JsonObject) -> bool:
    """Whether the transports can write arguments down: finite numbers of a readable length, whole text, 250 levels.

    A value that they cannot write would end the session, and with it every other call (measured with 2.3.0).
    """
    try:
        _FINITE.encode(arguments)
        # The levels of the message around the arguments count too.
        pydantic_core.to_json([[[[arguments]]]])
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def digested(body: JsonObject, *, belongs: bool = True) -> JsonObject:
    """A body with `{sha256, bytes}` in place of the values of its params, result or error.

    `belongs` is whether it is that of a request of ours, or an answer to one: then its method, id and tool are ours too.
    """
    left = {key: digest_of(value, _READABLE[key]) if key in _READABLE else value for key, value in body.items()}
    if not belongs:
        # One word for each, so that a question and its answer are still seen to belong together.
        return left | {key: _word(str(body[key])) for key in ("id", "method") if not _is_known(body.get(key))}
    params = body.get("params")
    if body.get("method") == "tools/call" and isinstance(params, Mapping):
        # The name of the tool, which we sent.
        left["params"] = {"name": cast("JsonObject", params).get("name"), **cast("JsonObject", left["params"])}
    return left


def _is_known(value: Json) -> bool:
    return value is None or isinstance(value, int) or value in _METHODS


def _word(text: str) -> str:
    return f"sha256:{sha256_hex(text)[:_WORD]}"


def digest_of(value: Json, readable: tuple[str, ...] = ()) -> JsonObject:
    """`{sha256, bytes}` of a value, with those of its members that are `readable` as far as they are numbers."""
    part: JsonObject = cast("JsonObject", value) if isinstance(value, dict) else {}
    # A number only: a server may write words where one belongs.
    kept: dict[str, Json] = {key: part[key] for key in readable if isinstance(part.get(key), int | float)}
    try:
        # Not canonical_json: a result may hold what has no canonical form, and its digest still tells two results apart.
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        return kept
    return {**kept, "sha256": sha256_hex(text), "bytes": len(text)}
