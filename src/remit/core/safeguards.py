"""Safeguards: an outcome that takes too much away is refused as a whole, with numbers and the way through.

Decides by outcome, not by cause (DESIGN.md section 6): more detaches than max(3, 30 %) of a server's, an assistant's or
the workspace's attachments; an assistant left without tools; a desired state that became empty. `--allow-detach N` with
exactly the planned number is one way through, so that a plan that changed since is refused again; an address under `removed`
is the other, for that address alone. What is protected is core/protection.py's. Pure.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from remit.core.addresses import assistant_address, server_address
from remit.core.desired import Desired
from remit.core.diagnostics import Diagnostic
from remit.core.moves import as_declared
from remit.core.operations import Attach, Detach, Operation
from remit.core.protection import judge_protected
from remit.core.recorded import Recorded, RecordedAttachment
from remit.core.removals import covered_detaches
from remit.core.subjects import AssistantSubject, ServerSubject

__all__ = ["MAX_SHARE_PERCENT", "MIN_LIMIT", "judge_outcome"]

MIN_LIMIT = 3
"""So many detaches are always allowed."""

MAX_SHARE_PERCENT = 30
"""And this share of what there is, rounded down."""


def judge_outcome(
    operations: Sequence[Operation], desired: Desired, recorded: Recorded, allow_detach: int | None
) -> tuple[Diagnostic, ...]:
    """The refusals of a plan's operations; none where `allow_detach` is exactly the number of its detaches."""
    detaches = [each for each in operations if isinstance(each, Detach)]
    recorded = as_declared(desired, recorded)
    own = [each for each in recorded.attachments if each.workspace == desired.workspace]
    refusals = [*judge_protected(operations, desired, recorded, own)]
    if allow_detach == len(detaches):
        return tuple(refusals)
    way = f"if that is meant, run again with --allow-detach {len(detaches)}"
    if allow_detach is not None:
        way = f"--allow-detach {allow_detach} was given, {len(detaches)} would be detached; {way}"
    covered = covered_detaches(desired, detaches)
    asked = [each for at, each in enumerate(detaches) if at not in covered]
    if not _is_all_named(desired, recorded, own):
        refusals += _emptied_desired(desired, recorded, own, way)
    refusals += _too_many(asked, desired.workspace, own, way)
    named = {each.tool.assistant for each in detaches} - {each.tool.assistant for each in asked}
    return (*refusals, *_emptied_assistants(operations, own, way, named))


def _is_all_named(desired: Desired, recorded: Recorded, own: Sequence[RecordedAttachment]) -> bool:
    """Whether a file that asks for nothing names everything that goes."""
    named = {each.subject for each in desired.removed}
    servers = {each.server_id: each.name for each in recorded.servers if each.workspace == desired.workspace}
    return all(ServerSubject(name) in named for name in servers.values()) and all(
        named & {AssistantSubject(each.assistant), ServerSubject(servers.get(each.server_id, ""))} for each in own
    )


def _emptied_desired(
    desired: Desired, recorded: Recorded, own: Sequence[RecordedAttachment], way: str
) -> Iterator[Diagnostic]:
    servers = [each for each in recorded.servers if each.workspace == desired.workspace]
    if not desired.servers and not desired.assistants and (own or servers):
        yield Diagnostic(
            code="desired-emptied",
            message=(
                f"the file asks for nothing any more, while {_counted(len(own), 'attachment')} and "
                f"{_counted(len(servers), 'registration')} are recorded"
            ),
            address=f"workspace.{desired.workspace}",
            hint=way,
        )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _too_many(
    detaches: Sequence[Detach], workspace: str, own: Sequence[RecordedAttachment], way: str
) -> Iterator[Diagnostic]:
    for address, planned, attached in _shares(detaches, workspace, own):
        limit = max(MIN_LIMIT, attached * MAX_SHARE_PERCENT // 100)
        if planned > limit:
            yield Diagnostic(
                code="too-many-detaches",
                message=(
                    f"{planned} of {_counted(attached, 'attachment')} of {address} would be detached; "
                    f"the limit is {limit} (the larger of {MIN_LIMIT} and {MAX_SHARE_PERCENT} %)"
                ),
                address=address,
                hint=way,
            )


def _shares(
    detaches: Sequence[Detach], workspace: str, own: Sequence[RecordedAttachment]
) -> Iterator[tuple[str, int, int]]:
    """Address, planned detaches and attachments of every server, assistant and the workspace that loses something."""
    names = {each.tool.server_id: each.tool.server for each in detaches}
    by_server = Counter(each.server_id for each in own)
    for server_id, planned in Counter(each.tool.server_id for each in detaches).items():
        yield server_address(names[server_id]), planned, by_server[server_id]
    by_assistant = Counter(each.assistant for each in own)
    for name, planned in Counter(each.tool.assistant for each in detaches).items():
        yield assistant_address(name), planned, by_assistant[name]
    yield f"workspace.{workspace}", len(detaches), len(own)


def _emptied_assistants(
    operations: Sequence[Operation], own: Sequence[RecordedAttachment], way: str, named: Collection[str]
) -> Iterator[Diagnostic]:
    """An assistant of which every detach was `named` may go empty: whoever wrote that knows what it loses."""
    left = Counter(each.assistant for each in own)
    before = dict(left)
    left.update(each.tool.assistant for each in operations if isinstance(each, Attach))
    left.subtract(each.tool.assistant for each in operations if isinstance(each, Detach))
    for name, had in sorted(before.items()):
        if left[name] <= 0 and name not in named:
            yield Diagnostic(
                code="assistant-emptied",
                message=f"assistant {name} would lose all of its {had} tools"
                if had > 1
                else f"assistant {name} would lose its only tool",
                address=assistant_address(name),
                hint=way,
            )
