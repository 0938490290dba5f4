"""One opened session on the official SDK: negotiation, and requests whose answers nobody has judged yet.

Decides which era is spoken. Answers come back as the server sent them: the SDK would reject a whole listing for one bad
tool, list again before some calls, and raise for an output that does not fit its schema after the tool has run (measured
with 2.3.0), so requests go around the SDK's session (remit.upstream.exchange). Messages, handshakes and transports are the
SDK's.
"""

import itertools
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CONNECTION_CLOSED,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    Implementation,
    JSONRPCError,
)
from pydantic import ValidationError

from remit.core.canonical import JsonObject
from remit.core.live import Era, ServerIdentity, UnreachableReason
from remit.upstream.exchange import Exchange, SessionOver
from remit.upstream.faults import SERVER_GONE, Fault
from remit.upstream.http_transport import HTTP_STATUS
from remit.upstream.marked_errors import fault_of_error
from remit.upstream.recorder import Recorder
from remit.upstream.tap import ReadTap, WriteTap
from remit.upstream.tickets import Ticket
from remit.version import __version__

__all__ = ["RPC_ERROR", "Answered", "Negotiated", "SdkSession", "quiet_sdk_logging"]

_DETAIL = 500
RPC_ERROR = "rpc_error"
_SDK_CLOSED = ("Connection closed", "SSE stream")
"""How the SDK words the end of a connection; a server may use the same code for errors of its own."""

_NO_ANSWER: Mapping[int, tuple[str, ...]] = {
    PARSE_ERROR: ("Failed to parse", "the answer is no valid JSON-RPC"),
}
"""How the SDK and our transports word an answer that is none, by error code; a server may say the same of itself.

Whatever else the SDK would make up an error of does not reach it (remit.upstream.http_transport).
"""

_TELEMETRY = "opentelemetry.sdk"
_FIRST_NUMBER = 101
"""The first number of a request of ours; the SDK numbers the few of a handshake from 1."""

_SCHEMAS_KEPT = 1_000

_CLIENT = Implementation(name="remit", version=__version__)
_CLIENT_WIRE = _CLIENT.model_dump(by_alias=True, mode="json", exclude_none=True)


def quiet_sdk_logging() -> None:
    """Keep the SDK's and the HTTP client's log records to themselves.

    They hold whole messages and URLs with their queries, so secrets; the protocol events say the same, masked.
    """
    for name in ("mcp", "client", "httpx2", "httpcore2"):
        logger = logging.getLogger(name)
        if logger.propagate:
            logger.propagate = False
            logger.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiated:
    """What a handshake settled; texts of the server are masked already."""

    era: Era
    protocol_version: str
    server_info: ServerIdentity | None
    capabilities: JsonObject
    instructions: str | None


class Answered(Fault):
    """The server answered a handshake, and the answer is no: it is alive and speaks another era, or none."""


