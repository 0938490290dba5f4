"""What `remit explain` says about the codes of saved plans and applies."""

from collections.abc import Mapping

from remit.core.codes import Explanation

__all__ = ["CODES"]

CODES: Mapping[str, Explanation] = {
    "plan-unreadable": Explanation(
        "The file is not a saved plan that this remit can apply.",
        "A plan is reviewed, so it must be exactly what was made: one that was edited, cut short or made by a later format "
        "could do something that nobody looked at.",
        "make the plan again with `remit plan --out FILE` and have it reviewed again.",
    ),
    "plan-stale": Explanation(
        "What was reviewed no longer comes out of the files, the database and the servers.",
        "An apply does exactly what its plan showed. Something changed since, so nothing was done at all (exit code 5).",
        "run `remit plan` to see what comes out now, save it, have it reviewed, and apply that.",
    ),
}
