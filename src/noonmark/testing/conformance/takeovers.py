"""Leases that lapsed: who notices, what is counted, and how little the old holder can still do."""

from __future__ import annotations

from noonmark.core.model import SECOND, Event, Occurrence, State
from noonmark.testing.builders import LEASE, make_end, make_start
from noonmark.testing.conformance.harness import Harness

OVER = LEASE / SECOND
"""Seconds after which a lease given at 0 is over."""


def _lapsed(harness: Harness, name: str = "a") -> tuple[Occurrence, Occurrence]:
    """Return a run of w1 whose lease lapsed, as w1 and as w2, who looks at it, see it."""
    harness.activate()
    run = harness.running(name)
    return run, harness.take_one("w2", at=OVER)


def a_lapsed_run_is_looked_at_while_its_state_stays(harness: Harness) -> None:
    run, look = _lapsed(harness)
    assert (look.id, look.state, look.looking, look.is_lapsed) == (run.id, State.RUNNING, True, True)
    assert (look.attempt, look.takeovers, look.lost, look.holder) == (1, 1, 1, "w2")
    assert look.fence > run.fence


def a_lapsed_run_is_never_started_without_a_look(harness: Harness) -> None:
    assert _lapsed(harness)[1].looking


def the_lost_attempt_is_on_record(harness: Harness) -> None:
    run, _ = _lapsed(harness)
    (attempt,) = harness.story(run.id).attempts
    assert (attempt.outcome, attempt.worker, attempt.fence, attempt.number) == ("lost", "w1", run.fence, 1)
    assert (attempt.started_at, attempt.ended_at) == (harness.at(0), harness.at(OVER))


def the_old_holders_outcome_is_stale_and_counted(harness: Harness) -> None:
    run, look = _lapsed(harness)
    before = harness.store.tallies().stale_refused
    assert harness.end(run, worker="w1", at=OVER + 1).outcome == "stale"
    assert harness.store.tallies().stale_refused == before + 1
    assert harness.row(run.id) == look


def the_old_holder_stays_stale_after_the_takeover_succeeded(harness: Harness) -> None:
    run, look = _lapsed(harness)
    harness.start(look, worker="w2", at=OVER, event=Event.TAKEOVER)
    harness.end(harness.row(run.id), worker="w2", at=OVER + 1, result='"two"')
    assert harness.end(run, worker="w1", at=OVER + 2, result='"one"').outcome == "stale"
    assert harness.row(run.id).result == '"two"'


