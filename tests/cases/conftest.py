"""Fixtures of the field cases."""

from pathlib import Path

import pytest

from tests.cli.workspace import Workspace


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """An empty folder to run remit in."""
    return Workspace(tmp_path)
