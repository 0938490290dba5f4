"""What a server answered, made into the one envelope that every caller gets (DESIGN.md section 10, item 8).

Decides what counts as a result and what becomes of its parts. Only `isError: true` makes a tool's answer a failure; nothing
it sent is dropped, and what is over a cap (runtime/result_caps.py) is a stub that says so. Everything stays data: no link is
followed, no markup read, no request of the server's answered. An answer that is no result at all is the failure
`result_invalid`; the call has been carried out all the same, and its message says that.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import cast

from remit.core.calls import FailureCode
from remit.core.canonical import Json, JsonObject
from remit.core.definition import Definition
from remit.core.remote_ports import RemoteError, RemoteFault, RemoteResult
from remit.core.schema_work import Weight, weight_of
from remit.runtime.abi import ToolResultEnvelope, failure
from remit.runtime.result_caps import (
    MAX_BLOCK_BYTES,
    MAX_BLOCKS,
    MAX_RESULT_BYTES,
    MAX_SIDE_BYTES,
    mended,
    stub_of,
    text_bytes,
    weigh,
)
from remit.runtime.result_text import project
from remit.runtime.schema_problems import (
    CompiledSchema,
    SchemaCompiler,
    Wording,
    bounded_lines,
    problem_lines,
)

__all__ = ["MAX_REQUESTS", "adapt_error", "adapt_fault", "adapt_result"]

MAX_REQUESTS = 10
"""Requests for input that are told of one result; the rest are counted."""

_MAX_MESSAGE = 1_000
_SHOWN = 200
_SCHEMAS_KEPT = 512
_OWN_KEYS = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_ASKED = {
    "elicitation/create": "an answer from a person",
    "sampling/createMessage": "an answer from a model",
    "roots/list": "a list of folders",
}


def adapt_result(answer: RemoteResult, definition: Definition, compile_schema: SchemaCompiler) -> ToolResultEnvelope:
    """The envelope of a result that nobody has judged yet. Never raises for what a server sent.

    `metadata` always has era, protocol_version and mcp_result_type; where there is something to say it has mcp_meta,
    mcp_other (what else the result held), output_schema (`valid`, and `errors` in words), stubs (how many parts are left
    out), mended (JSON has no text for something in it; null or U+FFFD stands there), content_missing and renewed.
    """
    result = answer.result
    kind = result.get("resultType", "complete")
    if kind == "input_required":
        return _input_required(answer)
    if kind != "complete":
        return _invalid(answer, "its resultType is not one that this version of MCP has")
    content = result.get("content", [])
    flaw = _flaw_of_content(content)
    if flaw is not None:
        return _invalid(answer, flaw)
    return _complete(answer, cast("Sequence[JsonObject]", content), definition, compile_schema)


def adapt_error(answer: RemoteError) -> ToolResultEnvelope:
    """The failure of a call that the server answered with a JSON-RPC error; `metadata` has its number as `rpc_code`."""
    said = str(mended(answer.message[:_MAX_MESSAGE]))
    return failure(
        FailureCode.RPC_ERROR,
        f"the server refused the call (JSON-RPC error {answer.rpc_code}): {said}",
        rpc_code=answer.rpc_code,
    )


def adapt_fault(answer: RemoteFault) -> ToolResultEnvelope:
    """The failure of a call without an answer; `metadata` has its `delivery`."""
    said = str(mended(answer.message[:_MAX_MESSAGE]))
    return failure(answer.code, said, delivery=answer.delivery.value)


def _complete(
    answer: RemoteResult, content: Sequence[JsonObject], definition: Definition, compile_schema: SchemaCompiler
) -> ToolResultEnvelope:
    result, parts = answer.result, _Parts()
    is_error = result.get("isError") is True
    structured = parts.take("structuredContent", result.get("structuredContent"), MAX_BLOCK_BYTES)
    # An error need not be what the schema promises of a success.
    errors = None if is_error else _judge_output(structured, parts.stubs > 0, definition, compile_schema)
    blocks = parts.take_blocks(content)
    metadata: dict[str, Json] = {
        **_frame(answer),
        "mcp_result_type": "complete",
        **_side(result, parts),
        **parts.remarks(),
    }
    if errors is not None:
        metadata["output_schema"] = {"valid": False, "errors": errors} if errors else {"valid": True}
    # A text block that is left out still shows its beginning in the projection, which has a cap of its own.
    shown = [raw if raw["type"] == "text" else kept for raw, kept in zip(content[:MAX_BLOCKS], blocks, strict=False)]
    text = project([*shown, *blocks[len(shown) :]], structured)
    return ToolResultEnvelope(
        content=cast("str", mended(text)),
        structured_content=structured,
        content_blocks=blocks,
        metadata=metadata,
        is_error=is_error,
    )


def _frame(answer: RemoteResult) -> dict[str, Json]:
    frame: dict[str, Json] = {"era": answer.era, "protocol_version": answer.protocol_version}
    return {**frame, "renewed": True} if answer.renewed else frame


def _invalid(answer: RemoteResult, flaw: str) -> ToolResultEnvelope:
    words = f"the server's result is malformed: {flaw}. The tool has run; check what it did before you call it again"
    return failure(FailureCode.RESULT_INVALID, words, **_frame(answer))


def _flaw_of_content(content: Json) -> str | None:
    if not isinstance(content, list):
        return "its content is no list"
    for block in content:
        if not isinstance(block, Mapping):
            return "a block of its content is no object"
        kind = block.get("type")
        if not isinstance(kind, str):
            return "a block of its content has no type"
        if kind == "text" and not isinstance(block.get("text"), str):
            return "a text block of its content has no text"
    return None


class _Parts:
    """The parts of one result as they pass the caps, and what was done to them."""

    def __init__(self) -> None:
        self._room = MAX_RESULT_BYTES
        self.stubs = 0
        self._mended = False

    def take(self, kind: str, part: Json, limit: int) -> Json:
        """The part itself, mended where it is no JSON, or its stub."""
        if part is None:
            return None
        weight = weigh(part)
        if weight.too_deep or weight.bytes > min(limit, self._room):
            self.stubs += 1
            return mended(stub_of(kind, part, weight))
        self._room -= weight.bytes
        self._mended = self._mended or weight.odd
        return mended(part) if weight.odd else part

    def take_blocks(self, content: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
        """The first MAX_BLOCKS blocks, and a stub that counts the others."""
        first, rest = content[:MAX_BLOCKS], content[MAX_BLOCKS:]
        blocks = [cast("JsonObject", self.take(cast("str", each["type"]), each, MAX_BLOCK_BYTES)) for each in first]
        if rest:
            self.stubs += len(rest)
            blocks.append({**stub_of("omitted", None, weigh(rest)), "blocks": len(rest)})
        return tuple(blocks)

    def remarks(self) -> dict[str, Json]:
        """What a reader must know about the parts."""
        stubs: dict[str, Json] = {"stubs": self.stubs} if self.stubs else {}
        return {**stubs, "mended": True} if self._mended else stubs


def _side(result: JsonObject, parts: _Parts) -> dict[str, Json]:
    """What a result holds beside its content: `_meta`, whatever MCP has no name for, and an isError that is no boolean."""
    side: dict[str, Json] = {}
    if "_meta" in result:
        side["mcp_meta"] = parts.take("_meta", result["_meta"], MAX_SIDE_BYTES)
    other = {key: value for key, value in result.items() if key not in _OWN_KEYS}
    if not isinstance(result.get("isError", False), bool):
        other["isError"] = result["isError"]
    if other:
        side["mcp_other"] = parts.take("other", other, MAX_SIDE_BYTES)
    if "content" not in result:
        side["content_missing"] = True
    return side


# --- the output schema -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _output_check(definition: Definition, compile_schema: SchemaCompiler) -> tuple[CompiledSchema, Weight] | None:
    """The validator of a tool's outputSchema and its weight; None where it has none."""
    schema = definition.content().output_schema
    return None if schema is None else (compile_schema(schema), weight_of(schema))


