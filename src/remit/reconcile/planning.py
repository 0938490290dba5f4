"""Plan: the three states and the facts around them, put together into one report.

Decides nothing that core does not; it adds what a reader needs beside a plan (discovery, files, database, the load that
each assistant's model carries) and refuses acceptances that name nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from remit.core.acceptance import Acceptance
from remit.core.addresses import attachment_address, nearest, tool_address
from remit.core.binding import CommitAge, Leave, judge_binding, judge_environment
from remit.core.canonical import sha256_hex
from remit.core.contributing import vanished_files
from remit.core.definition import function_of
from remit.core.desired import ConfigFile, Desired
from remit.core.diagnostics import Diagnostic
from remit.core.identity import ServerId
from remit.core.live import Listed
from remit.core.matching import Known, match_servers
from remit.core.moves import as_declared
from remit.core.operations import Attach, Detach, Reason, Refresh
from remit.core.plan import Plan
from remit.core.planner import PlanRequest, make_plan, with_problems
from remit.core.recorded import Recorded, WorkspaceRecord
from remit.core.report import AssistantLoad, ConfigFacts, DatabaseFacts, DiscoveryLine, PlanReport
from remit.errors import UsageError
from remit.reconcile.observe import live_of

__all__ = [
    "Provenance",
    "Surroundings",
    "check_acceptances",
    "check_allow_empty",
    "check_allow_missing",
    "check_scope",
    "make_report",
]

CHARACTERS_A_TOKEN = 4
"""The usual rough measure for English text and JSON; good enough to compare assistants with, not to bill by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the files come from, as `source`, and how their commit stands to another one."""

    source: str | None
    age_against: Callable[[str | None], CommitAge]

    def judge(self, workspace: WorkspaceRecord | None, leave: Leave) -> tuple[Diagnostic, ...]:
        """What speaks against applying these files to a workspace."""
        age = self.age_against(None if workspace is None else workspace.commit)
        return judge_binding(workspace, self.source, age, leave)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Facts that a report carries and a plan does not depend on.

    `dialect` of the database, whether it exists, the git commit, and the file that the lock was read from.
    """

    dialect: str
    exists: bool
    commit: str | None = None
    lock: ConfigFile | None = None
    provenance: Provenance | None = None
    """None where nobody asks for one, as for a drift or a pull request."""
    leave: Leave | None = None
    """What was allowed. None where nobody asks which environment a plan is for, as for a drift."""


def make_report(
    desired: Desired,
    recorded: Recorded,
    discovery: tuple[DiscoveryLine, ...],
    request: PlanRequest,
    surroundings: Surroundings,
) -> PlanReport:
    """A plan of these states with everything shown beside it."""
    plan = make_plan(desired, recorded, live_of(discovery), request)
    workspace = as_declared(desired, recorded).workspaces.get(desired.workspace)
    plan = with_problems(plan, _judge_surroundings(desired, workspace, surroundings))
    return PlanReport(
        plan=plan,
        discovery=discovery,
        config=ConfigFacts(
            files=desired.files,
            digest=_digest(desired.files),
            commit=surroundings.commit,
            environment=desired.environment,
            lock=surroundings.lock,
        ),
        database=DatabaseFacts(
            exists=surroundings.exists,
            dialect=surroundings.dialect,
            lineage=None if workspace is None else workspace.lineage,
            serial=0 if workspace is None else workspace.serial,
        ),
        tokens=_loads(plan, desired, recorded, request.scope),
    )


def _judge_surroundings(
    desired: Desired, workspace: WorkspaceRecord | None, surroundings: Surroundings
) -> tuple[Diagnostic, ...]:
    if surroundings.leave is None:
        return ()
    environment = judge_environment(workspace, desired.environment, surroundings.leave)
    if surroundings.provenance is None:
        return environment
    return (*environment, *surroundings.provenance.judge(workspace, surroundings.leave))


def _digest(files: Iterable[ConfigFile]) -> str:
    return "sha256:" + sha256_hex(*(part for each in files for part in (each.path, each.sha256)))


def _loads(plan: Plan, desired: Desired, recorded: Recorded, scope: frozenset[str] | None) -> dict[str, AssistantLoad]:
    """Tools and tokens of every assistant this workspace uses, as they are once the plan's operations ran.

    With a scope only of those that use a server in it: nobody looked at the others.
    """
    recorded = as_declared(desired, recorded)
    texts: dict[tuple[str, str], int] = {
        (each.assistant, each.canonical_id): len(each.function_text or "")
        for each in recorded.attachments
        if each.workspace == desired.workspace and each.assistant_owner == desired.owner
    }
    for operation in plan.operations:
        match operation:
            case Refresh(tool=tool, reason=Reason.RELEASED):
                texts.pop((tool.assistant, tool.canonical_id), None)
            case Attach(tool=tool, definition=definition) | Refresh(tool=tool, after=definition):
                texts[tool.assistant, tool.canonical_id] = len(function_of(tool.provider_name, definition))
            case Detach(tool=tool):
                texts.pop((tool.assistant, tool.canonical_id), None)
            case _:
                pass
    sizes: dict[str, list[int]] = {each.name: [] for each in desired.assistants}
    for (assistant, _), size in texts.items():
        sizes.setdefault(assistant, []).append(size)
    looked_at = sizes.keys() if scope is None else sizes.keys() & _users(desired, recorded, scope)
    return {name: _load(sizes[name]) for name in sorted(looked_at)}


