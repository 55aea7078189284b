"""``renew``: leases that are still ours grow, the others are named."""

from __future__ import annotations

from noonmark.core.model import SECOND, Event, Occurrence, Renewal, Renewed, State
from noonmark.testing.builders import LEASE
from noonmark.testing.conformance.harness import Harness


def _renew(harness: Harness, *rows: Occurrence, worker: str = "w1", at: float = 10, lease: int = LEASE) -> Renewed:
    leases = [Renewal(occurrence_id=row.id, fence=row.fence, lease=lease) for row in rows]
    return harness.store.renew(worker, leases, at=harness.at(at))


def a_lease_of_ours_is_extended_from_now(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    renewed = _renew(harness, run, at=10, lease=40 * SECOND)
    assert (renewed.lost, renewed.cancel_requested, renewed.now) == (frozenset(), frozenset(), harness.at(10))
    row = harness.row(run.id)
    assert (row.due_at, row.fence, row.attempt) == (harness.at(50), run.fence, 1)
    assert harness.take_ids("w2", at=49) == []
    assert harness.take_one("w2", at=50).is_lapsed


def a_lease_that_lapsed_unseen_is_still_ours(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert _renew(harness, run, at=100).lost == frozenset()
    assert harness.take_ids("w2", at=101) == []


def a_lease_that_somebody_looked_at_is_lost(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    look = harness.take_one("w2", at=31)
    assert _renew(harness, run, at=32).lost == {run.id}
    assert harness.row(run.id) == look


def a_lease_that_was_taken_over_is_lost(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.start(harness.take_one("w2", at=31), worker="w2", at=31, event=Event.TAKEOVER)
    assert _renew(harness, run, at=32).lost == {run.id}
    assert harness.row(run.id).due_at == harness.at(31) + LEASE


def a_run_that_ended_has_no_lease(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.end(run)
    assert _renew(harness, run).lost == {run.id}
    assert harness.row(run.id).due_at is None


def a_run_that_waits_for_its_retry_has_no_lease(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.end(run, Event.FAIL_RETRY, due_at=harness.at(60))
    assert _renew(harness, run).lost == {run.id}
    assert harness.row(run.id).due_at == harness.at(60)


def a_look_cannot_be_renewed(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    assert _renew(harness, look, at=1).lost == {look.id}
    assert harness.row(look.id).due_at == look.due_at


def an_occurrence_that_never_was_is_lost(harness: Harness) -> None:
    assert harness.store.renew("w1", [Renewal(occurrence_id=9999, fence=1, lease=LEASE)]).lost == {9999}


def only_the_lost_ones_are_named(harness: Harness) -> None:
    harness.activate()
    first, second = harness.running("a"), harness.running("b")
    harness.end(first)
    assert _renew(harness, first, second).lost == {first.id}
    assert harness.row(second.id).due_at == harness.at(10) + LEASE


def renewing_tells_who_was_asked_to_cancel(harness: Harness) -> None:
    harness.activate()
    first, second = harness.running("a"), harness.running("b")
    harness.act("cancel", occurrence_id=first.id)
    renewed = _renew(harness, first, second)
    assert (renewed.lost, renewed.cancel_requested) == (frozenset(), frozenset({first.id}))
    assert harness.row(first.id).state is State.RUNNING


def renewing_is_judged_afresh_each_time(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert _renew(harness, run, at=5).lost == frozenset()
    harness.end(run, at=6)
    assert _renew(harness, run, at=7).lost == {run.id}


def renewing_nothing_tells_the_time(harness: Harness) -> None:
    assert harness.store.renew("w1", [], at=harness.at(3)).now == harness.at(3)
