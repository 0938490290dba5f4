"""An example MCP server: read-only analytics over thirty days of agent turns, on DuckDB."""

__all__ = ["__version__"]

__version__ = "1.0.0"
