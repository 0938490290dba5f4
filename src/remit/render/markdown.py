"""A plan document as Markdown for a review comment or a job summary: danger first, then by assistant, details folded.

Decides sections and their order; `markdown_ranks.py` says how grave each line is, `markdown_operations.py` how an operation
reads, `markdown_code.py` fences what others wrote, `markdown_budget.py` drops what does not fit. Walks the document and
nothing else, as the text does.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from remit.core.lock import for_environment
from remit.core.operations import RiskCode
from remit.core.plan import SAFEGUARD_CODES
from remit.render.flagged import drift_by_gravity, flagged
from remit.render.layout import counted
from remit.render.markdown_budget import Piece, Section, fitted
from remit.render.markdown_code import code, code_line
from remit.render.markdown_operations import assistant_sections, folded_lines, held_section, other_section
from remit.render.markdown_ranks import Rank, risk_rank
from remit.render.plan_operations import drift_lines_below, place_words, risk_words
from remit.render.plan_sentences import (
    beside_lines,
    counts_words,
    deferred_words,
    incomplete_words,
    lock_words,
    observed_words,
    unlisted_servers,
    vetoes_by_way,
)
from remit.render.shapes import DiscoveryDocument, DriftDocument, PlanDocument, ProblemDocument
from remit.render.words import DRIFT_WORDS, RISK_ORDER, unmanaged_words

__all__ = [
    "COMMENT_BYTES",
    "SUMMARY_BYTES",
    "applied_markdown",
    "comment_marker",
    "digest_in",
    "drift_markdown",
    "marker_of",
    "plan_markdown",
]

COMMENT_BYTES = 60_000
"""Of a comment: GitHub refuses one over 65,536 characters, and the caller may add something."""

SUMMARY_BYTES = 900_000
"""Of a job summary: GitHub drops a step's summary over 1 MiB as a whole."""

_MARKER = re.compile(r"(<!-- remit (?:plan|apply|drift) [a-z0-9_.-]{1,64}(?: [a-z0-9_.-]{1,64})? -->)\r?\n")
_DIGEST = re.compile(r"^Digest `(sha256:[0-9a-f]{64})`", re.MULTILINE)
_ROOM = 200
_MESSAGE, _MOST_OUTCOMES = 400, 3
_ENDPOINTS = 2_000
"""Characters of an endpoint that becomes another: both are read whole, as far as anybody reads a line."""

_MOST_OF_A_RISK, _BYTES_OF_A_RISK = 20, 4_000
"""What one code of a risk may take, so that no code crowds out another; new endpoints are all shown."""

_MOST_ERRORS, _MOST_DRIFT = 20, 20
_SEVERITY_RANKS = {"error": Rank.ERROR, "warning": Rank.WARNING}


def plan_markdown(document: PlanDocument, *, budget_bytes: int = COMMENT_BYTES) -> str:
    """The plan in at most `budget_bytes` bytes of UTF-8, ending with a newline; says what it left out, by kind and count.

    The first line is the marker `<!-- remit plan WORKSPACE [ENVIRONMENT] -->`, by which a comment is found again and
    replaced. No text of a server or of a file can be anything but the text of code. Raises ValueError for a budget below
    `markdown_budget.LEAST_BUDGET`.
    """
    return fitted(_head("plan", document, counts_words(document)), _sections(document), budget_bytes=budget_bytes)


def applied_markdown(document: PlanDocument, outcome: Sequence[str], *, budget_bytes: int = COMMENT_BYTES) -> str:
    """A plan under the printable lines that say what became of it; all else as `plan_markdown` does it."""
    head = _head("apply", document, counts_words(document))
    lines = "\n".join(f"- {code_line(line.strip()[:_MESSAGE])}" for line in outcome[:_MOST_OUTCOMES])
    return fitted(f"{head}\n\n{lines}", _sections(document), budget_bytes=budget_bytes)


def drift_markdown(document: PlanDocument, counts: str, *, budget_bytes: int = COMMENT_BYTES) -> str:
    """A plan restricted to its drift (`drift.py`), with its counts in words; all else as `plan_markdown` does it."""
    return fitted(_head("drift", document, counts), _sections(document), budget_bytes=budget_bytes)


def comment_marker(what: Literal["plan", "apply", "drift"], workspace: str, environment: str | None) -> str:
    """The first line of a comment, hidden where it is shown: which run, workspace and environment it is of."""
    # A name that is no workspace's can stand in a file that came from anywhere, and this line is HTML.
    scope = [workspace, *([] if environment is None else [environment])]
    name = " ".join(re.sub(r"[^a-z0-9_-]", ".", each[:64]) for each in scope)
    return f"<!-- remit {what} {name} -->"


