"""How grave each line of Markdown is: what is dropped last where there is no room.

What remit would run and connect to comes before all else, as the file alone can add to it: however much a server says, and
however bad, nothing of it stands before a new command. Of what servers can multiply, a rank takes a bounded part, and what
goes beyond comes after everything else that is dangerous.
"""

from enum import IntEnum

from remit.core.operations import RiskCode
from remit.render.words import RISK_ORDER

__all__ = ["Rank", "risk_rank"]


class Rank(IntEnum):
    """0 is the gravest. `RISK` is the first of a range, one for each code of a risk."""

    ENDPOINT = 0
    SERVER_CHANGED = 1
    VETO = 2
    ERROR = 3
    RISK = 10
    HELD_BY_FILE = 30
    HELD_RISKY = 31
    HELD = 32
    DRIFT_RISKY = 33
    RISKY = 35
    MORE_HELD = 36
    MORE_ERRORS = 37
    DETAILS_OF_DANGER = 40
    REMOVED = 41
    WARNING = 42
    UNCHECKED = 43
    CHANGED = 50
    ADDED = 51
    DETAILS = 55
    ASIDE = 60


_ORDER = [code.value for code in RISK_ORDER]


def risk_rank(code: str) -> int:
    """The rank of a risk by its code; one that this version does not know comes last among them."""
    if code == RiskCode.ENDPOINT_CHANGE:
        return Rank.ENDPOINT
    return Rank.RISK + (_ORDER.index(code) if code in _ORDER else len(_ORDER))
