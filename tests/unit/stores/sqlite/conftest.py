"""A fresh file per test, under a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.clock import VirtualClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "noonmark.db"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(path: Path, clock: VirtualClock) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, clock=clock, synchronous="OFF")
    try:
        yield opened
    finally:
        opened.close()
