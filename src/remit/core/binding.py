"""A workspace belongs to one place in one repository and to one environment, and time goes forward.

Decides when a plan is refused because its files come from elsewhere or from before, or are those of another environment
(DESIGN.md section 7): overlays narrow what the files below them ask for, so a forgotten one attaches what nobody approved there.
Where files come from is found out by config/repository.py. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum

from remit.core.canonical import JsonObject
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.recorded import NO_ENVIRONMENT, WorkspaceRecord

__all__ = [
    "Binding",
    "CommitAge",
    "Leave",
    "binding_after",
    "environment_after",
    "judge_binding",
    "judge_environment",
    "source_after",
]


class CommitAge(StrEnum):
    """How the commit that is checked out stands to the one applied last."""

    NOT_OLDER = "not_older"
    OLDER = "older"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """What a person allowed on the command line: another source or environment from now on, an older commit this once."""

    rebind: bool = False
    older_commit: bool = False
    environment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a workspace is applied for and from after an apply that changed either; None: no environment, no repository."""

    environment: str | None
    source: str | None
    is_new_environment: bool
    is_new_source: bool

    @property
    def news(self) -> JsonObject:
        """Only what was otherwise before, as the history keeps it."""
        return {
            **({"environment": self.environment} if self.is_new_environment else {}),
            **({"source": self.source} if self.is_new_source else {}),
        }


def judge_binding(
    record: WorkspaceRecord | None, source: str | None, age: CommitAge, leave: Leave
) -> tuple[Diagnostic, ...]:
    """Refusals, and a warning where nobody can tell. `source` is where the files come from, None outside a repository."""
    if record is None:
        return ()
    address, found = f"workspace.{record.name}", list[Diagnostic]()
    if record.source is not None and source != record.source and not leave.rebind:
        here = (
            f"these files come from {source}"
            if source
            else "these files come from no repository with a remote `origin`"
        )
        found.append(
            Diagnostic(
                code="bound-elsewhere",
                message=f"the workspace is bound to {record.source}, and {here}",
                address=address,
                hint="apply from there, choose another `workspace:`, or pass --rebind if the files moved for good",
            )
        )
    if age is CommitAge.OLDER and not leave.older_commit:
        found.append(
            Diagnostic(
                code="older-commit",
                message=f"commit {record.commit} was applied last, and what is checked out is from before it",
                address=address,
                hint="check out the newer commit, or pass --allow-older-commit if going back is meant",
            )
        )
    elif age is CommitAge.UNKNOWN and not leave.older_commit:
        found.append(
            Diagnostic(
                code="commit-unknown",
                severity=Severity.WARNING,
                message=f"commit {record.commit} was applied last and is not in this clone, so nobody knows which one is newer",
                address=address,
                hint="fetch the history (a shallow clone lacks it), so that an older commit is refused",
            )
        )
    return tuple(found)


def judge_environment(record: WorkspaceRecord | None, environment: str | None, leave: Leave) -> tuple[Diagnostic, ...]:
    """What speaks against a plan for `environment` (None: no overlay): a refusal where the workspace is applied for another.

    With leave it is a warning, as everybody who applies this workspace has to say so from now on.
    """
    if record is None or record.environment in (None, environment or NO_ENVIRONMENT):
        return ()
    was, now, address = _named(record.environment), _named(environment or ""), f"workspace.{record.name}"
    if leave.environment:
        return (
            Diagnostic(
                code="environment-changes",
                severity=Severity.WARNING,
                message=f"the workspace was applied {was} until now, and is applied {now} from this apply on",
                address=address,
                hint="say so wherever it is planned and applied",
            ),
        )
    right = f"pass --env {record.environment}" if record.environment else "leave out --env"
    # Without its --env the command would bind to no environment, and attach what no overlay lets in.
    change = (
        f"`remit apply --env {environment} --change-env`" if environment else "`remit apply --change-env` without --env"
    )
    return (
        Diagnostic(
            code="environment-other",
            message=f"the workspace is applied {was}, and this plan is made {now}",
            address=address,
            hint=f"{right}; another environment has a database or a `workspace:` of its own; run {change} once, "
            f"with the same -f, if this one is to be applied {now} for good",
        ),
    )


def _named(environment: str | None) -> str:
    return f"for environment {environment}" if environment else "without an environment"


def environment_after(record: WorkspaceRecord | None, environment: str | None) -> str | None:
    """What an apply writes down as the environment, as `WorkspaceRecord` has it; None where it is written down already."""
    after = environment or NO_ENVIRONMENT
    return None if record is not None and record.environment == after else after


def source_after(record: WorkspaceRecord | None, source: str | None, leave: Leave) -> tuple[bool, str | None]:
    """Whether an apply writes down another source than is recorded, and which."""
    before = None if record is None else record.source
    bind = source != before and (before is None or leave.rebind)
    return bind, source


def binding_after(
    record: WorkspaceRecord | None, environment: str | None, source: tuple[bool, str | None]
) -> Binding | None:
    """What an apply binds a workspace to that was bound otherwise; None where nothing was, as at its first apply.

    `source` is what `source_after` gives.
    """
    if record is None:
        return None
    binds, named = source
    is_new_environment = record.environment is not None and environment_after(record, environment) is not None
    is_new_source = record.source is not None and binds
    if not (is_new_environment or is_new_source):
        return None
    return Binding(
        environment=environment,
        source=named if binds else record.source,
        is_new_environment=is_new_environment,
        is_new_source=is_new_source,
    )
