"""Whether a run may do without the real servers: REMIT_INTEROP.

Unset, a test whose server cannot be had is skipped with the reason: a machine without a network runs the rest. `required`
makes that a failure, so that a green run is never one that tried nothing: CI sets it. Only servers from npm are skipped then,
and only where there is no node.
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
        case "required" if missing.without_node:
            pytest.skip(missing.reason)
        case "required":
            pytest.fail(f"REMIT_INTEROP=required, but {missing.reason}")
        case other:
            pytest.fail(f"REMIT_INTEROP={other}: it is `required` or unset")
