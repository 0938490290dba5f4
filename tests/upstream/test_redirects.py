"""Redirects: none is followed, and a call is posted once; and the errors that the SDK would make up of answers like these."""

import ast
import asyncio
import inspect
from typing import Any

import httpx2
import mcp.client.sse
import mcp.client.streamable_http
import pytest

from remit.core.identity import HttpEndpoint, Transport
from remit.core.live import Unreachable, UnreachableReason
from remit.core.remote_ports import Delivery, RemoteFault, RemoteResult
from remit.upstream.faults import Fault
from remit.upstream.oauth import token_source_for
from remit.upstream.redaction import Redactor
from remit.upstream.redirects import redirect_words
from remit.upstream.references import ResolvedHttp
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.calls import a_call, connections, contract_of, recorded
from tests.upstream.support import NOON, listing_of
from tests.upstream.test_oauth import credentials

EVENTS = "text/event-stream"
STATUSES = (301, 302, 303, 307, 308)
ADVICE = "redirects are not followed: if that is the server you mean, write"


def targets(it: HttpServer) -> tuple[str, ...]:
    """Where a server may lead: round and round, to another path, host, port, scheme, and to nowhere."""
    here = f"127.0.0.1:{it.port}"
    return (
        "", "/mcp", "/other?key=dummy#x", f"http://{here}/mcp/", f"http://localhost:{it.port}/mcp", "http://127.0.0.2/mcp",
        f"https://{here}/mcp", f"http://me:dummy@{here}/other", "file:///etc/passwd", "http://[", "/\x7f",
    )  # fmt: skip


def posted(it: HttpServer) -> list[str]:
    return [seen.path for seen in it.seen if seen.method == "tools/call"]


@pytest.mark.parametrize("kind", ["application/json", EVENTS])
@pytest.mark.parametrize("era", ["modern", "legacy", "sse"])
def test_a_call_is_posted_once_wherever_a_redirect_leads_and_its_outcome_is_lost(era: str, kind: str):
    async def main() -> None:
        with HttpServer(era="modern" if era == "modern" else "legacy", sessions=era == "legacy") as it:
            url = it.url.replace("/mcp", "/sse") if era == "sse" else it.url
            endpoint = HttpEndpoint(url, Transport.SSE if era == "sse" else Transport.STREAMABLE_HTTP)
            async with connections() as every, asyncio.timeout(20):
                connection = every.of(recorded(endpoint))
                await contract_of(connection)
                for status in STATUSES:
                    # Over legacy SSE the stream may still bring the answer, so each call waits for a moment.
                    for target in targets(it)[2:3] if era == "sse" else targets(it):
                        it.answer_on["tools/call"] = Raw(status, b"data: x\n\n", kind, {"location": target})
                        it.seen.clear()
                        answer = await connection.call(a_call())
                        assert isinstance(answer, RemoteFault), (status, target, answer)
                        assert (answer.code.value, answer.delivery) == ("result_invalid", Delivery.LOST)
                        assert f"the server redirects ({status})" in answer.message
                        assert "dummy" not in answer.message
                        assert len(posted(it)) == 1, (status, target)
                del it.answer_on["tools/call"]
                assert isinstance(await connection.call(a_call()), RemoteResult)

    asyncio.run(main())


@pytest.mark.parametrize("method", ["server/discover", "initialize", "notifications/initialized", "tools/list"])
def test_neither_a_handshake_nor_a_listing_is_read_from_where_a_redirect_leads(method: str):
    with HttpServer(era="both" if method == "server/discover" else "legacy") as it:
        it.answer_on[method] = Raw(307, headers={"location": "/other?key=dummy"})
        found = asyncio.run(listing_of(it.url, start_timeout_seconds=5))
        assert {seen.path for seen in it.seen} == {"/mcp"}
        if method == "notifications/initialized":
            # Nobody waits for what became of it, so nothing is asked of another address and nothing else fails.
            return
        other = it.url.replace("/mcp", "/other")
        detail = f"the server redirects (307) to {other}; {ADVICE} `url: {other}` into mcp.yaml"
        assert found == Unreachable(reason=UnreachableReason.REFUSED, detail=detail)


def test_the_stream_of_a_legacy_server_is_not_read_from_where_a_redirect_leads():
    with HttpServer() as it:
        it.answer_at["/old"] = Raw(308, headers={"location": "/sse"})
        endpoint = HttpEndpoint(it.url.replace("/mcp", "/old"), Transport.SSE)
        found = asyncio.run(listing_of(endpoint))
        assert [seen.path for seen in it.seen] == ["/old"]
        assert isinstance(found, Unreachable)
        assert f"write `url: {it.url.replace('/mcp', '/sse')}` into mcp.yaml" in found.detail


def test_the_end_of_a_session_is_told_nowhere_but_at_the_reviewed_address():
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True) as it:
            away = Raw(307, headers={"location": "/other"})
            async with connections() as every, asyncio.timeout(10):
                connection = every.of(recorded(it.url))
                await contract_of(connection)
                it.answer_at["/mcp"] = away
            assert {seen.path for seen in it.seen} == {"/mcp"}

    asyncio.run(main())


