"""`protect: true`: a server or an assistant that no plan removes or empties until an earlier apply lifted the protection.

Decides by what is recorded, not by what the file says now: whoever deletes an entry deletes its `protect` with it, and that must
not be the way out (DESIGN.md section 6). No flag and no entry of `removed` lifts it. Pure.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from remit.core.addresses import assistant_address, server_address
from remit.core.desired import Desired, DesiredAssistant, DesiredServer
from remit.core.diagnostics import Diagnostic, Source
from remit.core.operations import (
    Attach,
    DeleteAssistant,
    Detach,
    Operation,
    RenameServer,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.recorded import Recorded, RecordedAttachment

__all__ = ["judge_handed_over", "judge_protected"]


def judge_protected(
    operations: Sequence[Operation], desired: Desired, recorded: Recorded, own: Sequence[RecordedAttachment]
) -> Iterator[Diagnostic]:
    """One refusal for each protected server or assistant that the operations remove or empty.

    `own` are the workspace's attachments.
    """
    servers = {
        each.server_id: each.name for each in recorded.servers if each.protect and each.workspace == desired.workspace
    }
    assistants = {
        each.name
        for each in recorded.assistants
        if each.protect and each.owner == desired.owner and each.workspace == desired.workspace
    }
    if servers:
        removed = {each.server_id for each in operations if isinstance(each, UnregisterServer)}
        emptied = _emptied(operations, Counter(each.server_id for each in own), servers=True)
        yield from _refusals(
            {name: server_id in removed for server_id, name in servers.items() if server_id in removed | emptied},
            server_address,
            _places(desired.servers),
        )
    if assistants:
        deleted = {each.assistant for each in operations if isinstance(each, DeleteAssistant)}
        bare = _emptied(operations, Counter(each.assistant for each in own), servers=False)
        yield from _refusals(
            {name: name in deleted for name in assistants & (deleted | bare)},
            assistant_address,
            _places(desired.assistants),
        )


def judge_handed_over(operations: Sequence[Operation]) -> Iterator[Diagnostic]:
    """One refusal for each protection that is lifted in the plan that moves its workspace.

    A move hands everything to another file, so that nobody who reviews the old one sees the lifting.
    """
    for each in operations:
        match each:
            case UpdateServer(before=before, after=after) | RenameServer(before=before, after=after):
                address, lifted = server_address(before.name), before.protect and not after.protect
            case UpdateAssistant(assistant=name):
                address, lifted = assistant_address(name), each.protect_before and not each.protect_after
            case _:
                continue
        if lifted:
            yield Diagnostic(
                code="protected",
                message="it is recorded with `protect: true` and would lose that together with the name of its workspace",
                address=address,
                source=each.source,
                hint="keep its `protect: true` here, and lift it in an apply after the one that moves the workspace",
            )


def _places(declared: Collection[DesiredServer | DesiredAssistant]) -> Mapping[str, Source]:
    return {each.name: each.protect or each.source for each in declared}


def _emptied(operations: Sequence[Operation], attached: Counter[str], *, servers: bool) -> set[str]:
    """What loses every attachment it has and gets none."""
    left = attached.copy()
    for each in operations:
        if isinstance(each, Attach | Detach):
            left[each.tool.server_id if servers else each.tool.assistant] += 1 if isinstance(each, Attach) else -1
    return {of for of in attached if left[of] <= 0}


def _refusals(
    found: Mapping[str, bool], address_of: Callable[[str], str], places: Mapping[str, Source]
) -> Iterator[Diagnostic]:
    for name, goes in sorted(found.items()):
        yield Diagnostic(
            code="protected",
            message=f"it is recorded with `protect: true` and would be {'removed' if goes else 'left without tools'}",
            address=address_of(name),
            source=places.get(name),
            hint="declare it as before but without `protect`, apply that, and remove it in an apply after that one",
        )
