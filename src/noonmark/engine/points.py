"""Named points at which a worker may die, stand still or fail, for tests that see to it that it does.

Promise: with nothing installed a point costs one comparison.  Rule of the file: every point is passed somewhere in the
engine, one line each, and nothing else happens here; what strikes there belongs to the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Point(StrEnum):
    """Where; the name says what has just happened, or is about to."""

    HEARD_OF = "heard of"  # the first heartbeat is stored, no rule is in force yet
    RULES_IN_FORCE = "rules in force"  # ... and nothing was taken yet
    TAKE_ASKED = "take asked"
    TAKEN = "taken"  # rows are leased to us, nothing is decided
    DECIDED = "decided"  # verdicts are there, the store has not heard of them
    LOCK_HELD = "lock held"  # the job's outside lock is ours, its start is not recorded
    JUDGED_LAPSED = "judged lapsed"  # a run whose lease ended is about to be taken over, or not
    LOOKED = "looked"  # the store has recorded the decisions, no run has begun
    RUN_BEGINS = "run begins"  # the lease is held, the job's code has not begun
    EFFECT_DONE = "effect done"  # the job's code has returned, nobody knows yet
    STEP_DONE = "step done"  # the body of a step or once-effect has returned, its record is not written
    NOTED = "noted"  # a step, an intent or a mark of the run is stored, the job has not heard so
    OUTCOME_ASKED = "outcome asked"  # the outcome is worked out, the store has not heard of it
    OUTCOME_STORED = "outcome stored"  # ... it has, the worker has not let go of the run
    RENEW_ASKED = "renew asked"
    RENEWED = "renewed"
    APPLIED = "applied"  # the store has carried out a verb, the engine has no answer yet
    RULE_CHANGED = "rule changed"  # a worker met rules newer than its own and has read them
    TOLD_TO_STOP = "told to stop"  # the worker ends, runs are still at work
    HANDING_BACK = "handing back"  # runs that did not end in time are about to be given back


_strikes: Callable[[Point], None] | None = None


def reach(point: Point) -> None:
    """Pass a point."""
    if _strikes is not None:
        _strikes(point)


def install(strikes: Callable[[Point], None] | None) -> None:
    """Have something called at every point from here on, for the whole process; None = nothing.

    Args:
        strikes: is told the point.  It may raise, end the process, or stop it.
    """
    global _strikes
    _strikes = strikes
