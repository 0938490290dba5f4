"""Which addresses a server's URL may lead to, judged on the address that is then connected to.

http and https only; loopback is allowed; other private, link-local, metadata, shared and unspecified addresses only with
`allow_private_network: true`. A name is resolved once, every answer is judged, and the connection goes to a judged
address, so that a second look-up cannot name another one (DNS rebinding). Addresses that carry another one inside
(IPv4-mapped, NAT64, 6to4) are judged by that one; of what else IPv6 has, only global unicast is taken, as the standard
library calls the forgotten forms (site-local, IPv4-compatible, local NAT64) global. Source: DESIGN.md section 9.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias, cast
from urllib.parse import urlsplit

import httpcore2

from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault

__all__ = ["AddressRefused", "JudgingBackend", "Resolver", "check_url", "judge_address", "resolve"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to the addresses of the host, as text."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_PLATFORM = ipaddress.IPv4Address("168.63.129.16")
"""Azure's address for what a virtual machine may ask of its host: public by its number, metadata by what it answers."""

_NUMERIC = re.compile(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)$|:")


class AddressRefused(httpcore2.ConnectError):
    """The policy refuses an address; the text names it and the way through."""


def check_url(url: str) -> None:
    """Raises Fault `refused` for a URL that is not http(s) with a host."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        usable = False
    if not usable:
        raise Fault(UnreachableReason.REFUSED, "the URL must start with http:// or https:// and name a host")


def judge_address(text: str, *, loopback: bool = True) -> str | None:
    """Why an address may not be connected to, or None. `loopback` says whether loopback is fine."""
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = _inner(address)
    if inner is not None:
        # A mapped address is the same host; a tunnelled loopback is somebody else's, so it is never fine.
        mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
        return judge_address(str(inner), loopback=loopback and mapped)
    if address.is_loopback:
        return None if loopback else "is a loopback address"
    for kind, holds in (
        ("is the unspecified address", address.is_unspecified),
        ("is link-local (where clouds keep their metadata)", address.is_link_local),
        ("is a multicast address", address.is_multicast),
        ("answers with a cloud's metadata", address == _PLATFORM),
        ("is in a private or reserved network", not _is_public(address)),
    ):
        if holds:
            return kind
    return None


def _is_public(address: Address) -> bool:
    return address.is_global and (isinstance(address, ipaddress.IPv4Address) or address in _GLOBAL_UNICAST)


def _inner(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


async def resolve(host: str, port: int) -> Sequence[str]:
    """The operating system's addresses of a host, in its order."""
    answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


class JudgingBackend(httpcore2.AsyncNetworkBackend):
    """Connects to judged addresses only. TLS and the Host header keep the name, as they are made above this layer."""

    def __init__(self, *, allow_private_network: bool, resolver: Resolver = resolve):
        self._allowed = allow_private_network
        self._resolver = resolver
        # A fallback class without constructor stands under the same name for type checkers.
        self._inner = cast("Callable[[], httpcore2.AsyncNetworkBackend]", httpcore2.AnyIOBackend)()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Resolve once, judge every answer, connect to the first judged address that accepts."""
        addresses = await self._judged(host, port)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore2.ConnectError(f"{host} has no address")

    async def _judged(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            # UnicodeError: a label that is empty or too long never reaches the resolver.
            raise httpcore2.ConnectError(f"the name {host} cannot be resolved") from error
        if not self._allowed:
            for address in addresses:
                if why := judge_address(address, loopback=_may_be_loopback(host)):
                    where = host if host == address else f"{host} leads to {address}, which"
                    raise AddressRefused(f"{where} {why}; allow_private_network: true permits it")
        return addresses


def _may_be_loopback(host: str) -> bool:
    """A foreign name that leads to loopback is how a rebinding attack looks; only local names and numbers may."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost") or bool(_NUMERIC.search(name))
