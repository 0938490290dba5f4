"""Which declared servers have to wait, as a registration keeps the name or the endpoint that they need.

Decides nothing about matches (core/matching.py): it looks at where they lead. A registration stays as it is where another
workspace still uses it, where the plan is limited to other servers, and where its own declaration has a problem. Names are
unique in a workspace and endpoints of an owner, so whoever needs what it holds stays as it is too, and so does a registration
that a waiting server was to replace. Pure.
"""

from collections.abc import Iterable, Mapping

from remit.core.addresses import server_address
from remit.core.desired import DesiredServer
from remit.core.diagnostics import Diagnostic
from remit.core.identity import identity_key_of
from remit.core.matching import Known, Matching, Unknown, claims_of
from remit.core.recorded import Recorded, RecordedServer

__all__ = ["taken_problem", "users_elsewhere", "waiting_servers"]


def users_elsewhere(registration: RecordedServer, recorded: Recorded) -> list[str]:
    """The other workspaces that have tools of a registration attached."""
    return sorted(
        {
            each.workspace
            for each in recorded.attachments
            if each.server_id == registration.server_id and each.workspace != registration.workspace
        }
    )


def waiting_servers(
    matching: Matching, recorded: Recorded, scope: frozenset[str] | None
) -> Mapping[str, RecordedServer]:
    """The registration that each waiting server waits for, by the server's declared name."""
    moving = {
        name: match
        for name, match in matching.matches.items()
        if isinstance(match, Known | Unknown) and (scope is None or name in scope)
    }
    staying = _staying(matching, recorded, scope, moving)
    waiting: dict[str, RecordedServer] = {}
    while found := [(match, each) for match in moving.values() for each in staying if _needs(match, each)]:
        for match, registration in found:
            waiting.setdefault(match.server.name, registration)
            moving.pop(match.server.name, None)
            replaced = (each for each in matching.unclaimed if each.name == match.server.name)
            staying += [each for each in (*claims_of(match), *replaced) if each not in staying]
    return waiting


def _staying(
    matching: Matching, recorded: Recorded, scope: frozenset[str] | None, moving: Iterable[str]
) -> list[RecordedServer]:
    chosen = frozenset(moving)
    held = [each for name, match in matching.matches.items() if name not in chosen for each in claims_of(match)]
    left = [
        each
        for each in matching.unclaimed
        if (scope is not None and each.name not in scope) or users_elsewhere(each, recorded)
    ]
    return sorted({each.server_id: each for each in (*held, *left)}.values(), key=lambda each: each.server_id)


def _needs(match: Known | Unknown, registration: RecordedServer) -> bool:
    server = match.server
    key = identity_key_of(server.endpoint, server.instance)
    return registration.name == server.name or registration.identity_key == key


def taken_problem(server: DesiredServer, holder: RecordedServer) -> Diagnostic:
    """What to tell about a waiting server."""
    held = "name" if holder.name == server.name else "endpoint"
    return Diagnostic(
        code="server-taken",
        message=f"its {held} belongs to registration {holder.name!r} ({holder.server_id}), which this plan cannot change",
        address=server_address(server.name),
        source=server.source,
        hint=f"change or remove {holder.name!r} in an apply before this one, or give this server another {held}",
    )
