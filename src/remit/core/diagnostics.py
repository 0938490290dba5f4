"""What is wrong, where, and what to do: the one shape for problems in files, in plans and of servers.

Decides nothing: values only.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Diagnostic", "Severity", "Source"]


class Severity(StrEnum):
    """How much a diagnostic matters: an error stops or leaves something undone, the others inform."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A place in a file: the path as the user wrote it, line and column counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding about a file, an address or a server.

    `code` is a stable slug (`unknown-key`), `message` says what is wrong, `hint` what to write or run instead,
    `address` what it is about, `source` where it is written, `excerpt` the source line for a caret (display only).
    """

    code: str
    message: str
    severity: Severity = Severity.ERROR
    address: str | None = None
    source: Source | None = None
    hint: str | None = None
    excerpt: str | None = None
