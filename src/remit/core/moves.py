"""What `moved` means for a recorded state: which rows go on under which names.

Decides which entries still have something to do, which are done, and which cannot be followed (DESIGN.md section 4). Nothing
is inferred: a row moves because the file says so. Whether the entries fit the file itself is core/moved_entries.py's. Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from remit.core.desired import Desired, Move
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.identity import Endpoint, HttpEndpoint, ServerId, StdioEndpoint
from remit.core.near_subjects import known_subjects, near_subjects
from remit.core.ownership import released_workspace
from remit.core.plan import MovedWorkspace
from remit.core.recorded import Recorded, RecordedServer
from remit.core.subjects import (
    AssistantSubject,
    EndpointSubject,
    ServerSubject,
    Subject,
    ToolSubject,
    WorkspaceSubject,
)

__all__ = ["Moves", "as_declared", "done_notes", "occupied_tools", "resolve_moves", "with_workspace"]


@dataclass(slots=True)
class Moves:
    """The moves of one file against one recorded state.

    `recorded` has workspace and assistants under their new names. `workspace` is what this workspace was recorded as,
    `servers` leads from declared names to the registrations they are, `assistants` from new names to old ones, `tools`
    from a declared server to the new names of its tools by their old ones. `problems` refuse a plan, `done` are entries with nothing to
    do.
    """

    recorded: Recorded
    workspace: MovedWorkspace | None = None
    servers: dict[str, ServerId] = field(default_factory=dict[str, ServerId])
    assistants: dict[str, str] = field(default_factory=dict[str, str])
    tools: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    done: list[Move] = field(default_factory=list[Move])


def as_declared(desired: Desired, recorded: Recorded) -> Recorded:
    """The recorded state with the workspace and its assistants under the names that the file moves them to."""
    return resolve_moves(desired, recorded).recorded if desired.moved else recorded


def resolve_moves(desired: Desired, recorded: Recorded) -> Moves:
    """What every entry comes to. The workspace goes first, as everything else is looked for in it."""
    moves = Moves(recorded)
    for move in sorted(desired.moved, key=lambda each: not isinstance(each.after, WorkspaceSubject)):
        match move.before, move.after:
            case WorkspaceSubject(name=before), WorkspaceSubject():
                _move_workspace(move, before, desired, moves)
            case AssistantSubject(name=before), AssistantSubject(name=after):
                _move_assistant(move, before, after, desired, moves)
            case (ServerSubject() | EndpointSubject()) as before, ServerSubject(name=after):
                _move_server(move, before, after, desired, moves)
            case ToolSubject(server=server, remote_name=before), ToolSubject(remote_name=after):
                moves.tools.setdefault(server, {})[before] = after
            case _:
                # Entries of other shapes are errors of the file (core/moved_entries.py).
                continue
    return moves


def _move_workspace(move: Move, before: str, desired: Desired, moves: Moves) -> None:
    known, taken = moves.recorded.workspaces.get(before), desired.workspace in moves.recorded.workspaces
    if known is None:
        moves.done.append(move)
    elif known.owner != desired.owner:
        moves.problems.append(_elsewhere(move, f"workspace {before!r} belongs to {known.owner!r}"))
    elif taken:
        moves.problems.append(_both(move))
    else:
        rows = moves.recorded
        moves.workspace = MovedWorkspace(
            name=before,
            servers=sum(each.workspace == before for each in rows.servers),
            assistants=sum(each.workspace == before for each in rows.assistants),
            attachments=sum(each.workspace == before for each in rows.attachments),
            source=move.source,
        )
        moves.recorded = with_workspace(moves.recorded, before, desired.workspace)


def with_workspace(recorded: Recorded, before: str, after: str) -> Recorded:
    """The recorded state in which one workspace has another name; lineage, serial and all its rows stay."""
    return replace(
        recorded,
        servers=tuple(_handed(each, before, after) for each in recorded.servers),
        assistants=tuple(
            replace(each, workspace=after) if each.workspace == before else each for each in recorded.assistants
        ),
        attachments=tuple(
            replace(each, workspace=after) if each.workspace == before else each for each in recorded.attachments
        ),
        workspaces={
            (after if name == before else name): replace(each, name=after) if name == before else each
            for name, each in recorded.workspaces.items()
        },
    )


def _handed(server: RecordedServer, before: str, after: str) -> RecordedServer:
    return replace(server, workspace=after) if server.workspace == before else server


def _move_assistant(move: Move, before: str, after: str, desired: Desired, moves: Moves) -> None:
    known = {each.name: each for each in moves.recorded.assistants if each.owner == desired.owner}
    found = known.get(before)
    if found is None:
        moves.done.append(move)
    elif found.workspace not in (desired.workspace, released_workspace(desired.owner)):
        moves.problems.append(_elsewhere(move, f"workspace {found.workspace!r} created {before!r}"))
    elif after in known:
        moves.problems.append(_both(move))
    else:
        moves.assistants[after] = before
        moves.recorded = _with_assistant(moves.recorded, desired.owner, before, after)


def _with_assistant(recorded: Recorded, owner: str, before: str, after: str) -> Recorded:
    return replace(
        recorded,
        assistants=tuple(
            replace(each, name=after) if (each.owner, each.name) == (owner, before) else each
            for each in recorded.assistants
        ),
        attachments=tuple(
            replace(each, assistant=after) if (each.assistant_owner, each.assistant) == (owner, before) else each
            for each in recorded.attachments
        ),
    )


def _move_server(
    move: Move, before: ServerSubject | EndpointSubject, after: str, desired: Desired, moves: Moves
) -> None:
    own = [each for each in moves.recorded.servers if each.workspace == desired.workspace]
    meant = [each for each in own if _is_meant(each, before)]
    if not meant:
        moves.done.append(move)
    elif len(meant) > 1 or any(each.name == after and each != meant[0] for each in own):
        moves.problems.append(_both(move))
    else:
        moves.servers[after] = meant[0].server_id


def _is_meant(server: RecordedServer, subject: ServerSubject | EndpointSubject) -> bool:
    match subject:
        case ServerSubject(name=name):
            return server.name == name
        case EndpointSubject():
            return _is_at(server.endpoint, subject)
        case _:
            assert_never(subject)


def _is_at(endpoint: Endpoint, subject: EndpointSubject) -> bool:
    match endpoint:
        case HttpEndpoint(url=url):
            return url == subject.url
        case StdioEndpoint(command=command):
            return subject.url is None and command == subject.command
        case _:
            assert_never(endpoint)


def _both(move: Move) -> Diagnostic:
    return Diagnostic(
        code="moved-ambiguous",
        message=f"{move.before} cannot become {move.after}: both are recorded, or the first is recorded more than once",
        address=str(move.after),
        source=move.source,
        hint="remove one of the two in an apply before this one, or delete the entry of `moved`",
    )


def _elsewhere(move: Move, why: str) -> Diagnostic:
    return Diagnostic(
        code="moved-elsewhere",
        message=f"{move.before} is not this file's to move: {why}",
        address=str(move.after),
        source=move.source,
        hint="move it where it is owned, or delete the entry of `moved`",
    )


def occupied_tools(desired: Desired, recorded: Recorded, names: Mapping[ServerId, str]) -> Iterator[Diagnostic]:
    """One problem for each tool whose old and new name both are attached to one assistant."""
    attached: dict[tuple[str | None, str], set[str]] = {}
    for each in recorded.attachments:
        if each.workspace == desired.workspace:
            attached.setdefault((names.get(each.server_id), each.remote_name), set()).add(each.assistant)
    for move in desired.moved:
        if isinstance(move.before, ToolSubject) and isinstance(move.after, ToolSubject):
            server, old, new = move.before.server, move.before.remote_name, move.after.remote_name
            if attached.get((server, old), set()) & attached.get((server, new), set()):
                yield _both(move)


def done_notes(
    desired: Desired, moves: Moves, names: Mapping[ServerId, str], gone: Collection[Subject]
) -> Iterator[Diagnostic]:
    """One note for each entry that nothing is recorded for; `names` are declared ones, `gone` is what this plan takes.

    One whose new name is recorded was carried out, so it is told to be no mistake.
    """
    done = (*moves.done, *_done_tools(desired, moves.recorded, names))
    known = set(known_subjects(desired, moves.recorded, names)) if done and gone else ()
    hints = near_subjects([each.before for each in done if each.after not in known], gone)
    for move in done:
        yield Diagnostic(
            code="moved-done",
            severity=Severity.NOTE,
            message=f"nothing is recorded as {move.before} any more, so this entry of `moved` can be removed",
            address=str(move.after),
            source=move.source,
            hint=hints.get(move.before),
        )


def _done_tools(desired: Desired, recorded: Recorded, names: Mapping[ServerId, str]) -> Iterator[Move]:
    """Tools whose old name nothing of this workspace is attached under."""
    attached = {
        (names.get(each.server_id), str(each.remote_name))
        for each in recorded.attachments
        if each.workspace == desired.workspace
    }
    for move in desired.moved:
        if isinstance(move.before, ToolSubject) and (move.before.server, move.before.remote_name) not in attached:
            yield move
