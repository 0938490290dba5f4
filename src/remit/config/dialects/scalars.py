"""Single values of a client configuration: which are text, which only look like it, which stand in for another.

Decides nothing about what they mean; drafting.py does.
"""

from remit.config.dialects.model import Form, Report
from remit.config.nodes import Kind, ListNode, MapNode, Node, Scalar
from remit.core.diagnostics import Severity

__all__ = ["broken", "is_null", "is_trap", "quote", "stand_in", "texts_of"]

_WORDS_OF_1_1 = frozenset({"y", "yes", "n", "no", "on", "off"})


def is_trap(node: Node, form: Form) -> bool:
    """Whether a scalar is not the text it looks like: to YAML 1.1, which these tools use, `no` is false and `0755` is 493."""
    if not isinstance(node, Scalar) or not node.plain:
        return False
    return node.kind is not Kind.TEXT or (form is Form.YAML and node.text.lower() in _WORDS_OF_1_1)


def stand_in(like: Node, text: str) -> Scalar:
    """A text that the source says in other words, at the place where it says it."""
    return Scalar(like.file, like.start, like.end, text, False)


def quote(report: Report, node: Node, what: str) -> None:
    """Report that something which must be a text is none."""
    hint = "write it in quotes: parsers of YAML and JSON read it as a number, as true or false, or as nothing"
    report("not-a-string", node, f"{what} is no text", hint=hint, severity=Severity.ERROR)


def texts_of(node: Node, form: Form, report: Report, what: str) -> list[Node] | None:
    """The texts of a list; None, reported, where it is none or holds something else."""
    if not isinstance(node, ListNode):
        report("wrong-type", node, f"{what} is no list", severity=Severity.ERROR)
        return None
    wrong = [item for item in node.items if not isinstance(item, Scalar) or is_trap(item, form)]
    for item in wrong:
        quote(report, item, f"an entry of {what}")
    return None if wrong else list(node.items)


def is_null(node: Node) -> bool:
    """Whether a value is none."""
    return isinstance(node, Scalar) and node.kind is Kind.NULL


def broken(node: Node) -> Node:
    """Stands for a value that was reported: whoever finds it in a command drops the entry."""
    return MapNode(node.file, node.start, node.end, {})
