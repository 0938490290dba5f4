"""Which files are read as one configuration: the main one, more of the same workspace, the overlay of an environment.

Decides where overlays lie. It reads no file.
"""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ENVIRONMENTS", "MAIN_FILE", "FileSet"]

MAIN_FILE = Path("mcp.yaml")
"""What is read where nobody names a file."""

ENVIRONMENTS = "envs"
"""The folder of the overlays, beside the main file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSet:
    """The files as the user named them. Of `main` the folder counts: paths, `include` and the database start there.

    `others` are read as if the main file included them; `environment` names an overlay.
    """

    main: Path = MAIN_FILE
    others: tuple[Path, ...] = ()
    environment: str | None = None

    def __str__(self) -> str:
        return str(self.main)

    @property
    def folder(self) -> Path:
        """The absolute folder of the main file."""
        return self.main.absolute().parent
