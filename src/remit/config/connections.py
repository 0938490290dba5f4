"""Where a server is and how it is reached: the endpoint and connection of one entry of `mcp.servers`.

Decides the transport from what is given and which keys contradict it. Values are judged by values.py and kept as written.
"""

from collections.abc import Mapping

from remit.config.findings import line_of
from remit.config.layout import MAX_SECONDS
from remit.config.nodes import ListNode, MapNode, Scalar
from remit.config.values import Values
from remit.core.desired import Auth, BearerAuth, ClientCredentialsAuth, Connection, PrivateKeyJwtAuth, ProtocolPin, Tls
from remit.core.identity import Endpoint, HttpEndpoint, InvalidUrl, StdioEndpoint, Transport, normalise_url

__all__ = ["read_connection", "read_endpoint"]

_ONLY_FOR: Mapping[str, str] = {
    "env": "command",
    "cwd": "command",
    "headers": "url",
    "auth": "url",
    "tls": "url",
    "allow_private_network": "url",
}
"""Keys that mean something with one kind of endpoint only. Taking half of an entry silently is never allowed (C-02)."""

_RESERVED_HEADERS = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host",
        "keep-alive", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
_RESERVED_PREFIX = "mcp-"
"""Headers that the HTTP client and the protocol set: a second value would contradict the message that it is sent with."""


def read_endpoint(server: MapNode, values: Values) -> Endpoint | None:
    """The endpoint, or None where it cannot be told; contradictions are reported."""
    command, url = server.key("command"), server.key("url")
    if command and url:
        _contradiction(
            values,
            url,
            f"`url` contradicts `command` in {line_of(command.source, url.source)}",
            "a server has one of them" + _way_out(server, command) + _way_out(server, url),
        )
        return None
    given = "command" if command else "url"
    if command or url:
        _check_belonging(server, given, values)
    transport = server.choice("transport", Transport)
    if transport and (command or url) and (transport is Transport.STDIO) != (given == "command"):
        place = server.scalar("transport") or server
        _contradiction(
            values, place, f"transport {transport} contradicts `{given}`", "delete `transport`: it is inferred"
        )
    if command:
        return _stdio(server, values)
    return _http(server, transport, values) if url else None


def _check_belonging(server: MapNode, given: str, values: Values) -> None:
    for key, endpoint in _ONLY_FOR.items():
        place = server.key(key)
        if place and endpoint != given:
            hint = f"it belongs to a server with `{endpoint}`; this one has `{given}`{_way_out(server, place)}"
            _contradiction(values, place, f"`{key}` means nothing here", hint)


def _way_out(server: MapNode, key: Scalar) -> str:
    """How an overlay, whose entry the server is then, gets rid of a key that another file set."""
    return "" if key.file == server.file else f"; `$delete: [{key.text}]` in the overlay takes it away"


def _contradiction(values: Values, place: Scalar | MapNode, message: str, hint: str) -> None:
    values.findings.add("transport-conflict", place.source, message, hint=hint, address=values.address)


def _stdio(server: MapNode, values: Values) -> StdioEndpoint | None:
    nodes = list(server.scalars("command"))
    listed = server.node("command")
    cwd = server.scalar("cwd")
    if cwd:
        values.plain(cwd)
    if not nodes:
        return None
    # An argument of the wrong kind was reported by its shape, and then the first text may be no program.
    if isinstance(listed, ListNode) and listed.items[0] is nodes[0]:
        values.program(nodes[0])
    values.arguments(nodes)
    return StdioEndpoint(tuple(node.text for node in nodes), cwd.text if cwd else None)


def _http(server: MapNode, transport: Transport | None, values: Values) -> HttpEndpoint | None:
    node = server.scalar("url")
    url = _url(node, values) if node else None
    if url is None:
        return None
    return HttpEndpoint(url, Transport.SSE if transport is Transport.SSE else Transport.STREAMABLE_HTTP)


def _url(node: Scalar, values: Values) -> str | None:
    if not values.url(node):
        return None
    try:
        return normalise_url(node.text)
    except InvalidUrl as error:
        if "@" in node.text:
            # What stands before an @ may be a password, also where the URL is too broken to tell.
            values.findings.hide(node.span)
        # The standard library's text, when there is one underneath, quotes the URL.
        message = "host or port of the URL cannot be read" if error.__cause__ else str(error)
        values.findings.add("invalid-url", node.source, message, hint=_URL_HINT, address=values.address)
        return None


_URL_HINT = "as in https://mcp.example.com/mcp; credentials go into `headers` or `auth`"


