"""`McpServerLister`: one server listed completely over a connection of its own.

Decides nothing about tools that remit.upstream.judge does not, and never raises for anything that a server or the
environment does. The events of a listing, as (kind, direction), LOCAL for what we did or noticed:

    modern      OPEN local, PROBE sent, PROBE received, HANDSHAKE local, then per page PAGE sent, PAGE received;
                CLOSE local
    legacy      OPEN local, PROBE sent, PROBE received (an error), FALLBACK local, HANDSHAKE sent, HANDSHAKE received,
                HANDSHAKE sent (initialized), HANDSHAKE local, pages as above, CLOSE local
    legacy, the process died on the probe or never answered it
                OPEN local, PROBE sent, FALLBACK local, OPEN local, HANDSHAKE sent, HANDSHAKE received, HANDSHAKE sent,
                HANDSHAKE local, pages, CLOSE local
    remembered or pinned legacy
                OPEN local, HANDSHAKE sent, HANDSHAKE received, HANDSHAKE sent, HANDSHAKE local, pages, CLOSE local

NOISE (local) stands where a line on stdout was no message (the first five are kept) and where a server did not take a
notification of ours, NOTIFICATION and MESSAGE where the
server sent one. Nothing is recorded for a server whose references could not be resolved: nothing was opened.
"""

import time

from remit.core.desired import DesiredServer
from remit.core.live import Listed, Unreachable, UnreachableReason
from remit.core.ports import ListingTarget
from remit.upstream.client import RemoteMcpClient
from remit.upstream.faults import Fault, fault_of, unreachable_of
from remit.upstream.opening import ResolvingConnector, Surroundings
from remit.upstream.reading import read_listing
from remit.upstream.schema_check import SchemaChecker

__all__ = ["McpServerLister"]

_SAME_MOMENT = 0.05
"""Seconds between two looks at a clock that are one and the same end of a wait."""


class McpServerLister:
    """Lists servers, each over a fresh connection that is closed before the listing is returned.

    Implements core.ports.ServerLister. The protocol events are those of the trace `trace_id`.
    """

    def __init__(self, surroundings: Surroundings, *, trace_id: str):
        self._surroundings = surroundings
        self._trace_id = trace_id
        self._checker = SchemaChecker()

    async def list_server(self, target: ListingTarget) -> Listed | Unreachable:
        """Every page, judged tool by tool, or the reason why there is no listing.

        Bounded by the server's `start_timeout_seconds`, plus the few seconds that closing may take.
        """
        server = target.server
        deadline = time.monotonic() + server.connection.start_timeout_seconds
        sessions = ResolvingConnector(
            server, self._surroundings, trace_id=self._trace_id, remembered=target.remembered_era
        )
        try:
            client = RemoteMcpClient(sessions, name=server.name, start_seconds=max(deadline - time.monotonic(), 0))
            return await self._walk_and_close(client, server, deadline)
        except Exception as error:  # noqa: BLE001 (the promise of this method: an outage is an answer, never an exception)
            found = unreachable_of(fault_of(error, "listing"))
            detail = sessions.redactor.text(found.detail)
            if found.reason is UnreachableReason.TIMEOUT:
                detail = f"did not answer within {_setting(server, deadline)} ({detail})"
            return Unreachable(reason=found.reason, detail=detail)

    async def _walk_and_close(self, client: RemoteMcpClient, server: DesiredServer, deadline: float) -> Listed:
        unanswered = True
        try:
            listed = await self._walk(client, server, deadline)
            unanswered = False
            return listed
        except Fault as fault:
            unanswered = fault.reason is UnreachableReason.TIMEOUT
            raise
        finally:
            await client.close(hurry=unanswered)

    async def _walk(self, client: RemoteMcpClient, server: DesiredServer, deadline: float) -> Listed:
        negotiated = await client.connect()
        return await read_listing(
            client,
            negotiated,
            deadline=deadline,
            page_seconds=server.connection.timeout_seconds,
            checker=self._checker,
            clock=self._surroundings.clock,
        )


def _setting(server: DesiredServer, deadline: float) -> str:
    """The setting of the file whose time was over, with its value in seconds."""
    connection = server.connection
    # A wait that ends a moment before its deadline, as clocks are read twice, was for the whole listing all the same.
    whole = time.monotonic() >= deadline - _SAME_MOMENT
    name, seconds = (
        ("start_timeout_seconds", connection.start_timeout_seconds)
        if whole or connection.start_timeout_seconds <= connection.timeout_seconds
        else ("timeout_seconds", connection.timeout_seconds)
    )
    return f"{name}: {seconds:g}"
