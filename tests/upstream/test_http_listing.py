import asyncio
import gzip
import json
import re
import time
from collections.abc import Mapping

import pytest

from remit.core.desired import BearerAuth
from remit.core.identity import HttpEndpoint, Transport
from remit.core.live import Era, Listed, QuarantineReason, Unreachable, UnreachableReason
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.support import SECRET, KeptEvents, listing_of, names

PAGES = ["page sent", "page received"]
LEGACY = ["handshake sent", "handshake received", "handshake sent", "handshake local"]
TOOLS = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(5)]


@pytest.mark.parametrize("sse", [False, True], ids=["json answers", "event streams"])
def test_a_modern_server_is_listed_page_by_page_in_the_documented_sequence(sse: bool):
    sink = KeptEvents()
    with HttpServer(era="modern", tools=TOOLS, page_size=2, sse=sse) as it:
        listed = asyncio.run(listing_of(it.url, sink=sink))
    assert names(listed) == ["tool_0", "tool_1", "tool_2", "tool_3", "tool_4"]
    assert isinstance(listed, Listed)
    assert (listed.era, listed.protocol_version, listed.server_info) == (Era.MODERN, "2026-07-28", None)
    assert sink.sequence() == [
        "open local", "probe sent", "probe received", "handshake local", *PAGES * 3, "close local",
    ]  # fmt: skip
    assert it.methods() == ["server/discover", "tools/list", "tools/list", "tools/list"]


@pytest.mark.parametrize("sse", [False, True], ids=["json answers", "event streams"])
def test_a_legacy_server_is_initialised_after_the_probe_and_its_session_is_ended(sse: bool):
    sink = KeptEvents()
    with HttpServer(era="legacy", sessions=True, sse=sse) as it:
        listed = asyncio.run(listing_of(it.url, sink=sink))
    assert names(listed) == ["echo"]
    assert sink.sequence() == [
        "open local", "probe sent", "probe received", "fallback local", *LEGACY, *PAGES, "close local",
    ]  # fmt: skip
    assert it.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert it.seen[-1].verb == "DELETE"


@pytest.mark.parametrize("status", [400, 404, 405, 406, 500])
def test_a_legacy_server_may_refuse_the_probe_with_any_status(status: int):
    with HttpServer(era="legacy", answer_on={"server/discover": Raw(status, b"what?", "text/plain")}) as it:
        assert names(asyncio.run(listing_of(it.url))) == ["echo"]


def test_a_legacy_sse_server_is_listed_without_a_probe():
    sink = KeptEvents()
    with HttpServer(tools=TOOLS, page_size=3) as it:
        endpoint = HttpEndpoint(it.url.replace("/mcp", "/sse"), Transport.SSE)
        listed = asyncio.run(listing_of(endpoint, sink=sink))
    assert names(listed) == ["tool_0", "tool_1", "tool_2", "tool_3", "tool_4"]
    assert sink.sequence() == ["open local", *LEGACY, *PAGES * 2, "close local"]


@pytest.mark.parametrize(
    ("path", "reason", "detail"),
    [
        ("/no-stream", UnreachableReason.REFUSED, "the server answered 405 Method Not Allowed"),
        ("/away", UnreachableReason.REFUSED, "the server redirects (302) to https://it.example"),
    ],
)
def test_a_legacy_sse_server_that_gives_no_stream_is_explained(path: str, reason: UnreachableReason, detail: str):
    with HttpServer() as it:
        it.answer_at["/away"] = Raw(302, headers={"location": "https://it.example/sse"})
        endpoint = HttpEndpoint(it.url.replace("/mcp", path), Transport.SSE)
        found = asyncio.run(listing_of(endpoint))
    assert isinstance(found, Unreachable)
    assert (found.reason, found.detail[: len(detail)]) == (reason, detail)


def test_headers_reach_the_server_exactly_and_are_masked_in_every_event():
    sink = KeptEvents()
    with HttpServer(bearer=SECRET) as it:
        listed = asyncio.run(
            listing_of(
                f"{it.url}?key=${{env:IT}}",
                sink=sink,
                environ={"IT": SECRET},
                headers={"Authorization": "Bearer ${env:IT}", "X-Team": "ops"},
            )
        )
    assert names(listed) == ["echo"]
    assert {seen.headers["authorization"] for seen in it.seen} == {f"Bearer {SECRET}"}
    assert {seen.headers["x-team"] for seen in it.seen} == {"ops"}
    assert {seen.headers["accept-encoding"] for seen in it.seen} == {"identity"}
    assert {seen.path for seen in it.seen} == {f"/mcp?key={SECRET}"}
    assert SECRET not in sink.text()


