"""Addresses: how a person names a server, a tool, an assistant or an attachment on the command line and in a plan.

`server.github`, `tool.github/search.issues`, `assistant.ops`, `assistant.ops/github__search_issues`. Decides their
spelling and what an address on a command line could have meant; looks nothing up. Pure.
"""

import difflib
from collections.abc import Iterable
from typing import assert_never

from remit.core.operations import (
    Attach,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Operation,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    SetEnvelope,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)

__all__ = [
    "address_of",
    "assistant_address",
    "attachment_address",
    "nearest",
    "server_address",
    "tool_address",
]


def server_address(name: str) -> str:
    """`server.NAME`."""
    return f"server.{name}"


def tool_address(server: str, remote_name: str) -> str:
    """`tool.SERVER/REMOTE_NAME`: one tool, whoever uses it."""
    return f"tool.{server}/{remote_name}"


def assistant_address(name: str) -> str:
    """`assistant.NAME`."""
    return f"assistant.{name}"


def attachment_address(assistant: str, provider_name: str) -> str:
    """`assistant.NAME/PROVIDER_NAME`: one assistant's use of one tool."""
    return f"assistant.{assistant}/{provider_name}"


def address_of(operation: Operation) -> str:
    """The address an operation is shown, accepted and sorted under; a renamed thing keeps the name it had before."""
    match operation:
        case Attach() | Detach() | Refresh() | SetEnvelope() | RenameAlias():
            return attachment_address(operation.tool.assistant, operation.tool.provider_name)
        case RegisterServer(facts=facts):
            return server_address(facts.name)
        case UpdateServer(before=before) | RenameServer(before=before) | UnregisterServer(before=before):
            return server_address(before.name)
        case CreateAssistant(assistant=name) | UpdateAssistant(assistant=name) | DeleteAssistant(assistant=name):
            return assistant_address(name)
        case _:
            assert_never(operation)


def nearest(wanted: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None."""
    found = difflib.get_close_matches(wanted, sorted(known), n=1, cutoff=0.6)
    return found[0] if found else None
