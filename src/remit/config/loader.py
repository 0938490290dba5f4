"""mcp.yaml, the files it includes and an environment's overlay as the desired state, or as all that is wrong with them.

Decides the order of reading: bytes, YAML, shape, one tree, meaning; each later step still runs where an earlier one found
mistakes it can live with, so that all of them come out at once. It takes no half: with any error, or without one of the files,
there is no desired state at all. Reads the files and nothing else: no reference is resolved, no server asked.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from remit.config.assistants import Declared, read_assistants
from remit.config.composing import lies_below, named_files, overlay_of
from remit.config.file_set import FileSet
from remit.config.files import FileText, read_file
from remit.config.findings import Findings
from remit.config.joining import joined
from remit.config.layout import INCLUDED_FILE, MCP_FILE
from remit.config.moves import check_moves, read_moved, read_removed
from remit.config.nodes import MapNode, Node
from remit.config.overlays import overlaid
from remit.config.policies import read_default_envelope
from remit.config.relaxing import OVERLAY_FILE, relaxed
from remit.config.servers import ServerEntry, read_servers
from remit.config.shape_check import check_shape
from remit.config.shapes import Record
from remit.config.yaml_nodes import parse_yaml
from remit.core.aliases import RESERVED_NAMES, fold
from remit.core.desired import ConfigFile, Desired, LockUse
from remit.core.diagnostics import Diagnostic, Severity, Source

__all__ = ["LoadResult", "Loaded", "Rejected", "load", "load_texts"]

_DEFAULT_WORKSPACE = "default"
_DEFAULT_OWNER = "local"
_DEFAULT_TRACE_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Files that hold. `base_dir` is the absolute folder that relative paths and file references start from.

    `tree` is what the desired state was read from: all files as one, each node with the place that set it.
    """

    desired: Desired
    warnings: tuple[Diagnostic, ...]
    base_dir: Path
    tree: MapNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Files that do not hold: every error and warning, sorted by place."""

    diagnostics: tuple[Diagnostic, ...]


LoadResult: TypeAlias = Loaded | Rejected


def load(files: FileSet | Path, *, display: str | None = None) -> LoadResult:
    """Read the files as one configuration. `display` is how the main file is shown in sources, by default as it is given.

    Raises UsageError for an environment that has no overlay.
    """
    if isinstance(files, Path):
        files = FileSet(main=files)
    overlay = overlay_of(files)
    reading = _Reading()
    main = reading.parsed(read_file(files.main, display or str(files.main)))
    named = named_files(main if isinstance(main, MapNode) else None, files, reading.findings)
    others = [reading.parsed(read_file(each.path, each.display)) for each in named]
    over = None if overlay is None else reading.parsed(_read_overlay(overlay.path, overlay.display, files))
    paths = (files.main, *(each.path for each in named), *(() if overlay is None else (overlay.path,)))
    return reading.result(main, others, over, files, _from_folder(paths, files.folder))


def _from_folder(paths: Iterable[Path], folder: Path) -> tuple[str, ...]:
    """The paths from the folder, with slashes on every system, sorted."""
    return tuple(sorted(Path(os.path.relpath(each.absolute(), folder)).as_posix() for each in paths))


def _read_overlay(path: Path, display: str, files: FileSet) -> FileText | tuple[Diagnostic, ...]:
    if lies_below(path, files.folder):
        return read_file(path, display)
    message = "the overlay leads out of the folder of the main file"
    return (Diagnostic(code="include-outside", message=message, address=display, hint="put the file itself there"),)


def load_texts(files: Sequence[FileText], base_dir: Path, *, overlay: FileText | None = None) -> LoadResult:
    """Read files that are in memory already, the main one first; what it includes is among them."""
    reading = _Reading()
    main, *others = [reading.parsed(each) for each in files]
    over = None if overlay is None else reading.parsed(overlay)
    environment = None if overlay is None else Path(overlay.file.path).stem
    return reading.result(main, others, over, FileSet(main=base_dir / "mcp.yaml", environment=environment))


@dataclass(slots=True)
class _Reading:
    """One reading of several files. A file without a tree stays None: the others are still checked."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    files: list[ConfigFile] = field(default_factory=list[ConfigFile])
    findings: Findings = field(init=False)

    def __post_init__(self) -> None:
        self.findings = Findings(self.texts)

    def parsed(self, read: FileText | tuple[Diagnostic, ...]) -> Node | None:
        """The tree of one file; whatever is wrong with it as YAML goes to the findings."""
        if not isinstance(read, FileText):
            self.findings.report(read)
            return None
        self.texts[read.file.path] = read.text
        self.files.append(read.file)
        return parse_yaml(read.text, read.file.path, self.findings)

    def result(
        self,
        main: Node | None,
        others: Sequence[Node | None],
        over: Node | None,
        files: FileSet,
        contributors: tuple[str, ...] = (),
    ) -> LoadResult:
        """What the trees come to. The overlay's is `over`."""
        overlaying = files.environment is not None
        self._check((main,), MCP_FILE, holes=overlaying)
        self._check(others, INCLUDED_FILE, holes=overlaying)
        if over is not None:
            self._check_overlay(over)
        roots = [each for each in (main, *others) if isinstance(each, MapNode)]
        whole = len(roots) == 1 + len(others) and (not overlaying or isinstance(over, MapNode))
        tree = self._tree(roots, over) if whole else None
        desired = None if tree is None else self._desired(tree, files)
        if tree is None or desired is None or self.findings.rejecting:
            return Rejected(diagnostics=self.findings.diagnostics())
        return Loaded(
            desired=replace(desired, contributors=contributors),
            warnings=self.findings.diagnostics(),
            base_dir=files.folder,
            tree=tree,
        )

    def _check(self, roots: Sequence[Node | None], shape: Record, *, holes: bool) -> None:
        for root in roots:
            if root is not None:
                # Below an overlay a file need not hold by itself; the whole that comes out is checked without holes.
                check_shape(root, relaxed(shape) if holes else shape, self.findings)

    def _tree(self, roots: Sequence[MapNode], over: Node | None) -> MapNode:
        tree = joined(roots, self.findings)
        if not isinstance(over, MapNode):
            return tree
        for root in roots:
            # A credential is in the file, and in its history, whether or not the overlay replaces it.
            below = Findings(self.texts)
            read_servers(root.mapping("mcp"), below)
            self.findings.adopt(below, {"inline-secret"})
        tree = overlaid(tree, over, self.findings)
        check_shape(tree, MCP_FILE, self.findings)
        return tree

    def _check_overlay(self, over: Node) -> None:
        """What the outcome cannot show: no mapping, a version that came from below, an `include` that nobody followed."""
        if isinstance(over, MapNode):
            given = {key: over.entries[key] for key in ("version", "include") if key in over.entries}
            over = MapNode(over.file, over.start, over.end, given)
        check_shape(over, OVERLAY_FILE, self.findings)

    def _desired(self, tree: MapNode, files: FileSet) -> Desired:
        desired = _desired(tree, tuple(self.files), files.environment, self.findings)
        if not self.findings.rejecting:
            # Entries are compared with what is declared, and of a file with mistakes that is only a part.
            check_moves(desired, self.findings)
        if not desired.servers and not self.findings.rejecting:
            _warn_of_nothing(tree, self.findings, example=any("\n# mcp:\n" in text for text in self.texts.values()))
        return desired


