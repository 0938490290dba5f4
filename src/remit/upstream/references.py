"""References resolved: what a connection needs, with the values of the environment and of files put in.

Values are read when a connection is opened and exist nowhere else (DESIGN.md section 2): this module reads them, keeps
them out of every `repr`, and names in its failures the field and the variable or path, never a value. What a text means
is decided in core.references.
"""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from remit.core.desired import Auth, BearerAuth, ClientCredentialsAuth, Connection, PrivateKeyJwtAuth, Tls
from remit.core.identity import Endpoint, HttpEndpoint, StdioEndpoint, Transport
from remit.core.live import UnreachableReason
from remit.core.references import EnvReference, FileReference, InvalidReference, Literal, Part, parse_references
from remit.upstream.faults import Fault
from remit.upstream.redaction import MIN_SECRET

__all__ = [
    "PYTHON_PLACEHOLDER",
    "Connectable",
    "ResolvedConnection",
    "ResolvedHttp",
    "ResolvedStdio",
    "Sources",
    "Unresolved",
    "resolve_connection",
]

PYTHON_PLACEHOLDER = "{python}"
_MAX_FILE = 1024 * 1024
_DEFAULT_SECRET_DIR = "/run/secrets"  # noqa: S105 (a folder, not a secret)


class Unresolved(Fault):
    """A reference has no value. The text names the field and the variable or path, never a value."""

    def __init__(self, field_name: str, problem: str):
        super().__init__(UnreachableReason.SECRET_UNRESOLVED, f"{field_name}: {problem}")


