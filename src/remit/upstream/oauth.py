"""Access tokens for upstream servers, fetched beside the request path.

OAuth 2.0 client credentials (RFC 6749, 4.4), the client proven by its secret or by a signed JWT (RFC 7523). The SDK's
providers are not used: they hold a lock until the answer of the authorised request begins, so that calls on one
connection run one after the other (measured with 2.3.0: four calls of one second took four seconds). Here a token is
fetched before a request needs it, kept until shortly before it expires, and put into the Authorization header.
"""

import asyncio
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx2
import jwt

from remit.core.desired import BearerAuth, ClientCredentialsAuth, PrivateKeyJwtAuth
from remit.core.identity import Transport
from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault
from remit.upstream.http_transport import open_http
from remit.upstream.redaction import Redactor
from remit.upstream.references import ResolvedHttp

__all__ = ["TokenSource", "token_source_for"]

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_MARGIN_SECONDS = 30.0
_DEFAULT_LIFETIME = 300.0
_ASSERTION_LIFETIME = timedelta(minutes=2)


class TokenSource:
    """The access token of one connection. `header` gives what is cached, `refresh` fetches when it runs out."""

    def __init__(
        self,
        endpoint: ResolvedHttp,
        auth: ClientCredentialsAuth | PrivateKeyJwtAuth,
        *,
        redactor: Redactor,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ):
        self._endpoint = ResolvedHttp(
            url=auth.token_url,
            # Whatever the server speaks: of what is posted to legacy SSE the answer is not read, as it comes on the stream.
            transport=Transport.STREAMABLE_HTTP,
            headers={},
            auth=None,
            tls=endpoint.tls,
            allow_private_network=endpoint.allow_private_network,
        )
        self._auth = auth
        self._redactor = redactor
        self._clock = clock
        self._new_id = new_id
        self._lock = asyncio.Lock()
        self._header: str | None = None
        self._good_until = 0.0

    def header(self) -> str | None:
        """The Authorization header, None before the first token."""
        return self._header

    async def refresh(self, *, seconds: float = 30.0) -> None:
        """Fetch a token unless the cached one is good for half a minute more.

        Raises Fault: `auth` where the token endpoint refuses, otherwise what kept it from answering within `seconds`.
        """
        if time.monotonic() < self._good_until:
            return
        async with self._lock:
            if time.monotonic() < self._good_until:
                return
            try:
                async with asyncio.timeout(max(seconds, 0)):
                    await self._fetch()
            except TimeoutError as error:
                raise Fault(UnreachableReason.TIMEOUT, "the token endpoint did not answer in time") from error

    async def _fetch(self) -> None:
        form, headers = self._request()
        async with open_http(self._endpoint, setting="auth.token_url") as http:
            response = await http.post(self._auth.token_url, data=form, headers=headers)
            if response.status_code != HTTPStatus.OK and http.traffic.last is not None:
                last = http.traffic.last
                auth = response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
                reason = UnreachableReason.AUTH if auth else last.reason
                raise Fault(reason, self._redactor.text(f"no token: {last.message}"))
        token, lifetime = _token_of(response)
        self._redactor.add(token)
        self._header = f"Bearer {token}"
        self._good_until = time.monotonic() + max(lifetime - _MARGIN_SECONDS, lifetime / 2)

    def _request(self) -> tuple[dict[str, str], dict[str, str]]:
        form = {"grant_type": "client_credentials"}
        headers = {"accept": "application/json"}
        if self._auth.scopes:
            form["scope"] = " ".join(self._auth.scopes)
        match self._auth:
            case ClientCredentialsAuth(client_id=client_id, client_secret=secret):
                # RFC 6749, 2.3.1: both are form-encoded before they become Basic credentials.
                pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
                headers["authorization"] = "Basic " + b64encode(pair.encode("utf-8")).decode("ascii")
            case PrivateKeyJwtAuth() as auth:
                form |= {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": self._assertion(auth)}
        return form, headers

    def _assertion(self, auth: PrivateKeyJwtAuth) -> str:
        now = self._clock()
        claims = {
            "iss": auth.client_id,
            "sub": auth.client_id,
            "aud": auth.token_url,
            "jti": self._new_id(),
            "iat": int(now.timestamp()),
            "exp": int((now + _ASSERTION_LIFETIME).timestamp()),
        }
        headers = {"kid": auth.key_id} if auth.key_id else None
        try:
            return jwt.encode(claims, auth.private_key, algorithm=auth.algorithm, headers=headers)
        except (jwt.PyJWTError, ValueError, TypeError, NotImplementedError) as error:
            # The library's text may quote the key.
            detail = f"auth.private_key cannot sign with {auth.algorithm} ({type(error).__name__})"
            raise Fault(UnreachableReason.AUTH, detail) from None


def token_source_for(
    endpoint: ResolvedHttp, *, redactor: Redactor, clock: Callable[[], datetime], new_id: Callable[[], str]
) -> TokenSource | None:
    """The token source of an endpoint, or None where its credentials need no token endpoint."""
    match endpoint.auth:
        case ClientCredentialsAuth() | PrivateKeyJwtAuth() as auth:
            return TokenSource(endpoint, auth, redactor=redactor, clock=clock, new_id=new_id)
        case BearerAuth() | None:
            return None


def _token_of(response: httpx2.Response) -> tuple[str, float]:
    try:
        answer: object = response.json()
    except ValueError:
        answer = None
    facts: Mapping[str, Any] = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    token, lifetime = facts.get("access_token"), facts.get("expires_in", _DEFAULT_LIFETIME)
    if response.status_code != HTTPStatus.OK or not isinstance(token, str) or not token:
        raise Fault(UnreachableReason.AUTH, f"the token endpoint answered {response.status_code} without a token")
    return token, float(lifetime) if isinstance(lifetime, int | float) and lifetime > 0 else _DEFAULT_LIFETIME
