"""A plan document as text for people: danger first, one line for each operation, what is unchanged only counted.

Decides the order of the sections and the words around them; `plan_operations.py` says how an operation reads, and
`plan_sentences.py` what the text has in common with the Markdown. It walks the document and nothing else, so that
`remit show PLAN` prints what `remit plan` printed. No clock: a kept listing is shown with its time, not its age.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from remit.core.lock import for_environment
from remit.core.plan import SAFEGUARD_CODES
from remit.render.escape import escape_terminal
from remit.render.flagged import Flagged, drift_by_gravity, flagged
from remit.render.layout import WIDEST, Painter, Style, aligned, counted
from remit.render.plan_operations import (
    assistant_lines,
    drift_lines_below,
    held_lines,
    place_words,
    risk_words,
    server_lines,
)
from remit.render.plan_sentences import (
    beside_lines,
    counts_words,
    deferred_words,
    incomplete_words,
    lock_words,
    observed_words,
    vetoes_by_way,
)
from remit.render.shapes import (
    DeferredDocument,
    DiscoveryDocument,
    DriftDocument,
    PlanDocument,
    ProblemDocument,
    SourceDocument,
)
from remit.render.words import DRIFT_WORDS, RISK_ORDER, database_words, unmanaged_words

__all__ = [
    "deferred_lines",
    "discovery_lines",
    "drift_lines",
    "header_lines",
    "look_first_lines",
    "plan_text",
    "problem_lines",
    "scope_words",
]

_MOST_OF_A_RISK = 20
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
        held_lines(document["held"], document["environment"], paint),
        drift_lines(document["drift"], document["environment"], paint, room),
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
    lock = config["lock"]
    return [
        paint(Style.HEAD, f"Plan for workspace {scope_words(document)}"),
        f"  database  {database_words(document['database'])}",
        f"  config    {files} ({escape_terminal(config['digest'])}{commit})",
        *([] if lock is None else [f"  lock      {lock_words(lock)}"]),
    ]


def scope_words(document: PlanDocument) -> str:
    """The workspace, and the environment where there is one: `acme, environment prod`."""
    environment = document["environment"]
    named = "" if environment is None else f", environment {escape_terminal(environment)}"
    moved = document["moved_workspace"]
    renamed = "" if moved is None else f", which is recorded as {escape_terminal(moved['name'])} and moves"
    return f"{escape_terminal(document['workspace'])}{named}{renamed}"


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


# -- danger ------------------------------------------------------------------------------------------------------------


def look_first_lines(document: PlanDocument, paint: Painter) -> list[str]:
    """Vetoes and risks, worst first; no line where there is nothing to fear."""
    risks = [f"  {paint(Style.DANGER, '!')} {line}" for line in aligned(list(_risks(document)), widest=WIDEST)]
    lines = [*_vetoes(document["problems"], paint), *risks]
    return [paint(Style.DANGER, "look first"), *lines] if lines else []


def _vetoes(problems: Sequence[ProblemDocument], paint: Painter) -> Iterator[str]:
    """The way through once, and below it everything that it is the way through of."""
    for way, vetoes in vetoes_by_way(problems).items():
        rows = [
            [
                each["code"],
                place_words(each["source"]),
                escape_terminal(each["address"] or "the workspace"),
                _message(each),
            ]
            for each in vetoes
        ]
        yield f"  {paint(Style.DANGER, '!')} veto: {way}"
        yield from (f"      {line}" for line in aligned(rows, widest=WIDEST))


def _risks(document: PlanDocument) -> Iterator[list[str]]:
    """Every risk of what would be done, is held or drifted, by code, worst first; of one code at most 20 lines."""
    found: dict[str, list[list[str]]] = {code.value: [] for code in RISK_ORDER}
    for each in flagged(document):
        found.setdefault(each.risk["code"], []).append(_risk_row(each))
    for code, rows in found.items():
        yield from rows[:_MOST_OF_A_RISK]
        if (more := len(rows) - _MOST_OF_A_RISK) > 0:
            yield [escape_terminal(code), "", f"and {more:,} more, marked ! below"]


def _risk_row(found: Flagged) -> list[str]:
    return [
        escape_terminal(found.risk["code"]),
        place_words(found.source),
        escape_terminal(found.address) + found.aside,
        escape_terminal(found.risk["detail"], limit=_RISK_DETAIL),
    ]


# -- what is not done --------------------------------------------------------------------------------------------------


def drift_lines(entries: Sequence[DriftDocument], environment: str | None, paint: Painter, room: int) -> list[str]:
    """What moved without a commit and needs no operation; below what changed against the lock, its changed paths."""
    if not entries:
        return []
    entries = drift_by_gravity(entries)
    rows = [
        [
            escape_terminal(entry["kind"]),
            escape_terminal(entry["address"]),
            f"is {escape_terminal(entry['server'])}/{escape_terminal(entry['remote_name'])}",
            escape_terminal(entry["detail"], limit=room) + risk_words(entry["risks"]),
        ]
        for entry in entries
    ]
    kinds = sorted({entry["kind"] for entry in entries})
    meanings = [
        f"  {kind} means: {for_environment(DRIFT_WORDS[kind], environment)}" for kind in kinds if kind in DRIFT_WORDS
    ]
    lines: list[str] = []
    for entry, line in zip(entries, aligned(rows, widest=WIDEST), strict=True):
        lines.append(f"  {paint(Style.CHANGE, '?')} {line}")
        lines += [f"      {below}" for below in drift_lines_below(entry)]
    return [paint(Style.HEAD, "drift: moved without a commit, nothing is done about it"), *meanings, *lines]


def deferred_lines(entries: Sequence[DeferredDocument], paint: Painter, room: int) -> list[str]:
    """What could not be checked, by server."""
    if not entries:
        return []
    lines: list[str] = []
    for head, kept in deferred_words(entries, room):
        lines += [f"  . {head}", f"    {kept}"]
    return [paint(Style.HEAD, "deferred: could not be checked, nothing is removed for that"), *lines]


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
