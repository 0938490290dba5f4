"""How a secret that was written out is told, or what stands where one belongs.

Decides which of the three it is; what took its place is the caller's.
"""

from remit.config.dialects.literals import written_values
from remit.config.dialects.model import Report
from remit.config.dialects.placeholders import is_placeholder
from remit.config.nodes import Node

__all__ = ["tell_written"]


def tell_written(report: Report, node: Node, label: str, text: str, outcome: str) -> None:
    """Report a credential, or what stands where one belongs; `outcome` says what became of it."""
    if not text.strip():
        report("empty-secret", node, f"{label}: a secret belongs here and nothing is given; {outcome}")
    elif all(map(is_placeholder, written_values(text))):
        report("placeholder-secret", node, f"{label}: this is the placeholder of a secret; {outcome}")
    else:
        report("inline-secret", node, f"{label}: this looks like a credential; {outcome}",
               hint="set it outside of every file, and change it: it was written down")  # fmt: skip
