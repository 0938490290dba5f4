"""The file that `remit init` writes.

Decides what a newcomer sees first: a file that is valid as it stands, asks for nothing (so that a first plan or apply
touches nothing) and holds a working example to uncomment. `validate` passes it with the one warning `no-servers`.
"""

import re

__all__ = ["schema_lines", "starter_text", "workspace_from"]

_SCHEMA_PATH = "schemas/mcp.schema.json"

_SCHEMA_LINES = """\
# yaml-language-server: $schema={schema}
# $schema: {schema}

"""

_TEXT = """\
# What assistants may use of which MCP servers. `remit validate` checks this file, `remit plan` shows what it would do.
version: 1
workspace: {workspace}

# Delete the "# " before the lines below, then change them into your own.

# mcp:
#   servers:
#     - name: time                              # used in addresses: server.time
#       command: [uvx, mcp-server-time]         # started without a shell
#       envelope: {{surface: locked, side_effecting: false}}   # without it: every call waits for a person
#
#     - name: tickets
#       url: https://tickets.example.com/mcp
#       headers: {{Authorization: "Bearer ${{env:TICKETS_TOKEN}}"}}  # read when connecting, stored nowhere
#       enabled: false                          # registered, but not connected to
#
# assistants:
#   - name: {assistant}
#     permissions: []
#     tools:
#       - server: time
#         include: [get_current_time, convert_time]   # exact names; `remit discover time` lists them
#         aliases: {{get_current_time: what_time_is_it}}  # optional; otherwise time__get_current_time
"""


def starter_text(folder: str, *, schema: str = _SCHEMA_PATH) -> str:
    """The starter for a folder of this name; `schema` is the path or URL of the JSON schema for editors."""
    return schema_lines(schema) + _TEXT.format(workspace=workspace_from(folder), assistant="ops")


def schema_lines(schema: str = _SCHEMA_PATH) -> str:
    """The comments by which editors find the JSON schema: the first for most of them, the second for those of JetBrains."""
    return _SCHEMA_LINES.format(schema=schema)


def workspace_from(folder: str) -> str:
    """A workspace name made from a folder's name; `default` where nothing of it can be used."""
    words = re.sub(r"[^a-z0-9_]+", "-", folder.lower()).strip("-_")
    return words[:64].rstrip("-_") or "default"
