"""Settings for every test, and that no worker's measurement is lost."""

import sys
from typing import Any

from hypothesis import settings

# A deadline for single examples measures the machine, and coverage slows everything down; pytest-timeout bounds each test.
settings.register_profile("remit", deadline=None)
settings.load_profile("remit")


def pytest_sessionfinish() -> None:
    """Keep what was measured: a worker that takes ten seconds to end, as on a busy machine, is killed by xdist."""
    coverage: Any = sys.modules.get("coverage")
    running = coverage.Coverage.current() if coverage is not None else None
    if running is not None:
        running.save()