def _judge_output(
    structured: Json, is_stub: bool, definition: Definition, compile_schema: SchemaCompiler
) -> list[str] | None:
    """Why the structured content is not what the tool promised; None where nothing was promised, empty where it is."""
    try:
        check = _output_check(definition, compile_schema)
    except ValueError:
        return ["the outputSchema cannot be compiled"]
    if check is None:
        return None
    if structured is None:
        return ["structuredContent is missing"]
    if is_stub:
        return ["structuredContent is too large to be judged"]
    compiled, weight = check
    if compiled.is_valid(structured):
        return []
    lines = problem_lines(compiled, structured, weight=weight, wording=Wording("structuredContent"))
    return bounded_lines(lines).split("\n")


# --- a server that asks back -------------------------------------------------------------------------------------------


def _input_required(answer: RemoteResult) -> ToolResultEnvelope:
    """The failure of a call to which the server answered with requests: told in short, answered by nobody here.

    `metadata` has the first MAX_REQUESTS as `input_requests` (id, method and message, cut), their number, and how large the
    request state is. The state itself is not kept: only an answer would need it.
    """
    asked = answer.result.get("inputRequests")
    requests: JsonObject = cast("JsonObject", asked) if isinstance(asked, Mapping) else {}
    told = [_request(key, value) for key, value in islice(requests.items(), MAX_REQUESTS)]
    state = answer.result.get("requestState")
    wanted = dict.fromkeys(_ASKED.get(str(each["method"]), "something remit does not know") for each in told)
    return failure(
        FailureCode.INPUT_REQUIRED,
        f"the tool did not finish: its server asks for {' and '.join(wanted) or 'another round'}, and remit never answers "
        "such a request by itself. Call it again with everything it needs in the arguments, or have a person do it",
        **_frame(answer),
        mcp_result_type="input_required",
        input_requests=told,
        input_requests_total=len(requests),
        request_state_bytes=text_bytes(state) if isinstance(state, str) else 0,
    )


def _request(key: str, value: Json) -> dict[str, Json]:
    request: JsonObject = cast("JsonObject", value) if isinstance(value, Mapping) else {}
    params = request.get("params")
    message = cast("JsonObject", params).get("message") if isinstance(params, Mapping) else None
    return {"id": _cut(key), "method": _cut(request.get("method")), "message": _cut(message)}


def _cut(value: Json) -> Json:
    return mended(value[:_SHOWN]) if isinstance(value, str) else None
