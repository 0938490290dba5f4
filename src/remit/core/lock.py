"""The lock as a value: what reviewers approved that models read, tool by tool, for every assistant of one file.

`mcp.lock` holds it (config/lockfile.py reads and writes that). Decides its shape and what a look-up gives; what a plan makes
of it is core/lock_table.py's, what goes into it core/locking.py's. Pure.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from remit.core.definition import Definition
from remit.core.identity import ProviderName

__all__ = ["Lock", "LockKey", "LockedByServer", "LockedTool", "for_environment", "lock_name"]

LockKey: TypeAlias = tuple[str, str, str]
"""Assistant, server and remote name: what an entry stands under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedTool:
    """One approved tool of one assistant: the name a model calls it by and the definition it reads."""

    alias: ProviderName
    definition: Definition


LockedByServer: TypeAlias = Mapping[str, Mapping[str, LockedTool]]
"""What is approved for one assistant, by server name and remote name."""

_NOTHING: LockedByServer = {}
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Everything approved for one environment (None: the one without a name), by assistant, server and remote name."""

    environment: str | None = None
    assistants: Mapping[str, LockedByServer] = field(default_factory=dict[str, LockedByServer])

    def of_assistant(self, assistant: str) -> LockedByServer:
        """What is approved for one assistant; empty where nothing is."""
        return self.assistants.get(assistant, _NOTHING)

    def tools(self) -> Iterator[tuple[str, str, str, LockedTool]]:
        """Assistant, server, remote name and entry of every tool, in that order."""
        for assistant, servers in sorted(self.assistants.items()):
            for server, tools in sorted(servers.items()):
                for remote_name, tool in sorted(tools.items()):
                    yield assistant, server, remote_name, tool


def for_environment(words: str, environment: str | None) -> str:
    """Words that tell to run `remit lock`, for an environment: without its --env the command writes the lock of none.

    A name that would have to be quoted, in a shell or in Markdown, is left out.
    """
    if environment is None or not _PLAIN.fullmatch(environment):
        return words
    return words.replace("`remit lock`", f"`remit lock --env {environment}`")


def lock_name(stem: str, environment: str | None) -> str:
    """The name of the file that holds the lock of a configuration file: `mcp.lock`, `mcp.prod.lock`."""
    return f"{stem}.lock" if environment is None else f"{stem}.{environment}.lock"
