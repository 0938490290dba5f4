"""The operations of a plan document as lines: by assistant, then servers and assistants, then what is held.

Decides how one operation reads. Walks documents, not operations, so that a saved plan reads as it did when it was made;
every text in one is escaped here, as a saved file may come from anyone.
"""

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import assert_never, cast

from remit.core.canonical import Json, JsonObject
from remit.core.lock import for_environment
from remit.core.operations import FROM_THE_ROWS, Reason
from remit.core.plan import HoldReason
from remit.render.change_lines import change_lines, quoted
from remit.render.escape import escape_json, escape_terminal
from remit.render.layout import WIDEST, Painter, Style, aligned
from remit.render.plan_sentences import STAYS_IN_SERVICE, replaces_something
from remit.render.shapes import (
    AssistantOperationDocument,
    AssistantState,
    ChangeDocument,
    DefinitionDocument,
    DefinitionState,
    DriftDocument,
    OperationDocument,
    RefreshDocument,
    RiskDocument,
    ServerOperationDocument,
    ServerState,
    SourceDocument,
    ToolOperationDocument,
)
from remit.render.words import DIRECTION_MARKS, HOLD_WORDS, MARKS, REASON_WORDS, envelope_words

__all__ = [
    "assistant_lines",
    "drift_lines_below",
    "held_lines",
    "lines_below",
    "mark_of",
    "operation_cells",
    "place_words",
    "risk_words",
    "server_lines",
    "tool_cells",
]

_ACCEPTABLE = frozenset({HoldReason.LIVE_NOT_ACCEPTED.value, HoldReason.FINDING.value})
_DIGEST_CHARACTERS = len("d1:") + 12
_BELOW = " " * 15


def assistant_lines(operations: Sequence[OperationDocument], paint: Painter) -> list[str]:
    """A block for each assistant whose tools change, by name, blank lines between."""
    of_tools: dict[str, list[ToolOperationDocument]] = {}
    for operation in operations:
        if "assistant" in operation:
            of_tools.setdefault(operation["assistant"], []).append(operation)
    lines: list[str] = []
    for assistant, group in sorted(of_tools.items()):
        lines += [""] if lines else []
        lines.append(paint(Style.HEAD, f"assistant {escape_terminal(assistant)}"))
        lines += _rows(group, [tool_cells(each) for each in group], paint)
    return lines


def server_lines(operations: Sequence[OperationDocument], paint: Painter) -> list[str]:
    """The operations on registrations and on assistants themselves."""
    group = [operation for operation in operations if "assistant" not in operation]
    if not group:
        return []
    return [
        paint(Style.HEAD, "servers and assistants"),
        *_rows(group, [operation_cells(each) for each in group], paint),
    ]


def held_lines(held: Sequence[OperationDocument], environment: str | None, paint: Painter) -> list[str]:
    """What waits, grouped by why, with the way on; where something was approved before, that it stays in service."""
    if not held:
        return []
    stays = f"; {STAYS_IN_SERVICE}" if replaces_something(held) else ""
    lines = [paint(Style.HEAD, f"held: not done, waits for acceptance{stays}")]
    for reasons, group in groupby(sorted(held, key=_because), key=_because):
        for reason in reasons:
            why, way = HOLD_WORDS.get(reason, (escape_terminal(reason), "see docs/plan-format.md"))
            lines += [f"  because {why}:", f"    {for_environment(way, environment)}"]
        members = list(group)
        lines += _rows(members, [operation_cells(each) for each in members], paint)
    return lines


def place_words(source: SourceDocument | None) -> str:
    """`mcp.yaml:41`, or nothing."""
    return "" if source is None else f"{escape_terminal(source['file'])}:{source['line']}"


def _because(operation: OperationDocument) -> tuple[str, ...]:
    return tuple(operation.get("held_because", []))


