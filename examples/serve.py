"""A recorded MCP server: it lists the tools of a JSON file, over stdio, with the standard library alone.

The examples run on this one, so that they need no network and no server of anybody's. The one argument is a file
`{"server": {"name", "version"}, "tools": [...]}`, read at the start, tools in wire form. A call is answered with its arguments.
"""

import json
import sys
from pathlib import Path
from typing import Any

UNKNOWN_METHOD = -32601


def answer(method: str, params: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any] | None:
    """The result of one request; None for a method that this server does not have."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": recorded["server"],
            }
        case "tools/list":
            return {"tools": recorded["tools"]}
        case "tools/call":
            text = f"{params['name']} was called with {json.dumps(params.get('arguments'))}"
            return {"content": [{"type": "text", "text": text}]}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    """Answer requests until stdin ends."""
    recorded: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {}, recorded)
        outcome = (
            {"error": {"code": UNKNOWN_METHOD, "message": "method not found"}} if result is None else {"result": result}
        )
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
