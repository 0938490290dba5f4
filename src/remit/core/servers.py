"""What becomes of registrations: register, update, rename, unregister, or a problem that names the way out.

Decides from core/matching.py's verdicts only; a server's listing plays no part here (an endpoint that cannot be listed
holds its update in core/acceptance.py). Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from remit.core.addresses import server_address
from remit.core.canonical import Json
from remit.core.desired import (
    Auth,
    BearerAuth,
    ClientCredentialsAuth,
    Connection,
    Desired,
    DesiredServer,
    PrivateKeyJwtAuth,
    Removal,
    Tls,
)
from remit.core.diagnostics import Diagnostic
from remit.core.identity import Endpoint, HttpEndpoint, StdioEndpoint, display_endpoint
from remit.core.matching import Ambiguous, ForeignOwner, Known, Match, Matching, RegisteredElsewhere, Unknown
from remit.core.moves import Moves
from remit.core.operations import (
    Change,
    Operation,
    Reason,
    RegisterServer,
    RenameServer,
    Risk,
    RiskCode,
    ServerFacts,
    UnregisterServer,
    UpdateServer,
)
from remit.core.recorded import Recorded, RecordedServer
from remit.core.removals import kept_removal
from remit.core.risks import namespace_risks, protection_risks
from remit.core.subjects import ServerSubject
from remit.core.vacancy import is_name_released, taken_problem, users_elsewhere, waiting_servers

__all__ = ["ServerOutcome", "facts_document", "facts_of", "judge_servers"]


@dataclass(slots=True)
class ServerOutcome:
    """Operations and problems about registrations. Names of servers whose selections cannot be resolved: `blocked`."""

    operations: list[Operation] = field(default_factory=list[Operation])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    blocked: set[str] = field(default_factory=set[str])


def judge_servers(
    desired: Desired,
    recorded: Recorded,
    matching: Matching,
    scope: frozenset[str] | None,
    moves: Moves | None = None,
) -> ServerOutcome:
    """All server operations and problems of servers in `scope` (None: all), by declared or recorded name."""
    outcome = ServerOutcome()
    moved = frozenset(() if moves is None else moves.servers)
    waiting = waiting_servers(desired, matching, recorded, scope)
    left = {each.name: each for each in matching.unclaimed}
    for name, match in matching.matches.items():
        problem = taken_problem(match.server, waiting[name]) if name in waiting else _problem(match, desired)
        if problem is not None:
            outcome.blocked.add(name)
        if scope is not None and name not in scope:
            continue
        if problem is not None:
            outcome.problems.append(problem)
        if name not in waiting:
            outcome.operations.extend(_operations(match, left.get(name), desired.workspace, moved=name in moved))
    for registration in matching.unclaimed:
        if scope is None or registration.name in scope:
            removal = kept_removal(desired, ServerSubject(registration.name))
            if removal is not None and is_name_released(registration, recorded):
                outcome.problems.append(_not_released(registration, removal))
            elif removal is not None:
                outcome.operations.append(_released(registration, removal))
            else:
                _leave(registration, desired, recorded, outcome, stays=registration.name in waiting)
    return outcome


def _not_released(registration: RecordedServer, removal: Removal) -> Diagnostic:
    return Diagnostic(
        code="released-already",
        message=f"another server {registration.name!r} was released before and not adopted; names of released ones are unique",
        address=server_address(registration.name),
        source=removal.source,
        hint="adopt that one in a file first, or give this one another name with `moved` in an apply before this one",
    )


def _released(registration: RecordedServer, removal: Removal) -> UpdateServer:
    facts = facts_of(registration)
    return UpdateServer(
        server_id=registration.server_id,
        before=facts,
        after=facts,
        changes=(Change(path=("workspace",), before=registration.workspace),),
        reason=Reason.RELEASED,
        source=removal.source,
    )


def _operations(match: Match, replaced: RecordedServer | None, workspace: str, *, moved: bool) -> Iterator[Operation]:
    match match:
        case Unknown(server=server, server_id=server_id):
            yield RegisterServer(
                server_id=server_id,
                facts=_declared(server),
                reason=Reason.DECLARED,
                risks=_replacement(replaced, server),
                source=server.source,
            )
        case Known(server=server, registration=registration):
            yield from _changed(server, registration, replaced, workspace, moved=moved)
        case Ambiguous() | RegisteredElsewhere() | ForeignOwner():
            return
        case _:
            assert_never(match)


def _replacement(replaced: RecordedServer | None, server: DesiredServer) -> tuple[Risk, ...]:
    if replaced is None:
        return ()
    before, after = display_endpoint(replaced.endpoint), display_endpoint(server.endpoint)
    return (Risk(RiskCode.ENDPOINT_CHANGE, f"another server takes the name: {before} -> {after}"),)


def _changed(
    server: DesiredServer, registration: RecordedServer, replaced: RecordedServer | None, workspace: str, *, moved: bool
) -> Iterator[Operation]:
    before, after, adopted = facts_of(registration), _declared(server), registration.workspace != workspace
    if before == after and not adopted:
        return
    elsewhere = before.endpoint != after.endpoint or before.instance != after.instance
    change = (Change(path=("workspace",), after=workspace),) if adopted else ()
    changes = (*_changes(facts_document(before), facts_document(after)), *change)
    risk = Risk(RiskCode.ENDPOINT_CHANGE, f"{display_endpoint(before.endpoint)} -> {display_endpoint(after.endpoint)}")
    risks = (
        *((risk,) if elsewhere else ()),
        *protection_risks(before=before.protect, after=after.protect),
    )
    if before.name != after.name:
        yield RenameServer(
            server_id=registration.server_id,
            before=before,
            after=after,
            changes=changes,
            reason=Reason.ADOPTED if adopted else Reason.MOVED if moved else Reason.NAME_CHANGED,
            risks=(*risks, *_replacement(replaced, server)),
            source=server.source,
        )
        return
    connected = before.connection != after.connection
    changed = Reason.CONNECTION_CHANGED if connected else Reason.FIELDS_CHANGED
    yield UpdateServer(
        server_id=registration.server_id,
        before=before,
        after=after,
        changes=changes,
        reason=Reason.ADOPTED if adopted else Reason.ENDPOINT_CHANGED if elsewhere else changed,
        # Under another name the namespace is expected to follow, unless it is written down.
        risks=(*risks, *namespace_risks(before.namespace, after.namespace)),
        source=server.source,
    )


def _leave(
    registration: RecordedServer, desired: Desired, recorded: Recorded, outcome: ServerOutcome, *, stays: bool
) -> None:
    others = users_elsewhere(registration, recorded, desired)
    if not others and stays:
        return
    if not others:
        outcome.operations.append(
            UnregisterServer(
                server_id=registration.server_id, before=facts_of(registration), reason=Reason.NO_LONGER_SELECTED
            )
        )
        return
    outcome.problems.append(
        Diagnostic(
            code="still-used",
            message=f"the registration cannot be deleted: workspace {', '.join(others)} has tools of it attached",
            address=server_address(registration.name),
            hint=f"declare the server again, or detach its tools in workspace {', '.join(others)} first",
        )
    )


def _problem(match: Match, desired: Desired) -> Diagnostic | None:
    server = match.server
    match match:
        case Known() | Unknown():
            return None
        case Ambiguous(claimants=(first, second)):
            code, message = (
                "ambiguous-match",
                (
                    f"two registrations could be meant: {first.name!r} ({first.server_id}) by its name, "
                    f"{second.name!r} ({second.server_id}) by its endpoint"
                ),
            )
            hint = (
                f"keep {second.name!r} declared until the change of {first.name!r} is applied, or give it `instance:`"
            )
        case RegisteredElsewhere(registration=registration):
            code, message = (
                "registered-elsewhere",
                (f"workspace {registration.workspace!r} already registered this endpoint as {registration.name!r}"),
            )
            hint = "remove it there, or set `instance:` here if it is meant to be registered twice (other credentials)"
        case ForeignOwner(registration=registration):
            code, message = (
                "not-owner",
                (f"the registration belongs to {registration.owner!r}, this file to {desired.owner!r}"),
            )
            hint = f"set `owner: {registration.owner}` if that is meant, or use another name"
        case _:
            assert_never(match)
    return Diagnostic(code=code, message=message, address=server_address(server.name), source=server.source, hint=hint)


def _declared(server: DesiredServer) -> ServerFacts:
    return ServerFacts(
        name=server.name,
        namespace=server.namespace,
        endpoint=server.endpoint,
        instance=server.instance,
        connection=server.connection,
        enabled=server.enabled,
        protect=server.protect is not None,
    )


def facts_of(registration: RecordedServer) -> ServerFacts:
    """What a registration stores beside its id."""
    return ServerFacts(
        name=registration.name,
        namespace=registration.namespace,
        endpoint=registration.endpoint,
        instance=registration.instance,
        connection=registration.connection,
        enabled=registration.enabled,
        protect=registration.protect,
    )


def facts_document(facts: ServerFacts) -> dict[str, Json]:
    """A registration's facts as JSON, references as written; keys as in mcp.yaml."""
    return {
        "name": facts.name,
        "namespace": facts.namespace,
        **_endpoint_document(facts.endpoint),
        "instance": facts.instance,
        "enabled": facts.enabled,
        "protect": facts.protect,
        **_connection_document(facts.connection),
    }


