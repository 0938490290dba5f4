"""mcp.yaml for the field cases, with few arguments."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

__all__ = ["config", "stdio"]


def stdio(name: str, **more: Any) -> dict[str, Any]:
    """A server that the workspace serves; `command` is filled in when the file is written."""
    return {"name": name, "command": f"{{server:{name}}}", **more}


def config(*servers: Mapping[str, Any], **assistants: Mapping[str, Sequence[str]]) -> str:
    """The text of mcp.yaml: servers as given, assistants as server name to includes."""
    document = {
        "version": 1,
        "workspace": "cases",
        "mcp": {"servers": [dict(each) for each in servers]},
        "assistants": [
            {"name": name, "tools": [{"server": server, "include": list(wanted)} for server, wanted in tools.items()]}
            for name, tools in assistants.items()
        ],
    }
    text = yaml.safe_dump(document, sort_keys=False)
    # The place of a command is quoted as text; `Workspace.write` puts a list there.
    return re.sub(r"'(\{server:\w+\})'", r"\1", text)
