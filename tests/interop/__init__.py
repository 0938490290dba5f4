"""remit on MCP servers that nobody here wrote: `./run interop`."""
