"""What `remit explain CODE` says about the codes of this package."""

from collections.abc import Mapping

from remit.core.codes import Explanation

__all__ = ["CODES"]

CODES: Mapping[str, Explanation] = {}
