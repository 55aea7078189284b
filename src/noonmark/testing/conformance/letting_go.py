"""Rows that a rollback held, and a person who lets them go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noonmark.core import releasing, rollback
from noonmark.core.model import Act, Event, Gates, Occurrence, State
from noonmark.core.model.rollback import Claim, Epoch, Proof
from noonmark.ports.store import Capability
from noonmark.testing.builders import make_end, make_start
from noonmark.testing.conformance.harness import Harness


def _hold(harness: Harness, *, name: str = "a", at: float = 0, **fields: Any) -> int:
    """Park a row as a look after a rollback does."""
    row = harness.looked_at(name, at=-5, **fields)
    return _park(harness, row, at=at)


def _park(harness: Harness, row: Any, *, at: float) -> int:
    item = make_end(row, Event.PARK, due_at=harness.at(86_400), code="held_rollback", verdict="skip_lease")
    assert harness.settle(item, at=at)[0].outcome == "applied"
    return int(row.id)


def a_held_row_that_is_released_is_due_and_no_limit_of_it_counts(harness: Harness) -> None:
    harness.activate()
    row_id = _hold(harness, expires_at=harness.at(10), not_after=harness.at(10))
    answer = harness.act("release", occurrence_id=row_id, at=100)
    assert (answer.outcome, answer.state) == ("done", State.PENDING)
    row = harness.row(row_id)
    assert (row.due_at, row.expires_at, row.not_after, row.code) == (harness.at(100), None, None, "released")
    assert (row.actor, row.gated) == ("ada", True)
    assert harness.story(row_id).ledger[-1].event == "release"
    assert harness.take_ids(at=101) == [row_id]


def a_lapsed_run_that_was_held_is_marked_as_done_in_one_act(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    lapsed = harness.take_one(at=100)
    assert harness.act("mark_done", occurrence_id=lapsed.id, at=100).outcome == "refused", "a worker has it"
    row_id = _park(harness, lapsed, at=100)
    answer = harness.act("mark_done", occurrence_id=row_id, at=101)
    assert (answer.outcome, answer.state) == ("done", State.SUCCESS)
    row = harness.row(row_id)
    assert (row.code, row.due_at, row.ended_at, row.holder) == ("marked_done", None, harness.at(101), "")
    assert [attempt.outcome for attempt in harness.story(row_id).attempts] == ["lost"]
    assert harness.version(f"success:job::{row.business_date}") == 1
    assert harness.end(run, at=102).outcome == "stale"
    assert harness.take_ids(at=200_000) == []


def a_run_that_no_rollback_holds_is_marked_by_nobody(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    assert harness.act("mark_done", occurrence_id=row.id).outcome == "refused"
    lapsed = harness.take_one(at=100)
    park = make_end(lapsed, Event.PARK, due_at=harness.at(200), code="holder_alive", verdict="skip_lease")
    assert harness.settle(park, at=100)[0].outcome == "applied"
    assert harness.act("mark_done", occurrence_id=row.id, at=101).outcome == "refused"
    assert harness.row(row.id).state is State.RUNNING


def only_held_rows_can_be_released(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.caller_row(at=50))
    assert harness.act("release", occurrence_id=row_id).outcome == "refused"
    assert harness.act("release", occurrence_id=999).outcome == "not_found"
    assert harness.row(row_id).due_at == harness.at(50)


def a_lapsed_run_that_was_held_is_released_for_a_fresh_start(harness: Harness) -> None:
    harness.activate()
    harness.running()
    lapsed = harness.take_one(at=100)
    assert lapsed.is_lapsed
    row_id = _park(harness, lapsed, at=100)
    assert harness.act("release", occurrence_id=row_id, at=101).state is State.PENDING
    again = harness.take_one(at=102)
    assert (again.attempt, again.looking) == (0, True)
    assert harness.start(again, at=102).outcome == "applied"
    assert [attempt.outcome for attempt in harness.story(row_id).attempts] == ["lost", "running"]


def a_held_row_that_is_the_last_of_its_series_is_marked_as_done(harness: Harness) -> None:
    """It was looked at, and keeps the frontier flag only because nothing comes after it."""
    harness.activate()
    looked = harness.looked_at(at=-5, frontier=True)
    assert harness.act("mark_done", occurrence_id=looked.id).outcome == "refused", "a look may name its successor"
    row_id = _park(harness, looked, at=0)
    assert harness.row(row_id).frontier
    assert harness.act("mark_done", occurrence_id=row_id, at=1).outcome == "done"
    row = harness.row(row_id)
    assert (row.state, row.frontier, row.due_at) == (State.SUCCESS, False, None)
    assert harness.take_ids(at=200_000) == []


def a_cancel_ends_what_is_held_at_once(harness: Harness) -> None:
    """Nobody is at it who could do so, and its next look may be far away."""
    harness.activate()
    harness.running()
    run = _park(harness, harness.take_one(at=100), at=100)
    last = _hold(harness, name="b", at=100, frontier=True)
    for row_id in (run, last):
        answer = harness.act("cancel", occurrence_id=row_id, at=101)
        assert (answer.outcome, answer.state) == ("done", State.CANCELLED)
        row = harness.row(row_id)
        assert (row.code, row.frontier, row.due_at, row.actor) == ("cancelled", False, None, "ada")
        assert harness.act("release", occurrence_id=row_id, at=102).outcome == "refused"
    assert [attempt.outcome for attempt in harness.story(run).attempts] == ["lost"]
    assert harness.take_ids(at=200_000) == []


def a_release_takes_no_cancel_back(harness: Harness) -> None:
    harness.activate()
    harness.running()
    lapsed = harness.take_one(at=100)
    assert harness.act("cancel", occurrence_id=lapsed.id, at=100).outcome == "requested", "a worker looks at it"
    row_id = _park(harness, lapsed, at=100)
    assert harness.act("release", actor="bob", occurrence_id=row_id, at=100.5).state is State.PENDING
    row = harness.row(row_id)
    assert (row.cancel_requested, row.actor, row.code) == (True, lapsed.actor, "released")
    again = harness.take_one(at=101)
    assert (again.looking, harness.start(again, at=101).changed) == (True, ("cancel",))
    assert harness.end(again, Event.CANCEL, at=101, code="cancelled").outcome == "applied"
    assert harness.row(row_id).state is State.CANCELLED


def what_is_tried_again_in_a_lost_range_is_looked_at_first(harness: Harness) -> None:
    """Each start of it may be a repeat, and only a look says so."""
    harness.activate()
    row = harness.looked_at(at=-5, gated=False)
    started = replace(make_start(row), code="restored_epoch")
    assert harness.settle(started)[0].outcome == "applied"
    assert harness.row(row.id).gated
    assert harness.end(row, Event.FAIL_RETRY, due_at=harness.at(5)).outcome == "applied"
    again = harness.take_one(at=5)
    assert (again.id, again.looking, again.state) == (row.id, True, State.FAILED_RETRYING)


def what_is_taken_over_in_a_lost_range_is_looked_at_before_it_is_tried_again(harness: Harness) -> None:
    harness.activate()
    harness.running()
    lapsed = harness.take_one(at=100)
    assert (lapsed.is_lapsed, lapsed.gated) == (True, False)
    taken_over = replace(make_start(lapsed), event=Event.TAKEOVER, code="restored_epoch")
    assert harness.settle(taken_over, at=100)[0].outcome == "applied"
    assert harness.end(lapsed, Event.FAIL_RETRY, at=101, due_at=harness.at(105)).outcome == "applied"
    assert harness.take_one(at=105).looking


def a_held_row_wakes_when_the_rollbacks_fact_moves(harness: Harness) -> None:
    harness.activate()
    row = harness.looked_at(at=-5)
    harness.signal(rollback.FACT, {"epochs": []})
    gates = Gates(revision=1, facts={rollback.FACT: 1})
    park = make_end(row, Event.PARK, due_at=harness.at(86_400), code="held_rollback", gates=gates)
    assert harness.settle(park)[0].outcome == "applied"
    assert harness.take_ids(at=10) == []
    harness.signal(rollback.FACT, {"epochs": [], "x": 1}, at=11)
    assert harness.take_ids(at=12) == [row.id]


def a_held_row_that_wakes_is_looked_at_again_and_never_started_by_take(harness: Harness) -> None:
    """The fact moves whenever another writer joins the rollback; a person has said nothing yet."""
    harness.activate()
    harness.signal(rollback.FACT, {"epochs": []})
    row = harness.looked_at(at=-5, frontier=True, gated=False)  # made after the rollback, so no proof has gated it
    successor = harness.series_row("b", at=86_400, frontier=True)
    gates = Gates(revision=1, facts={rollback.FACT: 1})
    park = make_end(row, Event.PARK, due_at=harness.at(86_400), code="held_rollback", gates=gates, adds=(successor,))
    assert harness.settle(park)[0].outcome == "applied"
    assert not harness.row(row.id).frontier
    harness.signal(rollback.FACT, {"epochs": [], "x": 1}, at=11)
    again = harness.take_one(at=12)
    assert (again.id, again.looking, again.state) == (row.id, True, State.PENDING)


def what_waits_for_something_else_in_a_lost_range_is_looked_at_first(harness: Harness) -> None:
    """A moment that is yielded after the proof is gated by nobody; its park says that the rollbacks were seen."""
    harness.activate()
    harness.signal(rollback.FACT, {"epochs": []})
    row = harness.looked_at(at=-5, frontier=True, gated=False)
    successor = harness.series_row("b", at=86_400, frontier=True)
    gates = Gates(revision=1, facts={rollback.FACT: 1})
    park = make_end(row, Event.PARK, due_at=harness.at(10), code="handler_missing", gates=gates, adds=(successor,))
    assert harness.settle(park)[0].outcome == "applied"
    assert (harness.row(row.id).gated, harness.row(row.id).frontier) == (True, False)
    assert harness.take_one(at=11).looking


# -- between what a person was shown and the act --------------------------------------------------------------


def _rolled_back(harness: Harness, writer: str = "p1", *, at: float) -> Epoch:
    """Let a writer prove that the store lost something, and return the newest rollback."""
    store: Any = harness.store
    claim = Claim(writer=writer, worker="w1", receipt=None)
    receipt = store.prove(claim, at=harness.at(at)).receipt
    lost = replace(receipt, seq=receipt.seq + 1, hash="f" * 64, at=harness.at(at - 1))
    proof: Proof = store.prove(replace(claim, receipt=lost), at=harness.at(at))
    assert proof.outcome in ("lost", "joined")
    return proof.epochs[-1]


def _rollbacks(harness: Harness) -> tuple[Epoch, ...]:
    return rollback.epochs_of(harness.store.facts([rollback.FACT])[rollback.FACT].value)


def _proves(harness: Harness) -> bool:
    return Capability.PROVES in harness.store.capabilities


def letting_the_last_rollback_go_closes_the_alert(harness: Harness) -> None:
    if not _proves(harness):
        return
    named = releasing.shown([_rolled_back(harness, at=60)])
    assert harness.act("release", epochs=named, at=70).outcome == "done"
    (epoch,) = _rollbacks(harness)
    assert (epoch.released_at, epoch.released_by, epoch.reason) == (harness.at(70), "ada", "because")
    assert harness.store.tallies().open_alerts == ()
    assert harness.act("release", epochs=named, at=71).outcome == "already_done"
    assert harness.version(rollback.FACT) == 2


def letting_one_job_go_keeps_the_alert(harness: Harness) -> None:
    if not _proves(harness):
        return
    named = releasing.shown([_rolled_back(harness, at=60)])
    assert harness.act("release", job="job", epochs=named, at=70).outcome == "done"
    (epoch,) = _rollbacks(harness)
    assert (epoch.is_released("job"), epoch.is_released("other")) == (True, False)
    assert len(harness.store.tallies().open_alerts) == 1


def a_rollback_that_was_proved_since_is_not_let_go(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    row_id = _hold(harness)
    shown = releasing.shown([_rolled_back(harness, at=60)])
    _rolled_back(harness, "p2", at=80)
    answer = harness.act("release", occurrence_id=row_id, epochs=shown, at=81)
    assert (answer.outcome, harness.row(row_id).code) == ("refused", "held_rollback")
    assert harness.act("release", epochs=shown, at=81).outcome == "done"
    assert [epoch.released_at for epoch in _rollbacks(harness)] == [harness.at(81), None]
    assert len(harness.store.tallies().open_alerts) == 1
    shown = releasing.shown(_rollbacks(harness))
    assert harness.act("release", occurrence_id=row_id, epochs=shown, at=82).outcome == "done"


def a_held_row_is_not_marked_over_a_rollback_that_was_proved_since(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    row_id = _hold(harness)
    shown = releasing.shown([_rolled_back(harness, at=60)])
    _rolled_back(harness, "p2", at=80)
    answer = harness.act("mark_done", occurrence_id=row_id, epochs=shown, at=81)
    assert (answer.outcome, answer.state, harness.row(row_id).code) == ("refused", State.PENDING, "held_rollback")
    shown = releasing.shown(_rollbacks(harness))
    assert harness.act("mark_done", occurrence_id=row_id, epochs=shown, at=82).outcome == "done"
    assert harness.act("mark_done", occurrence_id=row_id, epochs=shown, at=83).outcome == "already_done"
    other = _hold(harness, name="b", at=84)
    assert harness.act("mark_done", occurrence_id=other, at=85).outcome == "done", "whatever holds it"


def a_rollback_that_grew_since_is_not_let_go(harness: Harness) -> None:
    if not _proves(harness):
        return
    epoch = _rolled_back(harness, at=60)
    smaller = ((epoch.number, epoch.lost_until - 1),)
    assert harness.act("release", epochs=smaller, at=70).outcome == "refused"
    assert harness.act("release", job="job", epochs=smaller, at=70).outcome == "refused"
    assert harness.act("release", at=70).outcome == "refused", "none was shown"
    assert _rollbacks(harness) == (epoch,)
    assert len(harness.store.tallies().open_alerts) == 1


def a_repeated_release_lets_nothing_go_that_was_proved_since(harness: Harness) -> None:
    if not _proves(harness):
        return
    shown = releasing.shown([_rolled_back(harness, at=60)])
    act = Act(kind="release", actor="ada", reason="because", epochs=shown)
    first = harness.store.act("same", act, at=harness.at(70))
    _rolled_back(harness, "p2", at=80)
    assert harness.store.act("same", act, at=harness.at(81)) == first
    assert [epoch.released_at for epoch in _rollbacks(harness)] == [harness.at(70), None]
    assert len(harness.store.tallies().open_alerts) == 1


def what_was_let_go_is_held_again_by_the_next_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    row_id = _hold(harness)
    shown = releasing.shown([_rolled_back(harness, at=60)])
    assert harness.act("release", occurrence_id=row_id, epochs=shown, at=70).outcome == "done"
    _rolled_back(harness, "p2", at=80)
    row = harness.row(row_id)
    assert (row.state, row.code, row.detail, row.gated) == (State.PENDING, "", "{}", True), "it may have run since"


def what_a_person_retried_is_held_again_by_the_next_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    failed = harness.ended(Event.FAIL_MANUAL)
    assert harness.act("retry", occurrence_id=failed.id, at=70).outcome == "done"
    assert harness.row(failed.id).code == "retried"
    _rolled_back(harness, at=80)
    row = harness.row(failed.id)
    assert (row.state, row.code, row.detail, row.gated) == (State.PENDING, "", "{}", True), "it may have run since"


# --- what a newer moment stands for, and ran all the same -------------------------------------------


def _passed_over(harness: Harness, verdict: str = "skip_superseded", code: str = "superseded") -> Occurrence:
    """Return a moment that the catch-up rules passed over."""
    harness.activate()
    look = harness.looked_at("old", key="k", business_date="2026-11-28")
    harness.end(look, Event.SKIP, at=1, verdict=verdict, code=code)
    return harness.row(look.id)


def a_superseded_moment_that_ran_all_the_same_can_be_marked_done(harness: Harness) -> None:
    row = _passed_over(harness)
    assert (row.state, row.claimed) == (State.SKIPPED, False)
    assert harness.act("mark_skip", occurrence_id=row.id, at=2).outcome == "refused"
    acted = harness.act("mark_done", occurrence_id=row.id, actor="grace", reason="a journal has it", at=2)
    assert (acted.outcome, acted.ids, acted.state) == ("done", (row.id,), State.SUCCESS)
    after = harness.row(row.id)
    assert (after.state, after.verdict, after.code, after.ended_at) == (State.SUCCESS, "", "marked_done", harness.at(2))
    assert (after.claimed, after.actor, after.note, after.due_at) == (True, "grace", "a journal has it", None)
    assert harness.add(harness.caller_row("b", key="k"))[0].duplicate_of == row.id, "it has its key now"
    name = "success:job::2026-11-28"
    assert harness.store.facts([name])[name].is_set
    assert harness.act("mark_done", occurrence_id=row.id).outcome == "already_done"


def a_moment_that_was_skipped_as_missed_can_be_marked_done(harness: Harness) -> None:
    row = _passed_over(harness, "skip_expired", "missed_skipped")
    assert harness.act("mark_done", occurrence_id=row.id, at=2).state is State.SUCCESS
    after = harness.row(row.id)
    assert (after.state, after.verdict, after.code, after.claimed) == (State.SUCCESS, "", "marked_done", True)


def a_superseded_moment_whose_key_another_row_holds_is_not_marked(harness: Harness) -> None:
    row = _passed_over(harness)
    harness.add(harness.caller_row("b", key="k", at=60))
    assert harness.act("mark_done", occurrence_id=row.id).outcome == "refused"
    assert harness.row(row.id) == row


def what_ended_for_another_reason_than_a_newer_moment_is_not_marked(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at("x")
    harness.end(look, Event.SKIP, at=1, verdict="skip_guard", code="weekend")
    new = harness.series_row("g", key="", state=State.SKIPPED, due_at=None, verdict="skip_superseded", range_count=2)
    record = harness.add_one(replace(new, range_until=harness.at(60)))
    for row_id in (look.id, record):
        before = harness.row(row_id)
        acted = harness.act("mark_done", occurrence_id=row_id)
        assert (acted.outcome, acted.ids, acted.state) == ("refused", (row_id,), State.SKIPPED)
        assert harness.row(row_id) == before
