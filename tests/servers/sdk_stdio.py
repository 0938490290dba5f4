"""A server on the official SDK: two tools, both eras on one process."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk", version="1.0", instructions="Add numbers.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def shout(text: str) -> str:
    """Repeat a text in capitals."""
    return text.upper()


if __name__ == "__main__":
    server.run("stdio")
