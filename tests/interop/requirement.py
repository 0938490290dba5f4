"""Whether a run may do without the real servers: REMIT_INTEROP.

Unset, a test whose server cannot be had is skipped with the reason. `required` makes that a failure: CI sets it where node
is there, so that a green run is never one that tried nothing.
"""

from collections.abc import Mapping
from typing import NoReturn

import pytest

from tests.interop.install import Missing

__all__ = ["settle"]


def settle(missing: Missing, environ: Mapping[str, str]) -> NoReturn:
    """Skip the running test, or fail it where the servers are required."""
    match environ.get("REMIT_INTEROP", ""):
        case "":
            pytest.skip(missing.reason)
        case "required":
            pytest.fail(f"REMIT_INTEROP=required, but {missing.reason}")
        case other:
            pytest.fail(f"REMIT_INTEROP={other}: it is `required` or unset")
