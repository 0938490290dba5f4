"""One raw tool of a listing: usable, or quarantined with a reason.

Judges what a server sent before anything parses it as a whole, so that one bad tool never costs the others (DESIGN.md
section 5). It decides about form only: whether a tool is wanted, approved or suspicious is decided elsewhere. Judging
takes time that a server can make long, so a listing is judged under its deadline and lets other servers' go on.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from mcp.shared.inbound import X_MCP_HEADER_KEY, find_invalid_x_mcp_header
from mcp.shared.tool_name_validation import validate_tool_name

from remit.core.canonical import Json, JsonObject, canonical_json
from remit.core.definition import Definition
from remit.core.identity import RemoteName
from remit.core.live import Era, ListedTool, Quarantine, QuarantineReason, UnreachableReason
from remit.upstream.faults import Fault
from remit.upstream.schema_check import MAX_SCHEMA_BYTES, Objection, SchemaChecker, check_json

__all__ = ["judge_listing", "judge_tool", "judge_tools"]

_SHOWN = 128
_TURN_SECONDS = 0.05
_TEXTS = ("title", "description")
_OBJECTS = ("annotations", "execution")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


async def judge_listing(
    raw: Sequence[Json], era: Era, checker: SchemaChecker, *, deadline: float
) -> tuple[tuple[ListedTool, ...], tuple[Quarantine, ...]]:
    """What `judge_tools` gives, in turns of 50 ms between which other tasks run. Raises Fault `timeout` at the deadline.

    `deadline` is a time of time.monotonic().
    """
    verdicts: list[ListedTool | Quarantine] = []
    turn_ends = time.monotonic() + _TURN_SECONDS
    for verdict in _verdicts(raw, era, checker):
        verdicts.append(verdict)
        if (moment := time.monotonic()) >= turn_ends:
            if moment >= deadline:
                detail = f"{len(verdicts)} of {len(raw)} tools were judged before start_timeout_seconds was over"
                raise Fault(UnreachableReason.TIMEOUT, detail)
            await asyncio.sleep(0)
            turn_ends = time.monotonic() + _TURN_SECONDS
    return _divided(verdicts)


def judge_tools(raw: Sequence[Json], era: Era) -> tuple[tuple[ListedTool, ...], tuple[Quarantine, ...]]:
    """The usable tools and the others, each sorted by name; of a name that occurs twice every copy is quarantined."""
    return _divided(_verdicts(raw, era, SchemaChecker()))


def _verdicts(raw: Sequence[Json], era: Era, checker: SchemaChecker) -> Iterator[ListedTool | Quarantine]:
    counts = Counter(_name_of(tool) for tool in raw)
    return (judge_tool(tool, era, checker, copies=counts[_name_of(tool)]) for tool in raw)


def _divided(
    verdicts: Iterable[ListedTool | Quarantine],
) -> tuple[tuple[ListedTool, ...], tuple[Quarantine, ...]]:
    usable: list[ListedTool] = []
    others: list[Quarantine] = []
    for verdict in verdicts:
        if isinstance(verdict, ListedTool):
            usable.append(verdict)
        else:
            others.append(verdict)
    usable.sort(key=lambda tool: tool.remote_name)
    others.sort(key=lambda quarantine: (quarantine.remote_name, quarantine.reason, quarantine.detail))
    return tuple(usable), tuple(others)


def judge_tool(
    raw: Json, era: Era, checker: SchemaChecker | None = None, *, copies: int = 1
) -> ListedTool | Quarantine:
    """The verdict on one raw tool; `copies` is how often its name occurs in the listing."""
    if not isinstance(raw, Mapping):
        return Quarantine(remote_name="", reason=QuarantineReason.MALFORMED, detail="the tool is no JSON object")
    tool = cast("JsonObject", raw)
    name = _name_of(tool)
    objection = _check_name(tool, copies) or _check_parts(tool) or _check_schemas(tool, era, checker or SchemaChecker())
    if objection is None and name is not None:
        definition = _definition(tool)
        objection = _check_header_marks(tool, era, definition)
        if objection is None:
            return ListedTool(remote_name=RemoteName(name), definition=definition)
    shown = (name or "").encode("utf-8", "replace").decode("utf-8")[:_SHOWN]
    return Quarantine(
        remote_name=shown,
        reason=objection.reason if objection else QuarantineReason.MALFORMED,
        detail=objection.detail if objection else "the tool has no name",
    )


def _name_of(tool: Json) -> str | None:
    name = cast("JsonObject", tool).get("name") if isinstance(tool, Mapping) else None
    return name if isinstance(name, str) else None


def _check_name(tool: JsonObject, copies: int) -> Objection | None:
    name = tool.get("name")
    if not isinstance(name, str):
        return Objection(QuarantineReason.MALFORMED, "the tool has no name")
    if not name.isascii() or not validate_tool_name(name).is_valid:
        return Objection(QuarantineReason.INVALID_NAME, "the name is not 1 to 128 of A-Z a-z 0-9 _ - .")
    if copies > 1:
        return Objection(QuarantineReason.DUPLICATE_NAME, f"{copies} tools of this server have this name")
    return None


def _check_parts(tool: JsonObject) -> Objection | None:
    wrong = [f"{key} is no text" for key in _TEXTS if not isinstance(tool.get(key), str | None)]
    wrong += [f"{key} is no object" for key in _OBJECTS if not isinstance(tool.get(key), Mapping | None)]
    if not wrong:
        annotations = _object(tool, "annotations")
        if not isinstance(annotations.get("title"), str | None):
            wrong.append("annotations.title is no text")
        wrong += [
            f"annotations.{key} is no boolean" for key in _HINTS if not isinstance(annotations.get(key), bool | None)
        ]
    if wrong:
        return Objection(QuarantineReason.MALFORMED, "; ".join(wrong))
    if _object(tool, "execution").get("taskSupport") == "required":
        return Objection(QuarantineReason.TASK_REQUIRED, "it can only be called as a task")
    for key in (*_TEXTS, "annotations"):
        if objection := check_json(tool.get(key)) or _check_length(tool.get(key)):
            return Objection(QuarantineReason.MALFORMED, f"{key} {objection.detail}")
    return None


def _check_length(value: Json) -> Objection | None:
    size = len(value if isinstance(value, str) else canonical_json(value))
    if size > MAX_SCHEMA_BYTES:
        return Objection(QuarantineReason.MALFORMED, f"has {size} characters; {MAX_SCHEMA_BYTES} are the limit")
    return None


def _check_schemas(tool: JsonObject, era: Era, checker: SchemaChecker) -> Objection | None:
    if "inputSchema" not in tool:
        return Objection(QuarantineReason.ROOT_NOT_OBJECT, "inputSchema is missing")
    if objection := checker.check(tool["inputSchema"], needs_object=True):
        return Objection(objection.reason, f"inputSchema {objection.detail}")
    output = tool.get("outputSchema")
    # Since 2026-07-28 a structured result may be any JSON value; before, only an object.
    if output is not None and (objection := checker.check(output, needs_object=era is Era.LEGACY)):
        return Objection(objection.reason, f"outputSchema {objection.detail}")
    return None


def _check_header_marks(tool: JsonObject, era: Era, definition: Definition) -> Objection | None:
    # The SDK looks at every subschema, and hardly any tool has the mark.
    if era is Era.MODERN and f'"{X_MCP_HEADER_KEY}"' in definition.text:
        why = find_invalid_x_mcp_header(dict(_object(tool, "inputSchema")))
        return (
            Objection(QuarantineReason.INVALID_SCHEMA, f"inputSchema has an invalid x-mcp-header: {why}")
            if why
            else None
        )
    return None


def _definition(tool: JsonObject) -> Definition:
    output = tool.get("outputSchema")
    return Definition.of(
        title=cast("str | None", tool.get("title")),
        description=cast("str | None", tool.get("description")),
        input_schema=_object(tool, "inputSchema"),
        output_schema=None if output is None else cast("JsonObject", output),
        annotations=_object(tool, "annotations"),
    )


def _object(tool: JsonObject, key: str) -> JsonObject:
    value = tool.get(key)
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}