def test_a_bearer_token_is_sent_and_a_wrong_one_is_reported_as_auth():
    with HttpServer(bearer=SECRET) as it:
        listed = asyncio.run(listing_of(it.url, auth=BearerAuth(token="${env:IT}"), environ={"IT": SECRET}))
        refused = asyncio.run(listing_of(it.url, auth=BearerAuth(token="${env:IT}"), environ={"IT": "dummy-other"}))
    assert names(listed) == ["echo"]
    assert refused == Unreachable(reason=UnreachableReason.AUTH, detail="the server answered 401 Unauthorized")
    assert it.methods().count("initialize") == 0


def test_a_secret_in_an_error_page_is_masked():
    page = Raw(500, f"no such key: {SECRET}".encode(), "text/plain")
    with HttpServer(answer_on={"tools/list": page}) as it:
        found = asyncio.run(listing_of(it.url, headers={"X-Key": "${env:IT}"}, environ={"IT": SECRET}))
    assert found == Unreachable(
        reason=UnreachableReason.REFUSED,
        detail="the server answered 500 Internal Server Error: no such key: ***",
    )


def test_a_port_where_nobody_listens_is_refused_without_a_fallback():
    sink = KeptEvents()
    with HttpServer() as it:
        url = it.url
    found = asyncio.run(listing_of(url, sink=sink))
    address = url.removeprefix("http://").partition("/")[0]
    assert found == Unreachable(
        reason=UnreachableReason.REFUSED, detail=f"cannot connect to {address}: connection refused"
    )
    assert sink.sequence() == ["open local", "probe sent", "probe received", "close local"]


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/mcp", "http://169.254.169.254/mcp", "http://[fe80::1]/mcp", "http://0/mcp"]
)
def test_a_private_address_is_refused_before_anything_is_sent(url: str):
    began = time.monotonic()
    found = asyncio.run(listing_of(url))
    assert isinstance(found, Unreachable)
    assert found.reason is UnreachableReason.REFUSED
    assert found.detail.endswith("allow_private_network: true permits it")
    assert time.monotonic() - began < 2


def test_a_redirect_to_another_origin_is_not_followed_and_its_target_never_sees_the_headers():
    with HttpServer() as elsewhere:
        away = Raw(307, headers={"location": elsewhere.url})
        with HttpServer(answer_on={"server/discover": away, "initialize": away}) as it:
            found = asyncio.run(listing_of(it.url, headers={"Authorization": "Bearer dummy"}))
        assert found == Unreachable(
            reason=UnreachableReason.REFUSED,
            detail=f"the server redirects (307) to {elsewhere.url}; redirects are not followed: if that is the server you mean, "
            f"write `url: {elsewhere.url}` into mcp.yaml",
        )
        assert elsewhere.seen == []


def test_a_silent_server_is_a_timeout():
    began = time.monotonic()
    with HttpServer(stall_on=["server/discover", "initialize"]) as it:
        found = asyncio.run(listing_of(it.url, start_timeout_seconds=0.6))
        assert time.monotonic() - began < 3
    assert isinstance(found, Unreachable)
    assert found.reason is UnreachableReason.TIMEOUT


def test_a_slow_page_is_a_timeout():
    with HttpServer(stall_on=["tools/list"]) as it:
        found = asyncio.run(listing_of(it.url, timeout_seconds=0.3))
    assert found == Unreachable(
        reason=UnreachableReason.TIMEOUT,
        detail="did not answer within timeout_seconds: 0.3 (tools/list took longer than 0.3 s)",
    )


def test_html_at_200_is_a_protocol_fault():
    page = Raw(200, b"<html>log in</html>", "text/html")
    with HttpServer(answer_on={"tools/list": page}) as it:
        found = asyncio.run(listing_of(it.url))
    assert found == Unreachable(
        reason=UnreachableReason.PROTOCOL, detail="the answer is text/html, neither JSON nor an event stream"
    )


