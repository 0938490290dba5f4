"""What `remit doctor` prints: each check with what was seen, what is wrong and what to do, as text and as JSON.

Decides layout only. No value of a secret comes here; names of variables do.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, TypedDict, assert_never

from remit.core.checkup import Check, Checkup, ServerCheck
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.live import Era, Listed, Skipped, SkipReason, Unreachable, UnreachableReason
from remit.render.diagnostics import problem_document
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import WIDEST, Painter, Style, aligned, counted
from remit.render.shapes import FORMAT_VERSION, ProblemDocument
from remit.render.words import SKIP_WORDS

__all__ = ["CheckDocument", "DoctorDocument", "DoctorServerDocument", "doctor_document", "doctor_text"]

_LIMIT = 500
_STYLES = {Severity.ERROR: Style.DANGER, Severity.WARNING: Style.CHANGE, Severity.NOTE: Style.QUIET}


class CheckDocument(TypedDict):
    """One check; `outcome` is the gravest of its findings."""

    name: str
    outcome: Literal["ok", "note", "warning", "error"]
    summary: str
    findings: list[ProblemDocument]


class DoctorServerDocument(TypedDict):
    """How one server answered; what it did not say is null."""

    server: str
    status: Literal["listed", "unreachable", "skipped"]
    era: Annotated[str, Era] | None
    protocol_version: str | None
    tools: int | None
    quarantined: int | None
    seconds: float | None
    reason: Annotated[str, UnreachableReason, SkipReason] | None
    detail: str | None


class DoctorDocument(TypedDict):
    """Everything that was looked at. `waiting_approvals` is null where there is no database."""

    format_version: str
    workspace: str | None
    versions: Mapping[str, str]
    checks: list[CheckDocument]
    servers: list[DoctorServerDocument]
    waiting_approvals: int | None
    summary: Mapping[str, int]


def doctor_document(checkup: Checkup) -> DoctorDocument:
    """`{format_version, workspace, versions{}, checks[], servers[], waiting_approvals, summary{}}`."""
    return {
        "format_version": FORMAT_VERSION,
        "workspace": checkup.workspace,
        "versions": checkup.versions,
        "checks": [_check(each) for each in checkup.checks],
        "servers": [_server(each) for each in checkup.servers],
        "waiting_approvals": checkup.waiting,
        "summary": _summary(checkup),
    }


def _check(check: Check) -> CheckDocument:
    return {
        "name": check.name,
        "outcome": _outcome(check),
        "summary": well_formed(check.summary),
        "findings": [problem_document(each) for each in check.findings],
    }


def _outcome(check: Check) -> Literal["ok", "note", "warning", "error"]:
    found = {each.severity for each in check.findings}
    if Severity.ERROR in found:
        return "error"
    if Severity.WARNING in found:
        return "warning"
    return "note" if found else "ok"


def _summary(checkup: Checkup) -> dict[str, int]:
    found = [each.severity for check in checkup.checks for each in check.findings]
    unreached = sum(isinstance(each.line.observation, Unreachable) for each in checkup.servers)
    return {**{f"{each.value}s": found.count(each) for each in Severity}, "unreachable": unreached}


def _server(check: ServerCheck) -> DoctorServerDocument:
    seen = check.line.observation
    document: DoctorServerDocument = {
        "server": check.line.server,
        "status": "skipped",
        "era": None,
        "protocol_version": None,
        "tools": None,
        "quarantined": None,
        "seconds": None if check.seconds is None else round(check.seconds, 3),
        "reason": None,
        "detail": None,
    }
    match seen:
        case Listed():
            document["status"], document["era"] = "listed", seen.era.value
            document["protocol_version"] = well_formed(seen.protocol_version)
            document["tools"], document["quarantined"] = len(seen.tools), len(seen.quarantined)
        case Unreachable(reason=reason, detail=detail):
            document["status"], document["reason"] = "unreachable", reason.value
            document["detail"] = well_formed(detail)
        case Skipped(reason=reason):
            document["reason"] = reason.value
        case _:
            assert_never(seen)
    return document


# -- text --------------------------------------------------------------------------------------------------------------


def doctor_text(checkup: Checkup, *, colour: bool) -> str:
    """A line for each check, its findings below it, a line for each server, and the counts; ends with a newline."""
    paint = Painter(colour=colour)
    lines = [line for check in checkup.checks for line in _lines(check, paint, checkup.servers)]
    return "\n".join([*lines, "", _told(_summary(checkup))]) + "\n"


def _lines(check: Check, paint: Painter, servers: Sequence[ServerCheck]) -> Iterator[str]:
    outcome = _outcome(check)
    mark = outcome if outcome == "ok" else paint(_STYLES[Severity(outcome)], outcome)
    yield f"{mark}{' ' * (8 - len(outcome))} {check.name.ljust(9)} {escape_terminal(check.summary, limit=_LIMIT)}"
    if check.name == "servers":
        rows = [_cells(each) for each in servers]
        yield from (f"  {line}" for line in aligned(rows, widest=WIDEST))
    for each in check.findings:
        yield from _finding(each, paint)


def _cells(check: ServerCheck) -> list[str]:
    seen, name = check.line.observation, escape_terminal(check.line.server)
    seconds = "" if check.seconds is None else f"{check.seconds:.2f} s"
    match seen:
        case Listed():
            bad = f", {len(seen.quarantined)} quarantined" if seen.quarantined else ""
            version = escape_terminal(seen.protocol_version, limit=40)
            return [name, f"{counted(len(seen.tools), 'tool')}{bad}", f"{seen.era} era, protocol {version}", seconds]
        case Unreachable(reason=reason):
            return [name, f"not reached ({reason})", "", seconds]
        case Skipped(reason=reason):
            told = "not asked: --offline" if reason is SkipReason.OFFLINE else f"not asked: {SKIP_WORDS[reason]}"
            return [name, told]
        case _:
            assert_never(seen)


def _finding(finding: Diagnostic, paint: Painter) -> Iterator[str]:
    severity = paint(_STYLES[finding.severity], finding.severity.value)
    places = [str(each) for each in (finding.source, finding.address) if each]
    place = f"{escape_terminal(' '.join(places), limit=_LIMIT)}: " if places else ""
    yield f"  {severity} {finding.code}: {place}{escape_terminal(finding.message, limit=_LIMIT)}"
    if finding.hint:
        yield f"    do: {escape_terminal(finding.hint, limit=_LIMIT)}"


def _told(counts: Mapping[str, int]) -> str:
    words = [counted(counts[f"{each.value}s"], each.value) for each in Severity if counts[f"{each.value}s"]]
    if counts["unreachable"]:
        words.append(f"{counted(counts['unreachable'], 'server')} not reached")
    return ", ".join(words) or "nothing is wrong"
