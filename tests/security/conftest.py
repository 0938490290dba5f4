"""Fixtures of the security tests."""

from pathlib import Path

import pytest

from tests.cli.workspace import Workspace


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """An empty folder to run remit in."""
    return Workspace(tmp_path)
