"""The servers that mcp.yaml declares.

Decides names, namespaces and that no two entries are one server. Shapes were checked before; an entry that is too broken
to speak about is left out here, as the file is rejected anyway.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from remit.config.connections import read_connection, read_endpoint
from remit.config.credentials import is_showable
from remit.config.findings import Findings, line_of
from remit.config.layout import NAME_PATTERN, NAMESPACE_PATTERN
from remit.config.moves import protection_of
from remit.config.nodes import MapNode, Node, Scalar
from remit.config.policies import read_patch
from remit.config.values import Values
from remit.core.addresses import server_address
from remit.core.desired import DesiredServer, ToolPolicy
from remit.core.diagnostics import Severity, Source
from remit.core.identity import HttpEndpoint, identity_key_of

__all__ = ["ServerEntry", "derive_namespace", "read_servers"]

_NAMESPACE = re.compile(rf"(?:{NAMESPACE_PATTERN})\Z")
_NAME = re.compile(rf"(?:{NAME_PATTERN})\Z")
_GLOB = frozenset("*?[")
_MAX_NAMESPACE = 20
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One entry of `mcp.servers` with the places that findings about it point to. `server` is None where it is broken."""

    name: Scalar
    namespace: str
    namespace_place: Source
    endpoint_place: Source
    server: DesiredServer | None


def read_servers(mcp: MapNode | None, findings: Findings) -> tuple[ServerEntry, ...]:
    """Every entry that has a name, in the order of the file, with findings for whatever is wrong between them."""
    nodes = mcp.mappings("servers") if mcp else ()
    entries = tuple(entry for node in nodes if (entry := _read(node, findings)))
    _check_names(entries, findings)
    _check_namespaces(entries, findings)
    _check_endpoints(entries, findings)
    _check_machines(entries, findings)
    return entries


def derive_namespace(name: str) -> str:
    """A namespace made from a name, for a suggestion: never applied by itself, as it would name tools unseen."""
    words = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").lstrip("0123456789_")
    return words[:_MAX_NAMESPACE].rstrip("_") or "tools"


def _read(node: MapNode, findings: Findings) -> ServerEntry | None:
    name = node.scalar("name")
    if name is None:
        # Still judged, so that a secret in an entry without a name is found in the same run.
        values = Values(findings=findings, address="server.?")
        read_endpoint(node, values)
        read_connection(node, values)
        return None
    address = server_address(name.text)
    values = Values(findings=findings, address=address)
    endpoint = read_endpoint(node, values)
    connection = read_connection(node, values)
    namespace, namespace_place = _namespace(node, name, findings)
    tools = _tools(node, findings, address)
    place = node.node("url") or node.node("command") or node
    envelope = node.key("envelope")
    enabled = node.flag("enabled")
    server = endpoint and DesiredServer(
        name=name.text,
        namespace=namespace,
        endpoint=endpoint,
        source=node.source,
        instance=node.text("instance"),
        connection=connection,
        enabled=True if enabled is None else enabled,
        envelope=read_patch(node.mapping("envelope")),
        envelope_source=envelope.source if envelope else None,
        protect=protection_of(node),
        tools=tools,
    )
    return ServerEntry(
        name=name, namespace=namespace, namespace_place=namespace_place, endpoint_place=place.source, server=server
    )


def _namespace(node: MapNode, name: Scalar, findings: Findings) -> tuple[str, Source]:
    given = node.node("namespace")
    if given is not None:
        return node.text("namespace") or "", given.source
    if _NAME.match(name.text) and not _NAMESPACE.match(name.text):
        findings.add(
            "namespace-needed",
            name.source,
            "this name cannot begin the names of tools, so the server needs a namespace",
            hint=f"add `namespace: {derive_namespace(name.text)}`",
            address=server_address(name.text),
        )
    return name.text, name.source


def _tools(node: MapNode, findings: Findings, address: str) -> Mapping[str, ToolPolicy]:
    tools = node.mapping("tools")
    if tools is None:
        return {}
    for name, entry in tools.entries.items():
        if not _GLOB.isdisjoint(name):
            findings.add(
                "glob-in-policy",
                entry.key.source,
                "a policy names one tool exactly; a glob would also cover tools that do not exist yet",
                hint="name the tools, or use the server's `envelope`",
                address=address,
            )
    return {
        name: ToolPolicy(patch=read_patch(_as_mapping(entry.value)), source=entry.key.source)
        for name, entry in tools.entries.items()
    }


def _as_mapping(node: Node) -> MapNode | None:
    return node if isinstance(node, MapNode) else None


def _check_names(entries: tuple[ServerEntry, ...], findings: Findings) -> None:
    seen: dict[str, Scalar] = {}
    for entry in entries:
        # Case-folded: two servers that differ by case alone have addresses that nobody tells apart.
        first = seen.setdefault(entry.name.text.casefold(), entry.name)
        if first is not entry.name:
            name = entry.name.text
            shown = f"a server `{name}`" if is_showable(name) else "a server of this name"
            findings.add(
                "duplicate-name",
                entry.name.source,
                f"{line_of(first.source, entry.name.source)} has {shown} already; case does not count",
                address=server_address(entry.name.text),
            )


def _check_namespaces(entries: tuple[ServerEntry, ...], findings: Findings) -> None:
    seen: dict[str, ServerEntry] = {}
    for entry in entries:
        first = seen.setdefault(entry.namespace, entry) if _NAMESPACE.match(entry.namespace) else entry
        if first is not entry and first.name.text.casefold() != entry.name.text.casefold():
            findings.add(
                "duplicate-namespace",
                entry.namespace_place,
                f"{line_of(first.namespace_place, entry.namespace_place)} has this namespace already",
                hint="give one of the two servers another `namespace`",
                address=server_address(entry.name.text),
            )


def _check_machines(entries: tuple[ServerEntry, ...], findings: Findings) -> None:
    """Warn of endpoints that differ only in how this machine is called: they are two registrations of one server."""
    seen: dict[str, ServerEntry] = {}
    for entry in entries:
        if entry.server is None or not isinstance(entry.server.endpoint, HttpEndpoint):
            continue
        parts = urlsplit(entry.server.endpoint.url)
        if parts.hostname not in _THIS_MACHINE:
            continue
        endpoint = replace(entry.server.endpoint, url=parts._replace(netloc=f"localhost:{parts.port}").geturl())
        first = seen.setdefault(identity_key_of(endpoint, entry.server.instance), entry)
        if first is not entry and first.server and first.server.endpoint != entry.server.endpoint:
            findings.add(
                "same-machine",
                entry.endpoint_place,
                f"this is the endpoint of {line_of(first.endpoint_place, entry.endpoint_place)} under another name of this "
                "machine",
                severity=Severity.WARNING,
                hint="delete one if they are meant to be one server",
                address=server_address(entry.name.text),
            )


def _check_endpoints(entries: tuple[ServerEntry, ...], findings: Findings) -> None:
    seen: dict[str, ServerEntry] = {}
    for entry in entries:
        if entry.server is None:
            continue
        first = seen.setdefault(identity_key_of(entry.server.endpoint, entry.server.instance), entry)
        if first is not entry:
            findings.add(
                "duplicate-endpoint",
                entry.endpoint_place,
                f"this is the same endpoint as in {line_of(first.endpoint_place, entry.endpoint_place)}",
                hint="delete one, or give one an `instance` if they differ in credentials",
                address=server_address(entry.name.text),
            )