def a_lapsed_lease_that_nobody_looked_at_may_still_settle(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert harness.end(run, at=OVER + 100).outcome == "applied"
    assert harness.row(run.id).state is State.SUCCESS
    assert harness.take_ids("w2", at=OVER + 101) == []


def a_takeover_starts_the_next_attempt_under_the_new_fence(harness: Harness) -> None:
    run, look = _lapsed(harness)
    settled = harness.start(look, worker="w2", at=OVER + 1, event=Event.TAKEOVER)
    assert (settled.outcome, settled.state) == ("applied", State.RUNNING)
    assert settled.fence >= look.fence
    assert settled.lease_until == harness.at(OVER + 1) + LEASE
    row = harness.row(run.id)
    assert (row.attempt, row.takeovers, row.looking, row.holder) == (2, 1, False, "w2")
    assert (row.due_at, row.fence) == (settled.lease_until, settled.fence)
    assert [attempt.outcome for attempt in harness.story(run.id).attempts] == ["lost", "running"]


def attempts_are_told_in_order_with_their_workers(harness: Harness) -> None:
    run, look = _lapsed(harness)
    fence = harness.start(look, worker="w2", at=OVER, event=Event.TAKEOVER).fence
    harness.end(harness.row(run.id), worker="w2", at=OVER + 5)
    first, second = harness.story(run.id).attempts
    assert (first.outcome, first.worker, first.number) == ("lost", "w1", 1)
    assert (second.outcome, second.worker, second.number, second.fence) == ("success", "w2", 2, fence)
    assert (second.started_at, second.ended_at) == (harness.at(OVER), harness.at(OVER + 5))


def a_takeover_is_not_bound_by_the_limit(harness: Harness) -> None:
    harness.activate()
    harness.running(expires_at=harness.at(1))
    look = harness.take_one("w2", at=OVER)
    assert harness.start(look, worker="w2", at=OVER, event=Event.TAKEOVER).outcome == "applied"


def a_takeover_is_bound_by_the_window(harness: Harness) -> None:
    harness.activate()
    harness.running(not_after=harness.at(OVER))
    look = harness.take_one("w2", at=OVER)
    assert harness.start(look, worker="w2", at=OVER, event=Event.TAKEOVER).outcome == "closed"


def a_takeover_can_wait_until_a_living_holder_was_told_to_stop(harness: Harness) -> None:
    run, look = _lapsed(harness)
    assert harness.end(look, Event.PARK, worker="w2", at=OVER, due_at=harness.at(OVER + 30)).outcome == "applied"
    assert harness.row(run.id).state is State.RUNNING
    assert harness.take_ids("w3", at=OVER + 29) == []
    again = harness.take_one("w3", at=OVER + 30)
    assert (again.state, again.looking, again.takeovers) == (State.RUNNING, True, 1)
    assert harness.start(again, worker="w3", at=OVER + 30, event=Event.TAKEOVER).outcome == "applied"


def a_lapsed_run_that_its_looker_hands_back_keeps_its_lost_attempt_counted(harness: Harness) -> None:
    run, look = _lapsed(harness)
    settled = harness.end(look, Event.HAND_BACK, worker="w2", at=31, due_at=harness.at(32))
    assert (settled.outcome, settled.state) == ("applied", State.PENDING)
    row = harness.row(run.id)
    assert (row.attempt, row.takeovers) == (1, 1)
    assert [attempt.outcome for attempt in harness.story(run.id).attempts] == ["lost"]


def while_a_takeover_waits_the_old_holder_is_refused(harness: Harness) -> None:
    run, look = _lapsed(harness)
    harness.end(look, Event.PARK, worker="w2", at=OVER, due_at=harness.at(OVER + 30))
    assert harness.end(run, worker="w1", at=OVER + 1).outcome == "stale"


def a_lost_look_is_a_lost_lease_but_no_lost_attempt(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    again = harness.take_one("w2", at=10)
    assert (again.id, again.lost, again.takeovers, again.attempt) == (look.id, 1, 0, 0)
    assert again.state is State.PENDING
    assert harness.story(look.id).attempts == ()


def a_lost_look_at_a_lapsed_run_counts_no_second_takeover(harness: Harness) -> None:
    run, _ = _lapsed(harness)
    again = harness.take_one("w3", at=OVER + 10)
    assert (again.takeovers, again.lost) == (1, 2)
    assert [attempt.outcome for attempt in harness.story(run.id).attempts] == ["lost"]


def a_lost_looks_answer_is_stale(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.take_one("w2", at=10)
    assert harness.start(look, at=11).outcome == "stale"
    assert harness.row(look.id).state is State.PENDING


def a_row_that_lost_a_lease_is_taken_alone(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    again = harness.take_one("w2", at=10)
    harness.end(again, Event.PARK, worker="w2", at=10, due_at=harness.at(20))
    for n in range(3):
        harness.add_one(harness.caller_row(f"young-{n}", at=30 + n))
    batches = [harness.take_ids("w2", at=60) for _ in range(3)]
    assert [look.id] in batches
    assert sorted(len(batch) for batch in batches) == [0, 1, 3]


def a_lease_that_lapses_for_the_first_time_is_taken_alone_already(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    old = [harness.add_one(harness.caller_row(f"old-{n}", at=OVER - 9 + n)) for n in range(3)]
    young = [harness.add_one(harness.caller_row(f"young-{n}", at=OVER + 1 + n)) for n in range(3)]
    assert harness.take_ids("w2", at=60) == old, "it may be what killed its worker"
    assert harness.take_ids("w2", at=60) == [run.id]
    assert harness.take_ids("w2", at=60) == young


def a_row_that_lost_a_lease_never_joins_a_batch_of_older_rows(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    again = harness.take_one("w2", at=10)
    harness.end(again, Event.PARK, worker="w2", at=10, due_at=harness.at(40))
    old = [harness.add_one(harness.caller_row(f"old-{n}", at=20 + n)) for n in range(3)]
    assert harness.take_ids("w2", at=60) == old
    assert harness.take_ids("w2", at=60) == [look.id]


def a_lost_row_can_end_as_poison(harness: Harness) -> None:
    run, look = _lapsed(harness)
    settled = harness.end(look, Event.FAIL_MANUAL, worker="w2", at=OVER, code="poison")
    assert (settled.outcome, settled.state) == ("applied", State.FAILED_MANUAL)
    assert [attempt.outcome for attempt in harness.story(run.id).attempts] == ["lost"]
    assert (harness.row(run.id).due_at, harness.row(run.id).code) == (None, "poison")


def takeovers_add_up_over_losses(harness: Harness) -> None:
    run, look = _lapsed(harness)
    harness.start(look, worker="w2", at=OVER, event=Event.TAKEOVER)
    third = harness.take_one("w3", at=3 * OVER)
    assert (third.takeovers, third.lost, third.attempt) == (2, 2, 2)
    assert [attempt.worker for attempt in harness.story(run.id).attempts] == ["w1", "w2"]


def a_void_fence_is_stale_beside_the_one_that_counts(harness: Harness) -> None:
    harness.activate()
    for number, name in enumerate("ab", 1):
        lost = harness.running(name, at=number * 10 * OVER)
        again = harness.take_one(at=(number * 10 + 1) * OVER)  # the same worker takes over from itself
        at = (number * 10 + 1) * OVER + 1
        harness.settle(make_start(again, event=Event.TAKEOVER), at=at)
        said = {lost.fence: "stale", again.fence: "applied"}
        both = (lost, again) if name == "a" else (again, lost)
        answers = harness.settle(*map(make_end, both), at=at + 1)
        assert [answer.outcome for answer in answers] == [said[row.fence] for row in both]
        assert [line.event for line in harness.story(lost.id).ledger].count(Event.SUCCEED) == 1
        assert harness.store.tallies().stale_refused == number
