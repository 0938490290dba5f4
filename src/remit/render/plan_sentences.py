"""The sentences about a plan that its text and its Markdown share, made printable.

Decides what is said of a server's listing, of what could not be checked, of what an incomplete plan lacks, of what stays in
service and of the counts; the forms decide where it stands and how it is marked. Walks documents, as they do.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import assert_never

from remit.core.live import UNTRUSTED, SkipReason, UnreachableReason
from remit.core.operations import OpName
from remit.core.plan import SAFEGUARD_CODES
from remit.render.escape import escape_terminal
from remit.render.layout import WIDEST, aligned, counted, repeated
from remit.render.shapes import (
    ConfigFileDocument,
    DeferredDocument,
    DiscoveryDocument,
    LastGoodDocument,
    ListedDocument,
    OperationDocument,
    PlanDocument,
    ProblemDocument,
    QuarantineDocument,
)
from remit.render.words import DEFERRED_WORDS, DIRECTION_MARKS, SKIP_WORDS, SUMMARY_ORDER

__all__ = [
    "STAYS_IN_SERVICE",
    "beside_lines",
    "counts_words",
    "deferred_words",
    "incomplete_words",
    "lock_words",
    "observed_words",
    "replaces_something",
    "unlisted_servers",
    "vetoes_by_way",
]

STAYS_IN_SERVICE = "what was approved before stays in service"

_MOST_NAMES = 5
_NAME = 64
_MOST_QUARANTINED = 20
_WAY = 400
_UNKNOWN = frozenset({SkipReason.NEVER_LISTED, SkipReason.CACHE_ONLY})
"""Reasons to skip a server that leave something unknown; the others are wishes."""


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


def lock_words(lock: ConfigFileDocument) -> str:
    """The lock that a plan obeys: `mcp.lock (sha256:...)`."""
    return f"{escape_terminal(lock['path'])} (sha256:{escape_terminal(lock['sha256'])})"


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


def unlisted_servers(document: PlanDocument) -> list[DiscoveryDocument]:
    """The servers for which an incomplete plan is incomplete: they could not be listed, or were never listed before."""
    unsure = {entry["server"] for entry in document["deferred"]}
    by_lock = document["config"]["lock"] is not None

    def is_unlisted(entry: DiscoveryDocument) -> bool:
        if entry["status"] != "skipped":
            return entry["status"] == "unreachable"
        # One that was left alone is as good as listed where the lock knows all that is selected of it.
        left_alone = entry["reason"] in UNTRUSTED and (not by_lock or entry["server"] in unsure)
        return left_alone or entry["reason"] in _UNKNOWN

    return [entry for entry in document["discovery"] if is_unlisted(entry)]


def incomplete_words(document: PlanDocument) -> str:
    """What an incomplete plan lacks: the servers by name, and how many problems leave something undone."""
    unlisted = [entry["server"] for entry in unlisted_servers(document)]
    words = [f"{_some(unlisted, _NAME)} {'was' if len(unlisted) == 1 else 'were'} not listed"] if unlisted else []
    wrong = sum(each["severity"] == "error" and each["code"] not in SAFEGUARD_CODES for each in document["problems"])
    if wrong:
        words.append(f"{counted(wrong, 'problem')} left something undone")
    return "; ".join(words) or "a selection stayed unresolved"


def vetoes_by_way(problems: Sequence[ProblemDocument]) -> dict[str, list[ProblemDocument]]:
    """The vetoes of safeguards by the way through them, so that each way is said once; both printable and in their order."""
    ways: dict[str, list[ProblemDocument]] = {}
    for problem in problems:
        if problem["code"] in SAFEGUARD_CODES:
            way = escape_terminal(problem["hint"] or "nothing is applied", limit=_WAY)
            ways.setdefault(way, []).append(problem)
    return ways


def replaces_something(held: Sequence[OperationDocument]) -> bool:
    """Whether something that waits has an approved state before it: only then does anything stay in service."""
    return any(each["before"] is not None for each in held)


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
    if document["moved_workspace"] is not None:
        done.insert(0, "the workspace moves")
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
