"""Configuration files of MCP clients, gateways and operators, read into servers of mcp.yaml. Starts and opens nothing."""
