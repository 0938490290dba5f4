"""Whether the entries of `moved` and `removed` fit the file that they stand in.

Decides what can be said without the database: an entry leads from something that the file no longer declares to something of
the same kind that it does, and no two entries speak of one thing (DESIGN.md section 4). Pure.
"""

from collections.abc import Iterable, Iterator

from remit.core.desired import Desired, Move, Removal
from remit.core.diagnostics import Diagnostic, Source
from remit.core.identity import HttpEndpoint, StdioEndpoint
from remit.core.selector import Selector
from remit.core.subjects import (
    AssistantSubject,
    AttachmentSubject,
    EndpointSubject,
    ServerSubject,
    Subject,
    ToolSubject,
    WorkspaceSubject,
)

__all__ = ["check_entries"]


def check_entries(desired: Desired) -> Iterator[Diagnostic]:
    """Everything that is wrong with the entries, in no particular order."""
    declared = _Declared(desired)
    for move in desired.moved:
        yield from _check_move(move, declared)
    yield from _twice("from", ((each.before, each.source) for each in desired.moved))
    yield from _twice("to", ((each.after, each.source) for each in desired.moved))
    yield from _chains(desired.moved)
    for removal in desired.removed:
        yield from _check_removal(removal, declared)
    yield from _twice("removed", ((each.subject, each.source) for each in desired.removed))


class _Declared:
    """What the file declares, made ready for questions."""

    def __init__(self, desired: Desired):
        self._desired = desired
        self._servers = {each.name: each for each in desired.servers}
        self._assistants = {each.name for each in desired.assistants}
        self._selectors = [
            (selection.server, Selector.of(selection)) for each in desired.assistants for selection in each.selections
        ]

    def has(self, subject: Subject, *, by_glob: bool) -> bool:
        """Whether the file declares it; a tool that a glob selects counts where that is asked for."""
        match subject:
            case ServerSubject(name=name):
                return name in self._servers
            case EndpointSubject():
                return any(_is_at(each.endpoint, subject) for each in self._servers.values())
            case ToolSubject():
                return self._selects(subject, by_glob=by_glob)
            case AssistantSubject(name=name):
                return name in self._assistants
            case WorkspaceSubject(name=name):
                return name == self._desired.workspace
            case AttachmentSubject():
                # Which tool an alias belongs to is recorded, not declared.
                return False

    def _selects(self, tool: ToolSubject, *, by_glob: bool) -> bool:
        found = (each.pattern_for(tool.remote_name) for server, each in self._selectors if server == tool.server)
        return any(each is not None and (by_glob or each.text == tool.remote_name) for each in found)


def _is_at(endpoint: HttpEndpoint | StdioEndpoint, subject: EndpointSubject) -> bool:
    if isinstance(endpoint, HttpEndpoint):
        return endpoint.url == subject.url
    return subject.url is None and endpoint.command == subject.command


def _check_move(move: Move, declared: _Declared) -> Iterator[Diagnostic]:
    if (
        isinstance(move.before, ToolSubject)
        and isinstance(move.after, ToolSubject)
        and not _fit(move.before, move.after)
    ):
        yield _other_server(move, move.before, move.after)
        return
    if not _fit(move.before, move.after):
        yield _finding(
            "moved-kinds",
            move.source,
            f"{move.before} cannot become {move.after}",
            "a server (or its endpoint) moves to a server, a tool to a tool of the same server, an assistant to an "
            "assistant, a workspace to a workspace",
        )
        return
    if not declared.has(move.after, by_glob=True):
        yield _finding(
            "moved-undeclared",
            move.source,
            f"the file declares no {move.after}",
            "declare what it is called now, or correct `to`",
        )
    if move.before != move.after and declared.has(move.before, by_glob=False):
        yield _finding(
            "moved-still-declared",
            move.source,
            f"the file still declares {move.before}, so it cannot have become {move.after}",
            "delete the old declaration, or the entry of `moved`",
        )


def _other_server(move: Move, before: ToolSubject, after: ToolSubject) -> Diagnostic:
    # A moved tool keeps its id and its policy, and both are bound to a registration (DESIGN.md section 4).
    return _finding(
        "moved-server",
        move.source,
        f"{before} cannot become {after}: the tool of another server is another tool, reached under that server's policy "
        "and credentials",
        f"take it out of `include` of {before.server}, put it into `include` of {after.server}, and keep the name that models "
        f"know with `aliases: {{{after.remote_name}: ...}}` there; or move the whole server: {{from: server.{before.server}, "
        f"to: server.{after.server}}}",
    )


def _fit(before: Subject, after: Subject) -> bool:
    match before, after:
        case (ServerSubject() | EndpointSubject(), ServerSubject()) | (AssistantSubject(), AssistantSubject()):
            return True
        case ToolSubject(server=server), ToolSubject(server=same):
            return server == same
        case WorkspaceSubject(), WorkspaceSubject():
            return True
        case _:
            return False


def _twice(where: str, subjects: Iterable[tuple[Subject, Source]]) -> Iterator[Diagnostic]:
    seen: dict[Subject, Source] = {}
    for subject, source in subjects:
        first = seen.setdefault(subject, source)
        if first is not source:
            key = "`removed`" if where == "removed" else f"`{where}`"
            yield _finding(
                "named-twice",
                source,
                f"{subject} stands under {key} in {_place(first)} already",
                "keep one of the two entries",
            )


def _chains(moved: Iterable[Move]) -> Iterator[Diagnostic]:
    by_before = {each.before: each for each in moved}
    for move in by_before.values():
        onward = by_before.get(move.after)
        if onward is not None:
            told = "becomes itself" if onward is move else f"is moved on in {_place(onward.source)}"
            yield _finding(
                "moved-chain",
                move.source,
                f"{move.after} {told}: one entry leads from what is recorded to what is declared",
                "say where it ends in one entry, or apply one move after the other",
            )


def _check_removal(removal: Removal, declared: _Declared) -> Iterator[Diagnostic]:
    if isinstance(removal.subject, WorkspaceSubject | EndpointSubject):
        yield _finding(
            "removed-kind",
            removal.source,
            f"{removal.subject} cannot be removed by an entry",
            "name a server, a tool, an assistant or an attachment by its address",
        )
    elif declared.has(removal.subject, by_glob=True):
        yield _finding(
            "removed-still-declared",
            removal.source,
            f"the file still asks for {removal.subject}",
            "take it out of the file (a glob that matches it too), or delete the entry of `removed`",
        )


def _place(source: Source) -> str:
    return f"{source.file}:{source.line}"


def _finding(code: str, source: Source, message: str, hint: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, source=source, hint=hint)
