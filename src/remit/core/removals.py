"""What `removed` lets go: the addresses that a person named, so that no safeguard has to ask about them.

Decides which rows an entry covers, which of them it keeps in service, and which entries have nothing left to do. Pure.
"""

from collections.abc import Collection, Iterator, Mapping

from remit.core.desired import Desired, Removal
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.identity import ServerId
from remit.core.near_subjects import known_subjects, near_subjects
from remit.core.operations import Detach, ToolRef
from remit.core.recorded import Recorded, RecordedAttachment
from remit.core.subjects import AssistantSubject, AttachmentSubject, ServerSubject, Subject, ToolSubject

__all__ = ["covered_detaches", "is_released", "kept_removal", "removal_of_tool", "removal_problems", "subjects_of"]


def subjects_of(tool: ToolRef) -> tuple[Subject, ...]:
    """Every address that covers one tool of one assistant."""
    return (
        AttachmentSubject(tool.assistant, tool.provider_name),
        ToolSubject(tool.server, tool.remote_name),
        AssistantSubject(tool.assistant),
        ServerSubject(tool.server),
    )


def kept_removal(desired: Desired, *subjects: Subject) -> Removal | None:
    """The entry that lets one of these go and keeps it in service; None where there is none."""
    return next((each for each in desired.removed if each.keep and each.subject in subjects), None)


def removal_of_tool(desired: Desired, tool: ToolRef) -> Removal | None:
    """The entry that releases one tool of one assistant."""
    return kept_removal(desired, *subjects_of(tool)) if desired.removed else None


def is_released(desired: Desired, attachment: RecordedAttachment, server: str) -> bool:
    """Whether an entry lets an attachment go and keeps it in service; `server` is what its server is called."""
    subjects = (
        AttachmentSubject(attachment.assistant, attachment.provider_name),
        ToolSubject(server, attachment.remote_name),
        AssistantSubject(attachment.assistant),
        ServerSubject(server),
    )
    return bool(desired.removed) and kept_removal(desired, *subjects) is not None


def covered_detaches(desired: Desired, detaches: Collection[Detach]) -> frozenset[int]:
    """The detaches that an entry names, by their place in the order given."""
    named = {each.subject for each in desired.removed}
    return frozenset(at for at, each in enumerate(detaches) if named and named.intersection(subjects_of(each.tool)))


def removal_problems(
    desired: Desired,
    recorded: Recorded,
    names: Mapping[ServerId, str],
    detached: Collection[str],
    gone: Collection[Subject],
) -> Iterator[Diagnostic]:
    """What is to be said of the entries: those that nothing is recorded for, and aliases that are selected still.

    `names` are servers as the file calls them, `detached` the addresses of attachments that this plan takes or releases,
    `gone` is what it takes, of every kind.
    """
    if not desired.removed:
        return
    known = set(known_subjects(desired, recorded, names))
    hints = near_subjects([each.subject for each in desired.removed if each.subject not in known], gone)
    for removal in desired.removed:
        if removal.subject not in known:
            yield Diagnostic(
                code="removed-done",
                severity=Severity.NOTE,
                message=f"nothing is recorded as {removal.subject}, so this entry of `removed` can be removed",
                address=str(removal.subject),
                source=removal.source,
                hint=hints.get(removal.subject),
            )
        elif isinstance(removal.subject, AttachmentSubject) and str(removal.subject) not in detached:
            yield Diagnostic(
                code="removed-still-declared",
                message=f"the file still selects {removal.subject}",
                address=str(removal.subject),
                source=removal.source,
                hint="take the tool out of `include`, or delete the entry of `removed`",
            )
