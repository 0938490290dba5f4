"""MCP servers of our own that behave, and misbehave, on request."""
