"""A draft of a server, turned into a server of mcp.yaml.

Decides transports, limits, references and selections, the same way for every dialect; whatever a client approves by itself
comes to nothing here. A draft that cannot be expressed gives no server and says why; the others are not touched by that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from remit.config.credentials import (
    credential_in_header,
    credential_in_text,
    is_secret_name,
    is_showable,
    secret_field_literal,
)
from remit.config.dialects.literals import Literals, is_written_out, leaves, looks_secret
from remit.config.dialects.model import ClientCredentials, Dialect, Draft, ImportedServer, Report
from remit.config.dialects.naming import name_of
from remit.config.dialects.oauth import client_of
from remit.config.dialects.packages import Bridge, bridge_of, package_of, program_of, words_of_line
from remit.config.dialects.references import Translation
from remit.config.dialects.scalars import stand_in
from remit.config.dialects.selecting import seconds_of, selection_of
from remit.config.dialects.written_out import tell_written
from remit.config.nodes import Kind, MapNode, Node, Scalar
from remit.core.diagnostics import Severity, Source
from remit.core.identity import Transport
from remit.core.references import EnvReference, InvalidReference, parse_references

__all__ = ["normalised"]

_TRANSPORTS = {
    "stdio": Transport.STDIO, "local": Transport.STDIO, "http": Transport.STREAMABLE_HTTP,
    "streamablehttp": Transport.STREAMABLE_HTTP, "streamable": Transport.STREAMABLE_HTTP,
    "sse": Transport.SSE, "remote": None, "custom": None,
}  # fmt: skip
"""What clients call a transport, without case and separators; None: the URL or the command tells."""

_BRIDGE_TRANSPORTS = {"http-only": Transport.STREAMABLE_HTTP, "sse-only": Transport.SSE, "sse-first": Transport.SSE}
_RESERVED_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "mcp-protocol-version"}
)
_MACHINE = re.compile(r"(?:/home/[^/\s]+|/Users/[^/\s]+|/root|[A-Za-z]:\\Users\\[^\\\s]+)(?:[/\\]|\Z)")
_LOOPBACK = re.compile(r"http://(?:localhost|127(?:\.[0-9]+){3}|\[::1\])(?=[:/?#]|\Z)", re.IGNORECASE)
_SCHEME_ALONE = re.compile(r"Bearer|Basic|Token|ApiKey|Digest", re.IGNORECASE)


def normalised(draft: Draft, dialect: Dialect, literals: Literals, report: Report) -> ImportedServer | None:
    """The server, or None, reported, where the draft holds none."""
    return _Normalising(draft, dialect, literals, report).server()


@dataclass(slots=True)
class _Normalising:
    """The work on one draft."""

    draft: Draft
    dialect: Dialect
    literals: Literals
    report: Report
    translation: Translation = field(init=False)

    def __post_init__(self) -> None:
        self.translation = Translation(
            report=self.report,
            literal=lambda value, suggested: self.literals.replace(value, self.draft.name.text, suggested),
            noted=self.literals.note,
            inputs=self.draft.inputs,
            bare_variables=self.dialect.bare_variables,
            plain=self.literals.plain,
        )

    def server(self) -> ImportedServer | None:
        name = self._name()
        self._hidden_secrets()
        if name is None or not self._told_apart() or any(isinstance(word, MapNode) for word in self.draft.program):
            return None
        if self.draft.program:
            self._without_oauth()
        found = self._stdio(name) if self.draft.program else self._remote(name)
        self._check_machine_paths()
        return found

    # --- names, contradictions, what is left out ------------------------------------------------------------------------

    def _name(self) -> str | None:
        if (name := name_of(self.draft.name.text)) is not None:
            return name
        hint = "rename it there: letters, digits, space and . _ - are allowed, at most 64"
        message = "the name of the server cannot become one of mcp.yaml"
        self.report("invalid-name", self.draft.name, message, hint=hint, severity=Severity.ERROR)
        return None

    def _told_apart(self) -> bool:
        """Whether it is told what kind of server this is, and once."""
        draft = self.draft
        if draft.program and draft.url:
            self._error(
                "transport-conflict", draft.url, "the entry has both a command and a URL; a server has one of them"
            )
        elif not draft.program and not draft.url:
            self._error(
                "missing-key", draft.place, "the entry has neither a command nor a URL, so there is nothing to reach"
            )
        else:
            return self._transport_fits()
        return False

    def _transport_fits(self) -> bool:
        node = self.draft.transport
        if node is None:
            return True
        word = re.sub(r"[\s_-]", "", node.text.lower()) if isinstance(node, Scalar) else "?"
        if word not in _TRANSPORTS:
            self._error("unsupported-transport", node, "the transport is none of stdio, streamable HTTP and SSE")
            return False
        transport = _TRANSPORTS[word]
        if transport and (transport is Transport.STDIO) != bool(self.draft.program):
            self._error("transport-conflict", node, "the transport contradicts the rest of the entry")
            return False
        if transport and transport is not Transport.STDIO:
            self.draft.url_transport = transport
        return True

    def _hidden_secrets(self) -> None:
        """Find credentials in what is left out, at any depth: they are in the file, so they are somebody's to move."""
        told_as_header = self._header_places() if self.draft.url else frozenset[Source]()
        for name, node in self.draft.unknown:
            for path, key, leaf in leaves(name, node):
                told = leaf.kind not in (Kind.NULL, Kind.FLAG) and is_written_out(leaf.text)
                if told and looks_secret(key, leaf.text):
                    self.literals.replace(leaf.text, self.draft.name.text, key)
                    label = path if is_showable(name) else "a value that was left out"
                    if leaf.source not in told_as_header:
                        self._found(leaf, label, leaf.text, "it was not copied")
        for node in self.draft.misplaced:
            self.literals.replace(node.text, self.draft.name.text)
            self._found(node, "a secret where a name belongs", node.text, "it was not copied")

    def _header_places(self) -> frozenset[Source]:
        """Where values stand that a header carries, and that are reported as its credential."""
        headers = self.draft.headers.items()
        return frozenset(
            each.source for name, each in headers if isinstance(each, Scalar) and credential_in_header(name, each.text)
        )

    def _error(self, code: str, node: Node, message: str) -> None:
        self.report(code, node, message, hint="mend the entry there, then import again", severity=Severity.ERROR)

    def _in_its_place(self, replaced: str) -> str:
        told = f"{_named(replaced)} stands in its place"
        more = any(each in replaced for each in self.literals.whole)
        return f"{told}: set it to all that stood there, not to the credential alone" if more else told

    def _found(self, node: Node, label: str, text: str, outcome: str) -> None:
        tell_written(self.report, node, label, text, outcome)

    # --- values ---------------------------------------------------------------------------------------------------------

    def _text(self, node: Node, label: str, *, suggested: str) -> str:
        text = node.text if isinstance(node, Scalar) else ""
        return self.translation.text(text, node, label, suggested=suggested)

    def _env(self, own: frozenset[str]) -> dict[str, str]:
        """The variables; those in `own` are reached by name from the command and keep their names."""
        found: dict[str, str] = {}
        for name, node in self.draft.env.items():
            label = f"env.{name}" if is_showable(name) else "env"
            text = self._text(node, label, suggested=name)
            found[name] = self._secret_variable(name, text, node, label, own=name in own)
        return found

    def _secret_variable(self, name: str, text: str, node: Node, label: str, *, own: bool) -> str:
        if not text.strip():
            if not is_secret_name(name):
                return text
            replaced = self.literals.replace("", self.draft.name.text, name)
        elif (without := self.literals.variable(self.draft.name.text, name, text)) is None:
            return text
        else:
            replaced = self.literals.own(text, name) if own else without
        self._found(node, label, text, self._in_its_place(replaced))
        return replaced

    def _headers(self) -> dict[str, str]:
        return {
            name: self._header(name, self._text(node, _header_label(name), suggested=_header_word(name)), node)
            for name, node in self.draft.headers.items()
            if self._sendable(name, node)
        }

    def _sendable(self, name: str, node: Node) -> bool:
        if name.lower() not in _RESERVED_HEADERS:
            return True
        message = f"headers.{name}: remit sets this header itself; it was left out"
        self.report("not-carried-over", node, message, severity=Severity.NOTE)
        return False

    def _header(self, name: str, text: str, node: Node) -> str:
        text = text.strip()
        label, server = _header_label(name), self.draft.name.text
        if (not text or _SCHEME_ALONE.fullmatch(text)) and is_secret_name(name):
            replaced = f"{text} {self.literals.replace('', server, _header_word(name))}".strip()
            text = ""
        elif (without := self.literals.header(server, name, text)) is None:
            return text
        else:
            replaced = without
        self._found(node, label, text, self._in_its_place(replaced))
        return replaced

    # --- stdio ----------------------------------------------------------------------------------------------------------

    def _stdio(self, name: str) -> ImportedServer | None:
        nodes = self.draft.program = self._program()
        words = [self._text(node, _argument_label(index), suggested="ARGUMENT") for index, node in enumerate(nodes)]
        command = tuple(self._argument(words, index, nodes[index]) for index in range(len(words)))
        program, wrapper = program_of(command)
        if wrapper == "shell":
            message = "the command is a line for a shell; what it starts can be changed by its files and its settings"
            self.report("shell-wrapper", nodes[0], message, hint="name the program and its arguments in `command`")
        bridge = bridge_of(program)
        package = bridge.package if bridge else package_of(program)
        if package and not package.exact:
            self._unpinned(package.source)
        if bridge and bridge.whole:
            return self._bridged(name, command, bridge)
        env = self._env(frozenset())
        self._secrets_in_arguments(command)
        self._env_file_of(command)
        return self._finished(name, transport=Transport.STDIO, command=command, program=program, env=env)

    def _program(self) -> list[Node]:
        """The words of the command; a whole line in the place of the program is taken apart, as it could not start."""
        first = self.draft.program[0]
        words = words_of_line(first.text) if isinstance(first, Scalar) else None
        if words is None:
            return self.draft.program
        message = "the program is a whole command line; it was taken apart into its words"
        self.report(
            "command-line", first, message, hint="read `command`: quotes and spaces mean what they mean to a shell"
        )
        return [*(stand_in(first, word) for word in words), *self.draft.program[1:]]

    def _argument(self, words: list[str], index: int, node: Node) -> str:
        replaced = self.literals.argument(self.draft.name.text, words, index) if index else None
        if replaced is None:
            return words[index]
        self._found(node, _argument_label(index), words[index], self._in_its_place(replaced))
        return replaced

    def _unpinned(self, source: str) -> None:
        shown = (
            source if len(source) <= 120 and source.isprintable() and not looks_secret("", source) else "the package"
        )
        message = f"{shown} has no exact version: another program may start tomorrow"
        self.report("unpinned", self.draft.program[0], message, hint="pin it, as in name@1.2.3 or image@sha256:...")

    def _secrets_in_arguments(self, command: tuple[str, ...]) -> None:
        for index in range(1, len(command)):
            flag = command[index - 1].lstrip("-") if command[index - 1].startswith("-") else ""
            names = [each for each in _variables(command[index]) if is_secret_name(each) or is_secret_name(flag)]
            if names:
                message = (
                    f"{_argument_label(index)}: {names[0]} is passed as an argument, which other processes can read"
                )
                self.report("secret-in-argument", self.draft.program[min(index, len(self.draft.program) - 1)], message,
                            hint="pass it in `env` if the program takes it there")  # fmt: skip

    def _env_file_of(self, command: tuple[str, ...]) -> None:
        """Note the file that a wrapper would read variables from."""
        for index, word in enumerate(command):
            name, equals, value = word.partition("=")
            if name == "--env-file" and (equals or index + 1 < len(command)):
                node = self.draft.program[index]
                self.draft.env_files.append(stand_in(node, value or command[index + 1]))

    def _bridged(self, name: str, command: tuple[str, ...], bridge: Bridge) -> ImportedServer | None:
        """The remote server itself instead of the program that passes messages on to it."""
        texts = [bridge.url, *(value for _, value in bridge.headers)]
        own = frozenset(name for text in texts for name in _variables(text)) & self.draft.env.keys()
        env = self._env(own)
        node = self.draft.program[0]
        headers = {
            key: self._header(key, _substituted(value, env, own), node)
            for key, value in bridge.headers
            if self._sendable(key, node)
        }
        self.report(
            "bridge-unwrapped", node, "a program that only passes messages on to a URL: the URL itself was imported",
            hint="the command is kept as a comment; a server that asks for a login in a browser needs it still",
            severity=Severity.NOTE,
        )  # fmt: skip
        self.draft.notes["was started as"] = " ".join(command)
        self.draft.deny += [stand_in(node, tool) for tool in bridge.ignored]
        transport = _BRIDGE_TRANSPORTS.get(bridge.transport or "")
        return self._http(name, _substituted(bridge.url, env, own), node, transport, headers)

    # --- remote ---------------------------------------------------------------------------------------------------------

    def _remote(self, name: str) -> ImportedServer | None:
        node = self.draft.url or self.draft.place
        headers = self._headers()
        url = self._text(node, "url", suggested="URL")
        auth = self._auth(authorised=any(each.lower() == "authorization" for each in headers))
        return self._http(name, url, node, self.draft.url_transport, headers, auth)

    def _http(
        self,
        name: str,
        url: str,
        node: Node,
        transport: Transport | None,
        headers: dict[str, str],
        auth: ClientCredentials | None = None,
    ) -> ImportedServer | None:
        url = self._without_fragment(self._without_user(url.strip(), node, headers), node)
        if without := self.literals.url(self.draft.name.text, url):
            self._found(node, "url", "-", f"{_named(without)} stands in its place")
            url = without
        if url.lower().startswith("http://"):
            severity = Severity.NOTE if _LOOPBACK.match(url) else Severity.WARNING
            self.report("plain-http", node, "url: what is sent is not encrypted", severity=severity)
        transport = transport or self._inferred(url, node)
        return self._finished(name, transport=transport, url=url, headers=headers, auth=auth)

    def _auth(self, *, authorised: bool) -> ClientCredentials | None:
        """The OAuth client that `auth` can say; of any other a comment says what is known."""
        draft = self.draft
        found = client_of(draft.oauth, draft.oauth_place or draft.place, self, self.report, authorised=authorised)
        if isinstance(found, str):
            draft.notes |= {"OAuth there": found} if found else {}
            return None
        return found

    def _without_oauth(self) -> None:
        """A command has no client: only a URL asks for one."""
        if self.draft.oauth_place:
            message = "OAuth of a command was left out"
            self.report("not-carried-over", self.draft.oauth_place, message, severity=Severity.NOTE)
        if secret := self.draft.oauth.get("client_secret"):
            self.secret(secret, "client_secret", copied=False)

    def translated(self, node: Node, label: str) -> str:
        """A value of the OAuth client; one that looks like a credential is a variable, as mcp.yaml would refuse it."""
        text = self._text(node, label, suggested=label).strip()
        if not credential_in_text(text):
            return text
        reference = self.literals.replace(text, self.draft.name.text, label)
        self.literals.plain.update(_variables(reference))
        return reference

    def secret(self, node: Node, label: str, *, copied: bool) -> str:
        """A reference for the client's secret; what was written out is reported."""
        text = self._text(node, label, suggested=label).strip()
        if text and not secret_field_literal(text):
            return text
        replaced = self.literals.replace(text, self.draft.name.text, label)
        self._found(node, label, text, f"{_named(replaced)} stands in its place" if copied else "it was not copied")
        return replaced

    def _inferred(self, url: str, node: Node) -> Transport:
        path = url.partition("?")[0].rstrip("/")
        transport = Transport.SSE if path.endswith("/sse") else self.dialect.url_transport
        if not self.dialect.certain or transport is not self.dialect.url_transport:
            message = f"no transport is given; {transport} was taken"
            hint = "give `transport` in mcp.yaml if it is another"
            self.report("transport-inferred", node, message, hint=hint, severity=Severity.NOTE)
        return transport

    def _without_fragment(self, url: str, node: Node) -> str:
        """The URL as it would be sent."""
        sent, _, fragment = url.partition("#")
        if looks_secret("", fragment):
            self.literals.replace(fragment, self.draft.name.text, "URL")
            self._found(node, "url", fragment, "it was not copied, as nothing behind # is ever sent")
        elif fragment:
            message = "url: nothing behind # is ever sent; it was left out"
            self.report("not-carried-over", node, message, severity=Severity.NOTE)
        return sent

    def _without_user(self, url: str, node: Node, headers: dict[str, str]) -> str:
        """The URL without `user:password@`, which becomes the header that a client would make of it."""
        found = re.match(r"(?P<scheme>[A-Za-z]+://)(?P<user>[^/?#@]*)@(?P<rest>.*)\Z", url, re.DOTALL)
        if found is None:
            return url
        reference = self.literals.replace(found["user"], self.draft.name.text, "BASIC")
        headers.setdefault("Authorization", f"Basic {reference}")
        self._found(
            node, "url", "-", f"the header Authorization took its place: set {_named(reference)} to its base64 form"
        )
        return found["scheme"] + found["rest"]

    # --- what both kinds have -------------------------------------------------------------------------------------------

    def _finished(
        self,
        name: str,
        *,
        transport: Transport,
        command: tuple[str, ...] = (),
        program: tuple[str, ...] = (),
        url: str | None = None,
        env: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        auth: ClientCredentials | None = None,
    ) -> ImportedServer:
        draft = self.draft
        include, exclude = selection_of(draft, self.literals, self.report)
        return ImportedServer(
            name=name,
            declared=draft.name.text,
            namespace=draft.namespace,
            dialect=self.dialect.name,
            source=draft.place.source,
            transport=transport,
            command=command,
            program=program,
            url=url,
            env=env or {},
            headers=headers or {},
            auth=auth,
            env_files=self._env_files(),
            cwd=self._text(draft.cwd, "cwd", suggested="FOLDER") if draft.cwd and command else None,
            enabled=draft.enabled,
            timeout_seconds=seconds_of(draft.timeout, self.report),
            start_timeout_seconds=seconds_of(draft.start_timeout, self.report),
            include=include,
            exclude=exclude,
            notes=tuple(self._notes()),
        )

    def _env_files(self) -> tuple[str, ...]:
        found: list[str] = []
        for node in self.draft.env_files:
            text = self._text(node, "env file", suggested="ENV_FILE")
            if looks_secret("", text):
                self._found(node, "env file", text, "it was not copied")
                text = self.literals.replace(text, self.draft.name.text, "ENV_FILE")
            found.append(text)
            message = "variables come from a file there, which was not read"
            hint = 'name each of them under `env`, as in NAME: "${env:NAME}", and set them outside of the file'
            self.report("env-file", node, message, hint=hint)
        return tuple(found)

    def _notes(self) -> Iterator[str]:
        for name, text in self.draft.notes.items():
            if looks_secret(name, text):
                self._found(self.draft.place, name, text, "it was not copied")
            else:
                yield f"{name}: {text}"

    def _check_machine_paths(self) -> None:
        nodes = [*self.draft.program, *self.draft.env_files, *([self.draft.cwd] if self.draft.cwd else [])]
        for node in nodes:
            if isinstance(node, Scalar) and _MACHINE.search(node.text):
                message = "a path of one person's machine: the server starts nowhere else"
                self.report(
                    "machine-path", node, message, hint="use a path below the folder of mcp.yaml, or a variable"
                )
                return


def _header_label(name: str) -> str:
    return f"headers.{name}" if is_showable(name) else "headers"


def _header_word(name: str) -> str:
    return "TOKEN" if name.lower() == "authorization" else name


def _argument_label(index: int) -> str:
    return f"argument {index}" if index else "command"


def _named(text: str) -> str:
    """The reference in a text, for a message."""
    return next((f"${{env:{name}}}" for name in _variables(text)), "a reference")


def _variables(text: str) -> list[str]:
    try:
        return [part.name for part in parse_references(text) if isinstance(part, EnvReference)]
    except InvalidReference:
        return []


def _substituted(text: str, env: dict[str, str], own: frozenset[str]) -> str:
    """The text with variables that the entry itself sets replaced by what it sets them to."""
    for name in own:
        text = text.replace(f"${{env:{name}}}", env[name])
    return text