def _rows(group: Sequence[OperationDocument], cells: Sequence[Sequence[str]], paint: Painter) -> list[str]:
    lines: list[str] = []
    # The place comes first: behind words of any length it would stand somewhere else in each line.
    rows = [[place, *rest] for *rest, place in cells]
    for operation, rest in zip(group, aligned(rows, widest=WIDEST), strict=True):
        sign, verb, style = mark_of(operation)
        lines.append(f"  {paint(style, f'{sign} {verb:<10}')} {rest}")
        lines += [f"{_BELOW}{line}" for line in lines_below(operation)]
    return lines


def mark_of(operation: OperationDocument) -> tuple[str, str, Style]:
    """Sign, verb and style of an operation; those of a policy change are its direction's."""
    if operation["op"] == "set_envelope":
        return DIRECTION_MARKS[operation["direction"]]
    return MARKS[operation["op"]]


# -- one line ----------------------------------------------------------------------------------------------------------


def operation_cells(operation: OperationDocument) -> list[str]:
    """Address, what it is, words and place of an operation outside of its assistant's block: the address says whose it is."""
    address = escape_terminal(operation["address"])
    if "assistant" in operation:
        return _tool_cells(operation, address, f"is {_tool_name(operation)}")
    if "server_id" in (operation["after"] or operation["before"] or {}):
        words = _registration_words(cast("ServerOperationDocument", operation))
    else:
        words = _assistant_words(cast("AssistantOperationDocument", operation))
    return [address, "", words + risk_words(operation["risks"]), place_words(operation["source"])]


def tool_cells(operation: ToolOperationDocument) -> list[str]:
    """The cells of an operation inside its assistant's block: tool, alias, words and place."""
    return _tool_cells(operation, _tool_name(operation), f"-> {escape_terminal(operation['provider_name'])}")


def _tool_name(operation: ToolOperationDocument) -> str:
    return f"{escape_terminal(operation['server'])}/{escape_terminal(operation['remote_name'])}"


def _tool_cells(operation: ToolOperationDocument, first: str, second: str) -> list[str]:
    return [first, second, _tool_words(operation) + risk_words(operation["risks"]), place_words(operation["source"])]


def _tool_words(operation: ToolOperationDocument) -> str:
    match operation["op"]:
        case "attach":
            policy = escape_terminal(envelope_words(operation["after"]["envelope"]))
            policy += _claim_words(operation["after"]["definition"]["annotations"])
            return policy + (" (by a glob)" if operation["reason"] == Reason.SELECTED_BY_GLOB else "")
        case "detach":
            return _reason_words(operation)
        case "refresh":
            return _refresh_words(operation)
        case "set_envelope":
            return ", ".join(
                f"{escape_terminal(str(change['path'][0]))} {_word(change['before'])} -> {_word(change['after'])}"
                for change in operation["changes"]
            )
        case "rename_alias":
            return f"becomes {escape_terminal(operation['after']['provider_name'])}"
        case _:
            assert_never(operation["op"])


def _refresh_words(operation: RefreshDocument) -> str:
    classes = ", ".join(map(escape_terminal, operation["classes"]))
    if operation["reason"] == Reason.MOVED:
        moved = next((each["after"] for each in operation["changes"] if each["path"] == ["remote_name"]), None)
        return f"moves to {_word(moved)}" + (f"; {classes}" if classes else "")
    return _reason_words(operation) if operation["reason"] in FROM_THE_ROWS else classes


_CLAIMS: Mapping[tuple[str, bool], str] = {
    ("readOnlyHint", True): "read-only",
    ("readOnlyHint", False): "not read-only",
    ("destructiveHint", True): "destructive",
    ("destructiveHint", False): "not destructive",
}


def _claim_words(annotations: JsonObject) -> str:
    """What a server claims about side effects, said as its claim, as policy never follows it; empty where it claims none."""
    claimed = [words for (key, value), words in _CLAIMS.items() if annotations.get(key) is value]
    return f" (the server claims {', '.join(claimed)})" if claimed else ""


