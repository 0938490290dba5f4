"""The official SDK's own server, so that our hand-written fixtures do not only agree with ourselves."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import uvicorn

from remit.core.desired import ProtocolPin
from remit.core.identity import StdioEndpoint
from remit.core.live import Era, Listed, ServerIdentity
from remit.upstream.http_transport import open_http
from remit.upstream.references import ResolvedHttp, resolve_connection
from tests.servers.sdk_stdio import server as sdk_server
from tests.upstream.support import SERVERS, client_for, listing_of, names, server, sources


@contextmanager
def served() -> Generator[str]:
    """The SDK's server over streamable HTTP, in a thread."""
    config = uvicorn.Config(sdk_server.streamable_http_app(), host="127.0.0.1", port=0, log_level="error")
    http = uvicorn.Server(config)
    ready = threading.Event()
    startup = http.startup

    async def announce(sockets: object = None) -> None:
        await startup()
        ready.set()

    http.startup = announce
    thread = threading.Thread(target=http.run, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield f"http://127.0.0.1:{http.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        http.should_exit = True
        thread.join(10)


def test_the_sdk_server_is_listed_and_called_over_stdio():
    endpoint = StdioEndpoint(("{python}", str(SERVERS / "sdk_stdio.py")))

    async def main() -> None:
        listed = await listing_of(endpoint)
        assert names(listed) == ["add", "shout"]
        assert isinstance(listed, Listed)
        assert (listed.era, listed.server_info) == (Era.MODERN, ServerIdentity(name="sdk", version="1.0"))
        assert listed.instructions == "Add numbers."

    asyncio.run(main())


@pytest.mark.parametrize("pin", [ProtocolPin.LEGACY, ProtocolPin.MODERN])
def test_the_sdk_server_is_listed_and_called_over_http_in_both_eras(pin: ProtocolPin):
    async def main(url: str) -> None:
        listed = await listing_of(url, protocol=pin)
        assert names(listed) == ["add", "shout"]
        assert isinstance(listed, Listed)
        assert listed.era is (Era.LEGACY if pin is ProtocolPin.LEGACY else Era.MODERN)
        endpoint = resolve_connection(server(url), sources()).endpoint
        assert isinstance(endpoint, ResolvedHttp)
        async with open_http(endpoint) as http:
            client = client_for(url, http=http)
            result = await client.call_tool("add", {"a": 1, "b": 2}, timeout=5)
            assert (result["structuredContent"], result["isError"]) == ({"result": 3}, False)
            await client.close()

    with served() as url:
        asyncio.run(main(url))
