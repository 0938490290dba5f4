"""A listing adapted to our names: every listed tool under its five identities (managed-mcp-architecture, section 5).

Decides nothing that attaching would not decide the same way: the id of the registration, recorded or to come, the
canonical id, and the alias the tool would get. Discovery is not attachment. Pure.
"""

from collections.abc import Mapping

from remit.core.aliases import base_names, folded_reserved
from remit.core.desired import Desired, DesiredServer
from remit.core.identity import ServerId, canonical_id_of
from remit.core.live import Listed, Live, McpDiscoveredTool
from remit.core.matching import Known, Match, Unknown, match_servers
from remit.core.recorded import Recorded

__all__ = ["discovered_tools"]


def discovered_tools(desired: Desired, recorded: Recorded, live: Live) -> Mapping[str, tuple[McpDiscoveredTool, ...]]:
    """The tools of every listed server by server name, sorted by remote name; servers without a listing have none."""
    reserved = folded_reserved(desired.reserved_names)
    matches = match_servers(desired, recorded).matches
    return {
        server.name: _tools(server, matches[server.name], observation, reserved)
        for server in desired.servers
        if isinstance(observation := live.get(server.name), Listed)
    }


def _tools(
    server: DesiredServer, match: Match, listed: Listed, reserved: frozenset[str]
) -> tuple[McpDiscoveredTool, ...]:
    server_id = _server_id(match)
    if server_id is None:
        return ()
    aliases = base_names(server.namespace, (tool.remote_name for tool in listed.tools), reserved)
    return tuple(
        McpDiscoveredTool(
            server_id=server_id,
            remote_name=tool.remote_name,
            canonical_id=canonical_id_of(server_id, tool.remote_name),
            provider_name=aliases[tool.remote_name],
            definition=tool.definition,
        )
        for tool in listed.tools
    )


def _server_id(match: Match) -> ServerId | None:
    match match:
        case Known(registration=registration):
            return registration.server_id
        case Unknown(server_id=server_id):
            return server_id
        case _:
            # Whose tools these would be is the open question; `plan` shows it as a problem.
            return None
