"""The body of a protocol event: a message as a JSON object, whole or with digests in place of its values.

Decides what of a message stays readable where a tool's policy has values left out: method, ids, the tool's name, the
numbers of its progress and the code of an error. Digests are taken of what is recorded otherwise, so of masked values.
"""

import json
from typing import Any, cast

import pydantic_core
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from remit.core.canonical import Json, JsonObject, sha256_hex

__all__ = ["body_of", "can_be_sent", "digested"]

_FINITE = json.JSONEncoder(allow_nan=False)

_READABLE = {
    "params": ("name", "progressToken", "progress", "total"),
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


def digested(body: JsonObject) -> JsonObject:
    """A body with `{sha256, bytes}` in place of the values of its params, result or error."""
    return {key: _digest(value, _READABLE[key]) if key in _READABLE else value for key, value in body.items()}


def _digest(value: Json, readable: tuple[str, ...]) -> JsonObject:
    part: JsonObject = cast("JsonObject", value) if isinstance(value, dict) else {}
    kept: dict[str, Json] = {key: part[key] for key in readable if key in part and not isinstance(part[key], dict)}
    try:
        # Not canonical_json: a result may hold what has no canonical form, and its digest still tells two results apart.
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        return kept
    return {**kept, "sha256": sha256_hex(text), "bytes": len(text)}