def _desired(root: MapNode, files: tuple[ConfigFile, ...], environment: str | None, findings: Findings) -> Desired:
    mcp = root.mapping("mcp")
    default_envelope, default_source = read_default_envelope(mcp, findings)
    reserved = frozenset(fold(name.text) for name in root.scalars("reserved_names"))
    entries = read_servers(mcp, findings)
    declared = Declared(servers=_names(mcp, entries), reserved=reserved | {fold(name) for name in RESERVED_NAMES})
    assistants = read_assistants(root, declared, findings)
    days = root.number("trace_days")
    return Desired(
        workspace=root.text("workspace") or _DEFAULT_WORKSPACE,
        owner=root.text("owner") or _DEFAULT_OWNER,
        servers=tuple(entry.server for entry in entries if entry.server),
        assistants=assistants,
        default_envelope=default_envelope,
        default_envelope_source=default_source,
        reserved_names=reserved,
        trace_days=_DEFAULT_TRACE_DAYS if days is None else int(days),
        lock=LockUse.NONE if root.text("lock") == LockUse.NONE else LockUse.FILE,
        files=files,
        environment=environment,
        moved=read_moved(root, findings),
        removed=read_removed(root, findings),
    )


def _names(mcp: MapNode | None, entries: tuple[ServerEntry, ...]) -> Mapping[str, ServerEntry] | None:
    """The declared servers by name, or None where an entry has none: then no name can be called unknown."""
    names = {entry.name.text: entry for entry in entries}
    count = len(list(mcp.mappings("servers"))) if mcp else 0
    return names if count == len(entries) else None


def _warn_of_nothing(root: MapNode, findings: Findings, *, example: bool) -> None:
    """Say that nothing is declared; `example` is whether the file still holds the one that `remit init` wrote."""
    findings.add(
        "no-servers",
        Source(root.file, root.source.line, 1),
        "the file declares no server",
        hint="delete the `# ` before the example in this file, or add one under `mcp.servers`"
        if example
        else "add one under `mcp.servers`",
        severity=Severity.WARNING,
    )
