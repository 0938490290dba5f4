"""Entries of a client's server table, read into drafts by a table of keys.

Decides what each kind of key (a `Role`) does to a draft. Which key has which role is each dialect's table; what a draft then
comes to is normalising.py. A key that has no role is reported, never guessed at.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto

from remit.config.credentials import credential_in_text, is_showable
from remit.config.dialects.model import Document, Draft, Form, Report, ReportFor, Timeout
from remit.config.dialects.oauth import GRANT, fields_of, rest_of
from remit.config.dialects.references import is_misplaced, reference_to
from remit.config.dialects.scalars import broken, is_null, is_trap, quote, stand_in, texts_of
from remit.config.nodes import Entry, Kind, ListNode, MapNode, Node, Scalar
from remit.core.diagnostics import Severity
from remit.core.identity import Transport

__all__ = [
    "EVERYWHERE",
    "Role",
    "draft_of",
    "drafts_at",
    "entries_have",
    "fill",
    "has_table",
    "table_at",
]


class Role(Enum):
    """What a key of an entry means."""

    ALLOW = auto()
    APPROVED = auto()
    ARGS = auto()
    BEARER = auto()
    BEARER_VARIABLE = auto()
    COMMAND = auto()
    CWD = auto()
    DENY = auto()
    DISABLED = auto()
    ENABLED = auto()
    ENV = auto()
    ENV_FILE = auto()
    ENV_NAMES = auto()
    HEADERS = auto()
    HEADER_VARIABLES = auto()
    IGNORED = auto()
    LEFT_OUT = auto()
    NAMESPACE = auto()
    NOTE = auto()
    OAUTH = auto()
    OAUTH_FIELD = auto()
    OPENED = auto()
    REQUEST = auto()
    START_MILLISECONDS = auto()
    START_SECONDS = auto()
    TIMEOUT_MILLISECONDS = auto()
    TIMEOUT_SECONDS = auto()
    TOOL_SWITCHES = auto()
    TRANSPORT = auto()
    TRUST = auto()
    URL = auto()
    URL_HTTP = auto()
    URL_SSE = auto()


EVERYWHERE: Mapping[str, Role] = {
    "enabled": Role.ENABLED,
    "disabled": Role.DISABLED,
    **dict.fromkeys(("includeTools", "enabled_tools", "allowed_tools", "toolsFilter", "toolNames"), Role.ALLOW),
    **dict.fromkeys(("excludeTools", "disabledTools", "disabled_tools", "disallowed_tools"), Role.DENY),
    "alwaysAllow": Role.APPROVED,
    "autoApprove": Role.APPROVED,
    "trust": Role.TRUST,
    "tools": Role.TOOL_SWITCHES,
}
"""Keys that restrict, or that say what is approved: people copy them from one client's file into another's, and a list that
is left out because the client does not know it would leave more than its author meant."""


def drafts_at(keys: Mapping[str, Role], *path: str) -> Callable[[Document, ReportFor], Iterator[Draft]]:
    """A reader of the table at this path in every document of a file: one draft for each entry that is a mapping."""

    def drafts(document: Document, report_for: ReportFor) -> Iterator[Draft]:
        for root in document.roots:
            table = table_at(root, *path)
            for entry in table.entries.values() if table else ():
                draft = draft_of(entry, keys, document, report_for(entry.key))
                if draft is not None:
                    yield draft

    return drafts


def draft_of(entry: Entry, keys: Mapping[str, Role], document: Document, report: Report) -> Draft | None:
    """The draft of one entry, or None, reported, where its name or its value can be nothing of the kind."""
    trap = is_trap(entry.key, document.form)
    if trap:
        quote(report, entry.key, "the name of a server")
    if not isinstance(entry.value, MapNode):
        report("wrong-type", entry.value, "an entry of the server table is a mapping", severity=Severity.ERROR)
        return None
    draft = Draft(name=entry.key, place=entry.key)
    fill(draft, entry.value, keys, document, report)
    return None if trap else draft


def fill(draft: Draft, node: MapNode, keys: Mapping[str, Role], document: Document, report: Report) -> None:
    """Read each key of an entry as its role says, by the dialect's table first and by that of all dialects then."""
    for name, entry in node.entries.items():
        role = keys.get(name) or EVERYWHERE.get(name)
        if role is None:
            shown = f"`{name}`" if is_showable(name) else "a key"
            report("unknown-key", entry.key, f"{shown} is no key of a server there; it was left out")
            if credential_in_text(name):
                draft.misplaced.append(entry.key)
            draft.unknown.append((name, entry.value))
        else:
            _HANDLERS[role](_Filling(draft, document.form, report), entry)


