"""Which tools of an imported server are selected and excluded, and how long it may take.

Decides that only exact names select, that exclusion wins, and that a limit which makes no sense is left out; reported all.
"""

from remit.config.dialects.literals import Literals, looks_secret
from remit.config.dialects.model import Draft, Report, Timeout
from remit.config.dialects.written_out import tell_written
from remit.config.layout import MAX_SECONDS
from remit.config.nodes import Node, Scalar
from remit.core.diagnostics import Severity

__all__ = ["seconds_of", "selection_of"]

_GLOB = frozenset("*?[")
_LEAST_MILLISECONDS = 1000
"""A limit below a second is one in seconds that somebody wrote where milliseconds belong."""


def selection_of(draft: Draft, literals: Literals, report: Report) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """What is selected by exact name, None without an allow-list, and what is taken out; what is on both lists is out."""
    exclude = _tools(draft.deny, draft, literals, report)
    if draft.allow is None:
        if exclude:
            message = f"tools are excluded there ({len(exclude)}), and none is selected: nothing is attached"
            hint = "select what you want under `assistants`; the exclusions stand in a comment"
            report("deny-without-allow", draft.deny[0], message, hint=hint, severity=Severity.NOTE)
        return None, exclude
    return tuple(tool for tool in _tools(draft.allow, draft, literals, report) if tool not in exclude), exclude


def _tools(nodes: list[Node], draft: Draft, literals: Literals, report: Report) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in nodes:
        text = node.text if isinstance(node, Scalar) else ""
        if not text or text in found:
            report("dropped-item", node, "a list of tools: an empty or repeated entry was dropped")
        elif looks_secret("", text):
            literals.replace(text, draft.name.text)
            tell_written(report, node, "a list of tools", text, "it was not copied")
        elif not _GLOB.isdisjoint(text):
            message = "a list of tools: a pattern was left out, as it also means tools that do not exist yet"
            report("glob-in-list", node, message, hint="name the tools, or write the pattern yourself")
        else:
            found[text] = None
    return tuple(found)


def seconds_of(limit: Timeout | None, report: Report) -> float | None:
    """A limit in seconds, or None where there is none, or, reported, none that makes sense."""
    if limit is None:
        return None
    number = limit.value.number if isinstance(limit.value, Scalar) else None
    if number is None:
        message = f"the timeout is no number of {limit.unit}; remit's own default holds"
        hint = "mend the entry there, then import again"
        report("not-a-number", limit.value, message, hint=hint, severity=Severity.ERROR)
        return None
    seconds = number / limit.per_second
    if not 0 < seconds <= MAX_SECONDS or (limit.per_second > 1 and number < _LEAST_MILLISECONDS):
        message = f"the timeout of {number:g} {limit.unit} was left out; remit's own default holds"
        hint = f"seconds above 0 and at most {MAX_SECONDS}; this client counts in {limit.unit}"
        report("out-of-range", limit.value, message, hint=hint)
        return None
    return seconds
