"""What `remit doctor` looks at: the outcomes of its checks as values, and the checks that need nothing but the states.

Decides what is odd about recorded rows and references, and how grave that is: an error is broken, a warning is a choice that
somebody should have meant, a note is nothing to do. Reading the rest is the command's. Pure.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from remit.core.addresses import attachment_address, server_address
from remit.core.aliases import base_names, fold, folded_reserved, suffixed_alias
from remit.core.desired import Auth, Desired, DesiredServer
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.holdings import Holdings
from remit.core.identity import HttpEndpoint, StdioEndpoint
from remit.core.recorded import RecordedAttachment
from remit.core.references import EnvReference, FileReference, InvalidReference, Literal, parse_references
from remit.core.report import DiscoveryLine
from remit.core.risks import policy_risks

__all__ = [
    "Check",
    "Checkup",
    "ServerCheck",
    "Soundness",
    "alias_findings",
    "coherence_findings",
    "policy_findings",
    "secret_findings",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Soundness:
    """What the database says of itself: what its own checks found, and the aliases of calls that a dead process left open."""

    faults: tuple[str, ...]
    abandoned: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at: `summary` says what was seen, `findings` what is wrong with it."""

    name: str
    summary: str
    findings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCheck:
    """How a server answered; `seconds` is how long its complete listing took, None where it was not asked."""

    line: DiscoveryLine
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """Everything that was looked at. `workspace` is None where the file is not valid, `waiting` where there is no database."""

    workspace: str | None
    versions: Mapping[str, str]
    checks: tuple[Check, ...]
    servers: tuple[ServerCheck, ...] = ()
    waiting: int | None = None


def coherence_findings(held: Holdings) -> Iterator[Diagnostic]:
    """Each attachment whose provenance and function are not both what the last apply wrote."""
    for each in held.attachments:
        if not each.is_coherent:
            yield Diagnostic(
                code="database_drift",
                message=f"its {_edited(each)} is not what the last apply wrote",
                address=attachment_address(each.assistant, each.provider_name),
                source=each.source,
                hint="`remit apply` writes again what was approved; find out who writes to the database",
            )


def _edited(attachment: RecordedAttachment) -> str:
    if not attachment.is_definition_intact:
        return "approved definition"
    if attachment.function_text is None:
        return "function is gone, which"
    return "function" if not attachment.is_function_intact else "alias"


def alias_findings(held: Holdings, desired: Desired) -> Iterator[Diagnostic]:
    """Aliases that are reserved by now, and those that a new attachment would not get any more."""
    reserved = folded_reserved(desired.reserved_names)
    declared = {
        (assistant.name, selection.server, name): alias.provider_name
        for assistant in desired.assistants
        for selection in assistant.selections
        for name, alias in selection.aliases.items()
    }
    for each in held.attachments:
        address = attachment_address(each.assistant, each.provider_name)
        server = held.servers.get(each.server_id)
        if fold(each.provider_name) in reserved:
            yield Diagnostic(
                code="alias-reserved",
                severity=Severity.WARNING,
                message="the name is reserved for a tool of the platform",
                address=address,
                source=each.source,
                hint="give the tool another name under `aliases:`",
            )
        elif server is not None and (each.assistant, server.name, each.remote_name) not in declared:
            today = base_names(server.namespace, [each.remote_name], reserved)[each.remote_name]
            # The suffix depends on the other tools of a listing, which nobody asked for here.
            if each.provider_name not in (today, suffixed_alias(server.namespace, each.remote_name)):
                yield Diagnostic(
                    code="alias-historic",
                    severity=Severity.NOTE,
                    message=f"attached today it would be called {today}",
                    address=address,
                    source=each.source,
                    hint="nothing has to be done: an alias is kept once it is given; `aliases:` renames it",
                )


def policy_findings(held: Holdings) -> Iterator[Diagnostic]:
    """Tools whose irreversible side effects wait for no human."""
    for each in held.attachments:
        for risk in policy_risks(None, each.envelope):
            yield Diagnostic(
                code=risk.code.value,
                severity=Severity.WARNING,
                message=risk.detail,
                address=attachment_address(each.assistant, each.provider_name),
                source=each.source,
                hint="set `surface: human_controlled`, or `reversible: true` if it can be undone",
            )


def secret_findings(
    desired: Desired, environ: Mapping[str, str], readable: Callable[[str], bool]
) -> Iterator[Diagnostic]:
    """References of servers that have no value: by the name of the variable or file, never a value.

    `readable` says whether a file can be read, by its path as written.
    """
    for server in desired.servers:
        for reference in sorted(_references(server), key=str):
            match reference:
                case EnvReference(name=name, default=None) if not environ.get(name):
                    told, way = f"the environment variable {name} is not set", f"set {name} where remit runs"
                case FileReference(path=path) if not readable(path):
                    told, way = f"the file {path} cannot be read", "put it there, readable for whoever runs remit"
                case _:
                    continue
            yield Diagnostic(
                code="secret-unset",
                severity=Severity.ERROR if server.enabled else Severity.WARNING,
                message=told,
                address=server_address(server.name),
                source=server.source,
                hint=way,
            )


def _references(server: DesiredServer) -> set[EnvReference | FileReference]:
    found: set[EnvReference | FileReference] = set()
    for text in _texts(server):
        with contextlib.suppress(InvalidReference):
            found |= {each for each in parse_references(text) if not isinstance(each, Literal)}
    return found


def _texts(server: DesiredServer) -> Iterable[str]:
    match server.endpoint:
        case StdioEndpoint(command=command, cwd=cwd):
            yield from (*command[1:], cwd or "")
        case HttpEndpoint(url=url):
            yield url
    connection = server.connection
    yield from (*connection.env.values(), *connection.headers.values())
    if connection.auth is not None:
        yield from _auth_texts(connection.auth)


def _auth_texts(auth: Auth) -> Iterable[str]:
    values: Iterable[object] = (getattr(auth, each.name) for each in fields(auth))
    return (value for value in values if isinstance(value, str))
