"""What `remit explain` says about the codes of lock files."""

from collections.abc import Mapping

from remit.core.codes import Explanation

__all__ = ["LOCK_CODES"]

_ANEW = "Run `remit lock`, which writes it anew from the servers, and have its change reviewed."

LOCK_CODES: Mapping[str, Explanation] = {
    "lock-conflict": Explanation(
        "A merge left its marks in the lock file.",
        "Half of one lock and half of another is nothing that anybody reviewed.",
        "Take either side whole, then run `remit lock`: it writes what the merged configuration selects.",
    ),
    "lock-digest": Explanation(
        "A definition in the lock file does not fit the digest beside it.",
        "A lock is what `remit lock` read from a server. Text that was edited by hand is no server's, and a digest that was "
        "edited stands for a text that nobody saw.",
        _ANEW,
    ),
    "lock-duplicate-key": Explanation(
        "A key stands twice in one object of the lock file.",
        "Readers differ on which one holds, so a reviewer may have seen the other.",
        _ANEW,
    ),
    "lock-entry": Explanation(
        "An entry of the lock file is not one that remit writes.",
        "The lock decides what models read; what is not understood is not guessed.",
        _ANEW,
    ),
    "lock-environment": Explanation(
        "The lock file belongs to another environment than the run.",
        "Servers differ by environment, and so does what was approved of them.",
        "Write this environment's own with `remit lock --env NAME`.",
    ),
    "lock-misshapen": Explanation(
        "The lock file is not written the way remit writes it.",
        "White space can push a line off a reviewer's screen and escapes can hide words, so one text stands for one lock.",
        _ANEW,
    ),
    "lock-newer": Explanation(
        "The lock file was written by a newer remit.",
        "Reading it by older rules could approve something else, and writing it anew would throw away what only the newer one knows.",
        "Update remit wherever this configuration is planned, applied or locked.",
    ),
    "lock-not-ascii": Explanation(
        "The lock file holds a byte that is no printable ASCII.",
        "A character that hides or reorders text would stand in it unseen; remit writes each as a visible escape.",
        _ANEW,
    ),
    "lock-syntax": Explanation(
        "The lock file is not JSON.",
        "A lock that is read by halves would let in or hold back what nobody decided.",
        "Bring the file back from version control, or run `remit lock`.",
    ),
    "lock-version": Explanation(
        "The lock file names no version of its format that there is.",
        "Reading it by the wrong rules could approve something else.",
        _ANEW,
    ),
}
"""`lock-missing` is a plan's (core/codes.py); what commands say of a lock is in cli/codes.py."""
