"""A plan document as text for people: danger first, one line for each operation, what is unchanged only counted.

Decides the order of the sections and the words around them; `plan_operations.py` says how an operation reads. It walks
the document and nothing else, so that `remit show PLAN` prints what `remit plan` printed. No clock: a kept listing is
shown with its time, not its age.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import assert_never

from remit.core.live import SkipReason, UnreachableReason
from remit.core.operations import OpName
from remit.core.plan import SAFEGUARD_CODES
from remit.render.escape import escape_terminal
from remit.render.layout import WIDEST, Painter, Style, aligned, counted, repeated
from remit.render.plan_operations import assistant_lines, held_lines, place_words, server_lines
from remit.render.shapes import (
    DeferredDocument,
    DiscoveryDocument,
    DriftDocument,
    LastGoodDocument,
    ListedDocument,
    OperationDocument,
    PlanDocument,
    ProblemDocument,
    QuarantineDocument,
    SourceDocument,
)
from remit.render.words import (
    DEFERRED_WORDS,
    DIRECTION_MARKS,
    DRIFT_WORDS,
    RISK_ORDER,
    SKIP_WORDS,
    SUMMARY_ORDER,
    database_words,
    unmanaged_words,
)

__all__ = [
    "beside_lines",
    "counts_words",
    "deferred_lines",
    "deferred_words",
    "discovery_lines",
    "drift_lines",
    "header_lines",
    "incomplete_words",
    "look_first_lines",
    "observed_words",
    "plan_text",
    "problem_lines",
]

_MOST_OF_A_RISK = 20
_MOST_NAMES = 5
_NAME = 64
_MOST_QUARANTINED = 20
_RISK_DETAIL = 600
"""An endpoint must be read whole, so a risk's detail is not cut to the terminal's width."""
_SEVERITY_STYLES = {"error": Style.DANGER, "warning": Style.CHANGE}


def plan_text(document: PlanDocument, *, colour: bool, width: int) -> str:
    """The whole text of a plan, ending with a newline; the last lines are the counts and the digest.

    `width` is the terminal's, in columns: quoted details are cut to about one line of it. Lines are never wrapped, so that
    each operation stays one line to search for. Without `colour` the text holds no escape sequence.
    """
    paint = Painter(colour=colour)
    room = max(60, width)
    operations = document["operations"]
    sections = (
        header_lines(document, paint),
        discovery_lines(document["discovery"], paint, room),
        look_first_lines(document, paint),
        assistant_lines(operations, paint),
        server_lines(operations, paint),
        held_lines(document["held"], paint),
        drift_lines(document["drift"], paint, room),
        deferred_lines(document["deferred"], paint, room),
        problem_lines(document["problems"], paint),
        _afterwards(document, paint),
        _closing(document, paint),
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def header_lines(document: PlanDocument, paint: Painter) -> list[str]:
    """Workspace, database and files."""
    config = document["config"]
    files = ", ".join(escape_terminal(file["path"]) for file in config["files"]) or "no file"
    commit = f", commit {escape_terminal(config['commit'])}" if config["commit"] else ""
    return [
        paint(Style.HEAD, f"Plan for workspace {escape_terminal(document['workspace'])}"),
        f"  database  {database_words(document['database'])}",
        f"  config    {files} ({escape_terminal(config['digest'])}{commit})",
    ]


# -- discovery ---------------------------------------------------------------------------------------------------------


def discovery_lines(entries: Sequence[DiscoveryDocument], paint: Painter, room: int) -> list[str]:
    """How each declared server was observed, by name."""
    if not entries:
        return []
    entries = sorted(entries, key=lambda entry: entry["server"])
    listed = [entry for entry in entries if entry["status"] == "listed"]
    tools = sum(entry["tools"] for entry in listed)
    head = f"discovery: {len(listed)} of {counted(len(entries), 'server')} listed, {counted(tools, 'tool')}"
    rows = aligned([[escape_terminal(entry["server"]), observed_words(entry, room)] for entry in entries], widest=40)
    lines = [paint(Style.HEAD, head)]
    for entry, row in zip(entries, rows, strict=True):
        known = entry["status"] != "unreachable"
        lines.append(f"  {row}" if known else f"  {paint(Style.DANGER, row)}")
        lines += beside_lines(entry, room) if entry["status"] == "listed" else []
    return lines


def observed_words(entry: DiscoveryDocument, room: int) -> str:
    """How one server was observed, details cut to `room` characters."""
    match entry["status"]:
        case "listed":
            bad = f", {len(entry['quarantined'])} quarantined" if entry["quarantined"] else ""
            kept = f", kept listing of {escape_terminal(entry['cached_at'])}" if entry["cached_at"] else ""
            return f"{counted(entry['tools'], 'tool')}{bad}{kept}"
        case "unreachable":
            detail = escape_terminal(entry["detail"], limit=room)
            if entry["reason"] == UnreachableReason.EMPTY:
                return f"{detail}; if they are really gone: --allow-empty {escape_terminal(entry['server'])}"
            return f"unreachable ({escape_terminal(entry['reason'])}): {detail}{_last_good(entry['last_good'])}"
        case "skipped":
            words = SKIP_WORDS.get(entry["reason"], escape_terminal(entry["reason"]))
            return f"not asked: {words}{_last_good(entry['last_good'])}"
        case _:
            assert_never(entry["status"])


def _last_good(kept: LastGoodDocument | None) -> str:
    if kept is None:
        return ""
    return f"; listed last {escape_terminal(kept['observed_at'])}: {counted(kept['tools'], 'tool')}"


def beside_lines(entry: ListedDocument, room: int) -> Iterator[str]:
    """What a listing has to say beside its tools: at most 20 quarantined ones, each once, and the notes."""
    rows = repeated(aligned([_quarantined(tool, room) for tool in entry["quarantined"]], widest=WIDEST))
    yield from (f"    ! quarantined  {row}" for row in rows[:_MOST_QUARANTINED])
    if (more := len(rows) - _MOST_QUARANTINED) > 0:
        yield f"    ! and {more:,} more quarantined; the JSON plan names them all"
    for note in entry["notes"]:
        yield f"    note: {escape_terminal(note, limit=room)}"


def _quarantined(tool: QuarantineDocument, room: int) -> tuple[str, str]:
    name = escape_terminal(tool["remote_name"], limit=64) or "(no name)"
    return name, f"{escape_terminal(tool['reason'])}: {escape_terminal(tool['detail'], limit=room)}"


# -- danger ------------------------------------------------------------------------------------------------------------


def look_first_lines(document: PlanDocument, paint: Painter) -> list[str]:
    """Vetoes and risks, worst first; no line where there is nothing to fear."""
    risks = [f"  {paint(Style.DANGER, '!')} {line}" for line in aligned(list(_risks(document)), widest=WIDEST)]
    lines = [*_vetoes(document["problems"], paint), *risks]
    return [paint(Style.DANGER, "look first"), *lines] if lines else []


def _vetoes(problems: Sequence[ProblemDocument], paint: Painter) -> Iterator[str]:
    """The way through once, and below it everything that it is the way through of."""
    by_way: dict[str, list[list[str]]] = {}
    for problem in problems:
        if problem["code"] in SAFEGUARD_CODES:
            cells = [
                problem["code"],
                place_words(problem["source"]),
                escape_terminal(problem["address"] or "the workspace"),
            ]
            by_way.setdefault(problem["hint"] or "", []).append([*cells, _message(problem)])
    for way, rows in by_way.items():
        yield f"  {paint(Style.DANGER, '!')} veto: {escape_terminal(way or 'nothing is applied', limit=400)}"
        yield from (f"      {line}" for line in aligned(rows, widest=WIDEST))


def _risks(document: PlanDocument) -> Iterator[list[str]]:
    """Every risk of what would be done or is held, by code, worst first; of one code at most 20 lines."""
    found: dict[str, list[list[str]]] = {code.value: [] for code in RISK_ORDER}
    for operation in (*document["operations"], *document["held"]):
        for risk in operation["risks"]:
            found.setdefault(risk["code"], []).append(_risk_row(operation, risk["code"], risk["detail"]))
    for code, rows in found.items():
        yield from rows[:_MOST_OF_A_RISK]
        if (more := len(rows) - _MOST_OF_A_RISK) > 0:
            yield [escape_terminal(code), "", f"and {more:,} more, marked ! below"]


def _risk_row(operation: OperationDocument, code: str, detail: str) -> list[str]:
    held = " (held)" if "held_because" in operation else ""
    return [
        escape_terminal(code),
        place_words(operation["source"]),
        escape_terminal(operation["address"]) + held,
        escape_terminal(detail, limit=_RISK_DETAIL),
    ]


# -- what is not done --------------------------------------------------------------------------------------------------


def drift_lines(entries: Sequence[DriftDocument], paint: Painter, room: int) -> list[str]:
    """What moved without a commit and needs no operation."""
    if not entries:
        return []
    rows = [
        [
            escape_terminal(entry["kind"]),
            escape_terminal(entry["address"]),
            f"is {escape_terminal(entry['server'])}/{escape_terminal(entry['remote_name'])}",
            escape_terminal(entry["detail"], limit=room),
        ]
        for entry in entries
    ]
    kinds = sorted({entry["kind"] for entry in entries})
    meanings = [f"  {kind} means: {DRIFT_WORDS[kind]}" for kind in kinds if kind in DRIFT_WORDS]
    lines = [f"  {paint(Style.CHANGE, '?')} {line}" for line in aligned(rows, widest=WIDEST)]
    return [paint(Style.HEAD, "drift: moved without a commit, nothing is done about it"), *meanings, *lines]


def deferred_lines(entries: Sequence[DeferredDocument], paint: Painter, room: int) -> list[str]:
    """What could not be checked, by server."""
    if not entries:
        return []
    lines: list[str] = []
    for head, kept in deferred_words(entries, room):
        lines += [f"  . {head}", f"    {kept}"]
    return [paint(Style.HEAD, "deferred: could not be checked, nothing is removed for that"), *lines]


def deferred_words(entries: Sequence[DeferredDocument], room: int) -> Iterator[tuple[str, str]]:
    """For each server and reason, what is wrong there and what becomes of its tools; names are cut to `room`.

    What is wrong in detail is said where the servers are.
    """
    groups: dict[tuple[str, str, bool], list[DeferredDocument]] = {}
    for entry in entries:
        empty = entry["detail"].startswith(f"{UnreachableReason.EMPTY}:")
        groups.setdefault((entry["server"], entry["reason"], empty), []).append(entry)
    for (server, reason, empty), members in sorted(groups.items()):
        state = "lists no tools" if empty else f"is {DEFERRED_WORDS.get(reason, escape_terminal(reason))}"
        yield f"{escape_terminal(server)} {state}", _kept(members, room)


def _kept(members: Sequence[DeferredDocument], room: int) -> str:
    kept = [f"{entry['assistant']}: {entry['remote_name']}" for entry in members if entry["attached"]]
    waiting = [f"{entry['assistant']}: {entry['remote_name']}" for entry in members if not entry["attached"]]
    words = [
        f"{head} ({_some(names, room)})"
        for names, head in (
            (kept, f"{counted(len(kept), 'attached tool')} kept"),
            (waiting, f"{len(waiting):,} not checkable"),
        )
        if names
    ]
    return ", ".join(words)


def _some(names: Sequence[str], room: int) -> str:
    """The first of some names, sorted, and how many more there are."""
    shown = ", ".join(escape_terminal(name, limit=room) for name in sorted(names)[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def problem_lines(problems: Sequence[ProblemDocument], paint: Painter) -> list[str]:
    """Problems and notes; the vetoes stand under `look first`."""
    shown = [problem for problem in problems if problem["code"] not in SAFEGUARD_CODES]
    lines = [line for problem in shown for line in _problem(problem, paint)]
    return [paint(Style.HEAD, "problems"), *lines] if lines else []


def _problem(problem: ProblemDocument, paint: Painter) -> Iterator[str]:
    severity = escape_terminal(problem["severity"])
    about = f" {escape_terminal(problem['address'])}:" if problem["address"] else ""
    place = _full_place(problem["source"])
    style = _SEVERITY_STYLES.get(severity, Style.QUIET)
    yield f"  {place}{paint(style, severity)} {escape_terminal(problem['code'])}:{about} {_message(problem)}"
    if problem["hint"]:
        yield f"    hint: {escape_terminal(problem['hint'], limit=400)}"


def _full_place(source: SourceDocument | None) -> str:
    return "" if source is None else f"{place_words(source)}:{source['column']}: "


def _message(problem: ProblemDocument) -> str:
    return escape_terminal(problem["message"], limit=400)


# -- the end -----------------------------------------------------------------------------------------------------------


def _afterwards(document: PlanDocument, paint: Painter) -> list[str]:
    loads = [
        [escape_terminal(load["name"]), counted(load["tools"], "tool"), f"about {counted(load['tokens'], 'token')}"]
        for load in sorted(document["config"]["assistants"], key=lambda load: load["name"])
    ]
    lines = [paint(Style.HEAD, "assistants after this plan"), *(f"  {row}" for row in aligned(loads, widest=40))]
    return [*(lines if loads else []), *unmanaged_words(document["unmanaged"])]


def _closing(document: PlanDocument, paint: Painter) -> list[str]:
    vetoed = Counter(problem["code"] for problem in document["problems"] if problem["code"] in SAFEGUARD_CODES)
    lines: list[str] = []
    if not document["complete"]:
        lines.append(f"Incomplete: {incomplete_words(document)}.")
    if vetoed:
        lines.append(paint(Style.DANGER, f"Refused by a safeguard: {', '.join(sorted(vetoed))}. Nothing is applied."))
    return [*lines, paint(Style.HEAD, counts_words(document)), f"Digest {escape_terminal(document['digest'])}"]


def incomplete_words(document: PlanDocument) -> str:
    """What an incomplete plan lacks: the servers by name, and how many problems leave something undone."""
    unlisted = [
        entry["server"]
        for entry in document["discovery"]
        if entry["status"] == "unreachable"
        or (entry["status"] == "skipped" and entry["reason"] in {SkipReason.NEVER_LISTED, SkipReason.CACHE_ONLY})
    ]
    words = [f"{_some(unlisted, _NAME)} {'was' if len(unlisted) == 1 else 'were'} not listed"] if unlisted else []
    wrong = sum(each["severity"] == "error" and each["code"] not in SAFEGUARD_CODES for each in document["problems"])
    if wrong:
        words.append(f"{counted(wrong, 'problem')} left something undone")
    return "; ".join(words) or "a selection stayed unresolved"


def counts_words(document: PlanDocument) -> str:
    """The counts in one line; those of policies with their directions."""
    summary = document["summary"]
    done = [
        f"{summary[op.value]:,} {op.value.replace('_', ' ')}{_directions(document) if op is OpName.SET_ENVELOPE else ''}"
        for op in SUMMARY_ORDER
        if summary[op.value]
    ]
    waiting = [
        words
        for number, words in (
            (summary["held"], f"{summary['held']:,} held"),
            (summary["problems"], counted(summary["problems"], "problem")),
            (summary["drift"], f"{summary['drift']:,} drift"),
            (summary["deferred"], f"{summary['deferred']:,} deferred"),
        )
        if number
    ]
    beside, unchanged = [", ".join(waiting)] if waiting else [], f"{summary['unchanged']:,} unchanged"
    if done:
        head = f"Plan: {', '.join(done)}"
    elif summary["held"] or summary["problems"]:
        head = "Plan: no operations"
    else:
        return " | ".join([f"Nothing to do: {unchanged}", *beside])
    return " | ".join([head, *beside, unchanged])


def _directions(document: PlanDocument) -> str:
    found = Counter(each["direction"] for each in document["operations"] if each["op"] == "set_envelope")
    words = [f"{found[each]:,} {each}" for each in DIRECTION_MARKS if found[each]]
    return f" ({', '.join(words)})" if words else ""
