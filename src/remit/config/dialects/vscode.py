"""VS Code: `servers` and `inputs` in `.vscode/mcp.json`, or below `mcp` in its settings."""

from collections.abc import Iterator, Mapping

from remit.config.dialects.claude import COMMAND_KEYS, REMOTE_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table, table_at
from remit.config.dialects.model import Dialect, Document, Draft, ReportFor
from remit.config.nodes import MapNode

__all__ = ["VSCODE"]

_KEYS: Mapping[str, Role] = {
    **COMMAND_KEYS,
    **REMOTE_KEYS,
    "envFile": Role.ENV_FILE,
    "timeout": Role.TIMEOUT_MILLISECONDS,
    "gallery": Role.NOTE,
    "version": Role.NOTE,
    "description": Role.NOTE,
    "dev": Role.IGNORED,
    "oauth": Role.OAUTH,
    "sandboxEnabled": Role.LEFT_OUT,
    "sandbox": Role.LEFT_OUT,
}
_PATHS = (("servers",), ("mcp", "servers"))


def _fits(document: Document) -> bool:
    return any(has_table(*path)(document) for path in _PATHS)


def _drafts(document: Document, report_for: ReportFor) -> Iterator[Draft]:
    inputs = {key: node for root in document.roots for path in _PATHS for key, node in _inputs(root, path)}
    for path in _PATHS:
        for draft in drafts_at(_KEYS, *path)(document, report_for):
            draft.inputs = inputs
            yield draft


def _inputs(root: MapNode, path: tuple[str, ...]) -> Iterator[tuple[str, MapNode]]:
    holder = table_at(root, *path[:-1])
    for node in holder.mappings("inputs") if holder else ():
        if identifier := node.text("id"):
            yield identifier, node


VSCODE = Dialect(
    name="vscode",
    title="VS Code",
    paths=(".vscode/mcp.json", "Code/User/mcp.json", "Code/User/settings.json", ".vscode/settings.json"),
    fits=_fits,
    telling=has_table("servers"),
    drafts=_drafts,
)