def marker_of(text: str) -> str | None:
    """The marker that a text begins with, if it does: only its first line counts, as others may quote one."""
    found = _MARKER.match(text)
    return None if found is None else found[1]


def digest_in(text: str) -> str | None:
    """The digest of the plan that a comment shows: from its head alone, which ends at the first section."""
    head = re.split(r"^### ", text.replace("\r\n", "\n"), maxsplit=1, flags=re.MULTILINE)[0]
    found = _DIGEST.search(head)
    return None if found is None else found[1]


def _head(what: Literal["plan", "apply", "drift"], document: PlanDocument, counts: str) -> str:
    environment = document["environment"]
    scope = [document["workspace"], *([] if environment is None else [environment])]
    lines = [
        comment_marker(what, document["workspace"], environment),
        f"## remit {what} {' '.join(code(each, limit=64) for each in scope)}",
        f"**{counts}**",
    ]
    if (moved := document["moved_workspace"]) is not None:
        lines.append(
            f"The workspace is recorded as {code(moved['name'], limit=64)} and moves with all its rows and its history."
        )
    if not document["complete"]:
        lines.append(f"**Incomplete:** {code_line(incomplete_words(document))}.")
    vetoed = sorted({problem["code"] for problem in document["problems"]} & SAFEGUARD_CODES)
    if vetoed:
        lines.append(f"**Refused by a safeguard:** {', '.join(vetoed)}. Nothing is applied.")
    commit = document["config"]["commit"]
    made_of = f", commit {code(commit, limit=40)}" if commit else ""
    lines.append(f"Digest {code(document['digest'], limit=80)}{made_of}")
    if (lock := document["config"]["lock"]) is not None:
        lines.append(f"Lock {code(lock_words(lock), limit=400)}")
    return "\n\n".join(lines)


def _sections(document: PlanDocument) -> list[Section]:
    sections = (
        Section(title="Look first", pieces=(*_vetoes(document["problems"]), *_risks(document))),
        Section(title="Not listed", pieces=tuple(_server(entry) for entry in unlisted_servers(document))),
        Section(title="Problems", pieces=tuple(_problems(document["problems"]))),
        held_section(document["held"], document["environment"]),
        other_section(document["operations"]),
        *assistant_sections(document["operations"]),
        _drift(document),
        _deferred(document),
        _discovery(document),
        _loads(document),
    )
    return [section for section in sections if section.pieces]


# -- danger ------------------------------------------------------------------------------------------------------------


def _vetoes(problems: Sequence[ProblemDocument]) -> Iterator[Piece]:
    """The way through once, and below it everything that it is the way through of: a piece each, as there may be many."""
    for way, vetoes in vetoes_by_way(problems).items():
        head = f"- **veto** {code_line(way)}\n"
        for problem in vetoes:
            yield Piece(rank=Rank.VETO, kind="veto", text=f"{head}  - {_problem(problem)}")
            head = ""


def _risks(document: PlanDocument) -> Iterator[Piece]:
    """The risks of what would be done, is held or drifted, worst first; of one code a bounded part, and a count of the others."""
    order = [code.value for code in RISK_ORDER]
    found: dict[str, list[str]] = {code: [] for code in order}
    for each in flagged(document):
        slug = each.risk["code"]
        limit = _ENDPOINTS if slug == RiskCode.ENDPOINT_CHANGE else _MESSAGE
        place = _place(place_words(each.source))
        said = f"{code(each.address)}{each.aside}: {code(each.risk['detail'], limit=limit)}{place}"
        found.setdefault(slug, []).append(f"- **{_word(slug, order)}** {said}")
    for slug, lines in found.items():
        shown = lines if slug == RiskCode.ENDPOINT_CHANGE else list(_bounded(lines))
        more = len(lines) - len(shown)
        rest = [f"- **{_word(slug, order)}** and {more:,} more, marked ! below"] if more else []
        yield from (Piece(rank=risk_rank(slug), kind="risk", text=text) for text in (*shown, *rest))


def _bounded(lines: Sequence[str]) -> Iterator[str]:
    room = _BYTES_OF_A_RISK
    for line in lines[:_MOST_OF_A_RISK]:
        room -= len(line.encode())
        if room < 0:
            return
        yield line


def _word(slug: str, known: Sequence[str]) -> str:
    return slug if slug in known else code(slug)


