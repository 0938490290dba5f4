"""What passes between the steps of an import: a file, a draft of a server with its places, the server itself.

Decides the common shape that every dialect is read into. Values of a draft are still in the words of their source; those of
an `ImportedServer` are in the words of mcp.yaml and hold no secret.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeAlias

from remit.config.nodes import MapNode, Node, Scalar
from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.core.identity import Transport

__all__ = [
    "ClientCredentials",
    "Dialect",
    "Document",
    "Draft",
    "Form",
    "ImportedServer",
    "Imports",
    "Report",
    "Timeout",
    "Variable",
]


class Form(Enum):
    """The syntax of a file."""

    JSON = "json"
    TOML = "toml"
    YAML = "yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file that was read: the path it is shown under, and the root of each document in it that is a mapping."""

    file: str
    form: Form
    roots: tuple[MapNode, ...]
    text: str


class Report(Protocol):
    """Takes a finding about one server."""

    def __call__(
        self, code: str, place: Node, message: str, *, hint: str | None = None, severity: Severity = Severity.WARNING
    ) -> None:
        """Report `code` at the place; neither message nor hint may hold a value of the file."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """A limit as the source gives it, and how many of its units are a second."""

    value: Node
    per_second: int
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """`auth: {type: oauth_client_credentials, ...}` of mcp.yaml; `client_secret` is a reference."""

    token_url: str
    client_id: str
    client_secret: str
    scopes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Draft:
    """One server as its source has it. Lists are filled by the dialect; a `None` was not given.

    `misplaced` are values that stand where the name of a variable or header belongs. `oauth` holds the fields of an OAuth client under the names of mcp.yaml, and `grant`; `oauth_place` is where they stand.
    """

    name: Scalar
    place: Node
    program: list[Node] = field(default_factory=list[Node])
    url: Node | None = None
    transport: Node | None = None
    url_transport: Transport | None = None
    inferred: bool = False
    env: dict[str, Node] = field(default_factory=dict[str, Node])
    headers: dict[str, Node] = field(default_factory=dict[str, Node])
    oauth: dict[str, Node] = field(default_factory=dict[str, Node])
    oauth_place: Node | None = None
    env_files: list[Node] = field(default_factory=list[Node])
    cwd: Node | None = None
    enabled: bool = True
    timeout: Timeout | None = None
    start_timeout: Timeout | None = None
    allow: list[Node] | None = None
    deny: list[Node] = field(default_factory=list[Node])
    namespace: str | None = None
    notes: dict[str, str] = field(default_factory=dict[str, str])
    inputs: Mapping[str, MapNode] | None = None
    unknown: list[tuple[str, Node]] = field(default_factory=list[tuple[str, Node]])
    misplaced: list[Scalar] = field(default_factory=list[Scalar])


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedServer:
    """A server for mcp.yaml. `declared` is its name in the source, `name` the one that mcp.yaml can have.

    `include` is None where the source has no allow-list; timeouts are in seconds. `notes` are lines for a comment beside the
    entry: what the source says and mcp.yaml has no key for. `program` is what a wrapper starts, for people.
    """

    name: str
    declared: str
    namespace: str | None
    dialect: str
    source: Source
    transport: Transport
    command: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    auth: ClientCredentials | None = None
    env_files: tuple[str, ...] = ()
    cwd: str | None = None
    enabled: bool = True
    instance: str | None = None
    timeout_seconds: float | None = None
    start_timeout_seconds: float | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable that must be set before the servers that use it are connected to; `secret` is whether it holds one."""

    name: str
    secret: bool
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """Everything that came out of the files: servers in the order of the files, findings by place, variables by name."""

    servers: tuple[ImportedServer, ...]
    diagnostics: tuple[Diagnostic, ...]
    variables: tuple[Variable, ...]
    dialects: Mapping[str, str]

    @property
    def failed(self) -> bool:
        """Whether anything was an error: an entry or a file that did not come out whole."""
        return any(each.severity is Severity.ERROR for each in self.diagnostics)


ReportFor: TypeAlias = Callable[[Scalar], Report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One kind of file. `paths` are ends of paths as clients name their files; `fits` is whether a file has its table.

    `telling` is whether the content speaks for this dialect and no other with the same table. `url_transport` is what a `url`
    without more means there, `certain` whether that is the dialect's rule and not a guess. `bare_variables` is whether
    `$NAME` is a reference there.
    """

    name: str
    title: str
    paths: tuple[str, ...]
    fits: Callable[[Document], bool]
    telling: Callable[[Document], bool]
    drafts: Callable[[Document, ReportFor], Iterator[Draft]]
    url_transport: Transport = Transport.STREAMABLE_HTTP
    certain: bool = False
    bare_variables: bool = False
