"""Inputs 13 to 21 of the catalogue: where a URL may lead, judged on the address that is connected to."""

import asyncio
import json
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from remit.core.identity import HttpEndpoint, InvalidUrl, Transport, identity_key_of, normalise_url
from remit.core.live import Unreachable, UnreachableReason
from remit.upstream.http_transport import UpstreamHttp, open_http
from remit.upstream.references import ResolvedHttp
from remit.upstream.url_policy import judge_address
from tests.cli.workspace import Workspace
from tests.security.hostile import codes
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.support import KeptEvents, client_for, listing_of

SECRET = "dummy-secret-value"
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
FILE = """\
version: 1
mcp:
  servers:
    - name: it
      url: URL
      headers: {Authorization: "Bearer ${env:IT_TOKEN}"}
      start_timeout_seconds: 5
assistants:
  - name: ops
    tools: [{include: [echo], server: it}]
"""


@contextmanager
def counting() -> Generator[tuple[int, list[object]]]:
    """A listener on loopback that counts who connects: its port and the peers."""
    peers: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, peer = listener.accept()
                except OSError:
                    return
                peers.append(peer)
                connection.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1], peers
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


class Answers:
    """A resolver that gives the next of its answers each time it is asked, and the last one from then on."""

    def __init__(self, *answers: Sequence[str]):
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def http_for(url: str, resolver: Answers, *, allowed: bool = False) -> UpstreamHttp:
    endpoint = ResolvedHttp(
        url=url,
        transport=Transport.STREAMABLE_HTTP,
        headers={"Authorization": SECRET},
        auth=None,
        tls=None,
        allow_private_network=allowed,
    )
    return open_http(endpoint, resolver=resolver)


def asked(url: str, resolver: Answers, times: int = 1) -> list[dict[str, Any]]:
    """What comes back for requests on one client, each over a connection of its own."""

    async def main() -> list[dict[str, Any]]:
        async with http_for(url, resolver) as http:
            return [(await http.post(url, json=REQUEST, headers={"connection": "close"})).json() for _ in range(times)]

    return asyncio.run(main())


def refusal(answer: dict[str, Any]) -> tuple[str, str]:
    mark = answer["error"]["data"]["remit"]
    return mark["reason"], mark["detail"]


@pytest.mark.parametrize(
    "host",
    [
        "127.1", "2130706433", "0x7f000001", "0x7f.1", "0", "0177.0.0.1", "127.0.0.1.", "1.2.3.4.5", "256.1.1.1",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::ffff:169.254.169.254]", "it.0x7f",
    ],
)  # fmt: skip
def test_input_13_a_number_that_no_reviewer_recognises_is_refused_in_the_file(here: Workspace, host: str):
    here.write(FILE.replace("URL", f"'http://{host}/mcp'"))
    ended = here.run("validate", "--format", "json")
    assert (ended.code, codes(ended)) == (1, [("invalid-url", 5)])
    assert "as in 127.0.0.1" in here.run("validate").err + here.run("validate").out


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://LOCALHOST/mcp", "http://localhost/mcp"),
        ("http://127\u30020\uff0e0\uff611/mcp", "http://127.0.0.1/mcp"),
        ("http://\uff11\uff12\uff17.0.0.1/mcp", "http://127.0.0.1/mcp"),
        ("http://\u2460\u2461\u2466.0.0.1/mcp", "http://127.0.0.1/mcp"),
        ("http://[0:0:0:0:0:0:0:1]/mcp", "http://[::1]/mcp"),
    ],
)
def test_input_13_a_disguised_loopback_is_shown_as_what_it_is(url: str, shown: str):
    assert normalise_url(url) == shown


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f000001", "localhost", "LOCALHOST", "localhost.", "a.localhost"]
)
def test_input_13_whatever_the_spelling_the_resolved_address_is_judged(host: str):
    with counting() as (port, peers):
        [answer] = asked(f"http://{host}:{port}/mcp", Answers(["10.0.0.7"]))
        assert peers == []
    assert refusal(answer)[0] == "refused"
    assert "leads to 10.0.0.7, which is in a private or reserved network" in refusal(answer)[1]


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "::7f00:1",
        "::ffff:0:7f00:1", "fec0::1", "2001:0:7f00:1::", "5f00::1", "4000::1", "::ffff:169.254.169.254",
    ],
)  # fmt: skip
def test_input_14_an_address_inside_of_another_is_found(address: str):
    """Python calls most of these global."""
    assert judge_address(address) is not None
    with counting() as (port, peers):
        [answer] = asked(f"http://it.example:{port}/mcp", Answers([address, "127.0.0.1"]))
        assert peers == []
    assert refusal(answer)[0] == "refused"


def test_input_14_a_tunnel_to_a_public_address_is_public():
    assert [judge_address(each) for each in ("64:ff9b::5db8:d822", "2002:5db8:d822::1", "2606:4700::1")] == [None] * 3


