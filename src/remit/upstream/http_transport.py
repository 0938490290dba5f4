"""The HTTP client of one connection: the byte layer under the SDK's HTTP transports.

Decides what an HTTP answer means before the SDK sees it. A failed request is answered with a JSON-RPC error for that
request alone (see remit.upstream.marked_errors), and so is an answer over a cap. Bodies must not be compressed; the judged address is the one connected to; proxies from the environment are ignored.

The client belongs to whoever called `open_http`. No redirect reaches the SDK, which would follow some of them (see
remit.upstream.redirects).
"""

import errno
import json
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

import httpcore2
import httpx2
from mcp_types import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from remit.core.desired import BearerAuth, ClientCredentialsAuth, PrivateKeyJwtAuth, Tls
from remit.core.identity import Transport
from remit.core.live import UnreachableReason
from remit.upstream.asides import Asides, OpenPost
from remit.upstream.event_body import MAX_SSE_EVENT, EventBody
from remit.upstream.faults import SERVER_GONE, Fault
from remit.upstream.marked_errors import error_of_fault
from remit.upstream.outgoing import answer_in, outgoing
from remit.upstream.overlong import Overlong
from remit.upstream.parking import Parking
from remit.upstream.posting import Posts
from remit.upstream.redirects import REDIRECTED, redirect_words
from remit.upstream.references import ResolvedHttp
from remit.upstream.resuming import Resumable
from remit.upstream.url_policy import AddressRefused, JudgingBackend, Resolver, check_url, resolve

__all__ = [
    "HTTP_STATUS",
    "MAX_BODY",
    "SESSION_LOST",
    "HttpTransport",
    "UpstreamHttp",
    "open_http",
]

MAX_BODY = 64 * 1024 * 1024
"""Bytes of one answer that is not a stream."""

_LEGACY_EVENT = 1024 * 1024
"""Bytes of an event that the SDK's client for legacy SSE takes; what has a result is carried past it."""

SESSION_LOST = "session_lost"
HTTP_STATUS = "http_status"
"""The code of an answer that is none of MCP: an error status, or a body of another type."""

_EXCERPT = 4_096
"""Bytes of an error page that are kept; whoever masks it shortens it, as a secret cut in two is not found."""

_DELETE_SECONDS = 2.0
_CONNECT_SECONDS = 15.0
_SESSION_HEADER = "mcp-session-id"
_METHOD_NOT_FOUND = -32601
_ABOUT_THE_REQUEST = frozenset({_METHOD_NOT_FOUND, -32602, -32603})

_NO_SESSION = re.compile(
    rb"\b(?:no|not a|missing|unknown|invalid|expired|stale|unrecognized)(?: (?:or )?[a-z]+){0,2} (?:mcp[ -])?session\b"
    rb"|\bno (?:active )?transport (?:found )?for (?:this )?session(?:[ -]?id)?\b"
    rb"|\bsession(?:[ -]?id)?(?: header)?(?: '[^']{0,64}'| [0-9a-f-]{8,64})? "
    rb"(?:is |was |has |has been )?(?:not found|not known|unknown|invalid|missing|required|expired|terminated|closed|does not exist)\b"
)
"""How servers word in a 400 that they do not know the session. The word alone is no such thing: a tool may say it of its own
work, and what counts as forgotten is sent again even where it has side effects."""

_NOT_CARRIED_OUT = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""Statuses that say no before anything was done. Every other one leaves open what became of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happened:
    """Why a request has no answer: the reason, a code where it says more than the reason, and a text.

    `refused` is whether nobody took the request.
    """

    reason: UnreachableReason
    detail: str
    code: str | None = None
    status: int = HTTPStatus.BAD_GATEWAY
    refused: bool = False


class _Failed(Exception):
    def __init__(self, happened: _Happened):
        super().__init__(happened.detail)
        self.happened = happened