class SdkSession:
    """A session over tapped streams. An async context manager; must be left by the task that entered it."""

    def __init__(self, read: ReadTap, write: WriteTap, recorder: Recorder):
        self._recorder = recorder
        self._redactor = recorder.redactor
        self._numbers = itertools.count(_FIRST_NUMBER)
        self._exchange = Exchange(write)
        read.take_answer, read.on_over = self._exchange.take, self._exchange.end
        self._session = ClientSession(dispatcher=JSONRPCDispatcher(read, write), client_info=_CLIENT)
        self._modern_version: str | None = None
        self._version: str | None = None
        self._mirrored: dict[int, tuple[JsonObject, Mapping[tuple[str, ...], str]]] = {}

    async def __aenter__(self) -> "SdkSession":
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._exchange.close()
        await self._session.__aexit__(*exc)

    async def shake_hands(self, era: Era, seconds: float) -> Negotiated:
        """Negotiate in one era.

        Raises Answered where the server is alive and refuses, Fault `timeout` or `server_gone` otherwise.
        """
        method = "server/discover" if era is Era.MODERN else "initialize"
        try:
            with anyio.fail_after(seconds):
                if era is Era.MODERN:
                    await self._session.discover()
                else:
                    await self._session.initialize()
        except TimeoutError as error:
            raise Fault(UnreachableReason.TIMEOUT, f"no answer to {method} within {seconds:.1f} s") from error
        except MCPError as error:
            fault = self.fault_of(error.error, method)
            if fault.code not in (RPC_ERROR, HTTP_STATUS):
                raise fault from error
            raise Answered(fault.reason, fault.message, rpc_code=fault.rpc_code) from error
        except (ValidationError, RuntimeError) as error:
            # The SDK's texts quote the answer; the type of the failure is enough.
            raise Answered(UnreachableReason.PROTOCOL, f"the answer to {method} is not a valid one") from error
        return self._settled(era)

    def _settled(self, era: Era) -> Negotiated:
        session = self._session
        version = session.protocol_version or ""
        self._version = version
        self._modern_version = version if era is Era.MODERN else None
        capabilities = session.server_capabilities
        wire = capabilities.model_dump(mode="json", by_alias=True, exclude_none=True) if capabilities else {}
        named = session.server_info
        mask = self._redactor.text
        return Negotiated(
            era=era,
            protocol_version=mask(version),
            server_info=ServerIdentity(name=mask(named.name), version=mask(named.version)) if named else None,
            capabilities=self._redactor.object(wire),
            instructions=mask(session.instructions) if session.instructions else None,
        )

    async def request(
        self, method: str, params: JsonObject, ticket: Ticket, *, input_schema: JsonObject | None = None
    ) -> JsonObject:
        """Send a request and return its result as it came, secrets masked. Raises Fault; waits as long as it takes.

        A call of a tool always carries a progress token, so that a server that tells of its progress can.
        """
        # Our own numbers, as the tap must know the request before the SDK says its id.
        number = next(self._numbers)
        headers = {MCP_PROTOCOL_VERSION_HEADER: self._version or ""}
        stamped = self._stamped(method, params, number, headers, input_schema)
        self._recorder.tickets.begin(number, ticket)
        try:
            answer = await self._exchange.ask(number, method, stamped, headers)
        except SessionOver:
            raise Fault(UnreachableReason.PROTOCOL, _ended_during(method), code=SERVER_GONE) from None
        finally:
            self._recorder.ended(number, ticket)
        if isinstance(answer, JSONRPCError):
            raise self.fault_of(answer.error, method)
        return cast("JsonObject", answer.result)

    def _stamped(
        self,
        method: str,
        params: JsonObject,
        number: int,
        headers: dict[str, str],
        input_schema: JsonObject | None,
    ) -> Mapping[str, Any]:
        meta = dict(cast("Mapping[str, Any]", params.get("_meta") or {}))
        if method == "tools/call":
            meta["progressToken"] = number
        if _TELEMETRY in sys.modules:
            # The host's trace goes on at the server, as the SDK's own requests have it (SEP-414).
            _inject_trace(meta)
        if self._modern_version is None:
            return {**params, "_meta": meta} if meta else params
        meta[PROTOCOL_VERSION_META_KEY] = self._modern_version
        meta[CLIENT_INFO_META_KEY] = _CLIENT_WIRE
        meta[CLIENT_CAPABILITIES_META_KEY] = {}
        headers[MCP_METHOD_HEADER] = method
        name = params.get("name")
        if method == "tools/call" and isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            declared = self._mirrored_in(input_schema) if input_schema else None
            if declared:
                arguments = cast("Mapping[str, Any]", params.get("arguments") or {})
                headers.update(mcp_param_headers(declared, arguments))
        return {**params, "_meta": meta}

    def _mirrored_in(self, schema: JsonObject) -> Mapping[tuple[str, ...], str]:
        """The arguments that a schema wants mirrored into headers, looked for once: the SDK walks the whole schema."""
        known = self._mirrored.get(id(schema))
        if known is None:
            if len(self._mirrored) >= _SCHEMAS_KEPT:
                self._mirrored.clear()
            # The schema is kept with them, so that its id stays its own.
            known = self._mirrored[id(schema)] = (schema, x_mcp_header_map(dict(schema)))
        return known[1]

    def fault_of(self, error: ErrorData, method: str) -> Fault:
        """The fault behind a JSON-RPC error: ours, the end of the connection, or an answer of the server."""
        message = self._redactor.text(error.message)
        ours = fault_of_error(error)
        if ours is not None:
            return ours.worded(self._redactor.text(ours.message)[:_DETAIL])
        if error.message.startswith(_NO_ANSWER.get(error.code, ())):
            # The SDK's text quotes pieces of the answer.
            return Fault(UnreachableReason.PROTOCOL, f"the answer to {method} is no valid JSON-RPC message")
        if error.code == CONNECTION_CLOSED and error.message.startswith(_SDK_CLOSED):
            return Fault(UnreachableReason.PROTOCOL, _ended_during(method), code=SERVER_GONE)
        said = message[:_DETAIL]
        detail = f"{method} was answered with error {error.code}: {said}"
        return Fault(UnreachableReason.PROTOCOL, detail, code=RPC_ERROR, rpc_code=error.code, said=said)


def _ended_during(method: str) -> str:
    return f"the server ended during {method}"


def _inject_trace(meta: dict[str, Any]) -> None:
    from opentelemetry.propagate import inject  # noqa: PLC0415 (loaded only where the host uses it)

    inject(meta)
