"""Everything in a plan that carries risks, in one order: what would be done, what is held, what drifted.

Decides what stands under `look first` in text and Markdown alike; the forms decide how. Walks documents, as they do.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.core.operations import RiskCode
from remit.render.shapes import DriftDocument, PlanDocument, RiskDocument, SourceDocument
from remit.render.words import RISK_ORDER

__all__ = ["Flagged", "drift_by_gravity", "flagged", "gravity"]

_ORDER = [code.value for code in RISK_ORDER]


class Flagged(NamedTuple):
    """One risk of one thing. `aside` is ` (held)` or ` (drift)` where nothing is done about it, else empty."""

    address: str
    aside: str
    risk: RiskDocument
    source: SourceDocument | None


def flagged(document: PlanDocument) -> Iterator[Flagged]:
    """Every risk, as the document has them; that of a workspace which moves first."""
    if (moved := document["moved_workspace"]) is not None:
        for risk in moved["risks"]:
            yield Flagged(f"workspace.{document['workspace']}", "", risk, moved["source"])
    for operation in (*document["operations"], *document["held"]):
        aside = " (held)" if "held_because" in operation else ""
        for risk in operation["risks"]:
            yield Flagged(operation["address"], aside, risk, operation["source"])
    for entry in document["drift"]:
        for risk in entry["risks"]:
            yield Flagged(entry["address"], " (drift)", risk, None)


def gravity(risks: Sequence[RiskDocument]) -> int:
    """The place of the worst of some risks in the order of risks; after the last one where there is none that is known."""
    return min((_ORDER.index(risk["code"]) for risk in risks if risk["code"] in _ORDER), default=len(_ORDER))


def drift_by_gravity(entries: Sequence[DriftDocument]) -> list[DriftDocument]:
    """Drift with high findings first, then with other risks, worst first, then the rest; each as the document has it."""

    def order(entry: DriftDocument) -> tuple[bool, int]:
        return not any(risk["code"] == RiskCode.FINDING_HIGH for risk in entry["risks"]), gravity(entry["risks"])

    return sorted(entries, key=order)
