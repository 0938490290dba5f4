"""Imported servers as text of mcp.yaml.

Decides spelling: quotes where a reader of YAML could see something else than text, one comment line for each thing that the
source says and mcp.yaml has no key for. Selections are written for the assistant that is named, and are comments otherwise.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from remit.config.dialects.model import ClientCredentials, ImportedServer
from remit.config.nodes import Kind, kind_of
from remit.core.identity import Transport
from remit.render.escape import escape_character, is_visible

__all__ = ["assistant_lines", "comment_lines", "mcp_text", "selection_lines", "server_lines", "yaml_text"]

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./@+-]*\Z")
_WORDS_OF_1_1 = frozenset({"y", "yes", "n", "no", "on", "off"})
_LONGEST_COMMENT = 300
_HEADER = """\
# Imported by `remit import`. Every tool has the strictest policy: each call waits for a person, until an `envelope` in this
# file says otherwise.
"""


def mcp_text(servers: Sequence[ImportedServer], *, workspace: str, assistant: str | None) -> str:
    """A whole mcp.yaml with these servers, and with the selections of an assistant where one is named."""
    lines = [
        "version: 1",
        f"workspace: {yaml_text(workspace)}",
        "",
        "mcp:",
        "  servers:" if servers else "  servers: []",
    ]
    lines += [line for server in servers for line in server_lines(server, indent=4, assistant=assistant)]
    if assistant is not None and any(server.include for server in servers):
        lines += ["", "assistants:", *assistant_lines(assistant, servers, indent=2)]
    return _HEADER + "\n".join(lines) + "\n"


def server_lines(server: ImportedServer, *, indent: int, assistant: str | None) -> list[str]:
    """One entry of `mcp.servers`, its comments before it; `indent` is the column of its dash."""
    pairs = list(_pairs(server))
    comments = [f"# {each}" for each in comment_lines(server, assistant)]
    entry = [f"- {pairs[0]}", *(f"  {pair}" for pair in pairs[1:])]
    return [" " * indent + line for line in [*comments, *entry]]


def comment_lines(server: ImportedServer, assistant: str | None) -> list[str]:
    """What the source says of a server and mcp.yaml has no key for, a printable line each."""
    return [_comment(each) for each in _comments(server, assistant)]


def assistant_lines(assistant: str, servers: Iterable[ImportedServer], *, indent: int) -> list[str]:
    """One entry of `assistants` that selects what the sources allow; `indent` is the column of its dash."""
    head = [f"- name: {yaml_text(assistant)}", "  tools:"]
    return [*(" " * indent + line for line in head), *selection_lines(servers, indent=indent + 4)]


def selection_lines(servers: Iterable[ImportedServer], *, indent: int) -> list[str]:
    """Entries of an assistant's `tools`, one for each server with an allow-list."""
    lines: list[str] = []
    for server in servers:
        if server.include:
            lines += [f"- server: {yaml_text(server.name)}", f"  include: {_flow(server.include)}"]
            lines += [f"  exclude: {_flow(server.exclude)}"] if server.exclude else []
    return [" " * indent + line for line in lines]


def yaml_text(text: str) -> str:
    """A text as a YAML scalar: plain where nobody could take it for anything else, in double quotes otherwise."""
    plain = _PLAIN.match(text) and kind_of(text) is Kind.TEXT and text.lower() not in _WORDS_OF_1_1
    if plain and not text[0].isdigit() and text not in (".", "..", "/"):
        return text
    return "".join(each if _stands(each) else _escaped(each) for each in json.dumps(text, ensure_ascii=False))


def _stands(character: str) -> bool:
    return is_visible(character) or character == " "


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"


def _flow(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(yaml_text, texts))}]"


def _mapping(values: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{yaml_text(name)}: {_quoted(value)}' for name, value in values.items())}}}"


def _quoted(text: str) -> str:
    # A reference stands in quotes everywhere in the documentation; bare, a reader wonders whether it may.
    return yaml_text(text) if "$" not in text else yaml_text(text + "\n").replace('\\n"', '"')


def _pairs(server: ImportedServer) -> Iterator[str]:
    yield f"name: {yaml_text(server.name)}"
    if server.namespace:
        yield f"namespace: {server.namespace}"
    if server.transport is Transport.SSE:
        yield "transport: sse"
    if server.url is not None:
        yield f"url: {_quoted(server.url)}"
    else:
        yield f"command: {_flow(server.command)}"
    if server.env:
        yield f"env: {_mapping(server.env)}"
    if server.cwd:
        yield f"cwd: {yaml_text(server.cwd)}"
    if server.headers:
        yield f"headers: {_mapping(server.headers)}"
    if server.auth:
        yield f"auth: {_auth(server.auth)}"
    if server.instance:
        yield f"instance: {yaml_text(server.instance)}"
    yield from _limits(server)
    if not server.enabled:
        yield "enabled: false"


def _auth(client: ClientCredentials) -> str:
    named = (("token_url", client.token_url), ("client_id", client.client_id), ("client_secret", client.client_secret))
    pairs = ["type: oauth_client_credentials", *(f"{name}: {_quoted(text)}" for name, text in named)]
    return f"{{{', '.join([*pairs, *([f'scopes: {_flow(client.scopes)}'] if client.scopes else [])])}}}"


def _limits(server: ImportedServer) -> Iterator[str]:
    if server.timeout_seconds is not None:
        yield f"timeout_seconds: {server.timeout_seconds:.12g}"
    if server.start_timeout_seconds is not None:
        yield f"start_timeout_seconds: {server.start_timeout_seconds:.12g}"


def _comments(server: ImportedServer, assistant: str | None) -> Iterator[str]:
    if server.declared != server.name:
        yield f"called there: {server.declared}"
    yield from server.notes
    for path in server.env_files:
        yield f"variables come from a file there: {path}"
    if server.include and assistant is None:
        yield f"allowed there: {', '.join(server.include)} (`--assistant NAME` makes it a selection)"
    if server.exclude and (assistant is None or not server.include):
        yield f"excluded there: {', '.join(server.exclude)}"


def _comment(text: str) -> str:
    shown = "".join(each if _stands(each) else escape_character(each) for each in text)
    return shown if len(shown) <= _LONGEST_COMMENT else f"{shown[:_LONGEST_COMMENT]}..."
