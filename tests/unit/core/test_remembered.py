"""Remembered answers: short as they are kept, whole as they come back."""

from __future__ import annotations

from noonmark.core import remembered
from noonmark.core.model import Settled, State


def test_five_hundred_equal_answers_are_one_sentence() -> None:
    answers = [Settled(outcome="applied", fence=7, state=State.SUCCESS) for _ in range(500)]
    answers.append(Settled(outcome="changed", changed=("window",), state=State.PENDING))
    plain = remembered.settled_to_plain(answers)
    assert len(plain) == 2
    assert remembered.settled_from_plain(plain) == answers
