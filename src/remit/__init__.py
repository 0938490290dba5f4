"""remit: a declarative control plane for MCP tools.

The package is used through the `remit` command; its parts are described in docs/architecture.md.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
