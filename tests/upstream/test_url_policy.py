import asyncio
from collections.abc import Sequence

import httpcore2
import pytest

from remit.upstream.faults import Fault
from remit.upstream.url_policy import AddressRefused, JudgingBackend, check_url, judge_address
from tests.servers.http_server import HttpServer

REFUSED = [
    "0.0.0.0", "::", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "fe80::1", "fe80::1%lo",
    "fd00::1", "fd00:ec2::254", "224.0.0.1", "240.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::", "ff02::1",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_inside_of_a_network_is_refused(address: str):
    assert judge_address(address) is not None


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "93.184.216.34", "2606:4700::1"]
)
def test_loopback_and_public_addresses_are_allowed(address: str):
    assert judge_address(address) is None


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "//it.example", "unix:/x", "https://", "http://u:p@it/", "javascript:1"]
)
def test_only_http_urls_with_a_host_are_taken(url: str):
    with pytest.raises(Fault, match="must start with http"):
        check_url(url)


def connect(host: str, answers: Sequence[str], port: int = 9, *, allowed: bool = False) -> tuple[str, int]:
    """Where the backend's connection goes."""
    asked: list[str] = []

    async def resolver(name: str, _: int) -> Sequence[str]:
        asked.append(name)
        return answers

    async def main() -> tuple[str, int]:
        backend = JudgingBackend(allow_private_network=allowed, resolver=resolver)
        stream = await backend.connect_tcp(host, port, timeout=2)
        try:
            return stream.get_extra_info("server_addr")[:2]
        finally:
            await stream.aclose()

    try:
        return asyncio.run(main())
    finally:
        assert asked == [host]


def test_the_judged_address_is_the_one_connected_to_and_the_name_is_asked_once():
    with HttpServer() as it:
        assert connect("mcp.localhost", ["127.0.0.1"], it.port) == ("127.0.0.1", it.port)


def test_one_private_answer_among_public_ones_refuses_the_name():
    with pytest.raises(AddressRefused, match=r"it\.example leads to 10\.0\.0\.7, which is in a private"):
        connect("it.example", ["93.184.216.34", "10.0.0.7"])


@pytest.mark.parametrize("host", ["it.example", "it.example.", "evillocalhost", "localhost.it.example", "1.it"])
def test_a_foreign_name_that_leads_to_loopback_is_refused(host: str):
    with pytest.raises(AddressRefused, match="is a loopback address"):
        connect(host, ["127.0.0.1"])


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.1", "0x7f000001", "2130706433", "::1"])
def test_a_local_name_or_number_may_be_loopback(host: str):
    with HttpServer() as it:
        assert connect(host, ["127.0.0.1"], it.port) == ("127.0.0.1", it.port)


def test_the_switch_permits_private_addresses():
    with HttpServer() as it:
        assert connect("it.example", ["127.0.0.1"], it.port, allowed=True) == ("127.0.0.1", it.port)


def test_the_next_judged_address_is_tried_where_one_does_not_answer():
    with HttpServer() as it:
        assert connect("localhost", ["::1", "127.0.0.1"], it.port) == ("127.0.0.1", it.port)


def test_a_name_without_an_address_cannot_be_connected_to():
    with pytest.raises(httpcore2.ConnectError, match="has no address"):
        connect("it.example", [])
