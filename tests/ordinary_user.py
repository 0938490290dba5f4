"""Somebody whom permissions hold back: what a test of unreadable files needs where root runs it."""

import os
from collections.abc import Generator
from contextlib import contextmanager

import pytest

__all__ = ["ordinary_user"]

_NOBODY = 65534


@contextmanager
def ordinary_user() -> Generator[None]:
    """Run a block as such a user; skips the test where root may not become one.

    Folders of pytest are open to their owner alone, so nothing in them is a case for this.
    """
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(_NOBODY)
    except OSError as error:
        pytest.skip(f"root may read everything, and become nobody else here: {error}")
    try:
        yield
    finally:
        os.seteuid(0)
