"""A model behind an OpenAI-compatible endpoint, over HTTP.

Decides what is sent where and what each failure is called; the JSON is wire.py's. The API key comes from an environment
variable, goes into one header and nowhere else: not into an error, a log or a repr. So that it is not handed on, redirects
are not followed and clear text is for loopback only. Nothing is repeated: a completion costs money, the user decides.
"""

import asyncio
import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

import httpx2

from remit.core.canonical import JsonObject
from remit_ops_agent.model import Message, ModelFailed, Reply
from remit_ops_agent.wire import reply_of, request_body

__all__ = ["KEY_VARIABLE", "OpenAICompatible"]

KEY_VARIABLE = "OPENAI_API_KEY"
CONNECT_SECONDS = 10.0
TOTAL_SECONDS = 120.0
MAX_BODY_BYTES = 4_000_000
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAICompatible:
    """One model of one endpoint. Make it with `at`; `seconds` bound the whole of one request."""

    url: str
    model_name: str
    key_variable: str
    key: str = field(repr=False)
    loopback: bool
    seconds: float = TOTAL_SECONDS

    @classmethod
    def at(
        cls,
        base_url: str,
        model_name: str,
        environ: Mapping[str, str],
        key_variable: str = KEY_VARIABLE,
        seconds: float = TOTAL_SECONDS,
    ) -> Self:
        """The model at `{base_url}/chat/completions`; without the variable no key is sent, as local servers want it.

        Raises ModelFailed where the URL cannot be used or the key cannot be a header.
        """
        key = environ.get(key_variable, "").strip()
        if not all("!" <= character <= "~" for character in key):
            raise ModelFailed(
                f"the key in {key_variable} holds white space or other characters that no header can carry"
            )
        return cls(
            url=f"{base_url.rstrip('/')}/chat/completions",
            model_name=model_name,
            key_variable=key_variable,
            key=key,
            loopback=_judged(base_url),
            seconds=seconds,
        )

    async def complete(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> Reply:
        """Ask the endpoint. Raises ModelFailed with the reason and the way out."""
        content = json.dumps(request_body(self.model_name, messages, tools)).encode()
        status, headers, body = await self._post(content)
        if status != 200:
            raise ModelFailed(self._refused(status, headers, body))
        return reply_of(body)

    async def _post(self, content: bytes) -> tuple[int, httpx2.Headers, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        timeout = httpx2.Timeout(self.seconds, connect=CONNECT_SECONDS)
        try:
            async with (
                asyncio.timeout(self.seconds),
                # A proxy from the environment is for the world outside; it cannot reach this machine's loopback.
                httpx2.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=not self.loopback) as client,
                client.stream("POST", self.url, content=content, headers=headers) as response,
            ):
                return response.status_code, response.headers, await _bounded(response)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise ModelFailed(f"no answer from {self.url} in time ({type(error).__name__})") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            # The text of the error is left out: it can quote the request.
            raise ModelFailed(f"cannot talk to {self.url} ({type(error).__name__}); is it running there?") from None

    def _refused(self, status: int, headers: httpx2.Headers, body: bytes) -> str:
        """The words for an HTTP status. What a server says about a key is not shown: some quote parts of it."""
        where = f"{self.url} answered {status}"
        match status:
            case 401 | 403:
                found = "is not set" if not self.key else "holds a key that it does not accept"
                return f"{where}: not allowed; the environment variable {self.key_variable} {found}"
            case 429:
                after = headers.get("retry-after", "")
                pause = f" in {after} s" if after.isdecimal() and len(after) < 7 else " later"
                return f"{where}: too many requests or no quota left; try again{pause}"
            case 404:
                return f"{where}: no such address or model; check --base-url and --model-name {self.model_name}"
            case _ if 300 <= status < 400:
                return f"{where}: a redirect, which is not followed; give the final address"
            case _ if status >= 500:
                return f"{where}: the endpoint failed; try again later. {self._said(body)}".rstrip()
            case _:
                return f"{where}: it does not take the request. {self._said(body)}".rstrip()

    def _said(self, body: bytes) -> str:
        """The beginning of an error body on one line, without the key and without control characters."""
        text = body.decode("utf-8", "replace")
        if self.key:
            text = text.replace(self.key, "***")
        line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
        return f"It said: {line[:_SHOWN_CHARACTERS]}" if line else ""


async def _bounded(response: httpx2.Response) -> bytes:
    """The decoded body. Raises ModelFailed where it is larger than MAX_BODY_BYTES."""
    body = bytearray()
    async for part in response.aiter_bytes(65_536):
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise ModelFailed(f"the model's answer is larger than {MAX_BODY_BYTES:,} bytes")
    return bytes(body)


def _judged(base_url: str) -> bool:
    """Whether the URL is on loopback. Raises ModelFailed for one that is not http(s), or may not carry a key."""
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not host:
        raise ModelFailed("the base URL is no http(s) address, such as https://api.example.com/v1")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelFailed("the base URL has a user, a query or a fragment; give only scheme, host and path")
    loopback = host == "localhost" or _is_loopback(host)
    if parts.scheme == "http" and not loopback:
        raise ModelFailed(f"http to {host} would send the key in clear text; use https")
    return loopback


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