def test_a_token_is_not_fetched_from_where_a_redirect_leads():
    async def main() -> None:
        with HttpServer(token=Raw(307, headers={"location": "/elsewhere"})) as it:
            endpoint = ResolvedHttp(
                url=it.url,
                transport=Transport.STREAMABLE_HTTP,
                headers={},
                auth=credentials(it, "dummy-secret"),
                tls=None,
                allow_private_network=False,
            )
            source = token_source_for(endpoint, redactor=Redactor(), clock=lambda: NOON, new_id=str)
            assert source is not None
            with pytest.raises(Fault, match=r"write `auth.token_url: http://127.0.0.1:[0-9]+/elsewhere` into mcp.yaml"):
                await source.refresh()
            assert [seen.path for seen in it.seen] == ["/token"]

    asyncio.run(main())


WORDS = {
    "a slash": ("https://it.example/mcp", "/mcp/", "to https://it.example/mcp/", "`url: https://it.example/mcp/`"),
    "TLS given up": ("https://it.example/mcp", "http://it.example/mcp/", "to http://it", "`url: https://it.example/mcp/`"),
    "TLS on a port": ("https://it.example:8443/a", "http://it.example/b", "to http://it", "`url: https://it.example:8443/b`"),
    "another host": ("https://it.example/mcp", "//in.example/x?q=1", "to https://in.example/x;", "`url: https://in.example/x`"),
    "itself": ("https://it.example/mcp", "/mcp?again=1", "to the address that was asked, https://it.example/mcp", ""),
    "no address": ("https://it.example/mcp", "\x7f", "to what is no address", ""),
    "no server": ("https://it.example/mcp", "javascript:alert(1)", "to javascript:alert(1)", ""),
    "endless": ("https://it.example/mcp", "/" + "a" * 9_000, "to https://it.example/aaaa", ""),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "location", "told", "advice"), WORDS.values(), ids=WORDS)
def test_a_redirect_is_told_with_what_to_write_into_the_file(asked: str, location: str, told: str, advice: str):
    words = redirect_words(httpx2.URL(asked), 307, {"location": location}, setting="url")
    assert words is not None
    assert (told in words, advice in words, "into mcp.yaml" in words) == (True, True, advice != ""), words
    assert len(words) < 400


@pytest.mark.parametrize("status", [200, 299, 400, 404])
def test_only_an_answer_of_the_three_hundreds_is_a_redirect(status: int):
    assert redirect_words(httpx2.URL("https://it.example/"), status, {"location": "/x"}, setting="url") is None


MADE_UP: dict[str, Raw | None] = {
    "Failed to parse SSE message: ": Raw(200, b"data: {nope\n\n", EVENTS, claimed=-1),
    "Not Found": Raw(404, b'{"error":{"code":-32601,"message":"x"}}'),
    "Session terminated": Raw(410, b'{"error":{"code":1}}'),
    "Server returned an error response": Raw(503, b'{"error":{"code":503,"message":"x"}}'),
    "Unexpected content type: ": Raw(200, b"", "text/plain"),
    "Failed to parse JSON response: ": Raw(200, b'{"jsonrpc":"2.0","id":1}'),
    "SSE stream failed: ": Raw(200, b"data: " + b"x" * 100, EVENTS, claimed=-1),
    "server answered a request with 202 Accepted": Raw(202),
    "SSE stream ended without a response": Raw(200, b": hello\n\n", EVENTS, claimed=-1),
    "SSE stream ended and reconnection attempts were exhausted": Raw(200, b"id: 1\nretry: 1\ndata:\n\n", EVENTS, claimed=-1),
    "Redirect to ": Raw(307, headers={"location": "/other"}),
}  # fmt: skip
"""Each text that the SDK's HTTP transports put into an error of their own, and an answer that makes, or would make, them do it."""


def made_up_texts() -> set[str]:
    """The texts in the SDK's transports that end up as the message of an error, up to where something is put in."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(mcp.client.streamable_http) + inspect.getsource(mcp.client.sse))):
        match node:
            case ast.Call(func=ast.Name(id="ErrorData"), keywords=keywords):
                texts = [keyword.value for keyword in keywords if keyword.arg == "message"]
            case ast.Call(func=ast.Attribute(attr="_resolve_abandoned_request"), args=args):
                texts = args[2:]
            case ast.FunctionDef(name="_unfollowed_redirect", body=body):
                texts = [part.value for part in body if isinstance(part, ast.Return)]
            case _:
                continue
        for text in texts:
            first = text.values[0] if isinstance(text, ast.JoinedStr) else text
            if isinstance(first, ast.Constant):
                found.add(str(first.value))
    return found


def test_every_text_that_the_sdk_makes_up_is_known_here():
    assert made_up_texts() == set(MADE_UP)


@pytest.mark.parametrize("text", MADE_UP)
def test_no_error_that_the_sdk_makes_up_is_told_as_the_servers(text: str):
    async def main() -> None:
        with HttpServer(era="legacy") as it:
            async with connections() as every, asyncio.timeout(10):
                connection = every.of(recorded(it.url))
                await contract_of(connection)
                raw: Any = MADE_UP[text]
                it.answer_on["tools/call"] = raw
                answer = await connection.call(a_call())
                # An error of the server's would be the end of the matter; what became of this call nobody knows.
                assert isinstance(answer, RemoteFault), answer
                lost = raw.status != 404
                assert answer.delivery is (Delivery.LOST if lost else Delivery.NOT_SENT)
                assert len(posted(it)) == 1

    asyncio.run(main())
