"""What an address names, as values: a server, a tool, an assistant, an attachment, a workspace; or a server by its endpoint.

Decides how an address that a person wrote is read (core/addresses.py decides how one is spelled), and that a server may also
be named by what it was reached at. Looks nothing up. Pure.
"""

import difflib
import re
import shlex
from dataclasses import dataclass
from typing import TypeAlias

from remit.core.identity import InvalidUrl, normalise_url

__all__ = [
    "AssistantSubject",
    "AttachmentSubject",
    "EndpointSubject",
    "InvalidAddress",
    "ServerSubject",
    "Subject",
    "ToolSubject",
    "WorkspaceSubject",
    "read_endpoint_subject",
    "read_subject",
]

_KINDS = ("server", "tool", "assistant", "workspace")
_FORMS = "server.NAME, tool.SERVER/TOOL, assistant.NAME, assistant.NAME/ALIAS or workspace.NAME"


class InvalidAddress(ValueError):
    """A text that names nothing; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class ServerSubject:
    """`server.NAME`."""

    name: str

    def __str__(self) -> str:
        return f"server.{self.name}"


@dataclass(frozen=True, slots=True)
class EndpointSubject:
    """A server by a normalised URL, or by its command as written, whatever its transport and instance."""

    url: str | None = None
    command: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.url or shlex.join(self.command)


@dataclass(frozen=True, slots=True)
class ToolSubject:
    """`tool.SERVER/REMOTE_NAME`: one tool, for every assistant."""

    server: str
    remote_name: str

    def __str__(self) -> str:
        return f"tool.{self.server}/{self.remote_name}"


@dataclass(frozen=True, slots=True)
class AssistantSubject:
    """`assistant.NAME`."""

    name: str

    def __str__(self) -> str:
        return f"assistant.{self.name}"


@dataclass(frozen=True, slots=True)
class AttachmentSubject:
    """`assistant.NAME/ALIAS`: one assistant's use of one tool."""

    assistant: str
    provider_name: str

    def __str__(self) -> str:
        return f"assistant.{self.assistant}/{self.provider_name}"


@dataclass(frozen=True, slots=True)
class WorkspaceSubject:
    """`workspace.NAME`."""

    name: str

    def __str__(self) -> str:
        return f"workspace.{self.name}"


Subject: TypeAlias = (
    ServerSubject | EndpointSubject | ToolSubject | AssistantSubject | AttachmentSubject | WorkspaceSubject
)


def read_subject(text: str) -> Subject:
    """What an address names. Raises InvalidAddress; no name is looked at closer than that it is there."""
    kind, dot, name = text.partition(".")
    first, slash, second = name.partition("/")
    match kind:
        case "server" if name and not slash:
            return ServerSubject(name)
        case "tool" if first and second:
            return ToolSubject(first, second)
        case "assistant" if first and second:
            return AttachmentSubject(first, second)
        case "assistant" if first and not slash:
            return AssistantSubject(first)
        case "workspace" if name and not slash:
            return WorkspaceSubject(name)
        case _:
            near = _near(kind) if dot and kind not in _KINDS else None
            raise InvalidAddress(f"did you mean `{near}.`?" if near else f"an address is {_FORMS}")


def _near(kind: str) -> str | None:
    return next(iter(difflib.get_close_matches(kind, _KINDS, n=1)), None)


def read_endpoint_subject(text: str) -> Subject:
    """The same, or a server by its URL or its command (as a shell would split it). Raises InvalidAddress."""
    try:
        return read_subject(text)
    except InvalidAddress as invalid:
        kind = text.partition(".")[0]
        if "://" in text:
            return EndpointSubject(url=_url(text))
        if kind in _KINDS or _near(kind) or not re.search(r"[\s/]", text):
            raise InvalidAddress(f"{invalid}; a server may also be named by the URL or the command it had") from None
        return EndpointSubject(command=_command(text))


def _url(text: str) -> str:
    try:
        return normalise_url(text)
    except InvalidUrl as error:
        raise InvalidAddress(str(error)) from None


def _command(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise InvalidAddress("the quotes of this command do not close") from None
