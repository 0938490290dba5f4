"""Reading texts as configurations of other tools, for tests."""

from pathlib import Path

from remit.config.dialects.importing import import_files
from remit.config.dialects.model import ImportedServer, Imports
from remit.config.dialects.writing import mcp_text
from remit.config.files import FileText
from remit.config.loader import Loaded, load_texts
from remit.core.desired import ConfigFile, Desired

CASES = Path(__file__).parent / "cases"


def imported(folder: Path, name: str, text: str) -> Imports:
    """What a file of this name and text comes to; the folders in the name are made."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return import_files([path])


def case(name: str) -> Imports:
    """What the file of a case comes to."""
    return import_files([CASES / name])


def entries(imports: Imports, *, assistant: str | None = None) -> str:
    """The lines of mcp.yaml below `servers:`, which load."""
    text = mcp_text(imports.servers, workspace="w", assistant=assistant)
    desired_of(text)
    return text.partition("  servers:\n")[2]


def desired_of(text: str) -> Desired:
    """The desired state of a text that must load."""
    loaded = load_texts([FileText(file=ConfigFile(path="mcp.yaml", sha256=""), text=text)], Path("/"))
    assert isinstance(loaded, Loaded), loaded
    return loaded.desired


def findings(imports: Imports) -> list[tuple[str, int, str]]:
    """Severity and code, line and server of each finding, in the order of the file."""
    return [
        (f"{each.severity} {each.code}", each.source.line if each.source else 0, (each.address or "").partition(".")[2])
        for each in imports.diagnostics
    ]


def server(imports: Imports, name: str) -> ImportedServer:
    """The server of this name."""
    [found] = [each for each in imports.servers if each.name == name]
    return found


def variables(imports: Imports) -> list[str]:
    """The names of the variables that must be set, with `*` where a secret may be in one."""
    return [f"{each.name}*" if each.secret else each.name for each in imports.variables]
