"""Who owns rows that no file owns: what `removed: {keep: true}` lets go stays in service until a file adopts it.

Decides the name of the workspace that such rows belong to. No file can have it, as the names of files' workspaces begin with
a letter or a digit. Pure.
"""

__all__ = ["released_workspace"]


def released_workspace(owner: str) -> str:
    """The workspace of an owner's released rows."""
    return f"~{owner}"