@pytest.mark.parametrize(
    "answers",
    [
        ["93.184.216.34", "10.0.0.7"],
        ["10.0.0.7", "93.184.216.34"],
        ["127.0.0.1"],
        ["93.184.216.34", "::1"],
        ["0.0.0.0"],
    ],
)
@pytest.mark.parametrize("host", ["it.example", "it.example."])
def test_input_15_one_private_answer_refuses_the_name_and_nobody_is_connected_to(host: str, answers: list[str]):
    with counting() as (port, peers):
        [answer] = asked(f"http://{host}:{port}/mcp", Answers(answers))
        assert peers == []
    assert refusal(answer)[0] == "refused"


def test_input_15_a_name_that_turns_private_after_the_check_is_connected_to_where_it_was_checked():
    with HttpServer() as it:
        resolver = Answers(["127.0.0.1"], ["10.0.0.7"])
        first, second = asked(f"http://rebound.localhost:{it.port}/mcp", resolver, times=2)
        assert [seen.headers["host"] for seen in it.seen] == [f"rebound.localhost:{it.port}"]
    assert ("result" in first or "error" in first, refusal(second)[0]) == (True, "refused")
    assert resolver.asked == ["rebound.localhost"] * 2


def test_input_15_a_name_that_cannot_be_looked_up_is_a_typed_refusal():
    for host in ("a..example", "x" * 70 + ".example", "no-such-name.invalid"):
        found = asyncio.run(listing_of(f"http://{host}/mcp", start_timeout_seconds=5))
        assert isinstance(found, Unreachable)
        assert found.reason is UnreachableReason.REFUSED


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_input_16_no_redirect_carries_the_credential_elsewhere(here: Workspace, status: int):
    with counting() as (port, peers):
        targets = (f"http://127.0.0.1:{port}/mcp", f"//localhost:{port}/", "http://169.254.169.254/latest", "file:///x")
        for target in targets:
            away = Raw(status, headers={"location": target})
            with HttpServer(answer_on={"server/discover": away, "initialize": away}) as it:
                here.write(FILE.replace("URL", it.url))
                ended = here.run("plan", IT_TOKEN=SECRET)
                assert (ended.code, "redirects are not followed" in ended.out) == (4, True), target
                assert SECRET not in ended.out + ended.err
        assert peers == []


def test_input_16_an_event_stream_may_not_name_another_origin_to_post_to():
    with counting() as (port, peers), HttpServer() as it:
        event = f"event: endpoint\ndata: http://127.0.0.1:{port}/messages\n\n".encode()
        it.answer_at["/stream"] = Raw(body=event, kind="text/event-stream")
        endpoint = HttpEndpoint(it.url.replace("/mcp", "/stream"), Transport.SSE)
        found = asyncio.run(listing_of(endpoint, start_timeout_seconds=1, headers={"Authorization": SECRET}))
        assert (isinstance(found, Unreachable), peers) == (True, [])


def test_input_16_no_proxy_of_the_environment_sees_a_request(here: Workspace):
    with counting() as (port, peers), HttpServer() as it:
        proxy = f"http://127.0.0.1:{port}"
        here.write(FILE.replace("URL", it.url))
        ended = here.run("plan", IT_TOKEN=SECRET, HTTP_PROXY=proxy, http_proxy=proxy, ALL_PROXY=proxy, all_proxy=proxy)
        assert (ended.code, peers, len(it.seen) > 0) == (0, [], True)


@pytest.mark.parametrize(
    "url",
    [
        "http://good.example\\\\@127.0.0.1/mcp", "http://me:dummy@127.0.0.1/mcp", "http://good.example@127.0.0.1/mcp",
        "http://good.example%40127.0.0.1/mcp", "http://good.example%2f@127.0.0.1/mcp", "http://[::1].good.example/mcp",
        "http://good.example:80:80/mcp", "http://good.example,127.0.0.1/mcp", "http://good.example;@127.0.0.1/mcp",
        "http://a..b/mcp", "http://.a/mcp", "http://*/mcp", "http://good.example\\t/mcp", "http://good.example\\r\\nX: y",
    ],
)  # fmt: skip
def test_input_17_a_host_that_two_readers_could_read_differently_is_refused(here: Workspace, url: str):
    here.write(FILE.replace("URL", f'"{url}"'))
    ended = here.run("validate", "--format", "json")
    assert (ended.code, codes(ended)[0][1]) == (1, 5)
    assert codes(ended)[0][0] in ("invalid-url", "unsafe-character", "inline-secret")
    assert "dummy" not in ended.out + here.run("validate").out + here.run("validate").err


