"""Who a server and a tool are: endpoints, identity keys, stable ids.

Decides when two spellings are one endpoint (DESIGN.md section 4) and how ids come out of identities. It does not decide
which declared server is which registration (core/matching.py) and resolves no reference: an endpoint is kept as written.
Pure.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import NewType, TypeAlias, assert_never
from urllib.parse import SplitResult, urlsplit

from remit.core.canonical import base32_of, sha256_hex

__all__ = [
    "CanonicalId",
    "Endpoint",
    "HttpEndpoint",
    "InvalidUrl",
    "ProviderName",
    "RemoteName",
    "ServerId",
    "StdioEndpoint",
    "Transport",
    "canonical_id_of",
    "display_endpoint",
    "identity_key_of",
    "normalise_url",
    "origin_of",
    "server_id_of",
]

ServerId = NewType("ServerId", str)
RemoteName = NewType("RemoteName", str)
CanonicalId = NewType("CanonicalId", str)
ProviderName = NewType("ProviderName", str)


class Transport(StrEnum):
    """How a server is reached."""

    STDIO = "stdio"
    STREAMABLE_HTTP = "streamable_http"
    SSE = "sse"


@dataclass(frozen=True, slots=True)
class StdioEndpoint:
    """A server that is a child process: its command and working directory as written, references unresolved."""

    command: tuple[str, ...]
    cwd: str | None = None

    @property
    def transport(self) -> Transport:
        """Always stdio."""
        return Transport.STDIO


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A server behind a URL, normalised by `normalise_url`; references in path and query unresolved."""

    url: str
    transport: Transport = Transport.STREAMABLE_HTTP


Endpoint: TypeAlias = StdioEndpoint | HttpEndpoint


class InvalidUrl(ValueError):
    """A URL that cannot name an MCP endpoint; the text says what to write instead."""


_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,254}}\Z){_LABEL}(?:\.{_LABEL})*\.?")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")
_AUTHORITY = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*)(?::[0-9]*)?")


def normalise_url(url: str) -> str:
    """The one spelling of an endpoint's URL.

    Scheme and host lower case, default port dropped, dot segments and percent-encoding normalised, no fragment, an empty
    query dropped, any other query kept as written. A path that holds a reference is kept as written, as its value is not
    known here. Raises InvalidUrl for another scheme, userinfo, a missing host, a bad port, white space or a backslash,
    and for an address that a reader would not recognise: `127.1`, `2130706433`, `0x7f000001`, `[::ffff:127.0.0.1]`.
    """
    if _FORBIDDEN.search(url):
        raise InvalidUrl("a URL holds no white space, control character or backslash")
    try:
        parts = urlsplit(url)
        port = None if "$" in parts.netloc else parts.port
    except ValueError as error:
        raise InvalidUrl(f"not a URL: {error}") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise InvalidUrl("the URL must be absolute and start with http:// or https://")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise InvalidUrl("credentials do not belong into a URL; use headers or auth")
    host = _host(parts)
    if port == 0:
        raise InvalidUrl("port 0 cannot be connected to")
    authority = host if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{host}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{authority}{_path(parts.path)}{query}"


def _host(parts: SplitResult) -> str:
    host = parts.hostname
    if not host:
        raise InvalidUrl("the URL names no host")
    if "$" in parts.netloc or "{" in parts.netloc:
        raise InvalidUrl("scheme, host and port are literal; references go into the path and the query")
    # What stands around a bracket is dropped by the standard library and not by everybody: http://[::1].example.com/
    if not _AUTHORITY.fullmatch(parts.netloc):
        raise InvalidUrl("the host is not a valid domain name")
    if "[" in parts.netloc:
        return f"[{_ipv6(host)}]"
    try:
        name = host.encode("idna").decode("ascii").lower() if not host.isascii() else host
    except UnicodeError as error:
        raise InvalidUrl("the host is not a valid domain name") from error
    if _NUMBER.fullmatch(name):
        return _ipv4(name)
    # Stricter than URLs are, so that every reader of the URL finds the same host in it: no `%40`, no comma, no `a..b`.
    if not _NAME.fullmatch(name):
        raise InvalidUrl("the host is not a valid domain name")
    return name


def _ipv4(name: str) -> str:
    try:
        return str(IPv4Address(name))
    except ValueError:
        # The system's resolver also takes one to four numbers in any base, which nobody recognises in a review.
        raise InvalidUrl("write the address as four decimal numbers, as in 127.0.0.1") from None


def _ipv6(host: str) -> str:
    try:
        address = IPv6Address(host)
    except ValueError:
        raise InvalidUrl("the host in brackets is no IPv6 address") from None
    if address.scope_id is not None:
        raise InvalidUrl("an address with a zone belongs to one machine; leave out the zone")
    if address.ipv4_mapped is not None:
        raise InvalidUrl("write an IPv4-mapped address as IPv4, as in 127.0.0.1")
    return str(address)


def _path(path: str) -> str:
    if not path:
        return "/"
    if "$" in path:
        return path
    return _without_dots(re.sub(r"%[0-9A-Fa-f]{2}", lambda match: _percent(match.group()), path))


def _without_dots(path: str) -> str:
    """Dot segments resolved as RFC 3986 section 5.2.4 says; posixpath would also merge `//`, which names another path."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    closing = [""] if segments[-1] in (".", "..") else []
    return "/" + "/".join([*kept, *closing])


def _percent(triplet: str) -> str:
    character = chr(int(triplet[1:], 16))
    return character if character in _UNRESERVED else triplet.upper()


def identity_key_of(endpoint: Endpoint, instance: str | None) -> str:
    """Hex sha256 over transport, endpoint and instance: two declarations with one key are one server."""
    match endpoint:
        case StdioEndpoint(command=command, cwd=cwd):
            return sha256_hex(Transport.STDIO, *command, cwd or "", instance or "")
        case HttpEndpoint(url=url, transport=transport):
            return sha256_hex(transport, url, instance or "")
        case _:
            assert_never(endpoint)


def server_id_of(owner: str, identity_key: str, taken: frozenset[ServerId]) -> ServerId:
    """The id of a new registration: the first number whose id was never used, tombstones included."""
    number = 0
    while (candidate := ServerId("mcp_" + base32_of(16, owner, identity_key, str(number)))) in taken:
        number += 1
    return candidate


def canonical_id_of(server_id: ServerId, remote_name: str) -> CanonicalId:
    """The identity of a tool at its first attachment; stored from then on, never derived again."""
    return CanonicalId("tool_" + base32_of(16, "tool-v1", server_id, remote_name))


def origin_of(endpoint: Endpoint) -> str:
    """What must stay the same for a changed endpoint to be the same server: scheme, host and port, or `command[0]`."""
    match endpoint:
        case StdioEndpoint(command=command):
            return f"stdio:{command[0]}"
        case HttpEndpoint(url=url):
            parts = urlsplit(url)
            return f"{parts.scheme}://{parts.netloc}"
        case _:
            assert_never(endpoint)


def display_endpoint(endpoint: Endpoint) -> str:
    """The endpoint in one line, as written: what a reviewer compares."""
    match endpoint:
        case StdioEndpoint(command=command, cwd=cwd):
            return " ".join(command) + (f" (in {cwd})" if cwd else "")
        case HttpEndpoint(url=url):
            return url
        case _:
            assert_never(endpoint)