def _endpoint_document(endpoint: Endpoint) -> dict[str, Json]:
    match endpoint:
        case StdioEndpoint(command=command, cwd=cwd):
            return {"transport": str(endpoint.transport), "command": list(command), "cwd": cwd, "url": None}
        case HttpEndpoint(url=url, transport=transport):
            return {"transport": str(transport), "command": None, "cwd": None, "url": url}
        case _:
            assert_never(endpoint)


def _connection_document(connection: Connection) -> dict[str, Json]:
    return {
        "env": dict(connection.env),
        "headers": dict(connection.headers),
        "auth": None if connection.auth is None else _auth_document(connection.auth),
        "tls": None if connection.tls is None else _tls_document(connection.tls),
        "protocol": str(connection.protocol),
        "timeout_seconds": connection.timeout_seconds,
        "call_timeout_seconds": connection.call_timeout_seconds,
        "start_timeout_seconds": connection.start_timeout_seconds,
        "allow_private_network": connection.allow_private_network,
    }


def _tls_document(tls: Tls) -> dict[str, Json]:
    return {"ca_file": tls.ca_file, "client_cert": tls.client_cert, "client_key": tls.client_key}


def _auth_document(auth: Auth) -> dict[str, Json]:
    match auth:
        case BearerAuth(token=token):
            return {"type": auth.type, "token": token}
        case ClientCredentialsAuth():
            return {
                "type": auth.type,
                "token_url": auth.token_url,
                "client_id": auth.client_id,
                "client_secret": auth.client_secret,
                "scopes": list(auth.scopes),
            }
        case PrivateKeyJwtAuth():
            return {
                "type": auth.type,
                "token_url": auth.token_url,
                "client_id": auth.client_id,
                "private_key": auth.private_key,
                "algorithm": auth.algorithm,
                "key_id": auth.key_id,
                "scopes": list(auth.scopes),
            }
        case _:
            assert_never(auth)


def _changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[Change, ...]:
    return tuple(
        Change(path=(key,), before=before[key], after=after[key]) for key in before if before[key] != after[key]
    )
