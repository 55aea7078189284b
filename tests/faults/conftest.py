"""A fleet of real worker processes for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A folder with a store, and processes that end with the test."""
    made = Fleet(tmp_path)
    yield made
    made.close()
