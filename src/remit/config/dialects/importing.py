"""Configuration files of clients, read into servers of mcp.yaml.

Decides which file is read in which dialect, what happens between servers (names, namespaces, endpoints) and that each of them
can stand in mcp.yaml: every one is written and loaded once before it is given back. Reads the files and nothing else: no
process is started, no connection opened, no variable resolved.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from remit.config.credentials import is_showable
from remit.config.dialects.claude import servers_of_projects
from remit.config.dialects.json_nodes import parse_json
from remit.config.dialects.literals import Literals
from remit.config.dialects.model import (
    Dialect,
    Document,
    Draft,
    Form,
    ImportedServer,
    Imports,
    Report,
    Variable,
)
from remit.config.dialects.naming import name_of, slug_of
from remit.config.dialects.normalising import normalised
from remit.config.dialects.table import DIALECTS, dialect_of
from remit.config.dialects.toml_nodes import parse_toml
from remit.config.dialects.writing import mcp_text
from remit.config.files import FileText, read_file
from remit.config.findings import Findings
from remit.config.layout import NAMESPACE_PATTERN
from remit.config.loader import Loaded, load_texts
from remit.config.nodes import MapNode, Node, Scalar
from remit.config.servers import derive_namespace
from remit.config.yaml_nodes import parse_yaml_documents
from remit.core.addresses import server_address
from remit.core.desired import ConfigFile, DesiredServer
from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.core.identity import identity_key_of
from remit.core.references import EnvReference, parse_references

__all__ = ["import_files", "read_document"]

_TABLES = ("mcpServers", "servers", "context_servers", "mcp_servers", "mcp", "kind", "projects")
"""Where the clients have their servers."""

_SUFFIXES: Mapping[str, Form] = {
    ".json": Form.JSON,
    ".jsonc": Form.JSON,
    ".json5": Form.JSON,
    ".toml": Form.TOML,
    ".yaml": Form.YAML,
    ".yml": Form.YAML,
}
_NAMESPACE = re.compile(rf"(?:{NAMESPACE_PATTERN})\Z")
_USED = re.compile(
    r"(?:\$\{(?:env:|input:)?|\{env:|secrets\.|\{\{\s*(?:\w+:)?|os\.environ/|\$)(?P<name>[A-Za-z_]\w*)(?![\w-])"
)


def import_files(
    paths: Sequence[Path],
    *,
    dialect: Dialect | None = None,
    beside: Sequence[DesiredServer] = (),
    texts: Sequence[str] = (),
) -> Imports:
    """Read files in the order given. A file or an entry that cannot be read is an error beside what came out of the others.

    `beside` are servers of an mcp.yaml: nothing comes out that has the name or the endpoint of one of them. `texts` are its files:
    no variable that they use is given to a credential.
    """
    findings = Findings({})
    documents = [(path, document) for path in paths if (document := read_document(path, findings))]
    found: list[tuple[Draft, Dialect]] = []
    dialects: dict[str, str] = {}
    for path, document in documents:
        known = dialect or dialect_of(document, path)
        if known is None:
            _unknown(document, findings)
            continue
        dialects[document.file] = known.name
        drafts = list(known.drafts(document, lambda name: _report_of(name, findings)))
        _left_out(document, findings)
        if not drafts:
            _nothing(document, path, known, findings)
        found += ((draft, known) for draft in drafts)
    literals = _literals([draft for draft, _ in found], [*texts, *(document.text for _, document in documents)], texts)
    read = [normalised(draft, known, literals, _report_of(draft.name, findings)) for draft, known in found]
    clean = literals.scrubber()
    scrubbed = [_scrubbed(server, clean) for server in read if server is not None]
    servers = tuple(_Fitting(findings, beside).servers(scrubbed))
    return Imports(
        servers=servers,
        diagnostics=tuple(_scrubbed_finding(each, clean) for each in findings.diagnostics()),
        variables=tuple(_variables(servers, literals)),
        dialects=dialects,
    )


# --- files ---------------------------------------------------------------------------------------------------------------


def read_document(path: Path, findings: Findings) -> Document | None:
    """One file as trees, or None, reported. A file with a key twice is refused whole: which of the two counts is a guess."""
    display = str(path)
    read = read_file(path, display)
    if not isinstance(read, FileText):
        for each in read:
            findings.add(each.code, each.source or Source(display, 1, 1), each.message)
        return None
    form = _SUFFIXES.get(path.suffix.lower()) or _form_of(read.text)
    own = Findings({})
    roots = _roots(form, read.text, display, own)
    for each in own.diagnostics():
        findings.add(each.code, each.source or Source(display, 1, 1), each.message, hint=each.hint)
    if own.rejecting:
        return None
    return Document(
        file=display, form=form, roots=tuple(each for each in roots if isinstance(each, MapNode)), text=read.text
    )


def _form_of(text: str) -> Form:
    return Form.JSON if text.lstrip().startswith(("{", "//", "/*")) else Form.YAML


def _roots(form: Form, text: str, display: str, findings: Findings) -> Iterable[Node | None]:
    match form:
        case Form.JSON:
            return (parse_json(text, display, findings),)
        case Form.TOML:
            return (parse_toml(text, display, findings),)
        case Form.YAML:
            return parse_yaml_documents(text, display, findings) or ()


def _names_in(text: str) -> Iterator[str]:
    """Names that a file may refer to: none of them is given to a credential that stands in it."""
    for found in _USED.finditer(text):
        yield found["name"]


def _unknown(document: Document, findings: Findings) -> None:
    known = ", ".join(DIALECTS)
    hint = f"it needs a table such as `mcpServers`; name what it is with --dialect: {known}"
    findings.add("unknown-dialect", Source(document.file, 1, 1), "no known client writes such a file", hint=hint)


def _left_out(document: Document, findings: Findings) -> None:
    if projects := servers_of_projects(document):
        place, count = projects
        message = f"`projects`: {count} that a single folder has {'was' if count == 1 else 'were'} left out"
        hint = "copy what you want into a file with `mcpServers`, and import that"
        findings.add("not-carried-over", place.source, message, hint=hint, severity=Severity.NOTE)


def _nothing(document: Document, path: Path, dialect: Dialect, findings: Findings) -> None:
    """Say of a file that no server came out of it, and what it has instead, unless its errors say it."""
    found = findings.diagnostics()
    if any(each.severity is Severity.ERROR and each.source and each.source.file == document.file for each in found):
        return
    other = dialect_of(document, path)
    message = "the file has no server"
    hint = "nothing is written: a file that asks for nothing is never made of an empty one"
    if other and not dialect.fits(document):
        tables = ", ".join(f"`{key}`" for key in _TABLES if any(key in root.entries for root in document.roots))
        message = f"the file has no server where {dialect.name} has them; it has {tables}, as {other.name} writes it"
        hint = "leave --dialect out"
    findings.add("no-servers", Source(document.file, 1, 1), message, hint=hint, severity=Severity.NOTE)


# --- one server ----------------------------------------------------------------------------------------------------------


def _literals(drafts: Iterable[Draft], texts: Iterable[str], beside: Iterable[str]) -> Literals:
    """The variables that are taken; those of mcp.yaml and those that an entry does not set itself are somebody's already."""
    elsewhere = {name for text in beside for name in _names_in(text)}
    for draft in drafts:
        nodes = (*draft.program, draft.url, *draft.env.values(), *draft.headers.values())
        texts_of_draft = " ".join(node.text for node in nodes if isinstance(node, Scalar))
        elsewhere |= {name for name in _names_in(texts_of_draft) if name not in draft.env}
    return Literals(taken={name for text in texts for name in _names_in(text)}, elsewhere=frozenset(elsewhere))


