"""The mcp.yaml that imported servers go into: a new one, or one that is there.

Decides that an outcome is only ever text that loads without an error; nothing is written here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remit.config.dialects.merging import merged_text
from remit.config.dialects.model import Imports
from remit.config.dialects.writing import mcp_text
from remit.config.file_set import ENVIRONMENTS
from remit.config.files import FileText, read_file
from remit.config.loader import Loaded, Rejected, load, load_texts
from remit.config.starter import workspace_from
from remit.core.desired import ConfigFile, DesiredServer
from remit.core.diagnostics import Diagnostic

__all__ = ["Target", "target_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where servers go. `files` holds the file that is there and what it includes, the file itself first; empty: a new one.

    `overlays` are the texts of the overlays beside it, whichever environment they are for.
    """

    path: Path
    files: tuple[FileText, ...] = ()
    servers: tuple[DesiredServer, ...] = ()
    overlays: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that the file and what belongs to it consist of."""
        return (*(each.text for each in self.files), *self.overlays)

    def text(self, imports: Imports, *, assistant: str | None) -> str | tuple[Diagnostic, ...]:
        """The file with the servers in it, or the errors that it would have."""
        if self.files:
            text = merged_text(self.files[0].text, imports.servers, assistant=assistant)
        else:
            workspace = workspace_from(self.path.absolute().parent.name)
            text = mcp_text(imports.servers, workspace=workspace, assistant=assistant)
        file = FileText(file=ConfigFile(path=str(self.path), sha256=""), text=text)
        loaded = load_texts((file, *self.files[1:]), self.path.absolute().parent)
        return text if isinstance(loaded, Loaded) else loaded.diagnostics


def target_of(path: Path) -> Target | tuple[Diagnostic, ...]:
    """The file as it is there, or why nothing can be added to it: one that has errors already is mended first."""
    if not path.exists():
        return Target(path=path)
    loaded = load(path)
    if isinstance(loaded, Rejected):
        return loaded.diagnostics
    texts = [read_file(Path(each.path), each.path) for each in loaded.desired.files]
    files = tuple(each for each in texts if isinstance(each, FileText))
    return Target(path=path, files=files, servers=loaded.desired.servers, overlays=tuple(_overlays(path)))


def _overlays(path: Path) -> Iterator[str]:
    for each in sorted((path.absolute().parent / ENVIRONMENTS).glob("*.y*ml")):
        read = read_file(each, str(each))
        if isinstance(read, FileText):
            yield read.text
