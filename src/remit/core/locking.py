"""What `remit lock` writes: every selected tool of every assistant as its server lists it now, globs spelled out.

Decides what an entry holds and what becomes of one whose tool cannot be looked at: what a server fails to say takes nothing
out of a lock, only the file does (DESIGN.md sections 4 and 7). Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from remit.core.addresses import tool_address
from remit.core.definition import Definition
from remit.core.desired import Desired, Selection
from remit.core.diagnostics import Diagnostic
from remit.core.identity import ProviderName, ServerId
from remit.core.live import Listed, Live, Observation, judge_empty
from remit.core.lock import Lock, LockedTool, LockKey
from remit.core.matching import Known, Matching, Unknown, match_servers
from remit.core.moves import Moves, resolve_moves
from remit.core.operations import Attach, RenameAlias, ToolKey
from remit.core.plan import Plan
from remit.core.planner import PlanRequest, make_plan, refusals_of
from remit.core.recorded import Recorded, RecordedAttachment
from remit.core.selector import Selector
from remit.core.servers import judge_servers
from remit.core.subjects import AssistantSubject, ServerSubject

__all__ = ["LockDraft", "draft_lock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDraft:
    """A lock as it would be written. `unlisted` are enabled servers that gave no listing: their entries are the old ones.

    `before` is the old lock under the names that the file gives now, `moved` leads from assistant, server and remote name of what
    is in it to those that the old lock has it under, where they differ. `live` is what was believed of the servers. `plan` is the one that the same states make; its problems say what could not be
    locked, `refusals` why nothing could.
    """

    lock: Lock
    before: Lock
    moved: Mapping[LockKey, LockKey]
    unlisted: tuple[str, ...]
    live: Live
    plan: Plan
    refusals: tuple[Diagnostic, ...] = ()


def draft_lock(
    desired: Desired,
    recorded: Recorded,
    live: Live,
    request: PlanRequest,
    environment: str | None,
    *,
    allow_empty: frozenset[str] = frozenset(),
) -> LockDraft:
    """The lock of these states; `request.lock` is the old one, whose aliases stay, `request.scope` what is looked at.

    A server that lists nothing where the old lock has tools of it counts as not listed, but for those in `allow_empty`.
    Where `refusals` says why nothing can be planned, nothing can be locked either, and the lock is the old one.
    """
    moves = resolve_moves(desired, recorded)
    matching = match_servers(desired, recorded, moves)
    follow = _Follow.of(desired, moves, matching)
    raw = request.lock or Lock()
    old = follow.lock(raw)
    before, moved = follow.compared(raw)
    live = dict(_judged(live, desired, old, allow_empty))
    plan = _without_gone(make_plan(desired, recorded, live, replace(request, lock=old)), desired)
    if refusals := refusals_of(desired, moves, matching):
        return LockDraft(lock=raw, before=raw, moved={}, unlisted=(), live=live, plan=plan, refusals=refusals)
    blocked = judge_servers(desired, moves.recorded, matching, request.scope, moves).blocked
    wanted = [
        server
        for server in desired.servers
        if server.enabled and (request.scope is None or server.name in request.scope)
    ]
    listings = {
        server.name: observation
        for server in wanted
        if server.name not in blocked and isinstance(observation := live.get(server.name), Listed)
    }
    ids = _ids(matching)
    renamed = {ids[server]: names for server, names in moves.tools.items() if server in ids}
    attached = dict(_attached(desired, moves.recorded, renamed))
    draft = _Draft(old=old, ids=ids, aliases=_aliases(attached, renamed, plan), attached=attached, listings=listings)
    lock = Lock(environment=environment, assistants=_assistants(desired, draft))
    stays = _entries_of(lock).keys()
    return LockDraft(
        lock=lock,
        before=before,
        moved={new: old for new, old in moved.items() if new in stays},
        unlisted=tuple(server.name for server in wanted if server.name not in listings),
        live=live,
        plan=plan,
    )


def _judged(live: Live, desired: Desired, old: Lock, allow_empty: frozenset[str]) -> Iterator[tuple[str, Observation]]:
    """The observations, where an empty listing is believed only if the lock has nothing to lose by it.

    A checkout in CI has no database that knows the last good listing; what was locked is the evidence that there was one.
    """
    places = {(each.name, one.server): Selector.of(one) for each in desired.assistants for one in each.selections}
    locked: dict[str, set[str]] = {}
    for assistant, server, name, _ in old.tools():
        selector = places.get((assistant, server))
        if selector is not None and selector.pattern_for(name) is not None:
            locked.setdefault(server, set()).add(name)
    for server, observation in live.items():
        before = len(locked.get(server, ()))
        if isinstance(observation, Listed):
            yield server, judge_empty(observation, before, allowed=server in allow_empty, known_from="the lock has")
        else:
            yield server, observation


def _without_gone(plan: Plan, desired: Desired) -> Plan:
    """A plan that misses no tool which the old lock alone names: it leaves the new one, so nothing of it stays unresolved."""
    named = {
        tool_address(selection.server, name)
        for assistant in desired.assistants
        for selection in assistant.selections
        for name in Selector.of(selection).names_among(())
    }
    problems = tuple(each for each in plan.problems if each.code != "tool-not-advertised" or each.address in named)
    return replace(plan, problems=problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Follow:
    """Where an entry of the old lock goes on: what was renamed or moved keeps its alias and its definition.

    `assistants` and `servers` lead from old names to new ones; a file that moves them counts also where there is no database
    that knows the old ones, as in CI.
    """

    assistants: Mapping[str, str]
    servers: Mapping[str, str]
    tools: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, desired: Desired, moves: Moves, matching: Matching) -> "_Follow":
        assistants, servers = dict[str, str](), dict[str, str]()
        for move in desired.moved:
            match move.before, move.after:
                case AssistantSubject(name=before), AssistantSubject(name=after):
                    assistants[before] = after
                case ServerSubject(name=before), ServerSubject(name=after):
                    servers[before] = after
                case _:
                    pass
        assistants |= {old: new for new, old in moves.assistants.items()}
        servers |= {
            match.registration.name: name for name, match in matching.matches.items() if isinstance(match, Known)
        }
        declared = {each.name for each in desired.assistants}
        return cls(
            assistants={old: new for old, new in assistants.items() if old not in declared},
            servers={old: new for old, new in servers.items() if old not in matching.matches},
            tools=moves.tools,
        )

    def key(self, key: LockKey) -> LockKey:
        """The names that an entry has from now on."""
        assistant, server, name = key
        at = self.servers.get(server, server)
        return self.assistants.get(assistant, assistant), at, self.tools.get(at, {}).get(name, name)

    def lock(self, lock: Lock) -> Lock:
        """The lock under the new names; of two entries of one name the one that has it already, written after the move."""
        entries = _entries_of(lock)
        found = {self.key(key): tool for key, tool in entries.items()}
        found |= {key: tool for key, tool in entries.items() if self.key(key) == key}
        return _lock_of(lock, found)

    def compared(self, lock: Lock) -> tuple[Lock, dict[LockKey, LockKey]]:
        """The same to compare with, where an entry that another one took the place of is still there; and what moved."""
        entries = _entries_of(lock)
        found: dict[LockKey, LockedTool] = {}
        moved: dict[LockKey, LockKey] = {}
        for key, tool in entries.items():
            new = self.key(key)
            if new == key or new in moved or (new in entries and self.key(new) == new):
                found[key] = tool
            else:
                found[new], moved[new] = tool, key
        return _lock_of(lock, found), moved


def _entries_of(lock: Lock) -> dict[LockKey, LockedTool]:
    return {(assistant, server, name): tool for assistant, server, name, tool in lock.tools()}


def _lock_of(lock: Lock, entries: Mapping[LockKey, LockedTool]) -> Lock:
    found: dict[str, dict[str, dict[str, LockedTool]]] = {}
    for (assistant, server, name), tool in entries.items():
        found.setdefault(assistant, {}).setdefault(server, {})[name] = tool
    return replace(lock, assistants=found)


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


def _attached(
    desired: Desired, recorded: Recorded, renamed: Mapping[ServerId, Mapping[str, str]]
) -> Iterator[tuple[ToolKey, RecordedAttachment]]:
    """This workspace's attachments by assistant, registration and the remote name that they have from now on."""
    for each in recorded.attachments:
        if each.workspace == desired.workspace and each.assistant_owner == desired.owner:
            key = (each.assistant, each.server_id, str(each.remote_name))
            yield _moved(key, renamed), each.with_approved_alias()


def _moved(key: ToolKey, renamed: Mapping[ServerId, Mapping[str, str]]) -> ToolKey:
    assistant, server_id, name = key
    return assistant, server_id, renamed.get(server_id, {}).get(name, name)


def _aliases(
    attached: Mapping[ToolKey, RecordedAttachment], renamed: Mapping[ServerId, Mapping[str, str]], plan: Plan
) -> dict[ToolKey, ProviderName]:
    """The alias of every tool: recorded, else as the plan gives it; declared ones are in the plan."""
    aliases = {key: each.provider_name for key, each in attached.items()}
    for operation in (*plan.operations, *(held.operation for held in plan.held)):
        match operation:
            case Attach(tool=tool):
                aliases[tool.key] = tool.provider_name
            case RenameAlias(tool=tool, after=after):
                aliases[_moved(tool.key, renamed)] = after
            case _:
                pass
    return aliases