def _report_of(name: Scalar, findings: Findings) -> Report:
    address = server_address(name.text if is_showable(name.text) else name_of(name.text) or "?")

    def report(
        code: str, place: Node, message: str, *, hint: str | None = None, severity: Severity = Severity.WARNING
    ) -> None:
        findings.add(code, place.source, message, hint=hint, address=address, severity=severity)

    return report


def _scrubbed(server: ImportedServer, clean: Callable[[str], str]) -> ImportedServer:
    """The server with every credential gone that another place of the files gave away."""
    return replace(
        server,
        command=(*server.command[:1], *map(clean, server.command[1:])),
        program=tuple(map(clean, server.program)),
        url=clean(server.url) if server.url else None,
        env={name: clean(value) for name, value in server.env.items()},
        headers={name: clean(value) for name, value in server.headers.items()},
        auth=server.auth
        and replace(server.auth, token_url=clean(server.auth.token_url), client_id=clean(server.auth.client_id)),
        env_files=tuple(map(clean, server.env_files)),
        cwd=clean(server.cwd) if server.cwd else None,
        include=server.include and tuple(each for each in server.include if clean(each) == each),
        exclude=tuple(each for each in server.exclude if clean(each) == each),
        notes=tuple(map(clean, server.notes)),
    )


def _scrubbed_finding(finding: Diagnostic, clean: Callable[[str], str]) -> Diagnostic:
    return replace(finding, message=clean(finding.message), hint=finding.hint and clean(finding.hint))