class HttpTransport(httpx2.AsyncBaseTransport):
    """One connection pool with the policy above. `received` counts the body bytes of every answer.

    `on_dropped` is told of each event that was dropped, too long or nobody's, `on_untaken` of each message of ours that
    nobody waits for and that the server did not take; whoever wants to know sets them.
    `last` is the newest fault. Where answers come on one stream (legacy SSE, `one_stream`) requests are posted beside it, see
    remit.upstream.posting; `stream_fault` says why that stream ended.
    """

    def __init__(
        self,
        pool: httpcore2.AsyncConnectionPool,
        *,
        authorization: Callable[[], str | None] = lambda: None,
        one_stream: bool = False,
        setting: str = "url",
    ):
        self._pool = pool
        self._setting = setting
        self._one_stream = one_stream
        self._authorization = authorization
        self.received = 0
        self.last: Fault | None = None
        self._stream_fault: Fault | None = None
        self._posts: Posts | None = None
        self._asides = Asides(self._posted, on_untaken=self._untaken)
        self.parking, self.resumable = Parking(), Resumable()
        self.event_room = _LEGACY_EVENT if one_stream else MAX_SSE_EVENT
        self.on_dropped: Callable[[str], None] = lambda _: None
        self.on_untaken: Callable[[str, Fault], None] = lambda _method, _why: None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Never raises for what the network or the server does."""
        await request.aread()
        message = outgoing(request)
        beside = self._posts or self._asides
        if message is not None and (beside is self._posts or message.number is None):
            await beside.take(request, message)
            return httpx2.Response(HTTPStatus.ACCEPTED)
        try:
            if message is not None and message.number is not None:
                return await self._asked(request, message.number)
            return await self._handle(request)
        except _Failed as failure:
            return self._explained(failure.happened)

    @property
    def stream_fault(self) -> Fault | None:
        """Why the newest stream of all answers ended before its time, None where it did not."""
        return self._stream_fault

    def end_stream(self, fault: Fault) -> None:
        """Keep why a stream ends here. One of several streams is not what the others wait for."""
        self.last = fault
        if self._one_stream:
            self._stream_fault = fault

    async def aclose(self) -> None:
        """Close the pool."""
        await self._asides.close()
        await self._pool.aclose()

    def _untaken(self, method: str, why: Fault) -> None:
        self.on_untaken(method, why)

    async def _posted(self, request: httpx2.Request) -> Fault | None:
        """Post a message whose answer is not read here. Why it was not taken, None where it was."""
        try:
            response = await self._handle(request)
        except _Failed as failure:
            self.last = _fault(failure.happened)
            return self.last
        await response.aclose()
        return None

    async def _asked(self, request: httpx2.Request, number: int | str) -> httpx2.Response:
        """The answer to a request, which may be given up on the way."""
        response = None
        with self._asides.request(number) as post:
            with post.scope:
                response = await self._handle(request, post)
            if response is None:
                raise _Failed(_lost("the request was given up"))
        return response

    async def _handle(self, request: httpx2.Request, post: OpenPost | None = None) -> httpx2.Response:
        if authorization := self._authorization():
            request.headers["authorization"] = authorization
        response = await self._send(request)
        try:
            return await self._judged(request, response, post)
        except httpcore2.TimeoutException as error:
            await response.aclose()
            raise _Failed(_Happened(reason=UnreachableReason.TIMEOUT, detail="the answer stalled")) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            await response.aclose()
            raise _Failed(_lost("the connection broke in the middle of an answer")) from error
        except BaseException:
            await response.aclose()
            raise

    async def _send(self, request: httpx2.Request) -> httpcore2.Response:
        raw = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=await request.aread(),
            extensions=_extensions(request),
        )
        try:
            return await self._pool.handle_async_request(raw)
        except AddressRefused as error:
            raise _Failed(_Happened(reason=UnreachableReason.REFUSED, detail=str(error), refused=True)) from error
        except (httpcore2.ConnectError, httpcore2.UnsupportedProtocol) as error:
            detail = f"cannot connect to {request.url.netloc.decode('ascii')}: {_reason(error)}"
            raise _Failed(_Happened(reason=UnreachableReason.REFUSED, detail=detail, refused=True)) from error
        except httpcore2.TimeoutException as error:
            detail = f"no answer from {request.url.host} in time"
            unsent = isinstance(error, httpcore2.ConnectTimeout | httpcore2.PoolTimeout)
            raise _Failed(_Happened(reason=UnreachableReason.TIMEOUT, detail=detail, refused=unsent)) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise _Failed(_lost("the connection broke before an answer")) from error

    async def _judged(
        self, request: httpx2.Request, response: httpcore2.Response, post: OpenPost | None
    ) -> httpx2.Response:
        headers = httpx2.Headers(response.headers)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        # Before all else: the SDK follows a redirect whatever its answer holds, an event stream for example.
        self._judge_redirect(request, response.status, headers)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise _Failed(_protocol("the answer is compressed, although no compression was accepted"))
        if post is not None and response.status == HTTPStatus.ACCEPTED:
            raise _Failed(_protocol("the server answered a request with 202 Accepted, which announces no answer"))
        if response.status < HTTPStatus.BAD_REQUEST and kind == "text/event-stream":
            if self._one_stream and request.method == "GET":
                self._posts, self._stream_fault = Posts(self._posted, on_untaken=self._untaken), None
            posts = self._posts if request.method == "GET" else None
            number = post.number if post else self.resumable.number(request.headers.get("last-event-id"))
            answers_one = request.method == "POST"
            stream = EventBody(self, response, answers_one=answers_one, posts=posts, number=number)
            if post is not None:
                post.begin(stream)
            return httpx2.Response(response.status, headers=headers, stream=stream)
        if self._one_stream and request.method == "POST" and response.status < HTTPStatus.MULTIPLE_CHOICES:
            return await self._receipt(response)
        body = await self._drained(response, headers)
        self._judge(request, response.status, kind, body, is_request=post is not None)
        if kind == "application/json":
            body = self._for_request(body, post)
        # The length of a drained body is known; chunked framing does not apply to it any more.
        headers.pop("transfer-encoding", None)
        headers["content-length"] = str(len(body))
        return httpx2.Response(response.status, headers=headers, content=body)

    def _for_request(self, body: bytes, post: OpenPost | None) -> bytes:
        """A body that the SDK can parse. Nothing else can come for the request, so what does not answer it fails it."""
        body, document = self.parking.read(body)
        if post is None or document is None:
            return body
        found = answer_in(document, post.number)
        if found is None:
            raise _Failed(_protocol("the answer is a message to nobody, or to another request"))
        return body if found is document else json.dumps(found).encode("utf-8")

    async def _receipt(self, response: httpcore2.Response) -> httpx2.Response:
        """The answer to a request whose outcome comes on the stream: whatever else it says is nobody's."""
        size = 0
        async for part in cast("AsyncIterator[bytes]", response.stream):
            size += len(part)
            if size > _EXCERPT:
                break
        self.received += size
        await response.aclose()
        return httpx2.Response(response.status)

    async def _drained(self, response: httpcore2.Response, headers: httpx2.Headers) -> bytes:
        parts: list[bytes] = []
        size = 0
        stated = headers.get("content-length", "")
        if stated.isdecimal() and stated.isascii():
            _check_body(int(stated), whole=True)
        async for part in cast("AsyncIterator[bytes]", response.stream):
            size += len(part)
            self.received += len(part)
            _check_body(size, whole=False)
            parts.append(part)
        await response.aclose()
        return b"".join(parts)

    def _judge(self, request: httpx2.Request, status: int, kind: str, body: bytes, *, is_request: bool) -> None:
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            detail = f"the server answered {status} {_phrase(status)}"
            raise _Failed(_Happened(reason=UnreachableReason.AUTH, detail=detail, status=status))
        if request.method != "POST":
            if self._one_stream and status >= HTTPStatus.MULTIPLE_CHOICES:
                raise _Failed(_refused(status, body))
            return
        code = _rpc_error_code(body) if kind == "application/json" and status >= HTTPStatus.BAD_REQUEST else None
        if self._is_within_session(request) and _forgets_session(status, code, body):
            detail = "the server does not know the session any more"
            raise _Failed(
                _Happened(
                    reason=UnreachableReason.PROTOCOL, detail=detail, code=SESSION_LOST, status=status, refused=True
                )
            )
        if status >= HTTPStatus.MULTIPLE_CHOICES and (code is None or not _is_rpc_error(body)):
            raise _Failed(_refused(status, body))
        if kind != "application/json" and (is_request or (status == HTTPStatus.OK and body)):
            detail = f"the answer is {kind or 'of no type'}, neither JSON nor an event stream"
            raise _Failed(_Happened(reason=UnreachableReason.PROTOCOL, detail=detail, code=HTTP_STATUS))

    def _is_within_session(self, request: httpx2.Request) -> bool:
        # The address that a legacy server wants its messages at is the session.
        if _SESSION_HEADER in request.headers:
            return True
        message = outgoing(request) if self._one_stream else None
        return message is not None and not message.begins_handshake

    def _judge_redirect(self, request: httpx2.Request, status: int, headers: httpx2.Headers) -> None:
        setting = None if self._one_stream and request.method == "POST" else self._setting
        if told := redirect_words(request.url, status, headers, setting=setting):
            raise _Failed(_Happened(reason=UnreachableReason.REFUSED, detail=told, code=REDIRECTED))

    def _explained(self, happened: _Happened) -> httpx2.Response:
        fault = _fault(happened)
        self.end_stream(fault)
        answer = JSONRPCError(jsonrpc="2.0", id=None, error=error_of_fault(fault))
        # The SDK reads an error without a number under an error status only.
        status = happened.status if happened.status >= HTTPStatus.BAD_REQUEST else HTTPStatus.BAD_GATEWAY
        return httpx2.Response(status, json=answer.model_dump(mode="json", by_alias=True))