def _word(value: Json) -> str:
    return escape_terminal(value) if isinstance(value, str) else escape_json(value)


def _reason_words(operation: OperationDocument) -> str:
    return REASON_WORDS.get(operation["reason"], escape_terminal(operation["reason"]))


def risk_words(risks: Sequence[RiskDocument]) -> str:
    """`  ! breaking, finding-high` behind what carries risks, else nothing."""
    codes = sorted({risk["code"] for risk in risks})
    return f"  ! {', '.join(map(escape_terminal, codes))}" if codes else ""


def _registration_words(operation: ServerOperationDocument) -> str:
    before, after = operation["before"], operation["after"]
    if before is not None and after is not None:
        renamed = before["name"] != after["name"]
        return f"becomes server.{escape_terminal(after['name'])}" if renamed else _reason_words(operation)
    state = after or before
    return "" if state is None else _endpoint_words(state)


def _endpoint_words(state: ServerState) -> str:
    where = state["url"] if state["command"] is None else " ".join(state["command"])
    folder = "" if state["cwd"] is None else f" (in {escape_terminal(state['cwd'])})"
    off = "" if state["enabled"] else ", disabled"
    return f"{escape_terminal(state['transport'])} {escape_terminal(where or '', limit=1000)}{folder}{off}"


def _assistant_words(operation: AssistantOperationDocument) -> str:
    before, after = operation["before"], operation["after"]
    if before is None or after is None or operation["reason"] == Reason.FIELDS_CHANGED:
        return " -> ".join(_permission_words(side) for side in (before, after) if side)
    renamed = before["name"] != after["name"]
    return f"becomes assistant.{escape_terminal(after['name'])}" if renamed else _reason_words(operation)


def _permission_words(state: AssistantState) -> str:
    names = ", ".join(escape_terminal(name) for name in state["permissions"])
    return (f"permissions {names}" if names else "no permissions") + (", protected" if state["protect"] else "")


# -- the lines below ---------------------------------------------------------------------------------------------------


def lines_below(operation: OperationDocument) -> list[str]:
    """What stands under an operation: its changed paths, the text nobody has seen yet, the argument that accepts it."""
    held = "held_because" in operation
    match operation["op"]:
        case "attach":
            text = _text_lines(operation["after"]["definition"]) if held else []
            return text + _accept_line(operation, operation["after"]["definition_digest"])
        case "refresh":
            changes = _definition_lines(operation["changes"], operation["before"], operation["after"])
            return changes + _accept_line(operation, operation["after"]["definition_digest"])
        case "update_server" | "rename_server":
            return change_lines(
                [each for each in operation["changes"] if each["path"] not in (["name"], ["workspace"])]
            )
        case _:
            return []


def drift_lines_below(entry: DriftDocument) -> list[str]:
    """What stands under an entry of drift: the changed paths of what a server offers against the lock."""
    before, after = entry["before"], entry["after"]
    return [] if before is None or after is None else _definition_lines(entry["changes"], before, after)


def _definition_lines(changes: Sequence[ChangeDocument], before: DefinitionState, after: DefinitionState) -> list[str]:
    # The line above says where it moves, and who owns it.
    shown = [each for each in changes if each["path"] not in (["remote_name"], ["workspace"])]
    return change_lines(shown, before["definition"], after["definition"])


def _text_lines(definition: DefinitionDocument) -> list[str]:
    """What a model would read of a tool that nobody has seen yet."""
    texts = {"title": definition["title"], "description": definition["description"]}
    return [f"{name}  {quoted(text)}" for name, text in texts.items() if text]


def _accept_line(operation: ToolOperationDocument, digest: str) -> list[str]:
    if _ACCEPTABLE.isdisjoint(_because(operation)):
        return []
    argument = shlex.quote(f"{operation['address']}@{digest[:_DIGEST_CHARACTERS]}")
    return [f"--accept {escape_terminal(argument)}"]