def _users(desired: Desired, recorded: Recorded, scope: frozenset[str]) -> frozenset[str]:
    """The assistants that select from a server in scope, or that have a tool of one."""
    names = _server_names(desired, recorded)
    selecting = {each.name for each in desired.assistants if any(one.server in scope for one in each.selections)}
    return frozenset(
        selecting | {each.assistant for each in recorded.attachments if names.get(each.server_id) in scope}
    )


def _server_names(desired: Desired, recorded: Recorded) -> dict[ServerId, str]:
    """Every registration's name, the declared one where the file renames it."""
    names = {each.server_id: each.name for each in recorded.servers}
    for name, match in match_servers(desired, recorded).matches.items():
        if isinstance(match, Known):
            names[match.registration.server_id] = name
    return names


def _load(sizes: Sequence[int]) -> AssistantLoad:
    return AssistantLoad(tools=len(sizes), tokens=sum(sizes) // CHARACTERS_A_TOKEN)


def check_scope(names: frozenset[str], desired: Desired, recorded: Recorded, *, place: str | None = "--server") -> None:
    """Refuse a server on the command line (at `place`) that no file declares and nothing is registered for.

    Raises UsageError with a near name.
    """
    # A server that was renamed goes by its new name only: under the old one there is nothing left to look at.
    left = {each.name for each in match_servers(desired, recorded).unclaimed}
    _refuse_unknown(names, _declared(desired) | left, place)


def check_allow_empty(names: frozenset[str], desired: Desired) -> None:
    """Refuse an `--allow-empty` for a server that no file declares, as only those are listed. Raises UsageError."""
    _refuse_unknown(names, _declared(desired), "--allow-empty")


def check_allow_missing(names: frozenset[str], desired: Desired, recorded: Recorded) -> None:
    """Refuse an `--allow-missing-file` for a file that is not missing. Raises UsageError with a near name.

    Where none is missing any more it is fine: the same command line may run twice.
    """
    missing = frozenset(vanished_files(desired, recorded))
    for name in sorted(names - missing) if missing else ():
        near = nearest(name, missing)
        raise UsageError(
            f"{name!r} is not among the files that are missing",
            place="--allow-missing-file",
            hint=f"did you mean {near!r}?" if near else f"missing are: {', '.join(sorted(missing))}",
        )


def _declared(desired: Desired) -> frozenset[str]:
    return frozenset(each.name for each in desired.servers)


def _refuse_unknown(names: frozenset[str], known: frozenset[str], place: str | None) -> None:
    for name in sorted(names - known):
        near = nearest(name, known)
        raise UsageError(
            f"no server is called {name!r}",
            place=place,
            hint=f"did you mean {near!r}?" if near else "the servers are: " + (", ".join(sorted(known)) or "none"),
        )


def check_acceptances(
    acceptances: Iterable[Acceptance],
    plan: Plan,
    desired: Desired,
    recorded: Recorded,
    discovery: Sequence[DiscoveryLine],
) -> None:
    """Refuse an `--accept` whose address is nothing's. Raises UsageError with a near address.

    An address that exists and needs no acceptance any more is fine: the same command line may run twice.
    """
    known = frozenset(_addresses(plan, desired, as_declared(desired, recorded), discovery))
    for acceptance in acceptances:
        if acceptance.address not in known:
            near = nearest(acceptance.address, known)
            raise UsageError(
                f"nothing has the address {acceptance.address!r}",
                place="--accept",
                hint=f"did you mean {near!r}?" if near else "`remit plan` shows what is held, with its address",
            )


def _addresses(plan: Plan, desired: Desired, recorded: Recorded, discovery: Sequence[DiscoveryLine]) -> Iterator[str]:
    names = _server_names(desired, recorded)
    for each in recorded.attachments:
        yield attachment_address(each.assistant, each.provider_name)
        yield tool_address(names.get(each.server_id, each.server_id), each.remote_name)
    for line in discovery:
        if isinstance(line.observation, Listed):
            yield from (tool_address(line.server, tool.remote_name) for tool in line.observation.tools)
    for operation in (*plan.operations, *(held.operation for held in plan.held)):
        if isinstance(operation, Attach | Refresh):
            yield attachment_address(operation.tool.assistant, operation.tool.provider_name)
