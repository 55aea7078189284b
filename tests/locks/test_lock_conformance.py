"""Every kind of lock keeps the port, case by case, and no case is skipped in silence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lock_places import MARKS, PLACES, SESSION_BOUND, Place

from noonmark.testing.locking import LockCase, lock_cases

EXPECTED_CASES, EXPECTED_OF_SESSIONS = 62, 59
"""Raised by hand when a case is added: a suite that lost cases on the way must not look green."""


def expected(kind: str) -> list[LockCase]:
    return lock_cases(session_bound=kind in SESSION_BOUND)


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        pytest.param(kind, case, id=f"{kind}-{case}", marks=MARKS.get(kind, ()))
        for kind in PLACES
        for case in expected(kind)
    ],
)
def test_the_lock_keeps_the_port(kind: str, case: LockCase, make_place: Callable[[str], Place]) -> None:
    with make_place(kind).harness() as harness:
        case.run(harness)


def test_the_suite_has_lost_no_case() -> None:
    assert len(lock_cases()) == EXPECTED_CASES
    assert len(lock_cases(session_bound=True)) == EXPECTED_OF_SESSIONS


def test_no_two_cases_have_one_name() -> None:
    assert len({str(case) for case in lock_cases()}) == len(lock_cases())


def test_every_kind_meets_every_case(request: pytest.FixtureRequest) -> None:
    name = "test_the_lock_keeps_the_port["
    collected = [item.name for item in request.session.items if item.name.startswith(name)]
    asked_for = request.config
    if asked_for.getoption("keyword") or any("::" in argument for argument in asked_for.args):
        pytest.skip("only a selection of the cases was asked for")
    for kind in PLACES:
        assert sum(1 for item in collected if item.startswith(f"{name}{kind}-")) >= len(expected(kind)), kind
