"""Retries: waits that grow, stay bounded and differ, and the moment at which a person is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Event, Job, Manual, Occurrence, Retry
from noonmark.core.retry import RETRY_AFTER_MAX, after_failure, delay, failures_of
from noonmark.testing.builders import make_row

JOB = Job(name="digest", trigger=Manual(), reason="a test needs it")
NOW = 1_000 * SECOND


def failed(row: Occurrence, job: Job = JOB, **said: Any) -> Any:
    return after_failure(job, row, **{"retryable": True, "retry_after": None, "dice": 0.0, "now": NOW, **said})


def test_the_waits_of_the_source_document_are_1_2_4_8_seconds() -> None:
    assert [delay(Retry(), failures, 0.0) for failures in (1, 2, 3, 4)] == [SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND]


def test_up_to_half_a_second_is_added_at_random() -> None:
    waits = [delay(Retry(), 1, dice / 100) for dice in range(100)]
    assert min(waits) == SECOND
    assert SECOND + 490_000 <= max(waits) < SECOND + 500_000
    assert len(set(waits)) == 100


def test_at_the_cap_the_waits_still_differ_and_never_exceed_it() -> None:
    waits = {delay(Retry(cap=10 * SECOND), 20, dice / 10) for dice in range(10)}
    assert len(waits) == 10
    assert all(9 * SECOND < wait <= 10 * SECOND for wait in waits)


def test_the_jitter_never_takes_a_wait_below_its_base() -> None:
    assert delay(Retry(base=30 * SECOND, cap=30 * SECOND), 1, 0.0) == 30 * SECOND


@given(
    retry=st.builds(
        Retry,
        max=st.integers(0, 1000),
        base=st.integers(0, DAY),
        factor=st.floats(1, 100),
        jitter=st.integers(0, DAY),
        cap=st.integers(0, 30 * DAY),
    ),
    failures=st.integers(0, 10_000),
    dice=st.floats(0, 1, exclude_max=True),
)
def test_a_wait_is_a_whole_number_between_nothing_and_its_cap(retry: Retry, failures: int, dice: float) -> None:
    wait = delay(retry, failures, dice)
    assert isinstance(wait, int)
    assert 0 <= wait <= retry.cap


@given(failures=st.integers(1, 60), dice=st.floats(0, 1, exclude_max=True))
def test_a_later_failure_never_waits_less(failures: int, dice: float) -> None:
    assert delay(Retry(), failures + 1, dice) >= delay(Retry(), failures, dice)


def test_max_counts_retries_so_four_means_five_attempts() -> None:
    events = [failed(make_row(attempt=attempt)).event for attempt in range(1, 7)]
    assert events == [Event.FAIL_RETRY] * 4 + [Event.FAIL_MANUAL] * 2
    assert failed(make_row(attempt=5)).code == "failed_final"


def test_lost_attempts_cost_no_retry() -> None:
    assert failures_of(make_row(attempt=5, takeovers=3)) == 2
    assert failed(make_row(attempt=7, takeovers=3)).event is Event.FAIL_RETRY
    assert failed(make_row(attempt=8, takeovers=3)).event is Event.FAIL_MANUAL


def test_no_retries_means_that_the_first_failure_asks_a_person() -> None:
    assert failed(make_row(attempt=1), replace(JOB, retry=Retry(max=0))).event is Event.FAIL_MANUAL


def test_a_failure_that_another_try_would_not_mend_asks_a_person_at_once() -> None:
    outcome = failed(make_row(attempt=1), retryable=False)
    assert (outcome.event, outcome.code, outcome.due_at) == (Event.FAIL_MANUAL, "not_retryable", None)


def test_the_outcome_says_when_and_how_often() -> None:
    outcome = failed(make_row(attempt=2), dice=0.5)
    assert outcome.due_at == NOW + 2 * SECOND + 250_000
    assert outcome.detail == {"attempt": 2, "failures": 2, "max": 4, "left": 3, "due_at": outcome.due_at}


@pytest.mark.parametrize(
    ("asked", "wait"),
    [(None, SECOND), (-HOUR, SECOND), (0, SECOND), (10 * SECOND, 10 * SECOND), (400 * DAY, RETRY_AFTER_MAX)],
)
def test_the_longer_of_backoff_and_what_the_other_side_asked_counts_up_to_a_bound(asked: int | None, wait: int) -> None:
    assert failed(make_row(attempt=1), retry_after=asked).due_at == NOW + wait


def test_a_retry_is_never_due_after_the_window_closed_so_that_the_miss_is_noticed_then() -> None:
    assert failed(make_row(attempt=4, not_after=NOW + 3 * SECOND)).due_at == NOW + 3 * SECOND
    assert failed(make_row(attempt=1, not_after=NOW + MINUTE)).due_at == NOW + SECOND
    assert failed(make_row(attempt=1, not_after=NOW - MINUTE)).due_at == NOW
