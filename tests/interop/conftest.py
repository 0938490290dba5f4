"""Fixtures of the tests on real servers: the installed programs, and the page that a run may write."""

import os
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path

import pytest

from tests.cli.workspace import Workspace
from tests.interop.cases import CASES
from tests.interop.install import Missing, Registry, obtain
from tests.interop.page import PAGE, Row, page_text
from tests.interop.requirement import settle


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """An empty folder to run remit in."""
    return Workspace(tmp_path)


@pytest.fixture(scope="session")
def programs() -> Callable[[Registry], Path]:
    """Gives the folder of a registry's servers; without them it skips the test, or fails it (`requirement.py`)."""
    found = cache(obtain)

    def folder(registry: Registry) -> Path:
        answer = found(registry)
        return settle(answer, os.environ) if isinstance(answer, Missing) else answer

    return folder


@pytest.fixture(scope="session")
def rows() -> Generator[list[Row]]:
    """Where tests put what they saw; it becomes the page where REMIT_WRITE_DOCS=1 asks for it."""
    seen: list[Row] = []
    yield seen
    if os.environ.get("REMIT_WRITE_DOCS") == "1":
        # Half a page would look like a whole one: a run of a few cases, or in several processes, writes none.
        assert {row.server for row in seen} == {case.name for case in CASES}, "the page needs every case in one process"
        PAGE.write_text(page_text(seen), "utf-8")
