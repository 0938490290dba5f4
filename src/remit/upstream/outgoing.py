"""What the body of a POST is: the few facts about a message that the HTTP layer decides by."""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

import httpx2

from remit.upstream.tickets import CANCELLED, request_key

__all__ = ["Outgoing", "answer_in", "is_foreign", "outgoing"]

_INITIALIZE = "initialize"
_INITIALIZED = "notifications/initialized"
_REQUEST = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),"method":"([\w/]+)"')
"""How the SDK writes the beginning of a request; anything else is read as a whole."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that is posted. `number` is None where it is no request, `cancels` the request that it gives up."""

    method: str
    number: int | str | None
    cancels: int | str | None = None

    @property
    def ends_handshake(self) -> bool:
        """Whether nothing may overtake it."""
        return self.method == _INITIALIZED

    @property
    def begins_handshake(self) -> bool:
        """Whether there is no session yet."""
        return self.method == _INITIALIZE


def outgoing(request: httpx2.Request) -> Outgoing | None:
    """The message that a request posts; None where it posts none. Its body must have been read."""
    if request.method != "POST" or request.headers.get("content-type") != "application/json":
        return None
    found = _REQUEST.match(request.content)
    if found is not None:
        return Outgoing(found[2].decode("ascii"), int(found[1]))
    message = cast("dict[str, Any]", json.loads(request.content))
    method = str(message.get("method", ""))
    params: dict[str, Any] = message.get("params") or {}
    # An answer of ours has a number too: that of the server's request.
    number = request_key(message.get("id")) if method else None
    return Outgoing(method, number, request_key(params.get("requestId")) if method == CANCELLED else None)


def answer_in(document: object, number: int | str) -> object:
    """What the one message of an answer's body is to a request: itself, or None where it is for another or for nobody.

    A server that could not read a request refuses it under no number; what is no message is not looked at.
    """
    message = cast("dict[str, object]", document) if isinstance(document, dict) else {}
    if message.get("id") is None and "error" in message:
        return {**message, "id": number}
    is_foreign = "method" in message or request_key(message.get("id", number)) != number
    return None if is_foreign else cast("object", document)


def is_foreign(document: object, number: int | str) -> bool:
    """Whether a message on the stream of one request is the answer to another one, or to nobody.

    Requests and notifications of the server are not looked at, nor is what is no message. A refusal under no number is that of
    the request, as above.
    """
    message = cast("dict[str, object]", document) if isinstance(document, dict) else {}
    is_answer = "method" not in message and ("result" in message or "error" in message)
    return is_answer and answer_in(message, number) is None
