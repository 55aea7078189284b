"""Remembered answers: short as they are kept, whole as they come back."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from noonmark.core import remembered
from noonmark.core.model import Settled, State, Taken
from noonmark.core.remembered import IdleTakes


def test_five_hundred_equal_answers_are_one_sentence() -> None:
    answers = [Settled(outcome="applied", fence=7, state=State.SUCCESS) for _ in range(500)]
    answers.append(Settled(outcome="changed", changed=("window",), state=State.PENDING))
    plain = remembered.settled_to_plain(answers)
    assert len(plain) == 2
    assert remembered.settled_from_plain(plain) == answers


def test_threads_that_work_with_one_store_do_not_disturb_what_is_remembered_of_their_takes() -> None:
    takes, before = IdleTakes(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(_ask_often, takes, str(number)) for number in range(4)]
            assert [each.result() for each in asked] == [0] * 4
    finally:
        sys.setswitchinterval(before)


def _ask_often(takes: IdleTakes, who: str) -> int:
    answer = Taken(rows=(), now=0, next_due=None, rules_version=0)
    repeats = 0
    for number in range(5_000):
        repeats += takes.is_repeat(f"{who}:{number}")
        takes.keep(f"{who}:{number}", answer)
    return repeats
