"""Fixtures of the command-line tests."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.governed import Rows, applied
from tests.cli.workspace import Workspace


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """An empty folder to run remit in."""
    return Workspace(tmp_path)


@pytest.fixture
def rows(here: Workspace) -> Generator[Rows]:
    """`here` with tools applied, and a journal that writes rows of governed calls into its database."""
    with applied(here) as rows:
        yield rows