def table_at(root: MapNode, *path: str) -> MapNode | None:
    """The mapping at a path of keys, or None."""
    found: MapNode | None = root
    for key in path:
        found = found.mapping(key) if found else None
    return found


def has_table(*path: str, forms: tuple[Form, ...] = (Form.JSON,)) -> Callable[[Document], bool]:
    """Whether a file of one of these forms has a server table at the path, an empty one included."""

    def fits(document: Document) -> bool:
        holders = [table_at(root, *path[:-1]) for root in document.roots]
        return document.form in forms and any(holder and _empty_or_map(holder.node(path[-1])) for holder in holders)

    return fits


def _empty_or_map(node: Node | None) -> bool:
    return isinstance(node, MapNode) or (isinstance(node, Scalar) and node.kind is Kind.NULL)


def entries_have(keys: frozenset[str], *path: str) -> Callable[[Document], bool]:
    """Whether any entry of the table at the path has one of the keys, which only one client knows."""

    def telling(document: Document) -> bool:
        tables = [table for root in document.roots if (table := table_at(root, *path))]
        entries = [entry.value for table in tables for entry in table.entries.values()]
        return any(isinstance(entry, MapNode) and not keys.isdisjoint(entry.entries) for entry in entries)

    return telling


# --- what each role does -------------------------------------------------------------------------------------------------


