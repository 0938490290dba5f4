"""remit: a declarative control plane for MCP tools.

Most people use the `remit` command. `remit.Runtime` is the governed runtime for a program of their own (docs/runtime.md).
"""

from typing import TYPE_CHECKING

from remit.version import __version__

if TYPE_CHECKING:
    from remit.app import Runtime

__all__ = ["Runtime", "__version__"]


def __getattr__(name: str) -> object:
    # What a program does not use is not loaded, and `remit --help` uses none of it.
    if name == "Runtime":
        from remit.app import Runtime  # noqa: PLC0415 (as above)

        return Runtime
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
