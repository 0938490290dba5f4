"""When two spellings are one endpoint, what is no endpoint, and how ids come out of identities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.identity import (
    Endpoint,
    HttpEndpoint,
    InvalidUrl,
    ServerId,
    StdioEndpoint,
    Transport,
    canonical_id_of,
    display_endpoint,
    identity_key_of,
    normalise_url,
    origin_of,
    server_id_of,
)


@pytest.mark.parametrize(
    ("url", "normalised"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://Example.COM/mcp", "https://example.com/mcp"),
        ("https://example.com:443/mcp", "https://example.com/mcp"),
        ("http://example.com:80/mcp", "http://example.com/mcp"),
        ("https://example.com:/mcp", "https://example.com/mcp"),
        ("https://example.com:80/mcp", "https://example.com:80/mcp"),
        ("https://example.com/mcp#part", "https://example.com/mcp"),
        ("https://example.com/mcp?", "https://example.com/mcp"),
        ("https://example.com/mcp?b=1&a=%7e", "https://example.com/mcp?b=1&a=%7e"),
        ("https://example.com/a/./b/../mcp", "https://example.com/a/mcp"),
        ("https://example.com/../../mcp", "https://example.com/mcp"),
        ("https://example.com/a/..", "https://example.com/"),
        ("https://example.com/a/.", "https://example.com/a/"),
        ("https://example.com/a//b", "https://example.com/a//b"),
        ("https://example.com/mcp/", "https://example.com/mcp/"),
        ("https://example.com/%7emcp/%2d", "https://example.com/~mcp/-"),
        ("https://example.com/a%2fb", "https://example.com/a%2Fb"),
        ("https://example.com/a/%2e%2e/mcp", "https://example.com/mcp"),
        ("https://[::1]:8080/mcp", "https://[::1]:8080/mcp"),
        ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp"),
        ("https://[FE80::A]/", "https://[fe80::a]/"),
        ("https://Bücher.example/mcp", "https://xn--bcher-kva.example/mcp"),
        ("https://example.com/${env:TEAM}/../mcp", "https://example.com/${env:TEAM}/../mcp"),
        ("https://example.com/mcp?key=${env:KEY}", "https://example.com/mcp?key=${env:KEY}"),
    ],
)
def test_a_url_has_one_spelling(url: str, normalised: str) -> None:
    assert (normalise_url(url), normalise_url(normalised)) == (normalised, normalised)


LITERAL = "scheme, host and port are literal; references go into the path and the query"
ABSOLUTE = "the URL must be absolute and start with http:// or https://"
CREDENTIALS = "credentials do not belong into a URL; use headers or auth"
SPACES = "a URL holds no white space, control character or backslash"


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("", ABSOLUTE),
        ("example.com/mcp", ABSOLUTE),
        ("ftp://example.com/", ABSOLUTE),
        ("${env:SCHEME}://example.com/", ABSOLUTE),
        ("https://me@example.com/", CREDENTIALS),
        ("https://me:dummy@example.com/", CREDENTIALS),
        ("https://@example.com/", CREDENTIALS),
        ("https:///mcp", "the URL names no host"),
        ("https://:8080/mcp", "the URL names no host"),
        ("https://example.com:0/mcp", "port 0 cannot be connected to"),
        ("https://example.com:99999/mcp", "not a URL: Port out of range 0-65535"),
        ("https://[::1/mcp", "not a URL: Invalid IPv6 URL"),
        ("http://[::1].example.com/", "the host is not a valid domain name"),
        ("https://a..b.example.com/", "the host is not a valid domain name"),
        ("https://" + "\u00fc" * 80 + ".example/", "the host is not a valid domain name"),
        ("http://127.1/", "write the address as four decimal numbers, as in 127.0.0.1"),
        ("http://[::ffff:127.0.0.1]/", "write an IPv4-mapped address as IPv4, as in 127.0.0.1"),
        ("http://[fe80::1%25eth0]/", "an address with a zone belongs to one machine; leave out the zone"),
        ("http://[v1.a]/", "the host in brackets is no IPv6 address"),
        ("https://${env:HOST}/mcp", LITERAL),
        ("https://${env:HOST}:8080/mcp", LITERAL),
        ("https://example.com:${env:PORT}/mcp", LITERAL),
        ("https://{host}/mcp", LITERAL),
        ("https://example.com/a b", SPACES),
        ("https://example.com/a\tb", SPACES),
        ("https://example.com\\mcp", SPACES),
        (f"https://{'ü' * 70}.example/", "the host is not a valid domain name"),
    ],
)
def test_what_cannot_name_an_endpoint_is_refused_with_the_way_out(url: str, advice: str) -> None:
    with pytest.raises(InvalidUrl) as refused:
        normalise_url(url)
    assert str(refused.value) == advice


@given(st.text(alphabet="ab./%2eE7~-", max_size=30))
def test_normalising_twice_changes_nothing_more(path: str) -> None:
    once = normalise_url(f"https://example.com/{path}")
    assert normalise_url(once) == once


ONE = StdioEndpoint(("run", "a"))
HERE = HttpEndpoint("https://example.com/mcp")


@pytest.mark.parametrize(
    ("endpoint", "instance"),
    [
        (StdioEndpoint(("run", "a", "")), None),
        (StdioEndpoint(("run a",)), None),
        (StdioEndpoint(("run",)), None),
        (StdioEndpoint(("run",), "a"), None),
        (StdioEndpoint(("run", "a"), "sub"), None),
        (ONE, "prod"),
        (HERE, None),
        (HttpEndpoint(HERE.url, Transport.SSE), None),
        (HttpEndpoint("https://example.com/mcp?a=1"), None),
    ],
)
def test_everything_of_an_identity_counts(endpoint: Endpoint, instance: str | None) -> None:
    assert identity_key_of(endpoint, instance) != identity_key_of(ONE, None)
    assert identity_key_of(endpoint, "other") != identity_key_of(endpoint, instance)


def test_no_folder_and_no_instance_are_spelled_like_empty_ones() -> None:
    assert identity_key_of(StdioEndpoint(("run", "a"), ""), "") == identity_key_of(ONE, None)


def test_ids_come_out_of_identities_and_stay_what_they_are() -> None:
    key = identity_key_of(HERE, None)
    first = server_id_of("local", key, frozenset())
    assert (first, canonical_id_of(ServerId("mcp_x"), "search")) == ("mcp_er4zqt3mgcld7gar", "tool_jpvtncrh3l7h7ddl")
    assert server_id_of("local", key, frozenset({first})) not in (first, server_id_of("other", key, frozenset()))


@pytest.mark.parametrize(
    ("endpoint", "transport", "origin", "shown"),
    [
        (ONE, Transport.STDIO, "stdio:run", "run a"),
        (StdioEndpoint(("run", "a"), "sub"), Transport.STDIO, "stdio:run", "run a (in sub)"),
        (HERE, Transport.STREAMABLE_HTTP, "https://example.com", "https://example.com/mcp"),
        (HttpEndpoint("http://h:81/x?y", Transport.SSE), Transport.SSE, "http://h:81", "http://h:81/x?y"),
    ],
)
def test_an_endpoint_has_a_transport_an_origin_and_a_line(
    endpoint: Endpoint, transport: Transport, origin: str, shown: str
) -> None:
    assert (endpoint.transport, origin_of(endpoint), display_endpoint(endpoint)) == (transport, origin, shown)
