"""mcp.yaml to values and diagnostics. Reads files; opens no connection, resolves no secret."""
