"""``take``: what is due, to whom, how many, and what starts at once."""

from __future__ import annotations

from typing import Any

from noonmark.core.model import MINUTE, SECOND, Event, State
from noonmark.testing.builders import LEASE
from noonmark.testing.conformance.harness import Harness


def nothing_is_due_in_an_empty_store(harness: Harness) -> None:
    taken = harness.take(at=5)
    assert (taken.rows, taken.now, taken.next_due) == ((), harness.at(5), None)


def a_row_is_taken_at_its_moment_and_not_a_microsecond_before(harness: Harness) -> None:
    row_id = harness.add_one(harness.caller_row(at=60))
    assert harness.take_ids(at=59.999999) == []
    assert harness.take_ids(at=60) == [row_id]


def the_oldest_due_comes_first(harness: Harness) -> None:
    late, early, middle = (harness.add_one(harness.caller_row(str(at), at=at)) for at in (30, 10, 20))
    assert harness.take_ids(at=60) == [early, middle, late]


def a_batch_is_never_larger_than_the_limit(harness: Harness) -> None:
    ids = [harness.add_one(harness.caller_row(str(n), at=n)) for n in range(5)]
    assert harness.take_ids(at=60, limit=2) == ids[:2]
    assert harness.take_ids(at=60, limit=2) == ids[2:4]
    assert harness.take_ids(at=60, limit=2) == ids[4:]


def a_limit_of_zero_takes_nothing(harness: Harness) -> None:
    harness.add_one(harness.caller_row())
    assert harness.take_ids(limit=0) == []


def a_limit_of_zero_still_tells_the_time_what_is_next_and_the_version_of_the_rules(harness: Harness) -> None:
    first = harness.take(limit=0)
    harness.activate(harness.frontier_row("1", at=60))
    row_id = harness.add_one(harness.caller_row(at=30))
    before = harness.take(at=20, limit=0)
    assert (before.rows, before.now, before.next_due) == ((), harness.at(20), harness.at(30))
    assert before.rules_version > first.rules_version
    due = harness.take(at=40, limit=0)
    assert (due.rows, due.now) == ((), harness.at(40))
    assert due.next_due is not None
    assert due.next_due <= harness.at(40), "it is still there for somebody who may take it"
    assert (harness.row(row_id).state, harness.row(row_id).fence) == (State.PENDING, 0)


def two_workers_never_get_the_same_row(harness: Harness) -> None:
    ids = {harness.add_one(harness.caller_row(str(n))) for n in range(6)}
    first, second = set(harness.take_ids("w1", limit=3)), set(harness.take_ids("w2", limit=6))
    assert first | second == ids
    assert not first & second


