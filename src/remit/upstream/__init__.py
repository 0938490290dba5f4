"""MCP servers: sessions, listing, calling. No policy, no persistence, no aliases."""
