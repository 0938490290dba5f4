"""A stdio MCP server in plain JSON-RPC, standard library only: it starts in 30 ms and misbehaves as told.

The only argument is a JSON object of options, or `@FILE` with one, read at the start so that a test can change it:

    era           "legacy" (default), "modern" or "both"
    tools         the tools to list (default: one tool `echo`)
    page_size     tools per page (default: all)
    say           {method: text}: write this text to stdout, in one piece, before answering the method; "{id}" in it is the
                  request's; "" as method: at the start
    bytes         {method: hex}: write these bytes before answering the method
    flood         {method: bytes}: write so many bytes without a line end before answering the method
    notify        {method: bytes}: send a notification of at least so many bytes before answering the method
    endless_on    [method]: answer it with a line that never ends
    id_last       true: the id of an answer stands behind its result
    die_on        {method: exit code}: exit at this method, without an answer
    exit_after    [method]: answer it and exit at once
    silent_on     [method]: never answer it
    error_on      {method: [code, message]}: answer with this JSON-RPC error
    answer_on     {method: result}: answer with this instead
    frames        {method: [message]}: send these before answering the method; the text "{id}" in them is the request's id
    on_tool       {tool: options}: for calls of this tool these options come before the others
    close_on      [method]: close stdout instead of answering it, and stay
    error_on_page number of the page of tools/list (from 1) that is answered with an error
    cursor        "endless" or "same"
    stderr        text for stderr at the start
    stderr_on     {method: bytes}: write so many bytes to stderr when the method comes, and then "the reason"
    pids          file that gets a line with the process number at each start
    methods       file that gets a line for each message
    log           file that gets each message as it came, a line each
    called        file that gets a line for each tools/call that arrives: the tool, and the arguments as JSON
    held_by       tools/call is answered only once this file is there
    children      file that gets the numbers of two children, one of them in a session of its own
    stay          true: ignore SIGTERM and the end of stdin
    progress_every  seconds between these notifications; 0 (default) is at once
    progress_step   by how much each of them is more than the one before (default: 1)
    progress_token  the token that they carry (default: the one of the request)
    progress_flood  seconds for which tools/call sends progress as fast as it can
    call_seconds  how long tools/call takes; an argument `padding` is how many bytes its result has besides
    progress      number of progress notifications during tools/call
    environ       true: the result of tools/call names the variables of the environment and what its open files are
    env_in        variable whose value is put into the description of every tool, serverInfo and instructions
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

ECHO = {"name": "echo", "description": "Echo", "inputSchema": {"type": "object"}}


def main() -> None:
    """Serve until stdin ends."""
    given = sys.argv[1] if len(sys.argv) > 1 else "{}"
    options: dict[str, Any] = json.loads(Path(given[1:]).read_text("utf-8") if given.startswith("@") else given)
    _start(options)
    for line in sys.stdin:
        if "log" in options:
            _append(options["log"], line.rstrip("\n"))
        _take(json.loads(line), options)
    while options.get("stay"):
        time.sleep(60)


def _start(options: dict[str, Any]) -> None:
    if "pids" in options:
        _append(options["pids"], str(os.getpid()))
    sys.stderr.write(options.get("stderr", ""))
    sys.stderr.flush()
    if options.get("stay"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "children" in options:
        for apart in (False, True):
            child = subprocess.Popen(["sleep", "300"], start_new_session=apart)
            _append(options["children"], str(child.pid))
    _write(options.get("say", {}).get("", ""))


def _take(message: dict[str, Any], options: dict[str, Any]) -> None:
    method = message.get("method", "")
    if method == "tools/call":
        options = options | options.get("on_tool", {}).get(message["params"]["name"], {})
    if "methods" in options:
        _append(options["methods"], method)
    if method == "tools/call" and "called" in options:
        _append(options["called"], f"{message['params']['name']} {json.dumps(message['params'].get('arguments'))}")
    _die_at(method, options)
    _say_before(method, message.get("id"), options)
    if "id" not in message or method in options.get("silent_on", []):
        return
    if method in options.get("close_on", []):
        os.close(sys.stdout.fileno())
        return
    answer = {"jsonrpc": "2.0", "id": message["id"], **_outcome(message, options)}
    if options.get("id_last"):
        answer["id"] = answer.pop("id")
    if method in options.get("endless_on", []):
        _write(json.dumps(answer)[:-2])
        while True:
            _write(', "more": "' + "x" * 1_000_000 + '"')
    _send(answer)
    if method in options.get("exit_after", []):
        os._exit(0)


def _die_at(method: str, options: dict[str, Any]) -> None:
    if method in options.get("stderr_on", {}):
        sys.stderr.write("x" * options["stderr_on"][method] + "the reason")
        sys.stderr.flush()
    if method in options.get("die_on", {}):
        sys.stdout.flush()
        os._exit(options["die_on"][method])


def _say_before(method: str, request_id: Any, options: dict[str, Any]) -> None:
    said = options.get("say", {}).get(method, "").replace("{id}", json.dumps(request_id))
    _write(said + "x" * options.get("flood", {}).get(method, 0))
    if method in options.get("notify", {}):
        padding = "x" * options["notify"][method]
        _send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": padding}})
    if method in options.get("bytes", {}):
        sys.stdout.buffer.write(bytes.fromhex(options["bytes"][method]))
        sys.stdout.buffer.flush()
    for frame in options.get("frames", {}).get(method, []):
        _send(_filled(frame, request_id))


def _filled(value: Any, request_id: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, request_id) for key, inner in cast("dict[str, Any]", value).items()}
    return request_id if value == "{id}" else value


def _outcome(message: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    method = message["method"]
    if method in options.get("error_on", {}):
        code, text = options["error_on"][method]
        return {"error": {"code": code, "message": text}}
    result = options.get("answer_on", {}).get(method) or _result(method, message.get("params") or {}, options)
    return {"error": {"code": -32601, "message": f"unknown method {method}"}} if result is None else {"result": result}


def _result(method: str, params: dict[str, Any], options: dict[str, Any]) -> dict[str, Any] | None:
    era = options.get("era", "legacy")
    secret = os.environ.get(options.get("env_in", ""), "")
    about = {"name": f"raw {secret}".strip(), "version": "1.0"}
    settled: dict[str, Any] = {"capabilities": {"tools": {}}, "instructions": f"Be kind. {secret}".strip()}
    if method == "server/discover" and era in ("modern", "both"):
        stamp = {"io.modelcontextprotocol/serverInfo": about}
        return {"supportedVersions": ["2026-07-28"], **_CACHE, **settled, "_meta": stamp}
    if method == "initialize" and era in ("legacy", "both"):
        return {"protocolVersion": params["protocolVersion"], "serverInfo": about, **settled}
    if method == "tools/list":
        return _page(params.get("cursor"), options, secret)
    if method == "tools/call":
        return _call(params, options)
    return None


_CACHE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def _page(cursor: str | None, options: dict[str, Any], secret: str) -> dict[str, Any]:
    tools = [
        {**tool, "description": f"{tool.get('description')} {secret}"} if secret else tool for tool in _tools(options)
    ]
    start, size = int(cursor) if cursor and cursor.isdigit() else 0, options.get("page_size") or max(len(tools), 1)
    if options.get("error_on_page") == start // size + 1:
        return {"tools": "none"}
    page = tools[start : start + size]
    following = str(start + size) if start + size < len(tools) else None
    if options.get("cursor"):
        page, following = tools[:size], "same" if options["cursor"] == "same" else str(start + size)
    return {"tools": page, **_CACHE, **({"nextCursor": following} if following else {})}


def _tools(options: dict[str, Any]) -> list[dict[str, Any]]:
    return options.get("tools", [ECHO])


def _call(params: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    steps = options.get("progress", 0)
    token = options.get("progress_token", params.get("_meta", {}).get("progressToken"))
    for step in range(steps):
        time.sleep(options.get("progress_every", 0))
        _send(_progress(token, (step + 1) * options.get("progress_step", 1), steps))
    ends = time.monotonic() + options.get("progress_flood", 0)
    while time.monotonic() < ends:
        steps += 1
        _write("".join(json.dumps(_progress(token, steps * 100 + step, None)) + "\n" for step in range(100)))
    time.sleep(options.get("call_seconds", 0))
    while "held_by" in options and not Path(options["held_by"]).exists():
        time.sleep(0.01)
    arguments = params.get("arguments")
    answer = {"arguments": arguments, "pid": os.getpid()}
    if options.get("environ"):
        answer["environ"] = sorted(os.environ)
        answer["files"] = {path.name: _leads_to(path) for path in Path("/proc/self/fd").iterdir()}
    padding = {"padding": "x" * arguments["padding"]} if arguments and "padding" in arguments else {}
    return {
        "content": [{"type": "text", "text": json.dumps(answer)}],
        "structuredContent": {**answer, **padding},
        **_CACHE,
    }


def _leads_to(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return "closed by now"


def _progress(token: Any, progress: int, total: int | None) -> dict[str, Any]:
    params = {"progressToken": token, "progress": progress, "total": total, "message": "working"}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def _send(message: dict[str, Any]) -> None:
    _write(json.dumps(message) + "\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _append(path: str, line: str) -> None:
    with Path(path).open("a", encoding="utf-8") as handle:
        handle.write(line + "\n")


if __name__ == "__main__":
    main()
