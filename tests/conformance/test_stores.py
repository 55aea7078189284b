"""Every store noonmark ships keeps the port, case by case, and no case is skipped in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.conformance import Case, Harness, cases

CASES = cases()
EXPECTED_CASES = 381
"""Raised by hand when a case is added: a suite that lost cases on the way must not look green."""


def _memory(_folder: Path) -> Store:
    return MemoryStore()


def _sqlite(folder: Path) -> Store:
    from noonmark.stores.sqlite import SqliteStore

    return SqliteStore(folder / "noonmark.db", synchronous="OFF")


STORES: dict[str, Callable[[Path], Store]] = {"memory": _memory, "sqlite": _sqlite}


@pytest.fixture(params=sorted(STORES))
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    """A fresh store behind a harness, closed afterwards."""
    store = STORES[request.param](tmp_path)
    try:
        yield Harness(store)
    finally:
        store.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_store_keeps_the_port(case: Case, harness: Harness) -> None:
    case.run(harness)


def test_the_suite_has_lost_no_case() -> None:
    assert len(CASES) == EXPECTED_CASES


def test_no_two_cases_have_one_name() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)


def test_every_store_meets_every_case(request: pytest.FixtureRequest) -> None:
    name = "test_the_store_keeps_the_port["
    collected = [item.name for item in request.session.items if item.name.startswith(name)]
    asked_for = request.config
    if asked_for.getoption("keyword") or any("::" in argument for argument in asked_for.args):
        pytest.skip("only a selection of the cases was asked for")
    for store in STORES:
        assert sum(1 for item in collected if f"[{store}-" in item) == len(CASES), store
