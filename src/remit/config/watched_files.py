"""Which files a configuration is read from at the moment, and whether any of them changed.

Decides what a watch looks at: the main file, the ones that it includes or that `-f` adds, the overlay, the lock; also those that
are missing, as one that comes back counts. Whether they hold is the loader's business: while the main file does not, what
it included last is still looked at.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from remit.config.composing import named_files
from remit.config.file_set import ENVIRONMENTS, FileSet
from remit.config.files import FileText, read_file
from remit.config.findings import Findings
from remit.config.nodes import MapNode
from remit.config.yaml_nodes import parse_yaml
from remit.core.lock import lock_name

__all__ = ["Stamp", "WatchedFiles"]

_FileStamp: TypeAlias = tuple[int, ...] | None

Stamp: TypeAlias = Mapping[Path, _FileStamp]
"""What differs once anybody wrote, replaced, removed or added one of the files; None is a file that is not there."""


class WatchedFiles:
    """The files of one configuration, by what the main file includes now."""

    def __init__(self, files: FileSet):
        self._files = files
        self._root: MapNode | None = None
        self._read_at: _FileStamp = None

    def stamp(self) -> Stamp:
        """The state of every file. Reads the main file only where it changed since the last time; never raises."""
        main = _stamp_of(self._files.main)
        if main != self._read_at:
            self._read_at = main
            self._root = self._parsed() or self._root
        return {path: _stamp_of(path) for path in self._paths()}

    def folders(self) -> frozenset[Path]:
        """The folders that the files lie in, those that exist."""
        folders = (path.absolute().parent for path in self._paths())
        return frozenset(folder for folder in folders if folder.is_dir())

    def _paths(self) -> tuple[Path, ...]:
        files = self._files
        named = (each.path for each in named_files(self._root, files, Findings({})))
        lock = files.main.with_name(lock_name(files.main.stem, files.environment))
        # Also where the overlay is missing, which the loader refuses: it may come back.
        environment = files.environment
        overlay = () if environment is None else (files.main.parent / ENVIRONMENTS / f"{environment}.yaml",)
        return (files.main, *named, *overlay, lock)

    def _parsed(self) -> MapNode | None:
        read = read_file(self._files.main, str(self._files.main))
        root = parse_yaml(read.text, str(self._files.main), Findings({})) if isinstance(read, FileText) else None
        return root if isinstance(root, MapNode) else None


def _stamp_of(path: Path) -> _FileStamp:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
