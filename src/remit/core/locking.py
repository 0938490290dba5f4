"""What `remit lock` writes: every selected tool of every assistant as its server lists it now, globs spelled out.

Decides what an entry holds and what becomes of one whose tool cannot be looked at: what a server fails to say takes nothing
out of a lock, only the file does (DESIGN.md sections 4 and 7). Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from remit.core.definition import Definition
from remit.core.desired import Desired, Selection
from remit.core.identity import ProviderName, ServerId
from remit.core.live import Listed, Live
from remit.core.lock import Lock, LockedTool
from remit.core.matching import Known, Matching, Unknown, match_servers
from remit.core.operations import Attach, RenameAlias, ToolKey
from remit.core.plan import Plan
from remit.core.planner import PlanRequest, make_plan
from remit.core.recorded import Recorded, RecordedAttachment
from remit.core.selector import Selector
from remit.core.servers import judge_servers

__all__ = ["LockDraft", "draft_lock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDraft:
    """A lock as it would be written. `unlisted` are enabled servers that gave no listing: their entries are the old ones.

    `plan` is the one that the same states make; its problems say what could not be locked.
    """

    lock: Lock
    unlisted: tuple[str, ...]
    plan: Plan


def draft_lock(
    desired: Desired, recorded: Recorded, live: Live, request: PlanRequest, environment: str | None
) -> LockDraft:
    """The lock of these states; `request.lock` is the old one, whose aliases stay, `request.scope` what is looked at."""
    plan = make_plan(desired, recorded, live, request)
    matching = match_servers(desired, recorded)
    blocked = judge_servers(desired, recorded, matching, request.scope).blocked
    listings = {
        server.name: observation
        for server in desired.servers
        if server.enabled
        and server.name not in blocked
        and (request.scope is None or server.name in request.scope)
        and isinstance(observation := live.get(server.name), Listed)
    }
    draft = _Draft(
        old=request.lock or Lock(),
        ids=_ids(matching),
        aliases=_aliases(desired, recorded, plan),
        attached={(each.assistant, each.server_id, each.remote_name): each for each in _own(desired, recorded)},
        listings=listings,
    )
    return LockDraft(
        lock=Lock(environment=environment, assistants=_assistants(desired, draft)),
        unlisted=tuple(
            server.name
            for server in desired.servers
            if server.enabled
            and server.name not in listings
            and (request.scope is None or server.name in request.scope)
        ),
        plan=plan,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What entries are made from. `aliases` has every tool that is attached or can be, with the name it has or gets."""

    old: Lock
    ids: Mapping[str, ServerId]
    aliases: Mapping[ToolKey, ProviderName]
    attached: Mapping[ToolKey, RecordedAttachment]
    listings: Mapping[str, Listed]

    def recorded(self, key: ToolKey) -> LockedTool | None:
        """What is in service for a tool, if nobody edited it in the database."""
        attachment = self.attached.get(key)
        if attachment is None or not attachment.is_definition_intact:
            return None
        return LockedTool(alias=self.aliases.get(key, attachment.provider_name), definition=attachment.definition)


def _assistants(desired: Desired, draft: _Draft) -> dict[str, dict[str, dict[str, LockedTool]]]:
    found: dict[str, dict[str, dict[str, LockedTool]]] = {}
    for assistant in desired.assistants:
        for selection in assistant.selections:
            if tools := dict(_entries(assistant.name, selection, draft)):
                found.setdefault(assistant.name, {})[selection.server] = tools
    return found


def _entries(assistant: str, selection: Selection, draft: _Draft) -> Iterator[tuple[str, LockedTool]]:
    """The entries of one selection, by remote name."""
    selector, listing = Selector.of(selection), draft.listings.get(selection.server)
    old = draft.old.of_assistant(assistant).get(selection.server, {})
    server_id = draft.ids.get(selection.server)
    known = {name for one, at, name in draft.aliases if (one, at) == (assistant, server_id)}
    listed = dict[str, Definition]() if listing is None else _definitions(listing)
    unusable = frozenset[str]() if listing is None else {each.remote_name for each in listing.quarantined}
    for name in sorted(known | old.keys()):
        pattern = selector.pattern_for(name)
        if pattern is None or server_id is None:
            continue
        key = (assistant, server_id, name)
        if name in listed and key in draft.aliases:
            yield name, LockedTool(alias=draft.aliases[key], definition=listed[name])
        elif listing is None or key in draft.attached or name in unusable or not pattern.is_glob:
            # A glob selects what there is: a tool that left the listing and serves nobody leaves the lock too.
            entry = old.get(name) or draft.recorded(key)
            if entry is not None:
                yield name, entry


def _definitions(listing: Listed) -> dict[str, Definition]:
    return {tool.remote_name: tool.definition for tool in listing.tools}


def _ids(matching: Matching) -> dict[str, ServerId]:
    return {
        name: match.registration.server_id if isinstance(match, Known) else match.server_id
        for name, match in matching.matches.items()
        if isinstance(match, Known | Unknown)
    }


def _own(desired: Desired, recorded: Recorded) -> Iterator[RecordedAttachment]:
    for each in recorded.attachments:
        if each.workspace == desired.workspace and each.assistant_owner == desired.owner:
            yield each.with_approved_alias()


def _aliases(desired: Desired, recorded: Recorded, plan: Plan) -> dict[ToolKey, ProviderName]:
    """The alias of every tool: recorded, else as the plan gives it; declared ones are in the plan."""
    aliases: dict[ToolKey, ProviderName] = {
        (each.assistant, each.server_id, each.remote_name): each.provider_name for each in _own(desired, recorded)
    }
    for operation in (*plan.operations, *(held.operation for held in plan.held)):
        match operation:
            case Attach(tool=tool):
                aliases[tool.key] = tool.provider_name
            case RenameAlias(tool=tool, after=after):
                aliases[tool.key] = after
            case _:
                pass
    return aliases