class UpstreamHttp(httpx2.AsyncClient):
    """The client that `open_http` makes; `traffic` is its transport."""

    def __init__(self, traffic: HttpTransport, headers: Mapping[str, str]):
        super().__init__(
            transport=traffic,
            headers={"accept-encoding": "identity", "user-agent": "remit", **headers},
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None, pool=None),
            trust_env=False,
            follow_redirects=False,
            max_redirects=0,
        )
        self.traffic = traffic


def open_http(
    endpoint: ResolvedHttp,
    *,
    authorization: Callable[[], str | None] = lambda: None,
    resolver: Resolver = resolve,
    setting: str = "url",
) -> UpstreamHttp:
    """The HTTP client for a resolved connection; the caller closes it. `setting` is where mcp.yaml has its address.

    `authorization` gives the Authorization header of each request, so that a token can be renewed beside the request
    path. Reading has no time limit here: whoever waits has a deadline. Raises Fault for a URL or TLS file that cannot be
    used.
    """
    check_url(endpoint.url)
    pool = httpcore2.AsyncConnectionPool(
        ssl_context=_tls_context(endpoint.tls),
        max_connections=100,
        max_keepalive_connections=20,
        keepalive_expiry=5.0,
        network_backend=JudgingBackend(allow_private_network=endpoint.allow_private_network, resolver=resolver),
    )
    one_stream = endpoint.transport is Transport.SSE
    traffic = HttpTransport(pool, authorization=authorization, one_stream=one_stream, setting=setting)
    return UpstreamHttp(traffic, _static_headers(endpoint))


