"""What becomes of assistants: created, updated, deleted, or left to others.

Decides about an assistant's own row only; its tools are judged in core/kept.py and core/missing.py. Only the workspace that
created an assistant sets its fields or deletes it, and only one that nobody else uses is deleted. Pure.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from remit.core.desired import Desired, DesiredAssistant
from remit.core.diagnostics import Source
from remit.core.envelope import Direction
from remit.core.operations import CreateAssistant, DeleteAssistant, Operation, Reason, UpdateAssistant
from remit.core.ownership import released_workspace
from remit.core.recorded import Recorded, RecordedAssistant
from remit.core.removals import kept_removal
from remit.core.risks import direction_risks, protection_risks
from remit.core.subjects import AssistantSubject

__all__ = ["judge_assistants"]


def judge_assistants(
    desired: Desired,
    recorded: Recorded,
    keeping: frozenset[str],
    needed: frozenset[str] | None,
    renamed: Mapping[str, str] | None = None,
    released: frozenset[str] = frozenset(),
) -> Iterator[Operation]:
    """Operations on assistants' rows.

    `keeping` are assistants with tools that this plan leaves alone, `needed` limits a partial plan to creating those
    (None: the plan is whole). `recorded` has the assistants under their new names, `renamed` leads from those to the old ones, and
    `released` are assistants of whose tools this plan releases some.
    """
    known = {each.name: each for each in recorded.assistants if each.owner == desired.owner}
    declared = {each.name: each for each in desired.assistants}
    for name, before in sorted((renamed or {}).items()):
        # A plan of single servers renames too: what it does to tools, it does to those of the new name.
        yield _unchanged(known[name], Reason.MOVED, declared[name].source, before=before)
    for name, assistant in sorted(declared.items()):
        found = known.get(name)
        if found is not None and found.workspace == released_workspace(desired.owner):
            known[name] = replace(found, workspace=desired.workspace)
            yield _unchanged(found, Reason.ADOPTED, assistant.source)
        if needed is None or name in needed:
            yield from _declared(assistant, known.get(name), desired.workspace, whole=needed is None)
    if needed is None:
        gone = [each for name, each in sorted(known.items()) if name not in declared and name not in keeping]
        yield from _undeclared(gone, desired, recorded, released)


def _unchanged(
    recorded: RecordedAssistant, reason: Reason, source: Source, *, before: str | None = None
) -> UpdateAssistant:
    """An assistant that only gets another name, or another owner."""
    return UpdateAssistant(
        assistant=before or recorded.name,
        before=recorded.permissions,
        after=recorded.permissions,
        protect_before=recorded.protect,
        protect_after=recorded.protect,
        renamed_to=None if before is None else recorded.name,
        reason=reason,
        source=source,
    )


def _declared(
    assistant: DesiredAssistant, recorded: RecordedAssistant | None, workspace: str, *, whole: bool
) -> Iterator[Operation]:
    if recorded is None:
        yield CreateAssistant(
            assistant=assistant.name,
            permissions=assistant.permissions,
            protect=assistant.protect is not None,
            reason=Reason.DECLARED,
            source=assistant.source,
        )
    elif whole and recorded.workspace == workspace and _differs(recorded, assistant):
        yield UpdateAssistant(
            assistant=assistant.name,
            before=recorded.permissions,
            after=assistant.permissions,
            protect_before=recorded.protect,
            protect_after=assistant.protect is not None,
            reason=Reason.FIELDS_CHANGED,
            risks=(
                *direction_risks(*_direction(recorded.permissions, assistant.permissions)),
                *protection_risks(before=recorded.protect, after=assistant.protect is not None),
            ),
            source=assistant.source,
        )


def _differs(recorded: RecordedAssistant, assistant: DesiredAssistant) -> bool:
    protected = recorded.protect != (assistant.protect is not None)
    return protected or set(recorded.permissions) != set(assistant.permissions)


def _direction(before: Collection[str], after: Collection[str]) -> tuple[Direction, str]:
    """What a change of permissions does to an assistant's freedom, and in words."""
    added, removed = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    words = "; ".join((*(f"may {each}" for each in added), *(f"may no longer {each}" for each in removed)))
    if added:
        return (Direction.MIXED if removed else Direction.LOOSENED), words
    return (Direction.TIGHTENED if removed else Direction.SAME), words


def _undeclared(
    gone: Iterable[RecordedAssistant], desired: Desired, recorded: Recorded, released: frozenset[str]
) -> Iterator[Operation]:
    workspace = desired.workspace
    used_by_others = {
        (each.assistant_owner, each.assistant) for each in recorded.attachments if each.workspace != workspace
    }
    for assistant in gone:
        used = assistant.name in released or (assistant.owner, assistant.name) in used_by_others
        free = not (assistant.foreign_functions or used)
        removal = kept_removal(desired, AssistantSubject(assistant.name))
        if assistant.workspace == workspace and removal is not None:
            yield _unchanged(assistant, Reason.RELEASED, removal.source)
        elif assistant.workspace == workspace and free:
            yield DeleteAssistant(
                assistant=assistant.name,
                permissions=assistant.permissions,
                protect=assistant.protect,
                reason=Reason.ASSISTANT_REMOVED,
            )
