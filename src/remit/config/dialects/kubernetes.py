"""Kubernetes objects of kagent (`RemoteMCPServer`, `ToolServer`, `MCPServer`, `Agent`) and ToolHive (`MCPServer` and others).

Decides under which address of the cluster an object's server is reached, where the object itself does not say. Variables and
secrets of a pod belong to the pod and are not carried over; those that a client sends as headers are.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from remit.config.dialects.drafting import Role, fill, table_at
from remit.config.dialects.model import Dialect, Document, Draft, Form, Report, ReportFor, Timeout
from remit.config.dialects.references import is_misplaced, reference_to, variable_name
from remit.config.dialects.scalars import stand_in
from remit.config.nodes import ListNode, MapNode, Node, Scalar
from remit.core.diagnostics import Severity
from remit.core.identity import Transport

__all__ = ["KUBERNETES"]

_KAGENT, _TOOLHIVE = "kagent.dev", "toolhive.stacklok.dev"
_DURATION = re.compile(r"(?:(?P<h>[0-9.]+)h)?(?:(?P<m>[0-9.]+)m(?!s))?(?:(?P<s>[0-9.]+)s)?(?:(?P<ms>[0-9.]+)ms)?\Z")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

_STDIO: Mapping[str, Role] = {
    "command": Role.COMMAND, "args": Role.ARGS, "env": Role.ENV, "envFrom": Role.LEFT_OUT,
    "readTimeoutSeconds": Role.TIMEOUT_SECONDS,
}  # fmt: skip
_REMOTE: Mapping[str, Role] = {
    "headers": Role.HEADERS, "headersFrom": Role.IGNORED, "timeout": Role.IGNORED, "sseReadTimeout": Role.IGNORED,
    "terminateOnClose": Role.IGNORED,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """One object of a file: its group and kind, its name with a place, its namespace in the cluster, its spec."""

    group: str
    kind: str
    name: Scalar
    space: str
    spec: MapNode
    status: MapNode | None
    document: Document


def _objects(document: Document) -> Iterator[_Object]:
    for root in document.roots:
        for node in (root, *root.mappings("items")):
            name, spec = node.mapping("metadata"), node.mapping("spec")
            named = name.node("name") if name else None
            if spec and isinstance(named, Scalar):
                yield _Object(
                    group=(node.text("apiVersion") or "").partition("/")[0],
                    kind=node.text("kind") or "",
                    name=named,
                    space=(name.text("namespace") if name else None) or "default",
                    spec=spec,
                    status=node.mapping("status"),
                    document=document,
                )


def _fits(document: Document) -> bool:
    if document.form is Form.TOML:
        return False
    return any((each.group, each.kind) in _KINDS for each in _objects(document))


def _drafts(document: Document, report_for: ReportFor) -> Iterator[Draft]:
    objects = list(_objects(document))
    for each in objects:
        if reader := _KINDS.get((each.group, each.kind)):
            report = report_for(each.name)
            draft = Draft(name=each.name, place=each.name)
            reader(draft, each, report)
            _select(draft, each, objects, report)
            if description := each.spec.text("description"):
                draft.notes["description"] = description
            yield draft


# --- kagent --------------------------------------------------------------------------------------------------------------


def _remote_server(draft: Draft, each: _Object, report: Report) -> None:
    """kagent's RemoteMCPServer (v1alpha2): a URL with a protocol, headers from secrets."""
    draft.url = each.spec.node("url")
    sse = each.spec.text("protocol") == "SSE"
    draft.url_transport = Transport.SSE if sse else Transport.STREAMABLE_HTTP
    _reached(draft, each.spec)
    if each.spec.mapping("tls"):
        report("not-carried-over", each.name, "`tls` refers to a secret of the cluster: write `tls.ca_file` yourself")


def _tool_server(draft: Draft, each: _Object, report: Report) -> None:
    """kagent's ToolServer (v1alpha1): one of `stdio`, `sse` and `streamableHttp` under `config`."""
    for key, role in (("stdio", None), ("sse", Role.URL_SSE), ("streamableHttp", Role.URL_HTTP)):
        node = table_at(each.spec, "config", key)
        if node and role:
            fill(draft, node, {**_REMOTE, "url": role}, each.document, report)
            _reached(draft, node)
        elif node:
            fill(draft, node, _STDIO, each.document, report)


def _reached(draft: Draft, node: MapNode) -> None:
    draft.headers |= dict(_headers_from(node))
    draft.timeout = _limit(node.node("timeout"))


def _headers_from(node: MapNode) -> Iterator[tuple[str, Node]]:
    for item in node.mappings("headersFrom"):
        name, value, source = item.text("name"), item.node("value"), item.mapping("valueFrom")
        if name and source:
            words = (source.text("name") or source.text("valueRef") or "", source.text("key") or "")
            misplaced = next((each for each in words if is_misplaced(each)), None)
            yield name, stand_in(source, reference_to(misplaced or variable_name(" ".join(words).strip())))
        elif name and isinstance(value, Scalar):
            yield name, stand_in(value, value.text)


