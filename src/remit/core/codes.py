"""What `remit explain CODE` says: the shape of an entry, and the codes of plans.

Each package keeps the entries of the codes it raises in its own `codes.py`; the CLI joins them, and a test finds any code
that has no entry. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PLAN_CODES", "Explanation"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One code: what it means in one sentence, why remit cares, and what to do."""

    summary: str
    why: str
    fix: str


PLAN_CODES: Mapping[str, Explanation] = {}