class _Filling:
    """The draft that a handler works on, and how it reports."""

    def __init__(self, draft: Draft, form: Form, report: Report):
        self.draft = draft
        self.form = form
        self.report = report

    def command(self, entry: Entry) -> None:
        value = entry.value
        if isinstance(value, MapNode):
            # Zed's older shape: the command with its arguments and environment as one mapping.
            for key, role in _INNER.items():
                if inner := value.entries.get(key):
                    _HANDLERS[role](self, inner)
        elif isinstance(value, ListNode):
            words = texts_of(value, self.form, self.report, "`command`")
            self.draft.program[:0] = [broken(value)] if words is None else words
        else:
            self._text(value, "`command`", lambda node: self.draft.program.insert(0, node))

    def args(self, entry: Entry) -> None:
        if not is_null(entry.value):
            words = texts_of(entry.value, self.form, self.report, "`args`")
            # A wrong list was reported and must not leave a shorter command behind.
            self.draft.program += [broken(entry.value)] if words is None else words

    def _text(self, node: Node, what: str, take: Callable[[Scalar], None]) -> None:
        if isinstance(node, Scalar) and not is_trap(node, self.form):
            take(node)
        else:
            quote(self.report, node, what)

    def env(self, entry: Entry) -> None:
        if isinstance(entry.value, MapNode):
            for name, each in entry.value.entries.items():
                if self._is_name(each.key):
                    self.variable(name, each.value)
        else:
            self._wrong(entry, "no mapping")

    def variable(self, name: str, value: Node) -> None:
        """One variable: what is no text there becomes the text that it is written as."""
        if isinstance(value, Scalar) and not is_null(value):
            self.draft.env[name] = stand_in(value, value.text)
        else:
            shown = name if is_showable(name) else "a variable"
            self.report(
                "null-value", value, f"env: {shown} has no value; it was left out", severity=Severity.ERROR,
                hint='give it a value, or "" for an empty one',
            )  # fmt: skip

    def env_names(self, entry: Entry) -> None:
        if not isinstance(entry.value, ListNode):
            self._wrong(entry, "no list")
            return
        for item in entry.value.items:
            name = item.scalar("name") if isinstance(item, MapNode) else item
            if not isinstance(name, Scalar):
                continue
            if is_misplaced(name.text):
                self.draft.misplaced.append(name)
            else:
                self.draft.env[name.text] = stand_in(name, reference_to(name.text))

    def env_file(self, entry: Entry) -> None:
        self._text(entry.value, "`envFile`", self.draft.env_files.append)

    def headers(self, entry: Entry) -> None:
        if not isinstance(entry.value, MapNode):
            self._wrong(entry, "no mapping")
            return
        for name, each in entry.value.entries.items():
            if not self._is_name(each.key):
                continue
            if isinstance(each.value, Scalar) and not is_null(each.value):
                self.draft.headers[name] = stand_in(each.value, each.value.text)
            else:
                self._wrong(each, "no text")

    def _is_name(self, key: Scalar) -> bool:
        """Whether a key is a name, and no secret that somebody wrote in its place."""
        if credential_in_text(key.text):
            self.draft.misplaced.append(key)
            return False
        return True

    def _wrong(self, entry: Entry, what: str) -> None:
        if is_null(entry.value):
            return
        shown = f"`{entry.key.text}`" if is_showable(entry.key.text) else "the value"
        self.report("wrong-type", entry.value, f"{shown} is {what}; it was left out", severity=Severity.ERROR)

    def header_variables(self, entry: Entry) -> None:
        for name, variable in entry.value.texts() if isinstance(entry.value, MapNode) else ():
            self.draft.headers[name] = stand_in(variable, reference_to(variable.text))

    def bearer_variable(self, entry: Entry) -> None:
        if isinstance(entry.value, Scalar):
            self.draft.headers["Authorization"] = stand_in(entry.value, f"Bearer {reference_to(entry.value.text)}")

    def bearer(self, entry: Entry) -> None:
        if isinstance(entry.value, Scalar):
            self.draft.headers["Authorization"] = stand_in(entry.value, f"Bearer {entry.value.text}")

    def request(self, entry: Entry) -> None:
        """Continue's `requestOptions`: headers among options of an HTTP client."""
        for name, each in entry.value.entries.items() if isinstance(entry.value, MapNode) else ():
            if name == "headers":
                self.headers(each)
            else:
                self.left_out(each)

    def url(self, entry: Entry) -> None:
        self._text(entry.value, "the URL", self._take_url)

    def _take_url(self, node: Scalar) -> None:
        self.draft.url = node

    def url_sse(self, entry: Entry) -> None:
        self.url(entry)
        self.draft.url_transport = Transport.SSE

    def url_http(self, entry: Entry) -> None:
        self.url(entry)
        self.draft.url_transport = Transport.STREAMABLE_HTTP

    def transport(self, entry: Entry) -> None:
        self.draft.transport = entry.value

    def cwd(self, entry: Entry) -> None:
        if not is_null(entry.value):
            self._text(entry.value, "`cwd`", self._take_cwd)

    def _take_cwd(self, node: Scalar) -> None:
        self.draft.cwd = node

    def enabled(self, entry: Entry) -> None:
        self.draft.enabled = self._flag(entry)

    def disabled(self, entry: Entry) -> None:
        self.draft.enabled = not self._flag(entry, unknown=True)

    def _flag(self, entry: Entry, *, unknown: bool = False) -> bool:
        """The value as true or false; `unknown` where it says neither, which leaves the server disabled."""
        node, key = entry.value, entry.key.text
        text = node.text.lower() if isinstance(node, Scalar) else ""
        if text not in ("true", "false"):
            message = f"`{key}` is neither true nor false; the server is imported as disabled"
            hint = "decide it in the file: remit resolves no reference here, and a text that is not empty is not true"
            self.report("not-a-boolean", node, message, hint=hint, severity=Severity.ERROR)
            return unknown
        if isinstance(node, Scalar) and not node.plain:
            self.report("string-boolean", node, f"`{key}` is a text; it was read as {text}")
        return text == "true"

    def allow(self, entry: Entry) -> None:
        if not is_null(entry.value):
            self.draft.allow = texts_of(entry.value, self.form, self.report, f"`{entry.key.text}`") or None

    def deny(self, entry: Entry) -> None:
        if not is_null(entry.value):
            self.draft.deny += texts_of(entry.value, self.form, self.report, f"`{entry.key.text}`") or []

    def tool_switches(self, entry: Entry) -> None:
        """MCPHub's `tools`: a switch and a description for each tool."""
        if not isinstance(entry.value, MapNode):
            self.left_out(entry)
            return
        for tool, each in entry.value.entries.items():
            node = each.value if isinstance(each.value, MapNode) else None
            switch = node.flag("enabled") if node else None
            if switch is not None:
                self._switch(each.key, on=switch)
            if node and (text := node.text("description")) and self._is_name(each.key):
                self.draft.notes[f"{tool}: description there"] = text
                self.report("not-carried-over", each.key, "a description of its own for a tool: mcp.yaml has none",
                            severity=Severity.NOTE)  # fmt: skip

    def _switch(self, tool: Scalar, *, on: bool) -> None:
        if on:
            self.draft.allow = [*(self.draft.allow or []), tool]
        else:
            self.draft.deny.append(tool)

    def approved(self, entry: Entry) -> None:
        node = entry.value
        if isinstance(node, Scalar) and node.kind is Kind.FLAG:
            self.trust(entry)
        elif isinstance(node, ListNode):
            self._approved_tools(entry, node)
        else:
            self._wrong(entry, "neither a list nor true or false")

    def _approved_tools(self, entry: Entry, node: ListNode) -> None:
        names: dict[str, None] = {}
        for item in node.items:
            if not isinstance(item, Scalar) or not item.text or item.text in names:
                self.report("dropped-item", item, f"`{entry.key.text}`: an empty or repeated entry was dropped")
            elif self._is_name(item):
                names[item.text] = None
        if not names:
            return
        shown = ", ".join(name for name in names if is_showable(name)) or f"{len(names)} tools"
        message = f"approved without asking there ({entry.key.text}): {shown}; here they get the strictest policy"
        hint = "loosen single tools in mcp.yaml once you have read what they do"
        self.report("approval-hint", entry.key, message, hint=hint, severity=Severity.NOTE)

    def trust(self, entry: Entry) -> None:
        """A switch that approves every tool of a server."""
        if isinstance(entry.value, Scalar) and entry.value.text == "true":
            message = f"`{entry.key.text}: true` approves EVERY tool there; here every tool gets the strictest policy"
            self.report("approve-all", entry.key, message, hint="loosen single tools once you have read what they do")

    def opened(self, entry: Entry) -> None:
        if isinstance(entry.value, Scalar) and entry.value.text == "true":
            message = f"`{entry.key.text}: true` opens the server to every caller there; here only assistants have it"
            self.report("opened-to-all", entry.key, message)

    def namespace(self, entry: Entry) -> None:
        if isinstance(entry.value, Scalar) and self._is_name(entry.value):
            self.draft.namespace = entry.value.text
            message = f"`{entry.key.text}` is a second name there; it became the namespace if it can be one"
            self.report("second-name", entry.key, message, severity=Severity.NOTE)

    def note(self, entry: Entry) -> None:
        if isinstance(entry.value, Scalar) and entry.value.text:
            self.draft.notes[entry.key.text] = entry.value.text

    def oauth(self, entry: Entry) -> None:
        """Settings of an OAuth client, or a switch that asks for a login."""
        if isinstance(entry.value, MapNode):
            if entry.value.flag("enabled") is not False:
                fields = fields_of(entry.value) or {GRANT: stand_in(entry.key, "")}
                self._client(entry, fields)
            self.draft.unknown.append((entry.key.text, rest_of(entry.value)))
        elif isinstance(entry.value, Scalar) and entry.value.kind is Kind.FLAG:
            if entry.value.text == "true":
                self._client(entry, {GRANT: stand_in(entry.key, "")})
        else:
            self.left_out(entry)

    def oauth_field(self, entry: Entry) -> None:
        """One field of a client beside the other keys of an entry."""
        self._client(entry, fields_of(MapNode(entry.key.file, entry.key.start, entry.key.end, {entry.key.text: entry})))

    def _client(self, entry: Entry, fields: Mapping[str, Node]) -> None:
        self.draft.oauth.update(fields)
        self.draft.oauth_place = self.draft.oauth_place or entry.key

    def left_out(self, entry: Entry) -> None:
        message = f"`{entry.key.text}` has no counterpart in mcp.yaml; it was left out"
        self.report("not-carried-over", entry.key, message, severity=Severity.NOTE)
        self.draft.unknown.append((entry.key.text, entry.value))

    def ignored(self, entry: Entry) -> None:
        self.draft.unknown.append((entry.key.text, entry.value))

    def timeout(self, entry: Entry, *, per_second: int, start: bool) -> None:
        if is_null(entry.value):
            return
        unit = "seconds" if per_second == 1 else "milliseconds"
        limit = Timeout(value=entry.value, per_second=per_second, unit=unit)
        if start:
            self.draft.start_timeout = limit
        else:
            self.draft.timeout = limit


