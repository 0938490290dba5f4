"""Which declared servers have to wait, as a registration keeps the name or the endpoint that they need.

Decides nothing about matches (core/matching.py): it looks at where they lead. A registration stays as it is where another
workspace still uses it, where the plan is limited to other servers, and where its own declaration has a problem. Names are
unique in a workspace and endpoints of an owner, so whoever needs what it holds stays as it is too, and so does a registration
that a waiting server was to replace. Pure.
"""

from collections.abc import Iterable, Mapping

from remit.core.addresses import server_address
from remit.core.desired import Desired, DesiredServer
from remit.core.diagnostics import Diagnostic
from remit.core.identity import identity_key_of
from remit.core.matching import Known, Matching, Unknown, claims_of
from remit.core.ownership import released_workspace
from remit.core.recorded import Recorded, RecordedServer
from remit.core.removals import is_released

__all__ = ["is_name_released", "taken_problem", "users_elsewhere", "waiting_servers"]


def users_elsewhere(registration: RecordedServer, recorded: Recorded, desired: Desired) -> list[str]:
    """The other workspaces that have tools of a registration attached, or get some of them released by this plan."""
    attached = [each for each in recorded.attachments if each.server_id == registration.server_id]
    users = {each.workspace for each in attached if each.workspace != registration.workspace}
    if any(is_released(desired, each, registration.name) for each in attached if each.workspace == desired.workspace):
        users.add(released_workspace(desired.owner))
    return sorted(users)


def is_name_released(registration: RecordedServer, recorded: Recorded) -> bool:
    """Whether the owner has a released server of this name already."""
    place = released_workspace(registration.owner)
    return any(each.workspace == place and each.name == registration.name for each in recorded.servers)


def waiting_servers(
    desired: Desired, matching: Matching, recorded: Recorded, scope: frozenset[str] | None
) -> Mapping[str, RecordedServer]:
    """The registration that each waiting server waits for, by the server's declared name."""
    moving = {
        name: match
        for name, match in matching.matches.items()
        if isinstance(match, Known | Unknown) and (scope is None or name in scope)
    }
    staying = _staying(desired, matching, recorded, scope, moving)
    waiting: dict[str, RecordedServer] = {}
    while found := [(match, each) for match in moving.values() for each in staying if _needs(match, each)]:
        for match, registration in found:
            waiting.setdefault(match.server.name, registration)
            moving.pop(match.server.name, None)
            replaced = (each for each in matching.unclaimed if each.name == match.server.name)
            staying += [each for each in (*claims_of(match), *replaced) if each not in staying]
    return waiting


def _staying(
    desired: Desired, matching: Matching, recorded: Recorded, scope: frozenset[str] | None, moving: Iterable[str]
) -> list[RecordedServer]:
    chosen = frozenset(moving)
    held = [each for name, match in matching.matches.items() if name not in chosen for each in claims_of(match)]
    left = [
        each
        for each in matching.unclaimed
        if (scope is not None and each.name not in scope) or users_elsewhere(each, recorded, desired)
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