def _variables(servers: Iterable[ImportedServer], literals: Literals) -> Iterator[Variable]:
    """What the servers refer to without a default, by name."""
    users: dict[str, list[str]] = {}
    for server in servers:
        auth = (server.auth.token_url, server.auth.client_id, server.auth.client_secret) if server.auth else ()
        plain = (server.url or "", server.cwd or "", *auth)
        texts = (*server.command, *server.env.values(), *server.headers.values(), *plain)
        parts = [part for text in texts for part in parse_references(text)]
        for part in parts:
            if isinstance(part, EnvReference) and part.default is None:
                users.setdefault(part.name, []).append(server.name)
    for name in sorted(users):
        yield Variable(name=name, secret=name not in literals.plain, servers=tuple(dict.fromkeys(users[name])))


# --- servers beside each other -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Fitting:
    """Takes servers one after the other, each only if it can stand in mcp.yaml beside those before it."""

    findings: Findings
    beside: Sequence[DesiredServer]

    def servers(self, found: Iterable[ImportedServer]) -> Iterator[ImportedServer]:
        taken: dict[str, ImportedServer] = {}
        endpoints: dict[str, list[ImportedServer]] = {}
        namespaces = {server.namespace for server in self.beside}
        for server in found:
            endpoint = self._endpoint(server)
            if endpoint is None or self._there(server, endpoint) or not self._free(server, taken):
                continue
            alone = self._apart(server, endpoints.get(endpoint, []))
            if alone is None:
                continue
            named = self._named(alone, namespaces)
            taken[slug_of(named.declared)] = named
            endpoints.setdefault(endpoint, []).append(named)
            namespaces.add(named.namespace or named.name)
            yield named

    def _named(self, server: ImportedServer, namespaces: set[str]) -> ImportedServer:
        """The server with a namespace of its own, None where its name is one."""
        own = server.namespace if server.namespace and _NAMESPACE.match(server.namespace) else None
        if own is None and _NAMESPACE.match(server.name) and server.name not in namespaces:
            return replace(server, namespace=None)
        last = re.split(r"[/:]", server.declared.rstrip("/"))[-1]
        told = derive_namespace(last) if re.search("[A-Za-z]", last) else None
        candidates = [own, told, derive_namespace(slug_of(server.declared))]
        free = next((each for each in candidates if each and each not in namespaces), None)
        if free is None:
            # Numbers would depend on the order of the files; the name does not.
            digest = hashlib.sha256(server.declared.encode()).hexdigest()
            free = f"{derive_namespace(last)[:13].rstrip('_')}_x{digest[:5]}"
        if free not in (own, re.sub(r"[^a-z0-9]+", "_", server.name.lower())):
            message = f"its tools will be called {free}__...: the whole name cannot begin a function name"
            self._add("namespace-derived", server, message, "give another `namespace` now: it stays", Severity.NOTE)
        return replace(server, namespace=free)

    def _endpoint(self, server: ImportedServer) -> str | None:
        """The key of its endpoint, or None, reported, where mcp.yaml would be refused with the server in it."""
        # The assistant is there so that the names of the tools are judged too; namespaces come later.
        text = mcp_text((replace(server, namespace="import"),), workspace="import", assistant="import")
        loaded = load_texts([FileText(file=ConfigFile(path="mcp.yaml", sha256=""), text=text)], Path("/"))
        if isinstance(loaded, Loaded):
            [desired] = loaded.desired.servers
            return identity_key_of(desired.endpoint, None)
        for each in loaded.diagnostics:
            if each.severity is Severity.ERROR:
                self._forward(each, server)
        return None

    def _forward(self, refused: Diagnostic, server: ImportedServer) -> None:
        message = f"the entry cannot stand in mcp.yaml: {refused.message}"
        self._add(refused.code, server, message, refused.hint, Severity.ERROR)

    def _there(self, server: ImportedServer, endpoint: str) -> bool:
        """Whether mcp.yaml has the name or the endpoint already, which is reported and left as it is."""
        for other in self.beside:
            named = other.name.casefold() == server.name.casefold()
            reached = identity_key_of(other.endpoint, None) == endpoint
            if not named and not reached:
                continue
            what = "it" if named and reached else "another server of this name" if named else "its endpoint"
            message = f"{what} stands in {other.source} already, as `{other.name}`; the file was left as it is there"
            severity = Severity.NOTE if named and reached else Severity.ERROR
            hint = None if named and reached else "rename one of the two, or delete one"
            self._add("already-declared", server, message, hint, severity)
            return True
        return False

    def _free(self, server: ImportedServer, taken: Mapping[str, ImportedServer]) -> bool:
        other = taken.get(slug_of(server.declared))
        if other is None:
            return True
        if _same(server, other):
            message = f"the same server stands in {other.source} already; it was taken once"
            self._add("already-declared", server, message, None, Severity.NOTE)
        else:
            message = (
                f"`{_shown(server)}` and `{_shown(other)}` in {other.source} come to one name; the first was taken"
            )
            self._add("name-collision", server, message, "rename one of the two there", Severity.ERROR)
        return False

    def _apart(self, server: ImportedServer, others: Sequence[ImportedServer]) -> ImportedServer | None:
        """The server with an `instance` where another one has its endpoint and other credentials."""
        if not others:
            return server
        same = next((each for each in others if _proof(each) == _proof(server)), None)
        if same is not None:
            message = f"it is the same server as `{_shown(same)}` in {same.source} under another name; it was left out"
            self._add("duplicate-endpoint", server, message, "delete one of the two there", Severity.ERROR)
            return None
        message = f"it is the endpoint of `{_shown(others[0])}` with other values; it became an instance of its own"
        self._add("instance-given", server, message, None, Severity.NOTE)
        return replace(server, instance=slug_of(server.declared))

    def _add(self, code: str, server: ImportedServer, message: str, hint: str | None, severity: Severity) -> None:
        shown = server_address(_shown(server))
        self.findings.add(code, server.source, message, hint=hint, address=shown, severity=severity)


def _shown(server: ImportedServer) -> str:
    return server.declared if is_showable(server.declared) else server.name


def _proof(server: ImportedServer) -> tuple[object, ...]:
    """What tells two servers at one endpoint apart."""
    return server.env, server.headers, server.auth


def _same(one: ImportedServer, other: ImportedServer) -> bool:
    return one.declared == other.declared and (one.command, one.url, one.cwd, _proof(one)) == (
        other.command, other.url, other.cwd, _proof(other),
    )  # fmt: skip
