"""One protocol event in words: what a message asked for, what the answer was, what was noticed.

Decides which part of a message a reader sees first; every text of a server is escaped and cut. Whatever is no message as the
protocol has it is shown as JSON.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from remit.core.canonical import Json, JsonObject
from remit.core.events import Direction, EventKind, ProtocolEvent
from remit.render.escape import escape_json, escape_terminal
from remit.render.layout import counted

__all__ = ["Exchange", "is_alarming"]

_CUT = 160
_SERVER_IDENTITY = "io.modelcontextprotocol/serverInfo"
_NAMES_SHOWN = 20


class Exchange:
    """Reads the events of a trace in order, so that an answer is told with what it answers."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, Direction, str], tuple[str, JsonObject]] = {}

    def words(self, event: ProtocolEvent) -> str:
        """One event in one printable line."""
        if event.direction is Direction.LOCAL:
            return _fact(event)
        body = event.body
        method = body.get("method")
        if isinstance(method, str):
            if "id" in body:
                key = (event.connection_id, event.direction, _shown_id(body))
                self._asked[key] = (method, _object(body.get("params")))
            return _request(method, body)
        other = Direction.SENT if event.direction is Direction.RECEIVED else Direction.RECEIVED
        asked, params = self._asked.pop((event.connection_id, other, _shown_id(body)), ("", {}))
        return _answer(asked, params, body)


def is_alarming(event: ProtocolEvent) -> bool:
    """Whether a reader should not miss it: an error, a cancellation, a fallback, noise."""
    failed = "error" in event.body or _object(event.body.get("result")).get("isError") is True
    cancelled = event.body.get("method") == "notifications/cancelled"
    return failed or cancelled or event.kind in {EventKind.FALLBACK, EventKind.NOISE}


# -- what we noticed ----------------------------------------------------------------------------------------------------


def _fact(event: ProtocolEvent) -> str:
    told = " ".join(f"{escape_terminal(key)} {_plain(value)}" for key, value in event.body.items())
    return f"{event.kind.value}: {told}" if told else event.kind.value


# -- what was asked -----------------------------------------------------------------------------------------------------


def _request(method: str, body: JsonObject) -> str:
    params = _object(body.get("params"))
    number = f" #{_shown_id(body)}" if "id" in body else ""
    told = _REQUESTS.get(method, _json)(params) if params else ""
    return f"{escape_terminal(method)}{number}" + (f"  {told}" if told else "")


def _initialize(params: JsonObject) -> str:
    return f"protocol {_plain(params.get('protocolVersion'))}, client {_identity(params.get('clientInfo'))}"


def _page(params: JsonObject) -> str:
    return f"from cursor {_plain(params['cursor'])}" if "cursor" in params else ""


def _call(params: JsonObject) -> str:
    return f"{_plain(params.get('name'))} {_json(params.get('arguments', {}))}"


def _progress(params: JsonObject) -> str:
    total = f" of {_plain(params['total'])}" if params.get("total") is not None else ""
    message = f": {_plain(params['message'])}" if params.get("message") is not None else ""
    return f"{_plain(params.get('progress'))}{total}{message}"


def _cancelled(params: JsonObject) -> str:
    reason = f": {_plain(params['reason'])}" if params.get("reason") is not None else ""
    return f"request #{_plain(params.get('requestId'))}{reason}"


def _json(value: Json) -> str:
    return escape_json(value, limit=_CUT)


_REQUESTS: Mapping[str, Callable[[JsonObject], str]] = {
    "initialize": _initialize,
    "server/discover": lambda _: "",
    "tools/list": _page,
    "tools/call": _call,
    "notifications/progress": _progress,
    "notifications/cancelled": _cancelled,
}


# -- what was answered --------------------------------------------------------------------------------------------------


def _answer(asked: str, params: JsonObject, body: JsonObject) -> str:
    number = f"#{_shown_id(body)}"
    name = f"answer {number} to {escape_terminal(asked)}" if asked else f"answer {number}"
    if "error" in body:
        error = _object(body["error"])
        return f"{name}  error {_plain(error.get('code'))}: {_plain(error.get('message'))}"
    result = body.get("result")
    tell = _ANSWERS.get(asked)
    told = tell(params, cast("JsonObject", result)) if tell is not None and isinstance(result, dict) else _json(result)
    return f"{name}  {told}"


def _server(_params: JsonObject, result: JsonObject) -> str:
    return ", ".join(_server_words(result)) or _json(result)


def _server_words(result: JsonObject) -> Iterator[str]:
    if "protocolVersion" in result:
        yield f"protocol {_plain(result['protocolVersion'])}"
    if isinstance(versions := result.get("supportedVersions"), list):
        yield "protocols " + " ".join(map(_plain, cast("Sequence[Json]", versions)))
    # An answer to initialize names the server itself, one of the stateless era in its _meta.
    stated = result.get("serverInfo", _object(result.get("_meta")).get(_SERVER_IDENTITY))
    if stated is not None:
        yield f"server {_identity(stated)}"
    if capabilities := _object(result.get("capabilities")):
        yield "offers " + " ".join(map(escape_terminal, sorted(capabilities)))
    if result.get("instructions"):
        yield f"instructions {_json(result['instructions'])}"


def _tools(_params: JsonObject, result: JsonObject) -> str:
    tools = result.get("tools")
    if not isinstance(tools, list):
        return _json(result)
    listed = cast("Sequence[Json]", tools)
    names = [_plain(_object(each).get("name")) for each in listed[:_NAMES_SHOWN]]
    more = ", ..." if len(listed) > _NAMES_SHOWN else ""
    then = f"; more from cursor {_plain(result['nextCursor'])}" if result.get("nextCursor") is not None else ""
    return f"{counted(len(listed), 'tool')}{': ' if names else ''}{', '.join(names)}{more}{then}"


def _called(params: JsonObject, result: JsonObject) -> str:
    said = "tool error" if result.get("isError") is True else "ok"
    structured = result.get("structuredContent")
    shown = result.get("content", result) if structured is None else structured
    return f"{_plain(params.get('name'))} {said}: {_json(shown)}"


_ANSWERS: Mapping[str, Callable[[JsonObject, JsonObject], str]] = {
    "initialize": _server,
    "server/discover": _server,
    "tools/list": _tools,
    "tools/call": _called,
}


# -- parts --------------------------------------------------------------------------------------------------------------


def _identity(value: Json) -> str:
    identity = _object(value)
    version = f" {_plain(identity['version'])}" if identity.get("version") is not None else ""
    return f"{_plain(identity.get('name'))}{version}"


def _shown_id(body: JsonObject) -> str:
    return _plain(body.get("id"))


def _object(value: Json) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _plain(value: Json) -> str:
    return escape_terminal(value, limit=_CUT) if isinstance(value, str) else escape_json(value, limit=_CUT)
