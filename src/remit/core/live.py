"""What a server says now: a complete listing, a reason why there is none, or that nobody asked.

Unknown is not empty: there is no partial listing and no empty list standing for an outage. `judge_empty` holds the one
rule about zero tools. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from remit.core.canonical import JsonObject
from remit.core.definition import Definition
from remit.core.identity import CanonicalId, ProviderName, RemoteName, ServerId

__all__ = [
    "AS_LOCKED",
    "UNTRUSTED",
    "Era",
    "Listed",
    "ListedTool",
    "Live",
    "McpDiscoveredTool",
    "Observation",
    "Quarantine",
    "QuarantineReason",
    "ServerIdentity",
    "SkipReason",
    "Skipped",
    "Unreachable",
    "UnreachableReason",
    "judge_empty",
]


class Era(StrEnum):
    """How a connection was negotiated: by `initialize`, or by `server/discover`."""

    LEGACY = "legacy"
    MODERN = "modern"


class UnreachableReason(StrEnum):
    """Why there is no listing."""

    TIMEOUT = "timeout"
    AUTH = "auth"
    REFUSED = "refused"
    PROTOCOL = "protocol"
    SECRET_UNRESOLVED = "secret_unresolved"  # noqa: S105 (the name of a reason, not a secret)
    START_FAILED = "start_failed"
    PAGINATION_LOOP = "pagination_loop"
    TOO_LARGE = "too_large"
    EMPTY = "empty"


class QuarantineReason(StrEnum):
    """Why an advertised tool cannot be used."""

    INVALID_NAME = "invalid_name"
    DUPLICATE_NAME = "duplicate_name"
    MALFORMED = "malformed"
    ROOT_NOT_OBJECT = "root_not_object"
    INVALID_SCHEMA = "invalid_schema"
    SCHEMA_TOO_LARGE = "schema_too_large"
    REMOTE_REF = "remote_ref"
    EMPTY_REF = "empty_ref"
    TASK_REQUIRED = "task_required"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A usable tool as advertised."""

    remote_name: RemoteName
    definition: Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """An advertised tool that cannot be used. `remote_name` is what the server sent, shortened; "" if it sent none."""

    remote_name: str
    reason: QuarantineReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIdentity:
    """What a server calls itself: a claim, for display and for traces only."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One complete listing: every page, judged tool by tool. Tools are sorted by remote name."""

    tools: tuple[ListedTool, ...]
    quarantined: tuple[Quarantine, ...] = ()
    era: Era
    protocol_version: str
    server_info: ServerIdentity | None = None
    capabilities: JsonObject = field(default_factory=dict[str, None])
    instructions: str | None = None
    observed_at: datetime
    notes: tuple[str, ...] = ()
    """What else a person should know about the connection, e.g. non-JSON lines skipped on stdout; display only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """No listing, and why; `detail` is for people and holds no secret."""

    reason: UnreachableReason
    detail: str


class SkipReason(StrEnum):
    """Why nobody asked a server."""

    DISABLED = "disabled"
    NOT_REQUESTED = "not_requested"
    NEVER_LISTED = "never_listed"
    CACHE_ONLY = "cache_only"
    OFFLINE = "offline"
    UNTRUSTED_ENTRY = "untrusted_entry"
    UNTRUSTED_FILES = "untrusted_files"
    UNTRUSTED_DATABASE = "untrusted_database"


UNTRUSTED = frozenset({SkipReason.UNTRUSTED_ENTRY, SkipReason.UNTRUSTED_FILES, SkipReason.UNTRUSTED_DATABASE})
"""Reasons of `plan --untrusted`: something would be run, read or sent that was not applied before."""

AS_LOCKED = UNTRUSTED | {SkipReason.OFFLINE}
"""Reasons for which a server that was not asked counts as offering what the lock approves, where there is one."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A server that was not asked.

    It is disabled, left out by `--server`, was never listed where only kept listings were wanted, only its kept listing was
    wanted where nothing may be attached from one (`apply --refresh cached`), nobody is asked (`plan --offline`), or nothing
    may be run or sent that was not applied before (`plan --untrusted`): the entry is another one than was applied, the files
    that the server stands on are the branch's own, or there is no database that the branch could not have written.
    """

    reason: SkipReason


Observation: TypeAlias = Listed | Unreachable | Skipped

Live: TypeAlias = Mapping[str, Observation]
"""Observations by declared server name; every declared server has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpDiscoveredTool:
    """A listed tool under all its names, as discovery and the API show it (managed-mcp-architecture, section 5)."""

    server_id: ServerId
    remote_name: RemoteName
    canonical_id: CanonicalId
    provider_name: ProviderName
    definition: Definition


def judge_empty(
    listed: Listed, last_good_tools: int, *, allowed: bool, known_from: str = "the last good listing had"
) -> Listed | Unreachable:
    """Zero tools where the last good listing had some is treated like an outage until someone allows it.

    `known_from` is where that number is known from, for the words of the outage.
    """
    advertised = len(listed.tools) + len(listed.quarantined)
    if advertised or allowed or not last_good_tools:
        return listed
    return Unreachable(
        reason=UnreachableReason.EMPTY,
        detail=f"lists no tools, {known_from} {last_good_tools}",
    )