def _problems(problems: Sequence[ProblemDocument]) -> Iterator[Piece]:
    errors: Counter[str] = Counter()
    for problem in problems:
        if problem["code"] not in SAFEGUARD_CODES:
            rank = _SEVERITY_RANKS.get(problem["severity"], Rank.ASIDE)
            if rank is Rank.ERROR:
                errors[problem["code"]] += 1
                rank = Rank.ERROR if errors[problem["code"]] <= _MOST_ERRORS else Rank.MORE_ERRORS
            severity = _word(problem["severity"], ("error", "warning", "note"))
            hint = f"; {code(problem['hint'], limit=_MESSAGE)}" if problem["hint"] else ""
            yield Piece(rank=rank, kind="problem", text=f"- **{severity}** {_problem(problem, hint)}")


def _problem(problem: ProblemDocument, hint: str = "") -> str:
    about = f" {code(problem['address'])}" if problem["address"] else ""
    place = _place(place_words(problem["source"]))
    return f"{code(problem['code'])}{about}: {code(problem['message'], limit=_MESSAGE)}{hint}{place}"


def _place(words: str) -> str:
    return f" ({code_line(words)})" if words else ""


# -- beside the plan ---------------------------------------------------------------------------------------------------


def _drift(document: PlanDocument) -> Section:
    kinds = sorted({entry["kind"] for entry in document["drift"]} & DRIFT_WORDS.keys())
    entries = drift_by_gravity(document["drift"])
    pieces = tuple(piece for index, entry in enumerate(entries) for piece in _moved(entry, first=index < _MOST_DRIFT))
    lead = "\n\n".join(
        f"{kind} means: {for_environment(DRIFT_WORDS[kind], document['environment'])}." for kind in kinds
    )
    return Section(title="Drift: moved without a commit, nothing is done about it", pieces=pieces, lead=lead)


def _moved(entry: DriftDocument, *, first: bool) -> Iterator[Piece]:
    tool = code(f"{entry['server']}/{entry['remote_name']}")
    risks = f" {code_line(words.strip())}" if (words := risk_words(entry["risks"])) else ""
    said = f"{code(entry['address'])} is {tool}: {code(entry['detail'])}{risks}"
    risky = bool(entry["risks"]) and first
    rank = Rank.DRIFT_RISKY if risky else Rank.UNCHECKED
    yield Piece(rank=rank, kind="drift", text=f"- **{_word(entry['kind'], tuple(DRIFT_WORDS))}** {said}")
    if lines := drift_lines_below(entry):
        below = Rank.DETAILS_OF_DANGER if risky else Rank.DETAILS
        yield Piece(rank=below, kind="details", text=folded_lines(lines, len(entry["changes"])))


def _deferred(document: PlanDocument) -> Section:
    pieces = tuple(
        Piece(rank=Rank.UNCHECKED, kind="deferred server", text=f"- {code_line(head)}: {code_line(kept)}")
        for head, kept in deferred_words(document["deferred"], _ROOM)
    )
    return Section(title="Deferred: could not be checked, nothing is removed for that", pieces=pieces)


def _discovery(document: PlanDocument) -> Section:
    """The servers that nothing is wrong with, folded; the others stand above."""
    entries, unlisted = document["discovery"], {entry["server"] for entry in unlisted_servers(document)}
    listed = sum(entry["status"] == "listed" for entry in entries)
    return Section(
        title="Servers",
        pieces=tuple(_server(entry) for entry in entries if entry["server"] not in unlisted),
        fold=f"{listed} of {counted(len(entries), 'server')} listed",
    )


def _server(entry: DiscoveryDocument) -> Piece:
    lines = [f"- {code(entry['server'])}: {code_line(observed_words(entry, _ROOM))}"]
    if entry["status"] == "listed":
        lines += [f"  - {code_line(line.strip())}" for line in beside_lines(entry, _ROOM)]
    rank = Rank.UNCHECKED if entry["status"] == "unreachable" else Rank.ASIDE
    return Piece(rank=rank, kind="server listing", text="\n".join(lines))


def _loads(document: PlanDocument) -> Section:
    pieces = tuple(
        Piece(
            rank=Rank.ASIDE,
            kind="assistant load",
            text=f"- {code(load['name'])}: {counted(load['tools'], 'tool')}, about {counted(load['tokens'], 'token')}",
        )
        for load in document["config"]["assistants"]
    )
    unmanaged = unmanaged_words(document["unmanaged"])
    return Section(
        title="Assistants after this plan",
        pieces=pieces,
        lead="".join(f"{line[:1].upper()}{line[1:]}." for line in unmanaged),
        fold="tools and estimated tokens",
    )