_Handler = Callable[[_Filling, Entry], None]

_HANDLERS: Mapping[Role, _Handler] = {
    Role.ALLOW: _Filling.allow,
    Role.APPROVED: _Filling.approved,
    Role.ARGS: _Filling.args,
    Role.BEARER: _Filling.bearer,
    Role.BEARER_VARIABLE: _Filling.bearer_variable,
    Role.COMMAND: _Filling.command,
    Role.CWD: _Filling.cwd,
    Role.DENY: _Filling.deny,
    Role.DISABLED: _Filling.disabled,
    Role.ENABLED: _Filling.enabled,
    Role.ENV: _Filling.env,
    Role.ENV_FILE: _Filling.env_file,
    Role.ENV_NAMES: _Filling.env_names,
    Role.HEADERS: _Filling.headers,
    Role.HEADER_VARIABLES: _Filling.header_variables,
    Role.IGNORED: _Filling.ignored,
    Role.LEFT_OUT: _Filling.left_out,
    Role.NAMESPACE: _Filling.namespace,
    Role.NOTE: _Filling.note,
    Role.OAUTH: _Filling.oauth,
    Role.OAUTH_FIELD: _Filling.oauth_field,
    Role.OPENED: _Filling.opened,
    Role.REQUEST: _Filling.request,
    Role.START_MILLISECONDS: lambda to, entry: to.timeout(entry, per_second=1000, start=True),
    Role.START_SECONDS: lambda to, entry: to.timeout(entry, per_second=1, start=True),
    Role.TIMEOUT_MILLISECONDS: lambda to, entry: to.timeout(entry, per_second=1000, start=False),
    Role.TIMEOUT_SECONDS: lambda to, entry: to.timeout(entry, per_second=1, start=False),
    Role.TOOL_SWITCHES: _Filling.tool_switches,
    Role.TRANSPORT: _Filling.transport,
    Role.TRUST: _Filling.trust,
    Role.URL: _Filling.url,
    Role.URL_HTTP: _Filling.url_http,
    Role.URL_SSE: _Filling.url_sse,
}

_INNER: Mapping[str, Role] = {"path": Role.COMMAND, "cmd": Role.COMMAND, "args": Role.ARGS, "env": Role.ENV}
