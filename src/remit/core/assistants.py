"""What becomes of assistants: created, updated, deleted, or left to others.

Decides about an assistant's own row only; its tools are judged in core/kept.py and core/missing.py. Only the workspace that
created an assistant sets its fields or deletes it, and only one that nobody else uses is deleted. Pure.
"""

from collections.abc import Collection, Iterable, Iterator

from remit.core.desired import Desired, DesiredAssistant
from remit.core.envelope import Direction
from remit.core.operations import CreateAssistant, DeleteAssistant, Operation, Reason, UpdateAssistant
from remit.core.recorded import Recorded, RecordedAssistant
from remit.core.risks import direction_risks

__all__ = ["judge_assistants"]


def judge_assistants(
    desired: Desired, recorded: Recorded, keeping: frozenset[str], needed: frozenset[str] | None
) -> Iterator[Operation]:
    """Operations on assistants' rows.

    `keeping` are assistants with tools that this plan leaves alone, `needed` limits a partial plan to creating those
    (None: the plan is whole).
    """
    known = {each.name: each for each in recorded.assistants if each.owner == desired.owner}
    declared = {each.name: each for each in desired.assistants}
    for name, assistant in sorted(declared.items()):
        if needed is None or name in needed:
            yield from _declared(assistant, known.get(name), desired.workspace, whole=needed is None)
    if needed is None:
        gone = [each for name, each in sorted(known.items()) if name not in declared and name not in keeping]
        yield from _undeclared(gone, desired.workspace, recorded)


def _declared(
    assistant: DesiredAssistant, recorded: RecordedAssistant | None, workspace: str, *, whole: bool
) -> Iterator[Operation]:
    if recorded is None:
        yield CreateAssistant(
            assistant=assistant.name,
            permissions=assistant.permissions,
            reason=Reason.DECLARED,
            source=assistant.source,
        )
    elif whole and recorded.workspace == workspace and set(recorded.permissions) != set(assistant.permissions):
        yield UpdateAssistant(
            assistant=assistant.name,
            before=recorded.permissions,
            after=assistant.permissions,
            reason=Reason.FIELDS_CHANGED,
            risks=direction_risks(*_direction(recorded.permissions, assistant.permissions)),
            source=assistant.source,
        )


def _direction(before: Collection[str], after: Collection[str]) -> tuple[Direction, str]:
    """What a change of permissions does to an assistant's freedom, and in words."""
    added, removed = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    words = "; ".join((*(f"may {each}" for each in added), *(f"may no longer {each}" for each in removed)))
    if added:
        return (Direction.MIXED if removed else Direction.LOOSENED), words
    return Direction.TIGHTENED, words


def _undeclared(gone: Iterable[RecordedAssistant], workspace: str, recorded: Recorded) -> Iterator[Operation]:
    used_by_others = {
        (each.assistant_owner, each.assistant) for each in recorded.attachments if each.workspace != workspace
    }
    for assistant in gone:
        free = not assistant.foreign_functions and (assistant.owner, assistant.name) not in used_by_others
        if assistant.workspace == workspace and free:
            yield DeleteAssistant(
                assistant=assistant.name, permissions=assistant.permissions, reason=Reason.ASSISTANT_REMOVED
            )