def test_a_compressed_answer_is_not_unpacked():
    bomb = Raw(200, gzip.compress(b"0" * 10_000_000), headers={"content-encoding": "gzip"})
    with HttpServer(answer_on={"tools/list": bomb}) as it:
        found = asyncio.run(listing_of(it.url))
    assert found == Unreachable(
        reason=UnreachableReason.PROTOCOL,
        detail="the answer is compressed, although no compression was accepted",
    )


def test_an_answer_that_is_cut_off_is_a_protocol_fault():
    cut = Raw(200, b'{"jsonrpc": "2.0", "id": 1, "resu', claimed=1000)
    with HttpServer(answer_on={"tools/list": cut}) as it:
        found = asyncio.run(listing_of(it.url))
    assert found == Unreachable(
        reason=UnreachableReason.PROTOCOL, detail="the connection broke in the middle of an answer"
    )


@pytest.mark.parametrize(
    ("kind", "start", "claimed", "detail"),
    [
        ("application/json", b"", 80_000_000, r"an answer has 80000000 bytes; the limit is 67108864"),
        ("application/json", b"", -1, r"an answer has at least 671\d{5} bytes; the limit is 67108864"),
        ("text/event-stream", b"data: ", -1, r"an event has at least 671\d{5} bytes; the limit is 16777216"),
    ],
    ids=["JSON of a stated length", "JSON of no stated length", "an event that does not end"],
)
def test_an_answer_over_the_cap_is_too_large(kind: str, start: bytes, claimed: int, detail: str):
    huge = Raw(200, start + b'{"x": ["' + b"x" * 70_000_000, kind, claimed=claimed)
    with HttpServer(answer_on={"tools/list": huge}) as it:
        found = asyncio.run(listing_of(it.url))
    assert isinstance(found, Unreachable)
    assert (found.reason, re.fullmatch(detail, found.detail) is not None) == (UnreachableReason.TOO_LARGE, True), found


def test_a_tool_that_the_sdk_cannot_parse_costs_only_itself():
    deep: dict[str, object] = {"type": "object"}
    for _ in range(300):
        deep = {"properties": {"a": deep}, "type": "object"}
    tools: list[Mapping[str, object]] = [
        *TOOLS,
        {"name": "deep", "inputSchema": deep},
        {"name": "half", "description": "\ud800", "inputSchema": {}},
    ]
    for sse in (False, True):
        with HttpServer(tools=tools, sse=sse) as it:
            listed = asyncio.run(listing_of(it.url))
        assert isinstance(listed, Listed), listed
        assert [tool.remote_name for tool in listed.tools] == [tool["name"] for tool in TOOLS]
        assert [(bad.remote_name, bad.reason) for bad in listed.quarantined] == [
            ("deep", QuarantineReason.SCHEMA_TOO_LARGE),
            ("half", QuarantineReason.MALFORMED),
        ]


def test_a_name_is_connected_to_under_its_own_host_header():
    with HttpServer() as it:
        assert names(asyncio.run(listing_of(f"http://localhost:{it.port}/mcp"))) == ["echo"]
        assert {seen.headers["host"] for seen in it.seen} == {f"localhost:{it.port}"}


def test_an_unset_variable_in_a_header_connects_nowhere():
    with HttpServer() as it:
        found = asyncio.run(listing_of(it.url, headers={"Authorization": "Bearer ${env:NOT_THERE}"}))
        assert it.seen == []
    assert found == Unreachable(
        reason=UnreachableReason.SECRET_UNRESOLVED,
        detail="headers.Authorization: the environment variable NOT_THERE is not set",
    )


def test_a_page_is_masked_before_it_is_judged():
    tools = [{"name": "echo", "description": f"uses {SECRET}", "inputSchema": {"type": "object", "title": SECRET}}]
    with HttpServer(tools=tools) as it:
        listed = asyncio.run(listing_of(it.url, headers={"X-Key": "${env:IT}"}, environ={"IT": SECRET}))
    assert isinstance(listed, Listed)
    assert SECRET not in json.dumps(listed.tools[0].definition.text)
    assert listed.tools[0].definition.content().input_schema == {"type": "object", "title": "***"}