def _limit(node: Node | None) -> Timeout | None:
    """A Go duration (`1m30s`) as seconds."""
    if not isinstance(node, Scalar):
        return None
    found = _DURATION.match(node.text) if node.text else None
    seconds = (
        sum(float(number) * _SECONDS[unit] for unit, number in found.groupdict().items() if number) if found else 0
    )
    value = Scalar(node.file, node.start, node.end, f"{seconds:g}", True) if seconds else node
    return Timeout(value=value, per_second=1, unit="seconds, as in 30s")


def _run_server(draft: Draft, each: _Object, report: Report) -> None:
    """kagent's MCPServer (kmcp, v1alpha1): a deployment that is served over HTTP, whatever it speaks itself."""
    port = table_at(each.spec, "deployment") and _number(table_at(each.spec, "deployment"), "port")
    transport = each.spec.mapping("httpTransport")
    path = (transport.text("path") if transport else None) or "/mcp"
    _derived(draft, each, f"{each.name.text}.{each.space}.svc.cluster.local:{port or 3000}/{path.lstrip('/')}", report)
    draft.timeout = _limit(each.spec.node("timeout"))


# --- ToolHive ------------------------------------------------------------------------------------------------------------


def _proxied(draft: Draft, each: _Object, report: Report) -> None:
    """ToolHive's MCPServer and MCPRemoteProxy: served by a proxy of the operator's."""
    own = each.spec.text("transport") or ("stdio" if each.kind == "MCPServer" else "streamable-http")
    spoken = (each.spec.text("proxyMode") or "streamable-http") if own == "stdio" else own
    draft.url_transport = Transport.SSE if spoken == "sse" else Transport.STREAMABLE_HTTP
    port = _number(each.spec, "proxyPort") or _number(each.spec, "port") or 8080
    host = f"mcp-{each.name.text}-proxy.{each.space}.svc.cluster.local"
    _derived(draft, each, f"{host}:{port}/{'sse' if spoken == 'sse' else 'mcp'}", report)
    tools = each.spec.node("tools")
    if isinstance(tools, ListNode):
        draft.allow = list(each.spec.scalars("tools")) or None


def _number(node: MapNode | None, key: str) -> int | None:
    number = node.number(key) if node else None
    return int(number) if number else None


def _derived(draft: Draft, each: _Object, address: str, report: Report) -> None:
    """Take the address that the operator noted, else the one that it gives to every server of this kind."""
    noted = each.status.node("url") if each.status else None
    draft.url = noted if isinstance(noted, Scalar) else stand_in(each.name, f"http://{address}")
    draft.unknown.append(("spec", each.spec))
    if draft.url_transport is None:
        draft.url_transport = Transport.STREAMABLE_HTTP
    message = "the object names no URL: the address that its operator gives such a server in the cluster was taken"
    hint = "check it with `kubectl get service`; addresses of a cluster need `allow_private_network: true`"
    if draft.url is not noted:
        report("derived-endpoint", each.name, message, hint=hint)


# --- selections ----------------------------------------------------------------------------------------------------------


def _select(draft: Draft, each: _Object, objects: list[_Object], report: Report) -> None:
    """The tools that a tool configuration or the one agent of the file selects from the server."""
    reference = table_at(each.spec, "toolConfigRef")
    wanted = reference.text("name") if reference else None
    for other in objects:
        if wanted and (other.kind, other.name.text) == ("MCPToolConfig", wanted):
            draft.allow = list(other.spec.scalars("toolsFilter")) or None
    lists = [list(tool.scalars("toolNames")) for tool in _agents_tools(objects) if tool.text("name") == each.name.text]
    if len(lists) == 1:
        draft.allow = list(lists[0]) or None
    elif lists:
        message = f"{len(lists)} agents select from it: their lists were not put together"
        hint = "write one assistant for each agent under `assistants`"
        report("several-agents", each.name, message, hint=hint, severity=Severity.NOTE)


def _agents_tools(objects: list[_Object]) -> Iterator[MapNode]:
    """What the agents of the file use: the `mcpServer` of each of their tools (v1alpha2, and v1alpha1 without `declarative`)."""
    for agent in objects:
        if (agent.group, agent.kind) != (_KAGENT, "Agent"):
            continue
        holder = agent.spec.mapping("declarative") or agent.spec
        for tool in holder.mappings("tools"):
            if server := tool.mapping("mcpServer"):
                yield server


_Reader = Callable[[Draft, _Object, Report], None]

_KINDS: Mapping[tuple[str, str], _Reader] = {
    (_KAGENT, "RemoteMCPServer"): _remote_server,
    (_KAGENT, "ToolServer"): _tool_server,
    (_KAGENT, "MCPServer"): _run_server,
    (_TOOLHIVE, "MCPServer"): _proxied,
    (_TOOLHIVE, "MCPRemoteProxy"): _proxied,
}
"""The objects that are servers, by group and kind, and what reads each."""

KUBERNETES = Dialect(
    name="kubernetes",
    title="kagent and ToolHive",
    paths=(),
    fits=_fits,
    telling=_fits,
    drafts=_drafts,
    certain=True,
)
