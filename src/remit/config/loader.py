"""mcp.yaml as the desired state, or as all that is wrong with it.

Decides the order of reading: bytes, YAML, shape, meaning; each later step still runs where an earlier one found mistakes it
can live with, so that all of them come out at once. It takes no half: with any error there is no desired state at all.
Reads the file and nothing else: no reference is resolved, no server asked, no database opened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from remit.config.assistants import Declared, read_assistants
from remit.config.files import FileText, read_file
from remit.config.findings import Findings
from remit.config.layout import MCP_FILE
from remit.config.nodes import MapNode
from remit.config.policies import read_default_envelope
from remit.config.servers import ServerEntry, read_servers
from remit.config.shape_check import check_shape
from remit.config.yaml_nodes import parse_yaml
from remit.core.aliases import RESERVED_NAMES, fold
from remit.core.desired import ConfigFile, Desired
from remit.core.diagnostics import Diagnostic, Severity, Source

__all__ = ["LoadResult", "Loaded", "Rejected", "load", "load_texts"]

_DEFAULT_WORKSPACE = "default"
_DEFAULT_OWNER = "local"
_DEFAULT_TRACE_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A file that holds. `base_dir` is the absolute folder that relative paths and file references start from."""

    desired: Desired
    warnings: tuple[Diagnostic, ...]
    base_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A file that does not hold: every error and warning, sorted by place."""

    diagnostics: tuple[Diagnostic, ...]


LoadResult: TypeAlias = Loaded | Rejected


def load(path: Path, *, display: str | None = None) -> LoadResult:
    """Read one file. `display` is how the path is shown in every source; the default is the path as given."""
    read = read_file(path, display or str(path))
    if not isinstance(read, FileText):
        return Rejected(diagnostics=read)
    return load_texts((read,), path.absolute().parent)


def load_texts(files: Sequence[FileText], base_dir: Path) -> LoadResult:
    """Read files that are in memory already. One for now; several are to become one tree before the meaning is read."""
    findings = Findings({each.file.path: each.text for each in files})
    roots = [root for each in files if (root := _tree(each, findings))]
    desired = _desired(roots[0], tuple(each.file for each in files), findings) if roots else None
    if desired is not None and not desired.servers and not findings.rejecting:
        _warn_of_nothing(roots[0], findings, example=any("\n# mcp:\n" in each.text for each in files))
    diagnostics = findings.diagnostics()
    if desired is None or findings.rejecting:
        return Rejected(diagnostics=diagnostics)
    return Loaded(desired=desired, warnings=diagnostics, base_dir=base_dir)


def _tree(file: FileText, findings: Findings) -> MapNode | None:
    node = parse_yaml(file.text, file.file.path, findings)
    if node is not None:
        check_shape(node, MCP_FILE, findings)
    return node if isinstance(node, MapNode) else None


def _desired(root: MapNode, files: tuple[ConfigFile, ...], findings: Findings) -> Desired:
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
        files=files,
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
