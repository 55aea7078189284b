"""The order in which the tests are handed out: all of them, and each worker begins with its long ones."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"


def handed_out(items: list[Any], workers: int) -> list[list[Any]]:
    """Return the shares as ``--dist worksteal`` makes them, of the list that our conftest puts in order."""
    spec = importlib.util.spec_from_file_location("conftest_of_all", CONFTEST)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    left, shares = module._long_first(items, workers), []
    for nodes in range(workers, 0, -1):
        shares.append(left[: len(left) // nodes])
        del left[: len(left) // nodes]
    return shares


def a_test(file: str, seconds: float | None) -> Any:
    """Make what the order looks at of a test."""
    mark = None if seconds is None else SimpleNamespace(args=(seconds,))
    return SimpleNamespace(path=Path(file), get_closest_marker=lambda _name: mark, seconds=seconds)


@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize("short", [8, 41, 250])
def test_each_worker_begins_with_the_long_tests_of_whole_files(workers: int, short: int) -> None:
    long = [a_test(file, 30) for file in ("a.py", "b.py", "c.py", "d.py") for _ in range(2)]
    short_ones = [a_test("short.py", None) for _ in range(short)]
    shares = handed_out([*short_ones, *long], workers)
    assert sorted(map(id, itertools.chain(*shares))) == sorted(map(id, [*short_ones, *long]))
    if short == 8 and workers == 3:
        return  # a share is then no larger than the long tests of it
    where: dict[Path, set[int]] = {}
    for place, share in enumerate(shares):
        begins = [one.seconds is not None for one in share]
        assert begins == sorted(begins, reverse=True), "a long test waits behind a short one"
        assert any(begins)
        for one in share:
            if one.seconds is not None:
                where.setdefault(one.path, set()).add(place)
    assert all(len(places) == 1 for places in where.values()), "the long tests of a file run at once"


def test_without_long_tests_nothing_is_moved() -> None:
    items = [a_test("a.py", None) for _ in range(11)]
    assert list(itertools.chain(*handed_out(items, 4))) == items
