"""The one error tree: every error that leaves a part of remit is one of these.

The tree is split by what the caller does next:

    RemitError
    |-- UsageError              mend the command line                    exit 64
    |-- ConfigError             mend the file that is named              exit 1
    |-- StoreError              mend the database that is named          exit 1
    |   |-- NoDatabase              create one, or name the right one    exit 1
    |   |-- DatabaseVersion         upgrade the database or remit        exit 1
    |   |-- DatabaseUnusable        look at the file or the server       exit 1
    |   `-- WorkspaceBusy           try again later                      exit 6
    |-- UpstreamError           look at the MCP server that is named     exit 1
    |-- PlanUnreadable          make the saved plan again                exit 1
    |-- PlanStale               plan again, what was reviewed is gone    exit 5
    |-- OutputUnwritable        name a file that can be written          exit 1
    |-- NotApproved             say yes, or pass a reviewed plan         exit 1
    |-- ApproverRefused         have another person approve it           exit 3
    |-- BindingRefused          give the tool another name               exit 1
    `-- InternalError           report it: a defect of remit             exit 1

Errors carry values: a stable `code` (a slug that `remit explain` knows), the `message`, the `place` that it is about
(a file, an address, a server) and the `hint`, the way out. None of them ever holds a secret.
"""

from typing import ClassVar

__all__ = [
    "ApproverRefused",
    "BindingRefused",
    "ConfigError",
    "DatabaseUnusable",
    "DatabaseVersion",
    "InternalError",
    "NoDatabase",
    "NotApproved",
    "OutputUnwritable",
    "PlanStale",
    "PlanUnreadable",
    "RemitError",
    "StoreError",
    "UpstreamError",
    "UsageError",
    "WorkspaceBusy",
]


class RemitError(Exception):
    """The root. `str()` gives `place: message`, the hint stays apart for the reader's next step."""

    exit_code: ClassVar[int] = 1
    default_code: ClassVar[str] = "error"

    def __init__(self, message: str, *, code: str | None = None, place: str | None = None, hint: str | None = None):
        super().__init__(message)
        self.code = code or self.default_code
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class UsageError(RemitError):
    """The command line cannot be meant as it stands."""

    exit_code = 64
    default_code = "usage"


class ConfigError(RemitError):
    """A file of the configuration cannot be read at all; what is wrong inside one is a diagnostic, not an error."""

    default_code = "config-unreadable"


class StoreError(RemitError):
    """The database refused."""

    default_code = "database-error"


class NoDatabase(StoreError):
    """There is no database where one was expected."""

    default_code = "no-database"


class DatabaseVersion(StoreError):
    """The database's schema is older or newer than this remit."""

    default_code = "database-version"


class DatabaseUnusable(StoreError):
    """The database is there and cannot be used: corrupt, read-only, full, locked by a stranger."""

    default_code = "database-unusable"


class WorkspaceBusy(StoreError):
    """Another apply holds the workspace."""

    exit_code = 6
    default_code = "workspace-busy"


class UpstreamError(RemitError):
    """An MCP server could not be reached, listed or understood."""

    default_code = "upstream-error"


class PlanUnreadable(RemitError):
    """A saved plan is not one: another format, a changed digest, a missing key."""

    default_code = "plan-unreadable"


class PlanStale(RemitError):
    """What a reviewed plan said no longer comes out of the files, the database and the servers."""

    exit_code = 5
    default_code = "plan-stale"


class OutputUnwritable(RemitError):
    """A file that the run was asked to write cannot be written."""

    default_code = "output-unwritable"


class NotApproved(RemitError):
    """Nobody said yes, and nobody can be asked."""

    default_code = "not-approved"


class ApproverRefused(RemitError):
    """Somebody may not approve this request: it is their own, or they are no person."""

    exit_code = 3
    default_code = "approver-refused"


class BindingRefused(RemitError):
    """A tool cannot be bound to its name in a run: the name is reserved or taken."""

    default_code = "binding-refused"


class InternalError(RemitError):
    """Something that cannot happen did."""

    default_code = "internal-error"
