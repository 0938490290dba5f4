"""What one assistant's tools are judged by and what was decided: the values shared by core/kept.py and core/missing.py.

Decides only how things are named to people. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remit.core.addresses import tool_address
from remit.core.aliases import AliasClash
from remit.core.desired import Desired, DesiredAssistant, Selection
from remit.core.diagnostics import Diagnostic
from remit.core.identity import ServerId
from remit.core.live import UNTRUSTED, Skipped
from remit.core.lock import LockedByServer, LockedTool
from remit.core.operations import Operation, ToolKey, ToolRef
from remit.core.plan import Deferred, DeferredReason, Drift, HoldReason
from remit.core.ports import DefinitionDiff
from remit.core.recorded import RecordedAttachment
from remit.core.selector import Selector
from remit.core.views import ServerView, absence_of

__all__ = [
    "AssistantContext",
    "ToolOutcome",
    "clash_problem",
    "deferral",
    "origin_of_attachment",
    "origin_of_tool",
    "ref_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantContext:
    """Everything one assistant's tools are judged by.

    `assistant` is None where the file no longer declares it. `attachments` are this workspace's on it, apart from
    `protected` ones: those stand on servers that are out of scope (`overlooked` of them) or unresolved, and are left alone.
    `views` are the resolved servers in scope by declared name, `names` the server names by id for display, `fixed` the
    names on the assistant that others hold, with their origins, `reserved` folded names, `lock` what is approved for the
    assistant (None: no lock is in force).
    """

    desired: Desired
    assistant: DesiredAssistant | None
    name: str
    attachments: Sequence[RecordedAttachment]
    protected: Sequence[RecordedAttachment]
    overlooked: int
    views: Mapping[str, ServerView]
    names: Mapping[ServerId, str]
    fixed: Mapping[str, str]
    reserved: frozenset[str]
    diff: DefinitionDiff
    lock: LockedByServer | None = None

    @property
    def selections(self) -> Sequence[Selection]:
        """What the file selects for the assistant."""
        return () if self.assistant is None else self.assistant.selections

    def chosen(self) -> dict[ServerId, tuple[Selector, ServerView]]:
        """The selections whose servers are resolved and in scope, by registration; built anew at each call."""
        return {
            view.server_id: (Selector.of(selection), view)
            for selection in self.selections
            if (view := self.views.get(selection.server)) is not None
        }

    def locked(self, view: ServerView) -> Mapping[str, LockedTool]:
        """What the lock approves of a server for the assistant, by remote name; empty without a lock."""
        return {} if self.lock is None else self.lock.get(view.server.name, {})

    @property
    def untouchable(self) -> Mapping[str, str]:
        """Names that nothing in this plan can free, with their holders' origins."""
        return {
            **self.fixed,
            **{each.provider_name: origin_of_attachment(self, each) for each in self.protected},
        }


@dataclass(slots=True)
class ToolOutcome:
    """What was decided about tools.

    `requires` leads from an assistant and a permission to the addresses of the tools that ask for it by the file,
    `guarded` to those of attachments that ask for it by the file or until the file's policy holds. `unchecked` are
    addresses of attachments whose server does not answer or is not asked, `misnamed` those whose alias was edited.
    `uneasy` are addresses of attachments that must not be loosened now: their approved definition is not to be had, or
    their server does not answer and its last good listing had drifted. `lock_holds` leads from a tool of an assistant to why
    the lock holds it, `unlike_lock` are the servers that offer something else than the lock approves. `awaited` leads from
    a tool of a replaced server to the one that has to be attached before it may go.
    """

    operations: list[Operation] = field(default_factory=list[Operation])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    drift: list[Drift] = field(default_factory=list[Drift])
    deferred: list[Deferred] = field(default_factory=list[Deferred])
    unchecked: list[str] = field(default_factory=list[str])
    misnamed: list[str] = field(default_factory=list[str])
    requires: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    guarded: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    uneasy: list[str] = field(default_factory=list[str])
    lock_holds: dict[ToolKey, HoldReason] = field(default_factory=dict[ToolKey, HoldReason])
    unlike_lock: set[ServerId] = field(default_factory=set[ServerId])
    awaited: dict[ToolKey, ToolKey] = field(default_factory=dict[ToolKey, ToolKey])
    unchanged: int = 0

    def require(self, assistant: str, permission: str | None, address: str) -> None:
        """Note that a tool asks for a permission, if it does."""
        if permission is not None:
            self.requires.setdefault((assistant, permission), []).append(address)

    def guard(self, assistant: str, permission: str | None, address: str) -> None:
        """Note that an attachment in service asks for a permission, if it does."""
        if permission is not None:
            self.guarded.setdefault((assistant, permission), []).append(address)

    @property
    def size(self) -> int:
        """How many things were found so far; equal before and after a judgement means nothing was."""
        return len(self.operations) + len(self.drift) + len(self.deferred)


def ref_of(context: AssistantContext, attachment: RecordedAttachment) -> ToolRef:
    """An attachment under all its names, the server under its declared one."""
    return ToolRef(
        assistant=context.name,
        server=context.names.get(attachment.server_id, attachment.server_id),
        server_id=attachment.server_id,
        remote_name=attachment.remote_name,
        provider_name=attachment.provider_name,
        canonical_id=attachment.canonical_id,
    )


def origin_of_attachment(context: AssistantContext, attachment: RecordedAttachment) -> str:
    """Where an attachment comes from, in full: its tool and its workspace."""
    server = context.names.get(attachment.server_id, attachment.server_id)
    return f"{tool_address(server, attachment.remote_name)} of workspace {attachment.workspace}"


def origin_of_tool(context: AssistantContext, view: ServerView, remote_name: str) -> str:
    """Where a tool comes from, in full, before it is attached."""
    return f"{tool_address(view.server.name, remote_name)} of workspace {context.desired.workspace}"


def clash_problem(
    context: AssistantContext, view: ServerView, remote_name: str, clash: AliasClash, selection: Selection
) -> Diagnostic:
    """Two tools want one name: both full origins and the way out."""
    alias = selection.aliases.get(remote_name)
    return Diagnostic(
        code="alias-clash",
        message=(
            f"{clash.provider_name} for {origin_of_tool(context, view, remote_name)} is taken on assistant "
            f"{context.name} by {clash.holder}"
        ),
        address=tool_address(view.server.name, remote_name),
        source=selection.source if alias is None else alias.source,
        hint=f"choose another name: `aliases: {{{remote_name}: ...}}`",
    )


def deferral(context: AssistantContext, view: ServerView, remote_name: str, *, attached: bool) -> Deferred:
    """A tool, or a glob, whose server gave nothing to judge by."""
    if not view.server.enabled:
        reason, detail = DeferredReason.DISABLED, "disabled by the file"
    elif isinstance(view.observation, Skipped) and view.observation.reason in UNTRUSTED:
        reason, detail = DeferredReason.UNTRUSTED, absence_of(view.observation)
    elif isinstance(view.observation, Skipped):
        reason, detail = DeferredReason.NOT_ASKED, absence_of(view.observation)
    else:
        reason, detail = DeferredReason.UNREACHABLE, absence_of(view.observation)
    return Deferred(
        address=tool_address(view.server.name, remote_name),
        assistant=context.name,
        server=view.server.name,
        remote_name=remote_name,
        attached=attached,
        reason=reason,
        detail=detail,
    )