def test_input_17_what_follows_a_hash_is_no_host():
    assert normalise_url("http://good.example#@127.0.0.1/") == "http://good.example/"


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "javascript:alert(1)", "unix:/run/x.sock", "//good.example/mcp", "http:///mcp", "http://",
        "http://good.example:0/mcp", "http://good.example:99999/mcp", "ftp://good.example/", "http:good.example",
        "http://good.example:-1/", "http://good.example:8_0/", "http://[fe80::1%lo]/", "http://[::1/", "http://[v1.x]/",
    ],
)  # fmt: skip
def test_input_18_what_names_no_http_endpoint_is_refused_at_its_place(here: Workspace, url: str):
    here.write(FILE.replace("URL", f"'{url}'"))
    ended = here.run("validate", "--format", "json")
    assert (ended.code, codes(ended)) == (1, [("invalid-url", 5)])
    with pytest.raises(InvalidUrl):
        normalise_url(url)


def test_input_19_every_spelling_of_one_endpoint_is_one_identity():
    spellings = (
        "https://good.example/mcp", "HTTPS://Good.Example/mcp", "https://good.example:443/mcp",
        "https://good.example:/mcp", "https://good.example/./x/../mcp", "https://good.example/%6dcp",
        "https://good.example/mcp?", "https://good.example/mcp#x", "https://\uff47ood.example/mcp",
    )  # fmt: skip
    keys = {identity_key_of(HttpEndpoint(normalise_url(each)), None) for each in spellings}
    assert len(keys) == 1
    loopback = {normalise_url(each) for each in ("http://[::1]/", "http://[0::1]/", "http://[0:0:0:0:0:0:0:1]:80/")}
    assert loopback == {"http://[::1]/"}


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:{port}/meta", "http://169.254.169.254/", "javascript:alert(1)", "$(touch {folder}/pwned)"],
)
def test_input_20_nothing_that_a_401_names_is_fetched_or_run(here: Workspace, target: str):
    with counting() as (port, peers):
        named = target.format(port=port, folder=here.folder)
        challenge = f'Bearer resource_metadata="{named}", authorization_uri="{named}"'
        refused = Raw(401, json.dumps({"authorization_url": named}).encode(), headers={"www-authenticate": challenge})
        with HttpServer(answer_on={"server/discover": refused, "initialize": refused}) as it:
            here.write(FILE.replace("URL", it.url))
            ended = here.run("plan", IT_TOKEN=SECRET)
            assert {seen.path for seen in it.seen} == {"/mcp"}
        assert (ended.code, peers, "auth" in ended.out) == (4, [], True)
    assert sorted(path.name for path in here.folder.iterdir()) == ["mcp.yaml"]
    assert SECRET not in ended.out + ended.err


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "100.64.0.1", "100.100.100.200", "fe80::1", "::", "0.0.0.0", "168.63.129.16", "fd00:ec2::254"],
)
def test_input_21_a_metadata_address_is_refused_before_anything_is_sent(here: Workspace, address: str):
    host = f"[{address}]" if ":" in address else address
    here.write(FILE.replace("URL", f"'http://{host}/latest/meta-data'"))
    ended = here.plan(IT_TOKEN=SECRET)
    [line] = ended.document["discovery"]
    assert (ended.code, line["reason"], line["detail"].startswith(f"{address} ")) == (4, "refused", True)
    assert line["detail"].endswith("; allow_private_network: true permits it")
    assert SECRET not in ended.out + ended.err


def test_input_21_a_zone_is_refused(here: Workspace):
    here.write(FILE.replace("URL", "'http://[fe80::1%25lo]/mcp'"))
    assert codes(here.run("validate", "--format", "json")) == [("invalid-url", 5)]
    assert judge_address("fe80::1%lo") is not None


@pytest.mark.parametrize(
    ("host", "shown"),
    [("\u0430pple.example", "xn--pple-43d.example"), ("\u0261ithub.example", "xn--ithub-qmc.example")],
)
def test_input_21_a_homoglyph_is_shown_as_punycode(here: Workspace, host: str, shown: str):
    token_url = f"https://{host}/token"
    auth = (
        f'auth: {{type: oauth_client_credentials, token_url: "{token_url}", client_id: a, client_secret: "${{env:S}}"}}'
    )
    text = FILE.replace("URL", f"https://{host}/mcp").replace(
        'headers: {Authorization: "Bearer ${env:IT_TOKEN}"}', auth
    )
    here.write(text)
    ended = here.run("plan")
    assert (ended.code, host in ended.out, f"https://{shown}/mcp" in ended.out) == (4, False, True)
    document = here.plan()
    assert (f"https://{shown}/token" in document.out, host in document.out) == (True, False)


def test_the_switch_and_nothing_else_permits_a_private_address(here: Workspace):
    with HttpServer() as it:
        resolver = Answers(["127.0.0.1"])

        async def main() -> tuple[bool, str]:
            allowed = http_for("http://it.example/mcp", resolver, allowed=True)
            client = client_for(f"http://it.example:{it.port}/mcp", sink=KeptEvents(), http=allowed)
            try:
                await client.connect()
                page = await client.list_page(timeout=5)
            finally:
                await client.close()
                await allowed.aclose()
            return "tools" in page, str(it.seen[0].headers["host"])

        assert asyncio.run(main()) == (True, f"it.example:{it.port}")
