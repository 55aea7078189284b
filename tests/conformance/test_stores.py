"""Every store noonmark ships keeps the port, case by case, and no case is skipped in silence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from noonmark.ports.clock import Clock
from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.suite import EXPECTED_TESTS, StoreSuite

STORES = 2
"""Raised by hand when one is added."""


class TestMemory(StoreSuite):
    """The executable model of the port."""

    label = "the model, in memory"
    processes = 0
    lacks = 1  # nobody finds its namespace again

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:  # noqa: ARG002
        return MemoryStore(clock)


class TestSqlite(StoreSuite):
    """One file, several processes."""

    label = "SQLite"

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:
        from noonmark.stores.sqlite import SqliteStore

        return SqliteStore(folder / f"{name}.db", clock=clock, synchronous="OFF")

    def url_of(self, name: str, folder: Path) -> str:
        return f"sqlite:///{folder}/{name}.db?synchronous=NORMAL"


def test_every_store_meets_every_case(request: pytest.FixtureRequest) -> None:
    asked_for = request.config
    if asked_for.getoption("keyword") or any("::" in argument for argument in asked_for.args):
        pytest.skip("only a selection of the cases was asked for")
    met = Counter(item.cls for item in request.session.items if isinstance(item, pytest.Function) and item.cls)
    suites = [suite for suite in globals().values() if isinstance(suite, type) and issubclass(suite, StoreSuite)]
    assert len(suites) - 1 == STORES
    for suite in suites:
        if suite is not StoreSuite:
            assert met[suite] == EXPECTED_TESTS, suite
