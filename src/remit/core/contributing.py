"""Files that declared a workspace at its last apply and do not any more: what they said must not be taken back unseen.

Decides when a lost file refuses a plan (DESIGN.md section 6; a configuration that lost a file is no smaller wish): where the
plan takes back or changes something that is recorded. A file that was renamed or merged into another changes nothing, and
passes. Pure.
"""

from collections.abc import Collection, Sequence

from remit.core.desired import Desired
from remit.core.diagnostics import Diagnostic
from remit.core.operations import Attach, CreateAssistant, Operation, Origin, Reason, RegisterServer
from remit.core.recorded import Recorded

__all__ = ["contributors_after", "judge_files", "overlay_of", "vanished_files"]


def vanished_files(desired: Desired, recorded: Recorded) -> tuple[str, ...]:
    """The files of the last apply that are not among the files now, sorted; none where either side is not known.

    The overlay of another environment is not lost but left out, which core/binding.py judges.
    """
    known = recorded.workspaces.get(desired.workspace)
    if known is None or not desired.contributors:
        return ()
    left_out = set[str]()
    if known.environment and known.environment != desired.environment:
        left_out.add(overlay_of(known.environment))
    return tuple(sorted(set(known.files) - set(desired.contributors) - left_out))


def overlay_of(environment: str) -> str:
    """The file of an environment, as it is called among the files of a workspace."""
    return f"envs/{environment}.yaml"


def judge_files(
    operations: Sequence[Operation], desired: Desired, recorded: Recorded, allowed: Collection[str]
) -> tuple[Diagnostic, ...]:
    """One refusal for each lost file that is not allowed to be, where the operations take something back."""
    lost = sum(_takes_back(each) for each in operations)
    if not lost:
        return ()
    return tuple(
        Diagnostic(
            code="files-vanished",
            message=(
                f"{file} declared part of this workspace at the last apply and is not read any more, while "
                f"{lost} {'operation takes' if lost == 1 else 'operations take'} back or change what is recorded"
            ),
            address=f"workspace.{desired.workspace}",
            hint=f"restore it, or name it again (include, -f, --env); if it is meant to be gone, run again with "
            f"--allow-missing-file {file}",
        )
        for file in vanished_files(desired, recorded)
        if file not in allowed
    )


def _takes_back(operation: Operation) -> bool:
    if operation.origin is not Origin.FILE or operation.reason is Reason.DATABASE_DRIFT:
        return False
    return not isinstance(operation, Attach | RegisterServer | CreateAssistant)


def contributors_after(desired: Desired, recorded: Recorded, *, scoped: bool) -> tuple[str, ...] | None:
    """What to keep as the files of an apply; None where it is kept already.

    After a scoped one the lost files stay known, as it did not look at everything that they declared.
    """
    known = recorded.workspaces.get(desired.workspace)
    before = () if known is None else known.files
    after = tuple(sorted({*desired.contributors, *(before if scoped else ())}))
    return after if desired.contributors and after != before else None
