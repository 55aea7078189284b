"""Which try came back late with a success that nothing counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from noonmark.core import late
from noonmark.core.model import Fact

STORY = cast(
    Any,
    SimpleNamespace(
        attempts=[
            SimpleNamespace(fence=3, outcome="lost"),
            SimpleNamespace(fence=5, outcome="failed"),
            SimpleNamespace(fence=7, outcome="success"),
        ]
    ),
)


def test_a_try_whose_success_counts_was_not_late_however_often_it_is_reported() -> None:
    """The answer to its settle may have been lost: then it is offered again, and refused by the fence."""
    assert late.attempt_of(STORY, 7) is None
    assert [late.attempt_of(STORY, fence) for fence in (3, 5, 6)] == [STORY.attempts[0], STORY.attempts[1], None]


def test_what_the_fact_says_is_believed_only_of_a_try_that_there_is() -> None:
    def said(value: Any) -> late.Late | None:
        return late.late_of(Fact(name=late.fact_name(1), value=value, set_at=9), STORY)

    assert said(late.value(3)) == (STORY.attempts[0], 9)
    assert [said(value) for value in (late.value(7), late.value(4), {"fence": "3"}, ["fence"], None)] == [None] * 5
    assert late.late_of(None, STORY) is None
