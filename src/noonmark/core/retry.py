"""What follows a failure: another attempt at a moment, or a person.

Promise: a wait is never negative and never beyond its bound, whatever the rule or the other side asks for.  Rule of the
file: dice and time are arguments; failures are counted from the row (started attempts minus lost ones), so that a lost
worker costs no retry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import inf
from typing import Any

from noonmark.core.model import DAY, Event, Job, Micros, Occurrence, Retry
from noonmark.core.values import dataclass

RETRY_AFTER_MAX: Micros = DAY
"""Longest wait that another side (``Retry-After``) can impose: a year would be a lost occurrence in disguise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """FAIL_RETRY with ``due_at``, or FAIL_MANUAL; ``code`` and ``detail`` tell why."""

    event: Event
    code: str
    due_at: Micros | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


def delay(retry: Retry, failures: int, dice: float) -> Micros:
    """Return how long to wait after the ``failures``-th failure, in microseconds.

    ``base * factor ** (failures - 1) + uniform(0, jitter)``, at most ``cap``.  Close to the cap the fixed part gives
    way to the jitter, so that many failures at once do not come back at once; it never falls below ``base`` for that.

    Args:
        failures: failed attempts so far, 1 or more.
        dice: in [0, 1).
    """
    try:
        grown = retry.base * retry.factor ** max(0, failures - 1)
    except OverflowError:
        grown = inf
    fixed = min(grown, max(min(retry.base, retry.cap), retry.cap - retry.jitter))
    return max(0, min(retry.cap, int(fixed + retry.jitter * min(max(dice, 0.0), 1.0))))


def failures_of(row: Occurrence) -> int:
    """Return how many attempts of a row that just failed have failed: lost ones do not count (docs/semantics.md 6)."""
    return max(1, row.attempt - row.takeovers)


def after_failure(
    job: Job, row: Occurrence, *, retryable: bool, retry_after: Micros | None = None, dice: float, now: Micros
) -> Outcome:
    """Decide what follows the failure of the attempt that is running.

    Args:
        job: the rule in force.
        row: the occurrence as it ran, this attempt counted in ``row.attempt``.
        retryable: False when another attempt would fail the same way.
        retry_after: microseconds the other side asked us to wait; the longer of it and the backoff counts.
        dice: in [0, 1).
        now: the store's time.
    """
    failures = failures_of(row)
    detail: dict[str, Any] = {"attempt": row.attempt, "failures": failures, "max": job.retry.max}
    if not retryable:
        return Outcome(event=Event.FAIL_MANUAL, code="not_retryable", detail=detail)
    if failures > job.retry.max:
        return Outcome(event=Event.FAIL_MANUAL, code="failed_final", detail=detail)
    wait = delay(job.retry, failures, dice)
    if retry_after is not None and retry_after > wait:
        wait = min(retry_after, max(wait, RETRY_AFTER_MAX))
        detail["asked"] = retry_after
    due_at = now + wait
    if row.not_after is not None:
        # The window binds every start: that it closed first must be noticed then, not when the backoff ends.
        due_at = min(due_at, max(now, row.not_after))
    detail |= {"due_at": due_at, "left": job.retry.max - failures + 1}
    return Outcome(event=Event.FAIL_RETRY, code="failed_retry", due_at=due_at, detail=detail)
