"""Which files a configuration is made of: what `include` names, what `-f` adds, which overlay an environment has.

Decides that `include` leads below the main file's folder only, after symbolic links, in an order that no file system changes,
and that each file is read once. It reads names of files, not their content.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from glob import iglob
from itertools import islice
from pathlib import Path, PurePosixPath

from remit.config.file_set import ENVIRONMENTS, FileSet
from remit.config.findings import Findings
from remit.config.nodes import MapNode, Scalar
from remit.core.addresses import nearest
from remit.core.diagnostics import Severity
from remit.errors import UsageError

__all__ = ["MAX_FILES", "NamedFile", "environments_of", "lies_below", "named_files", "overlay_of"]

MAX_FILES = 1000
"""More files than that nobody reviews as one workspace; a glob that walks a whole disk ends here."""

_GLOB = frozenset("*?[")
_ENVIRONMENT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file to read, and how it is shown: as the user would write it from where the run is."""

    path: Path
    display: str


def environments_of(files: FileSet) -> tuple[str, ...]:
    """The names of the overlays beside the main file, sorted."""
    found = (files.folder / ENVIRONMENTS).glob("*.yaml")
    return tuple(sorted(each.stem for each in found if _ENVIRONMENT.match(each.stem)))


def overlay_of(files: FileSet) -> NamedFile | None:
    """The overlay of the environment; None without one. Raises UsageError with the names that there are."""
    name = files.environment
    if name is None:
        return None
    known = environments_of(files)
    if name not in known:
        near = nearest(name[:64], known)
        listed = f"the environments are: {', '.join(known)}" if known else "there is none yet"
        raise UsageError(
            f"no environment is called {name!r}",
            code="unknown-environment",
            place="--env",
            hint=f"{f'did you mean {near!r}? ' if near else ''}{listed}; each is a file {ENVIRONMENTS}/NAME.yaml beside "
            f"{files.main.name}, with a NAME of lower-case letters, digits, - and _",
        )
    path = files.main.parent / ENVIRONMENTS / f"{name}.yaml"
    return NamedFile(path, str(path))


def named_files(root: MapNode | None, files: FileSet, findings: Findings) -> tuple[NamedFile, ...]:
    """The files beside the main one, whose tree is `root`: those that it includes, then those of the command line."""
    naming = _Naming(files, findings)
    for pattern in root.scalars("include") if root else ():
        naming.include(pattern)
    for other in files.others:
        naming.take(other, str(other))
    return tuple(naming.found)


def lies_below(path: Path, folder: Path) -> bool:
    """Whether a path is one of the folder's after symbolic links."""
    return _resolved(path).is_relative_to(_resolved(folder))


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        # A loop of links or an impossible name: reading it says what is wrong.
        return path.absolute()


@dataclass(slots=True)
class _Naming:
    files: FileSet
    findings: Findings
    found: list[NamedFile] = field(default_factory=list[NamedFile])
    seen: set[Path] = field(default_factory=set[Path])

    def __post_init__(self) -> None:
        self.seen.add(_resolved(self.files.main))

    def include(self, pattern: Scalar) -> None:
        """Take what one entry of `include` names; one that leads out of the folder, or a name for nothing, is an error."""
        if not pattern.text:
            # No path, which the check of shapes says; as one it would be the folder.
            return
        written = PurePosixPath(pattern.text)
        if written.is_absolute() or ".." in written.parts or "\0" in pattern.text:
            self._outside(pattern)
        elif _GLOB.isdisjoint(pattern.text):
            self._literal(pattern, written)
        else:
            self._glob(pattern)

    def take(self, path: Path, display: str) -> None:
        """Read this file too, unless it is read already, under whatever name."""
        if (resolved := _resolved(path)) not in self.seen:
            self.seen.add(resolved)
            self.found.append(NamedFile(path, display))

    def _literal(self, pattern: Scalar, written: PurePosixPath) -> None:
        if (self.files.folder / written).exists():
            self._below(pattern, str(written))
        else:
            self.findings.add(
                "include-missing",
                pattern.source,
                "there is no such file",
                hint="without it the file would ask for less than it says; delete the entry if that is meant",
            )

    def _glob(self, pattern: Scalar) -> None:
        matches = list(islice(self._matches(pattern.text), MAX_FILES + 1))
        if len(matches) > MAX_FILES:
            message = f"this matches more than {MAX_FILES} files"
            self.findings.add("config-too-large", pattern.source, message, hint="name a folder that holds only yours")
            return
        if not matches:
            self.findings.add(
                "include-unmatched",
                pattern.source,
                "this matches no file",
                hint="names that must be there are written without * ? [",
                severity=Severity.WARNING,
            )
        for match in sorted(matches):
            self._below(pattern, match)

    def _matches(self, pattern: str) -> Iterator[str]:
        folder = self.files.folder
        # Path.glob would also match hidden files, such as the ones that editors write beside.
        every = iglob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207 (see above)
        for match in islice(every, 10 * MAX_FILES):
            # Overlays are no part of every environment, however wide a glob is.
            if PurePosixPath(match).parts[0] != ENVIRONMENTS and not (folder / match).is_dir():
                yield match

    def _below(self, pattern: Scalar, written: str) -> None:
        if not written.isprintable():
            # Also a name that is no UTF-8: no plan, log or database could hold it.
            message = "this matches a file whose name holds a character that no reader sees"
            self.findings.add("unsafe-character", pattern.source, message, hint="rename the file")
        elif lies_below(self.files.folder / written, self.files.folder):
            path = self.files.main.parent / written
            self.take(path, str(path))
        else:
            self._outside(pattern)

    def _outside(self, pattern: Scalar) -> None:
        self.findings.add(
            "include-outside",
            pattern.source,
            "this leads out of the folder of the file, or is absolute",
            hint="only files below it are part of what a review of the folder sees; name others with -f",
        )