class Connectable(Protocol):
    """What a connection is made from: a declared server, or a recorded one. References are as written."""

    @property
    def name(self) -> str:
        """What the server is called."""
        ...

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        ...

    @property
    def connection(self) -> Connection:
        """How it is connected to."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where values come from: the environment, the config's folder (absolute) and the running interpreter's path."""

    environ: Mapping[str, str] = field(repr=False)
    base_dir: Path
    python: str

    def secret_dirs(self) -> tuple[Path, ...]:
        """The folders below which files may be referenced."""
        extra = [Path(entry) for entry in self.environ.get("REMIT_SECRET_DIRS", "").split(os.pathsep) if entry]
        return (self.base_dir, Path(_DEFAULT_SECRET_DIR), *extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedStdio:
    """A child process to start: arguments, declared environment, working directory (absolute)."""

    command: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    cwd: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedHttp:
    """A URL to talk to, with headers, credentials and TLS files (absolute paths)."""

    url: str = field(repr=False)
    transport: Transport
    headers: Mapping[str, str] = field(repr=False)
    auth: Auth | None = field(repr=False)
    tls: Tls | None
    allow_private_network: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedConnection:
    """A connection ready to be opened, and the values to mask while it lives. `repr` shows no value."""

    name: str
    endpoint: ResolvedStdio | ResolvedHttp
    secrets: frozenset[str] = field(repr=False)


def resolve_connection(server: Connectable, sources: Sources) -> ResolvedConnection:
    """Read every reference of a server. Raises Unresolved for the first one without a value."""
    reader = _Reader(sources)
    match server.endpoint:
        case StdioEndpoint(command=command, cwd=cwd):
            endpoint: ResolvedStdio | ResolvedHttp = ResolvedStdio(
                command=_command(command, reader, sources.python),
                env={name: reader.value(f"env.{name}", text) for name, text in server.connection.env.items()},
                cwd=_absolute(sources, reader.value("cwd", cwd or "")),
            )
        case HttpEndpoint(url=url, transport=transport):
            connection = server.connection
            endpoint = ResolvedHttp(
                url=reader.value("url", url, encode=_quoted),
                transport=transport,
                headers={name: reader.value(f"headers.{name}", text) for name, text in connection.headers.items()},
                auth=reader.auth(connection.auth),
                tls=_tls(connection.tls, sources),
                allow_private_network=connection.allow_private_network,
            )
    return ResolvedConnection(name=server.name, endpoint=endpoint, secrets=frozenset(reader.secrets))


def _command(command: tuple[str, ...], reader: "_Reader", python: str) -> tuple[str, ...]:
    # command[0] is literal by design: the reviewed program is the one that runs.
    program = python if command[0] == PYTHON_PLACEHOLDER else command[0]
    rest = [reader.value(f"command[{index}]", text) for index, text in enumerate(command[1:], start=1)]
    return (program, *(python if text == PYTHON_PLACEHOLDER else text for text in rest))


def _absolute(sources: Sources, path: str) -> Path:
    return sources.base_dir.joinpath(path).absolute()


def _tls(tls: Tls | None, sources: Sources) -> Tls | None:
    if tls is None:
        return None
    paths = {
        name: None if value is None else str(_absolute(sources, value))
        for name, value in (("ca_file", tls.ca_file), ("client_cert", tls.client_cert), ("client_key", tls.client_key))
    }
    return Tls(**paths)


class _Reader:
    """Resolves texts and collects what must be masked."""

    def __init__(self, sources: Sources):
        self._sources = sources
        self.secrets: set[str] = set()

    def value(self, field_name: str, text: str, *, encode: Callable[[str], str] = str) -> str:
        """The text with its references put in; `encode` is applied to each value, never to literal text."""
        try:
            parts = parse_references(text)
        except InvalidReference as error:
            raise Unresolved(field_name, str(error)) from error
        return "".join(self._part(field_name, part, encode) for part in parts)

    def auth(self, auth: Auth | None) -> Auth | None:
        """Credentials with their references put in; a bearer token, a client secret and a key are always masked."""
        match auth:
            case None:
                return None
            case BearerAuth():
                return BearerAuth(token=self._secret("auth.token", auth.token))
            case ClientCredentialsAuth():
                return ClientCredentialsAuth(
                    token_url=self.value("auth.token_url", auth.token_url, encode=_quoted),
                    client_id=self.value("auth.client_id", auth.client_id),
                    client_secret=self._secret("auth.client_secret", auth.client_secret),
                    scopes=auth.scopes,
                )
            case PrivateKeyJwtAuth():
                return PrivateKeyJwtAuth(
                    token_url=self.value("auth.token_url", auth.token_url, encode=_quoted),
                    client_id=self.value("auth.client_id", auth.client_id),
                    private_key=self._secret("auth.private_key", auth.private_key),
                    algorithm=auth.algorithm,
                    key_id=auth.key_id,
                    scopes=auth.scopes,
                )

    def _secret(self, field_name: str, text: str) -> str:
        return self._keep(self.value(field_name, text))

    def _keep(self, value: str) -> str:
        if len(value) >= MIN_SECRET:
            self.secrets.add(value)
        return value

    def _part(self, field_name: str, part: Part, encode: Callable[[str], str]) -> str:
        match part:
            case Literal(text=text):
                return text
            case EnvReference(name=name, default=default):
                value = self._sources.environ.get(name, "")
                if value:
                    return encode(self._keep(value))
                if default is None:
                    problem = "is set to nothing" if name in self._sources.environ else "is not set"
                    raise Unresolved(field_name, f"the environment variable {name} {problem}")
                return encode(default)
            case FileReference(path=path):
                return encode(self._keep(_file_value(field_name, path, self._sources)))


def _quoted(value: str) -> str:
    """A value in a URL stays data: it can end no path segment and begin no query."""
    return quote(value, safe="")


def _file_value(field_name: str, path: str, sources: Sources) -> str:
    try:
        resolved = _absolute(sources, path).resolve(strict=True)
        allowed = any(resolved.is_relative_to(folder.resolve()) for folder in sources.secret_dirs())
        if not allowed:
            raise Unresolved(
                field_name,
                f"the file {path} lies outside the config's folder, {_DEFAULT_SECRET_DIR} and REMIT_SECRET_DIRS",
            )
        text = _read(resolved)
    except Unresolved:
        raise
    except UnicodeDecodeError as error:
        # The error itself quotes bytes of the file.
        raise Unresolved(field_name, f"the file {path} is not UTF-8 text") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise Unresolved(field_name, f"the file {path} cannot be read ({_why(error)})") from error
    return text.removesuffix("\n").removesuffix("\r")


def _read(path: Path) -> str:
    # O_NONBLOCK: opening a named pipe would wait for a writer for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as handle:
        status = os.fstat(handle.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_FILE:
            raise ValueError("not a regular file of at most 1 MiB")
        return handle.read(_MAX_FILE).decode("utf-8")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, ValueError) else type(error).__name__