def read_connection(server: MapNode, values: Values) -> Connection:
    """The connection, with the defaults of core where the file says nothing."""
    default = Connection()
    start = server.number("start_timeout_seconds")
    timeout, call_timeout = _call_limits(server, values)
    return Connection(
        env=_env(server, values),
        headers=_headers(server, values),
        auth=_auth(server, values),
        tls=_tls(server, values),
        protocol=server.choice("protocol", ProtocolPin) or default.protocol,
        timeout_seconds=timeout,
        call_timeout_seconds=call_timeout,
        start_timeout_seconds=default.start_timeout_seconds if start is None else start,
        allow_private_network=server.flag("allow_private_network") or False,
    )


def _call_limits(server: MapNode, values: Values) -> tuple[float, float]:
    """The longest silence of a call and its deadline, in seconds; a deadline that nobody gave is never the shorter one."""
    idle, whole = server.number("timeout_seconds"), server.number("call_timeout_seconds")
    idle = Connection().timeout_seconds if idle is None else idle
    if whole is None:
        return idle, max(Connection().call_timeout_seconds, idle)
    place = server.node("call_timeout_seconds")
    # A value out of its range was reported by its shape; then there is nothing to compare with.
    if place and 0 < whole < idle <= MAX_SECONDS:
        values.findings.add(
            "call-timeout-short",
            place.source,
            f"the deadline of a whole call is below `timeout_seconds` ({idle:g}), the longest silence within one",
            hint=f"give at least {idle:g}, or lower `timeout_seconds`",
            address=values.address,
        )
    return idle, whole


def _env(server: MapNode, values: Values) -> dict[str, str]:
    mapping = server.mapping("env")
    found = dict(mapping.texts()) if mapping else {}
    for name, node in found.items():
        values.variable(name, node)
    return {name: node.text for name, node in found.items()}


def _headers(server: MapNode, values: Values) -> dict[str, str]:
    mapping = server.mapping("headers")
    if mapping is None:
        return {}
    found = dict(mapping.texts())
    for name, node in found.items():
        values.header(name, node)
    _check_header_names(server, mapping, values)
    return {name: node.text for name, node in found.items()}


def _check_header_names(server: MapNode, headers: MapNode, values: Values) -> None:
    seen: dict[str, Scalar] = {}
    for name, entry in headers.entries.items():
        folded = name.lower()
        message = None
        if folded in _RESERVED_HEADERS or folded.startswith(_RESERVED_PREFIX):
            message = "the HTTP client and the protocol set this header"
        elif folded == "authorization" and server.key("auth"):
            message = "`auth` sets this header too; keep one of them"
        elif folded in seen:
            message = (
                f"this header stands in {line_of(seen[folded].source, entry.key.source)} already; case does not count"
            )
        seen.setdefault(folded, entry.key)
        if message:
            values.findings.add("invalid-header", entry.key.source, message, address=values.address)


def _tls(server: MapNode, values: Values) -> Tls | None:
    tls = server.mapping("tls")
    if tls is None:
        return None
    key = tls.key("client_key")
    if key and not tls.key("client_cert"):
        message = "`client_key` needs `client_cert`"
        values.findings.add(
            "missing-key", key.source, message, hint="a key alone proves nothing", address=values.address
        )
    return Tls(ca_file=tls.text("ca_file"), client_cert=tls.text("client_cert"), client_key=tls.text("client_key"))


def _auth(server: MapNode, values: Values) -> Auth | None:
    auth = server.mapping("auth")
    if auth is None:
        return None
    _check_auth(auth, values)
    scopes = tuple(scope.text for scope in auth.scalars("scopes"))
    token_url = _spelled(auth.text("token_url") or "")
    fields = {key: auth.text(key) or "" for key in ("token", "client_id", "client_secret", "private_key")}
    match auth.text("type"):
        case "bearer":
            return BearerAuth(token=fields["token"])
        case "oauth_client_credentials":
            return ClientCredentialsAuth(
                token_url=token_url,
                client_id=fields["client_id"],
                client_secret=fields["client_secret"],
                scopes=scopes,
            )
        case "private_key_jwt":
            return PrivateKeyJwtAuth(
                token_url=token_url,
                client_id=fields["client_id"],
                private_key=fields["private_key"],
                algorithm=auth.text("algorithm") or "RS256",
                key_id=auth.text("key_id"),
                scopes=scopes,
            )
        case _:
            return None


def _spelled(token_url: str) -> str:
    """As written, because token endpoints compare it letter by letter as an audience; a host outside ASCII as it is asked for."""
    try:
        return token_url if token_url.isascii() else normalise_url(token_url)
    except InvalidUrl:
        return token_url


def _check_auth(auth: MapNode, values: Values) -> None:
    for key in ("token", "client_secret", "private_key"):
        if secret := auth.scalar(key):
            values.secret(key, secret)
    for key in ("client_id", "key_id"):
        if plain := auth.scalar(key):
            values.plain(plain)
    for scope in auth.scalars("scopes"):
        values.plain(scope)
    if token_url := auth.scalar("token_url"):
        _url(token_url, values)
