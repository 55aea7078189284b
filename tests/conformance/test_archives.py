"""Every store's archive lets a namespace move, whole and once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.archives import Archives
from noonmark.testing.conformance import Case, archive_cases

CASES = archive_cases()
EXPECTED_CASES = 31
"""Raised by hand when a case is added: a suite that lost cases on the way must not look green."""


def _memory(_folder: Path) -> Callable[[str], Store]:
    return lambda _name: MemoryStore()


def _sqlite(folder: Path) -> Callable[[str], Store]:
    from noonmark.stores.sqlite import SqliteStore

    return lambda name: SqliteStore(folder / f"{name}.db", synchronous="OFF")


STORES: dict[str, Callable[[Path], Callable[[str], Store]]] = {"memory": _memory, "sqlite": _sqlite}


@pytest.fixture(params=sorted(STORES))
def archives(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Archives]:
    """Fresh stores of one kind, closed afterwards."""
    opened = Archives(STORES[request.param](tmp_path))
    yield opened
    opened.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_archive_keeps_the_port(case: Case, archives: Archives) -> None:
    case.run(archives)


def test_the_suite_has_lost_no_case() -> None:
    assert len(CASES) == EXPECTED_CASES
    assert len({str(case) for case in CASES}) == len(CASES)
