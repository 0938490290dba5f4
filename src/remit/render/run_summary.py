"""What a pipeline wants to know of a run, in five keys: as a JSON document for any CI, as step outputs for GitHub Actions.

Decides which facts those are. All values are booleans, counts and a digest: nothing in them was written by a server, so that
a pipeline may use them in conditions and commands.
"""

import json
from collections.abc import Mapping
from typing import TypedDict

from remit.render.shapes import FORMAT_VERSION

__all__ = ["RunSummaryDocument", "run_outputs", "run_summary"]

_DELIMITER = "remit_end_of_value"


class RunSummaryDocument(TypedDict):
    """`has_changes`: there is something to do (plan), something was done (apply), something moved (drift)."""

    format_version: str
    has_changes: bool
    held: int
    incomplete: bool
    digest: str
    counts: Mapping[str, int]


def run_summary(
    *, has_changes: bool, held: int, incomplete: bool, digest: str, counts: Mapping[str, int]
) -> RunSummaryDocument:
    """The document that `--summary FILE` writes; `counts` is the `summary` of the plan or of the drift."""
    return {
        "format_version": FORMAT_VERSION,
        "has_changes": has_changes,
        "held": held,
        "incomplete": incomplete,
        "digest": digest,
        "counts": dict(counts),
    }


def run_outputs(summary: RunSummaryDocument) -> str:
    """The lines for the file behind GITHUB_OUTPUT: the same keys, `counts` as JSON, and each count under its own name.

    Written with a delimiter, as GitHub asks for values of any content; no value here can hold the delimiter.
    """
    values = {
        **{name: str(count) for name, count in summary["counts"].items()},
        "has_changes": json.dumps(summary["has_changes"]),
        "held": str(summary["held"]),
        "incomplete": json.dumps(summary["incomplete"]),
        "digest": summary["digest"],
        "counts": json.dumps(summary["counts"], separators=(",", ":")),
    }
    return "".join(f"{name}<<{_DELIMITER}\n{value}\n{_DELIMITER}\n" for name, value in values.items())
