"""What `remit explain CODE` says about the codes of this package: faults, reasons of an outage, reasons of a quarantine."""

from collections.abc import Mapping

from remit.core.codes import Explanation

__all__ = ["CODES"]

_KEPT = "A server that cannot be listed completely is unknown, not empty: nothing that is attached is removed."
_ALONE = "Only this tool is set aside; the other tools of the server are listed and work."

_FAULTS: Mapping[str, Explanation] = {
    "upstream-error": Explanation(
        "An MCP server could not be reached, listed or understood.",
        "remit only attaches and calls what it has seen.",
        "Look at the server that the message names, and at its own log.",
    ),
    "session_lost": Explanation(
        "The server forgot its session, also after it was renewed once.",
        "A session is renewed once for every call; more would hide a server that keeps none.",
        "Check that all replicas behind the URL share their sessions, or pin `protocol: 2026-07-28`.",
    ),
    "http_status": Explanation(
        "The server answered with an HTTP error, or with something that is neither JSON nor an event stream.",
        "Such an answer comes from a proxy, a login page or a wrong path rather than from MCP.",
        "Check the URL, its path included, and what stands between here and the server.",
    ),
    "redirected": Explanation(
        "The server answered with a redirect, which is not followed.",
        "The address in mcp.yaml is the one that was reviewed; what a redirect leads to may be another server, and a call that"
        " is posted again may be carried out twice.",
        "If the target is the server you mean, write it as `url` into mcp.yaml and plan again; its query, if it has one, is"
        " yours to add. A trailing slash is the usual difference.",
    ),
    "closed": Explanation(
        "The connection was closed while the request was waiting.",
        "Closing ends what is pending, so that nobody waits for ever.",
        "Ask again on an open connection.",
    ),
}

_UNREACHABLE: Mapping[str, Explanation] = {
    "timeout": Explanation(
        "The server did not answer in time.",
        _KEPT,
        "Raise `start_timeout_seconds` or `timeout_seconds` of the server if it is slow, or find out what it waits for.",
    ),
    "auth": Explanation(
        "The server, or its token endpoint, refused the credentials.",
        _KEPT,
        "Check the variable or file that `headers` or `auth` refers to: its value may be old, or lack a scope.",
    ),
    "refused": Explanation(
        "There is no connection to the server, it answered with an HTTP error, or the URL policy forbids its address.",
        _KEPT,
        "Check the URL and that the server runs; `allow_private_network: true` permits a private address.",
    ),
    "protocol": Explanation(
        "The server answered something that is not MCP, or ended in the middle.",
        _KEPT,
        "Read the detail; a server that mixes log lines into stdout must write them to stderr.",
    ),
    "secret_unresolved": Explanation(
        "A reference of the connection has no value, so nothing was started and nothing was sent.",
        _KEPT,
        "Set the variable, or put the file where the reference names it: below the config's folder, /run/secrets or"
        " REMIT_SECRET_DIRS.",
    ),
    "start_failed": Explanation(
        "The command could not be started, or it exited before it answered.",
        _KEPT,
        "Run the command by hand; the detail holds its exit code and the end of its stderr.",
    ),
    "pagination_loop": Explanation(
        "The pages of tools/list never end: a cursor came twice, or the same tools come over and over.",
        _KEPT,
        "This is a defect of the server; report it there.",
    ),
    "too_large": Explanation(
        "The server sent more than remit takes: a line of 4 MiB, an event of 16 MiB, an answer of 64 MiB, or"
        " 10,000 tools.",
        _KEPT,
        "List fewer tools per server, or a smaller answer per page.",
    ),
    "empty": Explanation(
        "The server lists no tools at all, and the last good listing had some.",
        "An empty list is how many outages look.",
        "If the tools are really gone, say so with `--allow-empty SERVER`.",
    ),
}

_QUARANTINE: Mapping[str, Explanation] = {
    "invalid_name": Explanation(
        "A tool's name is not 1 to 128 of A-Z a-z 0-9 _ - and dot.", _ALONE, "Rename the tool on the server."
    ),
    "duplicate_name": Explanation(
        "Several tools of one server have the same name.",
        "Which of them a call would reach is not known, so all copies are set aside.",
        "Rename all but one on the server.",
    ),
    "malformed": Explanation(
        "A part of a tool has the wrong type, or holds what JSON cannot carry.", _ALONE, "Mend the part on the server."
    ),
    "root_not_object": Explanation(
        "A tool's schema is missing, or its root does not say `type: object`.",
        "Arguments are an object; clients and models refuse anything else, some of them the whole server.",
        'Give the schema a root with `"type": "object"` on the server.',
    ),
    "invalid_schema": Explanation(
        "A tool's schema is no valid JSON Schema.", "Arguments could not be checked against it.", "Mend the schema."
    ),
    "schema_too_large": Explanation(
        "A tool's schema is over a limit: 256 KiB, 64 levels, 5,000 subschemas, 100 patterns of 1,000 characters, 5,000 "
        "subschemas that apply to one value.",
        "Such a schema can stall every validator and every model that reads it.",
        "Make the schema smaller on the server.",
    ),
    "remote_ref": Explanation(
        "A tool's schema refers to something outside of itself.",
        "remit never fetches what a server's schema names: it could change after the approval, or reach inside a network.",
        "Put the definitions into the schema itself, under `$defs`.",
    ),
    "empty_ref": Explanation(
        "A tool's schema refers to itself where it should say something.",
        "Such a schema accepts everything, or never ends, depending on the validator.",
        "Write the schema out on the server.",
    ),
    "task_required": Explanation(
        "A tool can only be called as a task.", "remit calls tools directly.", "Let the server offer a direct call."
    ),
}

CODES: Mapping[str, Explanation] = _FAULTS | _UNREACHABLE | _QUARANTINE
"""Every code of upstream with its explanation."""