def _check_body(size: int, *, whole: bool) -> None:
    if size > MAX_BODY:
        detail = Overlong(size=size, limit=MAX_BODY, whole=whole).fault("an answer").message
        raise _Failed(_Happened(reason=UnreachableReason.TOO_LARGE, detail=detail))


def _static_headers(endpoint: ResolvedHttp) -> dict[str, str]:
    headers = dict(endpoint.headers)
    match endpoint.auth:
        case BearerAuth(token=token):
            headers["Authorization"] = f"Bearer {token}"
        case ClientCredentialsAuth() | PrivateKeyJwtAuth() | None:
            pass
    for name, value in headers.items():
        if not name.isascii() or any(character in value for character in "\r\n\0"):
            raise Fault(UnreachableReason.REFUSED, f"the value of header {name!r} holds a line break or NUL")
    return headers


def _tls_context(tls: Tls | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca_file if tls else None)
        if tls and tls.client_cert:
            context.load_cert_chain(tls.client_cert, tls.client_key)
    except (OSError, ValueError) as error:
        # ssl.SSLError is an OSError; none of them quotes what a file holds.
        raise Fault(
            UnreachableReason.REFUSED, f"the files under tls cannot be used ({type(error).__name__})"
        ) from error
    return context


def _extensions(request: httpx2.Request) -> dict[str, object]:
    extensions = dict(cast("Mapping[str, object]", request.extensions))
    if request.method == "DELETE":
        # Ending a session is a courtesy, so it has its own short time.
        extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), _DELETE_SECONDS)
    return extensions


def _rpc_error_code(body: bytes) -> int | None:
    try:
        code = json.loads(body)["error"]["code"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return code if isinstance(code, int) else None


def _is_rpc_error(body: bytes) -> bool:
    """Whether the SDK takes a body for the server's error: for one that only looks like it, it makes up an error itself."""
    try:
        return isinstance(jsonrpc_message_adapter.validate_json(body, by_name=False), JSONRPCError)
    except ValidationError:
        return False


def _forgets_session(status: int, code: int | None, body: bytes) -> bool:
    """Whether an answer within a session says that the session is gone: 404, and of some servers 400 with words to that effect."""
    if status == HTTPStatus.BAD_REQUEST:
        return code not in _ABOUT_THE_REQUEST and _NO_SESSION.search(body[:_EXCERPT].lower()) is not None
    return status == HTTPStatus.NOT_FOUND and code != _METHOD_NOT_FOUND


def _refused(status: int, body: bytes) -> _Happened:
    text = " ".join(body[:_EXCERPT].decode("utf-8", "replace").split())
    detail = f"the server answered {status} {_phrase(status)}" + (f": {text}" if text else "")
    return _Happened(reason=UnreachableReason.REFUSED, detail=detail, code=HTTP_STATUS, status=status)


def _protocol(detail: str) -> _Happened:
    return _Happened(reason=UnreachableReason.PROTOCOL, detail=detail)


def _lost(detail: str) -> _Happened:
    return _Happened(reason=UnreachableReason.PROTOCOL, detail=detail, code=SERVER_GONE)


def _fault(happened: _Happened) -> Fault:
    refused = happened.refused or happened.status in _NOT_CARRIED_OUT
    return Fault(happened.reason, happened.detail, code=happened.code, refused=refused)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(no standard status)"


def _reason(error: BaseException) -> str:
    """The innermost operating system's word for a failed connection; it names addresses and files, never contents."""
    found = str(error) or type(error).__name__
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            # asyncio writes the address into the word, as a Python tuple; the number has the system's own word.
            number = None if isinstance(cause, ssl.SSLError | socket.gaierror) else cause.errno
            found = cause.strerror
            if number is not None and number in errno.errorcode:
                found = os.strerror(number).lower()
        cause = cause.__cause__ or cause.__context__
    return found
