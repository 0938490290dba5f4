"""One declared server as the planner looks at it: its id, its policy, and what its listing says of a tool.

Decides how an observation reads for one tool (core/table.py's `Seen`) and which envelope a tool gets. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from remit.core.aliases import base_names
from remit.core.desired import Desired, DesiredServer
from remit.core.diagnostics import Source
from remit.core.envelope import Envelope, EnvelopePatch, resolve_envelope, strictest
from remit.core.identity import ProviderName, RemoteName, ServerId
from remit.core.live import AS_LOCKED, Listed, ListedTool, Observation, Quarantine, Skipped, SkipReason, Unreachable
from remit.core.lock import LockedTool
from remit.core.recorded import RecordedAttachment
from remit.core.table import Seen

__all__ = ["ServerView", "absence_of", "as_locked", "view_of"]

_NOTHING_SAID = EnvelopePatch()
_SKIPPED = {
    SkipReason.NEVER_LISTED: "never listed, and only kept listings were asked for",
    SkipReason.CACHE_ONLY: "not asked: nothing is attached or refreshed from a kept listing",
    SkipReason.DISABLED: "disabled by the file",
    SkipReason.NOT_REQUESTED: "left out of this run",
    SkipReason.OFFLINE: "not asked: planned offline, and the lock does not know it",
    SkipReason.UNTRUSTED_ENTRY: "not asked: its entry is not the one that was applied",
    SkipReason.UNTRUSTED_FILES: "not asked: it would run or read files that the branch may have changed",
    SkipReason.UNTRUSTED_DATABASE: "not asked: no database outside the checkout says what was applied",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """A declared server with its resolved id and its observation, indexed by remote name.

    Without a listing there are tools only where `as_locked` holds: those that a lock approves. `moved` leads from old names
    of its tools to new ones.
    """

    server: DesiredServer
    server_id: ServerId
    observation: Observation
    tools: Mapping[str, ListedTool]
    quarantined: Mapping[str, Quarantine]
    aliases: Mapping[str, ProviderName]
    moved: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def as_locked(self) -> bool:
        """Whether the server was left alone on purpose and counts as offering what the lock approves."""
        return isinstance(self.observation, Skipped) and self.observation.reason in AS_LOCKED

    @property
    def is_listed(self) -> bool:
        """Whether there is a complete listing to judge by."""
        return self.server.enabled and isinstance(self.observation, Listed)

    def name_now(self, remote_name: str) -> RemoteName:
        """The name that the file has for a tool that was recorded under `remote_name`."""
        return RemoteName(self.moved.get(remote_name, remote_name))

    def seen(self, remote_name: str, attachment: RecordedAttachment | None) -> Seen:
        """What the server says of a tool, compared with what is attached."""
        if not self.server.enabled:
            return Seen.DISABLED
        tool = self.tools.get(remote_name)
        if tool is None and not isinstance(self.observation, Listed):
            return Seen.UNREACHABLE
        if tool is None:
            return Seen.QUARANTINED if remote_name in self.quarantined else Seen.MISSING
        if attachment is None:
            return Seen.SAME
        same = tool.definition.definition_digest == attachment.definition.definition_digest
        return Seen.SAME if same else Seen.OTHER

    def envelope(self, remote_name: str, desired: Desired) -> Envelope:
        """The policy of a tool: tool entry, server, default, built-in.

        Where the file still has an entry for the name that the tool had, nothing is looser than that: whoever moves a tool
        may forget to move its policy.
        """
        envelope = self._envelope(remote_name, desired)
        for old, new in self.moved.items():
            if new == remote_name and old in self.server.tools:
                envelope = strictest(envelope, self._envelope(old, desired))
        return envelope

    def _envelope(self, remote_name: str, desired: Desired) -> Envelope:
        entry = self.server.tools.get(remote_name)
        patch = _NOTHING_SAID if entry is None else entry.patch
        return resolve_envelope(patch, self.server.envelope, desired.default_envelope)

    def envelope_source(self, remote_name: str, desired: Desired) -> Source:
        """The most specific place that could change the policy of a tool."""
        entry = self.server.tools.get(remote_name)
        if entry is not None:
            return entry.source
        return self.server.envelope_source or desired.default_envelope_source or self.server.source


def view_of(
    server: DesiredServer,
    server_id: ServerId,
    observation: Observation,
    reserved: frozenset[str],
    moved: Mapping[str, str] | None = None,
) -> ServerView:
    """Index one observation. `reserved` holds folded names, `moved` is as in the view."""
    tools: Mapping[str, ListedTool] = {}
    quarantined: Mapping[str, Quarantine] = {}
    if isinstance(observation, Listed):
        tools = {tool.remote_name: tool for tool in observation.tools}
        quarantined = {each.remote_name: each for each in observation.quarantined}
    return ServerView(
        server=server,
        server_id=server_id,
        observation=observation,
        tools=tools,
        quarantined=quarantined,
        aliases=base_names(server.namespace, tools, reserved),
        moved=moved or {},
    )


def as_locked(view: ServerView, locked: Mapping[str, LockedTool], reserved: frozenset[str]) -> ServerView:
    """A server as one assistant sees it in a plan by lock: one that was left alone on purpose offers what the lock approves."""
    if not view.as_locked:
        return view
    tools = {
        name: ListedTool(remote_name=RemoteName(name), definition=tool.definition) for name, tool in locked.items()
    }
    return replace(view, tools=tools, aliases=base_names(view.server.namespace, tools, reserved))


def absence_of(observation: Observation) -> str:
    """Why there is no listing, in words."""
    match observation:
        case Unreachable(reason=reason, detail=detail):
            return f"{reason}: {detail}"
        case Skipped(reason=reason):
            return _SKIPPED[reason]
        case Listed():
            return "listed"
        case _:
            assert_never(observation)