def a_leased_row_is_not_due_before_its_lease_ends(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    assert harness.take_ids("w2", at=LEASE / SECOND - 0.000001) == []
    assert harness.take_ids("w2", at=LEASE / SECOND) == [row.id]


def next_due_is_the_earliest_moment_of_what_is_left(harness: Harness) -> None:
    harness.add_one(harness.caller_row("a", at=60))
    harness.add_one(harness.caller_row("b", at=90))
    assert harness.take(at=1).next_due == harness.at(60)


def next_due_counts_the_leases_just_given(harness: Harness) -> None:
    harness.activate()
    harness.add_one(harness.caller_row("a"))
    harness.add_one(harness.caller_row("b", at=3600))
    taken = harness.take(runnable={"job": LEASE})
    assert taken.next_due == harness.at(0) + LEASE


def next_due_is_not_in_the_future_while_due_rows_are_left(harness: Harness) -> None:
    for n in range(3):
        harness.add_one(harness.caller_row(str(n), at=n))
    next_due = harness.take(at=10, limit=1).next_due
    assert next_due is not None
    assert next_due <= harness.at(10)


def the_fence_is_the_stores_time_when_that_is_larger(harness: Harness) -> None:
    harness.add_one(harness.caller_row())
    assert harness.take_one(at=7).fence == harness.at(7)


def the_fence_grows_even_when_the_clock_stands_still(harness: Harness) -> None:
    harness.activate()
    row = harness.looked_at()
    harness.end(row, Event.PARK, due_at=harness.at(0))
    again = harness.take_one()
    assert again.fence == row.fence + 1


def the_fence_grows_even_when_the_clock_went_back(harness: Harness) -> None:
    harness.activate()
    row = harness.looked_at(at=100)
    harness.end(row, Event.PARK, at=100, due_at=harness.at(50))
    assert harness.take_one(at=60).fence == row.fence + 1


def a_row_with_a_worker_comes_only_to_that_worker(harness: Harness) -> None:
    row_id = harness.add_one(harness.caller_row(worker="w2"))
    assert harness.take_ids("w1") == []
    assert harness.take_ids("w2") == [row_id]


def rows_of_other_workers_do_not_use_up_the_limit(harness: Harness) -> None:
    for n in range(3):
        harness.add_one(harness.caller_row(f"other-{n}", at=n, worker="w2"))
    mine = harness.add_one(harness.caller_row("mine", at=5))
    assert harness.take_ids("w1", at=10, limit=1) == [mine]


def next_due_does_not_count_rows_that_only_others_may_take(harness: Harness) -> None:
    harness.add_one(harness.caller_row("theirs", worker="w2"))
    harness.add_one(harness.caller_row("mine", at=60, worker="w1"))
    assert harness.take("w1", at=5).next_due == harness.at(60), "else w1 would look for work all the time"


# --- the fast start ----------------------------------------------------------------------------------


def _take_alone(harness: Harness, at: float = 0, **fields: Any) -> bool:
    """Add one row with these fields and tell whether ``take`` started it at once."""
    row_id = harness.add_one(harness.caller_row(**fields))
    row = harness.take_one(at=at)
    assert row.id == row_id
    assert row.looking is (row.state is not State.RUNNING)
    return row.state is State.RUNNING


def a_row_that_proves_it_may_is_started_at_once(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.caller_row())
    row = harness.take_one(at=2, runnable={"job": 40 * SECOND})
    assert (row.id, row.state, row.looking, row.holder) == (row_id, State.RUNNING, False, "w1")
    assert (row.attempt, row.takeovers, row.lost) == (1, 0, 0)
    assert (row.started_at, row.first_started_at, row.due_at) == (harness.at(2), harness.at(2), harness.at(42))
    stored = harness.row(row_id)
    assert (stored.state, stored.fence, stored.attempt, stored.due_at) == (row.state, row.fence, 1, row.due_at)


def a_started_row_shows_a_running_attempt(harness: Harness) -> None:
    harness.activate()
    row = harness.running(at=2)
    (attempt,) = harness.story(row.id).attempts
    assert (attempt.outcome, attempt.number, attempt.fence) == ("running", 1, row.fence)
    assert (attempt.worker, attempt.started_at, attempt.ended_at) == ("w1", harness.at(2), None)


def a_looked_at_row_keeps_its_state_and_gets_the_look_lease(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.series_row())
    row = harness.take_one(at=2, look_lease=7 * SECOND)
    assert (row.id, row.state, row.looking, row.holder) == (row_id, State.PENDING, True, "w1")
    assert (row.attempt, row.started_at, row.due_at) == (0, None, harness.at(9))
    assert harness.story(row_id).attempts == ()


def a_row_of_a_job_that_cannot_run_here_is_looked_at(harness: Harness) -> None:
    harness.activate()
    harness.add_one(harness.caller_row())
    assert harness.take_one(runnable={"other": LEASE}).looking


def a_row_of_a_job_the_store_does_not_know_is_looked_at(harness: Harness) -> None:
    assert not _take_alone(harness)


def a_gated_row_is_looked_at(harness: Harness) -> None:
    harness.activate()
    assert not _take_alone(harness, gated=True)


def a_frontier_row_is_looked_at(harness: Harness) -> None:
    harness.activate()
    assert not _take_alone(harness, frontier=True)


def a_row_that_has_not_claimed_its_key_is_looked_at(harness: Harness) -> None:
    harness.activate()
    assert not _take_alone(harness, claim=False)


def a_row_of_an_older_revision_is_looked_at(harness: Harness) -> None:
    harness.activate()
    harness.activate(digest="digest-2", expected_revision=1)
    assert not _take_alone(harness, revision=1)


def a_row_of_the_newest_revision_is_started(harness: Harness) -> None:
    harness.activate()
    harness.activate(digest="digest-2", expected_revision=1)
    assert _take_alone(harness, revision=2)


def a_row_of_a_paused_job_is_looked_at(harness: Harness) -> None:
    harness.activate()
    harness.act("pause", job="job")
    assert not _take_alone(harness)


def a_row_of_a_resumed_job_is_started(harness: Harness) -> None:
    harness.activate()
    harness.act("pause", job="job")
    harness.act("resume", job="job")
    assert _take_alone(harness)


def a_row_before_its_window_is_looked_at(harness: Harness) -> None:
    harness.activate()
    assert not _take_alone(harness, at=9.999999, not_before=harness.at(10))


def a_row_is_started_when_its_window_opens(harness: Harness) -> None:
    harness.activate()
    assert _take_alone(harness, at=10, not_before=harness.at(10))


def a_row_is_started_just_before_its_window_closes(harness: Harness) -> None:
    harness.activate()
    assert _take_alone(harness, at=19.999999, not_after=harness.at(20))


def a_row_whose_window_closed_is_looked_at(harness: Harness) -> None:
    harness.activate()
    assert not _take_alone(harness, at=20, not_after=harness.at(20))


def a_row_within_its_limit_is_started(harness: Harness) -> None:
    harness.activate()
    assert _take_alone(harness, at=20, expires_at=harness.at(20))


def a_row_past_its_limit_is_looked_at(harness: Harness) -> None:
    harness.activate()
    assert not _take_alone(harness, at=20.000001, expires_at=harness.at(20))


def the_limit_does_not_bind_a_row_that_was_started_before(harness: Harness) -> None:
    harness.activate()
    row = harness.running(expires_at=harness.at(20))
    harness.end(row, Event.FAIL_RETRY, due_at=harness.at(100))
    again = harness.take_one(at=100)
    assert (again.state, again.attempt) == (State.RUNNING, 2)


def the_window_binds_a_retry_too(harness: Harness) -> None:
    harness.activate()
    row = harness.running(not_after=harness.at(20))
    harness.end(row, Event.FAIL_RETRY, due_at=harness.at(100))
    again = harness.take_one(at=100)
    assert (again.state, again.looking) == (State.FAILED_RETRYING, True)


def a_retry_that_proves_it_may_is_started_at_once(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(row, Event.FAIL_RETRY, at=5, due_at=harness.at(10))
    again = harness.take_one(at=10)
    assert (again.state, again.attempt, again.takeovers) == (State.RUNNING, 2, 0)
    assert (again.started_at, again.first_started_at) == (harness.at(10), harness.at(0))
    assert again.fence > row.fence


def the_lease_is_as_long_as_the_worker_says_for_that_job(harness: Harness) -> None:
    harness.activate()
    harness.activate(job="slow")
    harness.add_one(harness.caller_row("a"))
    harness.add_one(harness.caller_row("b", job="slow"))
    rows = harness.take(runnable={"job": 10 * SECOND, "slow": 5 * MINUTE}).rows
    assert {row.job: row.due_at for row in rows} == {"job": harness.at(10), "slow": harness.at(300)}


def started_and_looked_at_rows_come_in_one_batch(harness: Harness) -> None:
    harness.activate()
    harness.add_one(harness.caller_row("a", at=1))
    harness.add_one(harness.series_row("b", at=2))
    harness.add_one(harness.caller_row("c", at=3))
    assert [row.looking for row in harness.take(at=10).rows] == [False, True, False]


def a_thousand_rows_fit_in_one_batch(harness: Harness) -> None:
    harness.activate()
    harness.add(*(harness.caller_row(str(n), at=n) for n in range(1000)))
    rows = harness.take(at=2000, limit=1000).rows
    assert len({row.id for row in rows}) == 1000
    assert [row.scheduled_for for row in rows] == sorted(row.scheduled_for for row in rows)


def rules_version_grows_when_rules_change_and_only_then(harness: Harness) -> None:
    before = harness.take().rules_version
    harness.activate()
    first = harness.take().rules_version
    harness.add_one(harness.caller_row(at=60))
    harness.signal("flag:x")
    harness.activate(expected_revision=1)
    assert before < first == harness.take().rules_version
    harness.activate(digest="digest-2", expected_revision=1)
    second = harness.take().rules_version
    harness.act("pause", job="job")
    assert first < second < harness.take().rules_version
