"""Runs whose lease ended: who may start them again, and when a person is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.lapsed import Holder, judge
from noonmark.core.lifecycle import next_state
from noonmark.core.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Cron,
    Decision,
    Event,
    Fact,
    Guardrails,
    Job,
    Occurrence,
    State,
    Window,
)
from noonmark.testing.builders import make_row

JOB = Job(name="job", trigger=Cron(expression="0 9 * * *", tz="UTC"), reason="a test needs it")
FRIDAY = 1_795_770_000_000_000  # 2026-11-27T09:00:00Z
NOW = FRIDAY + MINUTE


def lost(**fields: Any) -> Occurrence:
    begun: dict[str, Any] = {"state": State.RUNNING, "attempt": 1, "takeovers": 1, "lost": 1, "claimed": True}
    return make_row(at=FRIDAY, **(begun | {"started_at": FRIDAY, "first_started_at": FRIDAY} | fields))


def judged(row: Occurrence, job: Job = JOB, holder: Holder | None = None, now: int = NOW, **facts: Fact) -> Decision:
    known = {fact.name: fact for fact in facts.values()}
    decision = judge(job, row, holder or Holder(alive=False, name="w1"), known, now)
    assert next_state(row.state, decision.event) is not None, "every judgement is a step of the life cycle"
    return decision


def test_a_dead_holders_run_is_taken_over_at_once() -> None:
    decision = judged(lost())
    assert (decision.event, decision.code, decision.detail["holder"]) == (Event.TAKEOVER, "taken_over", "w1")


def test_a_holder_of_whom_nothing_is_known_is_not_waited_for() -> None:
    assert judged(lost(), holder=Holder(alive=None)).event is Event.TAKEOVER


def test_a_holder_known_alive_gets_exactly_one_lease_of_time() -> None:
    first = judged(lost(), holder=Holder(alive=True, name="w1"))
    assert (first.event, first.code, first.recheck_at) == (Event.PARK, "holder_alive", NOW + JOB.lease)
    assert judged(lost(), holder=Holder(alive=True, waited=True, name="w1")).event is Event.TAKEOVER


def test_a_requested_cancel_comes_before_everything() -> None:
    row = lost(cancel_requested=True, takeovers=9)
    assert judged(row, replace(JOB, on_lost="manual")).event is Event.CANCEL


def test_three_lost_attempts_are_taken_over_and_the_fourth_asks_a_person() -> None:
    """I7: attempts never exceed 1 + retry.max + max_takeovers."""
    events = [judged(lost(takeovers=count, attempt=count)).event for count in (1, 2, 3, 4)]
    assert events == [Event.TAKEOVER, Event.TAKEOVER, Event.TAKEOVER, Event.FAIL_MANUAL]
    assert judged(lost(takeovers=4)).code == "poison"


def test_no_takeovers_allowed_means_that_the_first_loss_asks_a_person() -> None:
    assert judged(lost(), replace(JOB, max_takeovers=0)).code == "poison"


def test_on_lost_manual_asks_a_person() -> None:
    decision = judged(lost(), replace(JOB, on_lost="manual"))
    assert (decision.event, decision.code) == (Event.FAIL_MANUAL, "lost_manual")


def test_on_lost_wait_waits_until_the_timeout_and_then_asks_a_person() -> None:
    job = replace(JOB, on_lost="wait", timeout=HOUR)
    parked = judged(lost(), job)
    assert (parked.event, parked.code, parked.recheck_at) == (Event.PARK, "lost", FRIDAY + HOUR)
    ended = judged(lost(), job, now=FRIDAY + HOUR)
    assert (ended.event, ended.code) == (Event.FAIL_MANUAL, "timed_out")


def test_the_window_binds_a_takeover() -> None:
    decision = judged(lost(not_before=FRIDAY, not_after=NOW))
    assert (decision.event, decision.code) == (Event.MISS, "window_closed")
    assert judged(lost(not_before=FRIDAY, not_after=NOW + 1)).event is Event.TAKEOVER


def test_nobody_is_waited_for_beyond_the_window() -> None:
    decision = judged(lost(not_after=NOW + SECOND), holder=Holder(alive=True))
    assert decision.recheck_at == NOW + SECOND


def test_a_run_taken_up_by_a_person_meets_todays_window() -> None:
    job = replace(JOB, window=Window(start="09:00", end="09:30"))
    assert judged(lost(actor="ann"), job).event is Event.TAKEOVER
    assert judged(lost(actor="ann"), job, now=FRIDAY + HOUR).event is Event.MISS


@pytest.mark.parametrize("resumed", [False, True])
def test_a_pause_holds_a_takeover_back_but_loses_nothing(resumed: bool) -> None:
    state = {"paused": not resumed, "paused_at": FRIDAY - 1, "resumed_at": NOW if resumed else None, "reason": "x"}
    decision = judged(lost(), pause=Fact(name="pause:job", version=3, value=state))
    assert decision.event is (Event.TAKEOVER if resumed else Event.PARK)
    if not resumed:
        assert (decision.code, decision.recheck_at) == ("waiting_for_resume", NOW + JOB.catch_up.recheck)


def test_what_holds_a_takeover_back_never_holds_it_beyond_the_window() -> None:
    closes = NOW + MINUTE
    state = {"paused": True, "paused_at": FRIDAY - 1, "resumed_at": None, "reason": "x"}
    pause = Fact(name="pause:job", version=3, value=state)
    decision = judged(lost(not_after=closes), pause=pause)
    assert (decision.event, decision.recheck_at) == (Event.PARK, closes)
    assert judged(lost(not_after=closes), now=closes, pause=pause).event is Event.MISS


def test_a_weekend_holds_a_takeover_back_until_the_next_weekday() -> None:
    job = replace(JOB, guardrails=Guardrails(allow_weekend=False))
    decision = judged(lost(), job, now=FRIDAY + DAY)
    assert (decision.event, decision.code, decision.recheck_at) == (
        Event.PARK,
        "weekend_wait",
        FRIDAY + 3 * DAY - 9 * HOUR,
    )
