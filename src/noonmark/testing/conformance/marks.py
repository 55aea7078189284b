"""What a person may do to one occurrence: cancel, retry, mark."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from noonmark.core.model import AlertWrite, Event, Note, Occurrence, Origin, Query, State
from noonmark.testing.builders import LEASE, make_end
from noonmark.testing.conformance.harness import Harness

# --- cancel ----------------------------------------------------------------------------------------


def cancelling_a_waiting_row_ends_it(harness: Harness) -> None:
    row_id = harness.add_one(harness.caller_row(at=60))
    acted = harness.act("cancel", occurrence_id=row_id, at=5)
    assert (acted.outcome, acted.ids, acted.state) == ("done", (row_id,), State.CANCELLED)
    row = harness.row(row_id)
    assert (row.state, row.due_at, row.ended_at) == (State.CANCELLED, None, harness.at(5))
    assert harness.take_ids(at=60) == []


def who_cancelled_and_why_is_in_the_ledger(harness: Harness) -> None:
    row_id = harness.add_one(harness.caller_row(at=60))
    harness.act("cancel", occurrence_id=row_id, actor="grace", reason="顾客付款了", at=5)
    line = harness.story(row_id).ledger[-1]
    assert (line.event, line.actor, line.at) == ("cancel", "grace", harness.at(5))
    assert "顾客付款了" in json.dumps(json.loads(line.detail), ensure_ascii=False) + harness.row(row_id).note


def a_cancelled_row_holds_its_key(harness: Harness) -> None:
    harness.add_one(harness.caller_row(at=60, key="k"))
    row_id = harness.act("cancel", key="k").ids[0]
    assert harness.add(harness.caller_row("b", key="k"))[0].duplicate_of == row_id


def cancelling_a_row_that_has_not_claimed_yet_claims_its_key(harness: Harness) -> None:
    row_id = harness.add_one(harness.series_row(at=60, key="k"))
    harness.act("cancel", occurrence_id=row_id)
    assert harness.row(row_id).claimed
    assert harness.add(harness.caller_row("b", key="k"))[0].duplicate_of == row_id


def cancelling_by_key_finds_every_open_row(harness: Harness) -> None:
    claimed = harness.add_one(harness.caller_row("a", at=60, key="k"))
    unclaimed = harness.add_one(harness.series_row("b", at=90, key="k"))
    elsewhere = harness.add_one(harness.caller_row("c", at=60, key="other"))
    acted = harness.act("cancel", key="k")
    assert (acted.outcome, set(acted.ids)) == ("done", {claimed, unclaimed})
    assert harness.row(claimed).state is harness.row(unclaimed).state is State.CANCELLED
    assert harness.row(elsewhere).state is State.PENDING


def cancelling_no_key_at_all_ends_nothing(harness: Harness) -> None:
    ids = [harness.add_one(replace(harness.caller_row(name, at=60), key="")) for name in ("a", "b")]
    acted = harness.act("cancel", key="")
    assert (acted.outcome, acted.ids) == ("not_found", ())
    assert [harness.row(row_id).state for row_id in ids] == [State.PENDING, State.PENDING]


def cancelling_an_unknown_key_holds_it(harness: Harness) -> None:
    acted = harness.act("cancel", key="order:7", at=5)
    assert (acted.outcome, acted.state) == ("done", State.CANCELLED)
    (row_id,) = acted.ids
    row = harness.row(row_id)
    assert (row.state, row.origin, row.claimed, row.key) == (State.CANCELLED, Origin.CANCEL, True, "order:7")
    assert (row.due_at, row.ended_at, row.actor) == (None, harness.at(5), "ada")


def a_cancel_that_overtakes_its_create_wins(harness: Harness) -> None:
    (holder,) = harness.act("cancel", key="order:7").ids
    added = harness.add(harness.caller_row("late", key="order:7", origin=Origin.EVENT))[0]
    assert (added.outcome, added.duplicate_of) == ("duplicate_key", holder)
    assert harness.take_ids(at=1000) == []


def a_cancel_that_overtakes_its_create_twice_is_held_once(harness: Harness) -> None:
    first = harness.act("cancel", key="order:7")
    second = harness.act("cancel", key="order:7", at=1)
    assert (second.outcome, second.ids) == ("already_done", first.ids)
    assert len(harness.store.occurrences(Query(key="order:7"))) == 1


def a_looked_at_row_can_be_cancelled_and_its_looker_is_refused(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    assert harness.act("cancel", occurrence_id=look.id).outcome == "done"
    assert harness.start(look).outcome == "stale"
    assert harness.row(look.id).state is State.CANCELLED


def cancelling_a_run_is_a_request(harness: Harness) -> None:
    harness.activate()
    run = harness.running(key="k")
    acted = harness.act("cancel", key="k", at=5)
    assert (acted.outcome, acted.ids, acted.state) == ("requested", (run.id,), State.RUNNING)
    row = harness.row(run.id)
    assert (row.state, row.cancel_requested, row.holder, row.due_at) == (State.RUNNING, True, "w1", run.due_at)
    assert harness.add(harness.caller_row("b", key="k"))[0].duplicate_of == run.id


def _asked_to_cancel(harness: Harness) -> Occurrence:
    harness.activate()
    run = harness.running()
    harness.act("cancel", occurrence_id=run.id)
    return run


def the_holder_carries_the_cancel_out(harness: Harness) -> None:
    run = _asked_to_cancel(harness)
    assert harness.end(run, Event.CANCEL, at=2).state is State.CANCELLED
    assert [attempt.outcome for attempt in harness.story(run.id).attempts] == ["cancelled"]
    assert harness.row(run.id).claimed


def a_success_that_wins_the_race_stands(harness: Harness) -> None:
    run = _asked_to_cancel(harness)
    assert harness.end(run, result="1").state is State.SUCCESS
    assert harness.row(run.id).result == "1"


def a_failure_after_a_requested_cancel_is_a_cancel(harness: Harness) -> None:
    run = _asked_to_cancel(harness)
    settled = harness.end(run, Event.FAIL_RETRY, due_at=harness.at(9), error="boom")
    assert (settled.outcome, settled.state) == ("applied", State.CANCELLED)
    assert harness.row(run.id).due_at is None
    assert harness.take_ids(at=60) == []


def a_final_failure_after_a_requested_cancel_is_a_cancel(harness: Harness) -> None:
    run = _asked_to_cancel(harness)
    assert harness.end(run, Event.FAIL_MANUAL).state is State.CANCELLED


def a_failure_that_a_requested_cancel_overruled_alarms_nobody(harness: Harness) -> None:
    run = _asked_to_cancel(harness)
    alert = AlertWrite(job="job", kind="failing", level=3, code="failed_final", occurrence_id=run.id)
    assert harness.end(run, Event.FAIL_MANUAL, alerts=(alert,)).state is State.CANCELLED
    assert harness.store.tallies().open_alerts == ()


def a_run_handed_back_after_a_requested_cancel_is_cancelled(harness: Harness) -> None:
    run = _asked_to_cancel(harness)
    assert harness.end(run, Event.HAND_BACK, due_at=harness.at(1)).state is State.CANCELLED


def a_lapsed_run_with_a_requested_cancel_is_cancelled_not_taken_over(harness: Harness) -> None:
    run = _asked_to_cancel(harness)
    look = harness.take_one("w2", at=LEASE / 1_000_000)
    assert look.cancel_requested
    settled = harness.start(look, worker="w2", at=31, event=Event.TAKEOVER)
    assert (settled.outcome, settled.state) == ("applied", State.CANCELLED)
    assert harness.row(run.id).attempt == 1


def cancelling_a_waiting_retry_ends_it(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.end(run, Event.FAIL_RETRY, due_at=harness.at(60))
    assert harness.act("cancel", occurrence_id=run.id).state is State.CANCELLED
    assert harness.take_ids(at=60) == []
    assert [attempt.outcome for attempt in harness.story(run.id).attempts] == ["failed"]


def cancelling_a_failed_row_ends_it(harness: Harness) -> None:
    harness.activate()
    row = harness.ended(Event.FAIL_MANUAL, key="k")
    acted = harness.act("cancel", key="k")
    assert (acted.outcome, acted.ids, acted.state) == ("done", (row.id,), State.CANCELLED)


def cancelling_a_success_answers_already_done(harness: Harness) -> None:
    harness.activate()
    row = harness.ended(Event.SUCCEED, key="k")
    wishes: tuple[dict[str, Any], ...] = ({"key": "k"}, {"occurrence_id": row.id})
    for wish in wishes:
        acted = harness.act("cancel", **wish)
        assert (acted.outcome, acted.ids, acted.state) == ("already_done", (row.id,), State.SUCCESS)
    assert harness.row(row.id).state is State.SUCCESS


def cancelling_an_occurrence_that_never_was_is_not_found(harness: Harness) -> None:
    assert harness.act("cancel", occurrence_id=9999).outcome == "not_found"


# --- retry -----------------------------------------------------------------------------------------


def _failed(harness: Harness, **fields: Any) -> Occurrence:
    """Return a row that failed for good after a lost and a failed attempt."""
    harness.activate()
    harness.running(**fields)
    look = harness.take_one("w2", at=31)
    harness.start(look, worker="w2", at=31, event=Event.TAKEOVER)
    run = harness.row(look.id)
    harness.end(run, Event.FAIL_MANUAL, worker="w2", at=32, error="boom")
    return harness.row(run.id)


def a_retry_makes_a_failed_row_due_now_with_fresh_attempts(harness: Harness) -> None:
    failed = _failed(harness, key="k")
    assert (failed.state, failed.attempt, failed.takeovers) == (State.FAILED_MANUAL, 2, 1)
    acted = harness.act("retry", occurrence_id=failed.id, at=100)
    assert (acted.outcome, acted.ids, acted.state) == ("done", (failed.id,), State.PENDING)
    row = harness.row(failed.id)
    assert (row.state, row.due_at, row.attempt, row.takeovers) == (State.PENDING, harness.at(100), 0, 0)
    assert (row.key, row.claimed, row.generation, row.identity) == ("k", True, 0, failed.identity)
    assert row.ended_at is None


def a_retried_row_runs_again_and_its_whole_past_is_told(harness: Harness) -> None:
    failed = _failed(harness)
    harness.act("retry", occurrence_id=failed.id, at=100)
    row = harness.take_one("w3", at=100)
    if row.looking:
        assert harness.start(row, worker="w3", at=100).outcome == "applied"
        row = harness.row(row.id)
    harness.end(row, worker="w3", at=101)
    attempts = harness.story(row.id).attempts
    assert [(a.outcome, a.worker, a.number) for a in attempts] == [
        ("lost", "w1", 1),
        ("failed", "w2", 2),
        ("success", "w3", 1),
    ]
    assert [a.error for a in attempts] == [None, "boom", None]


def a_retried_row_belongs_to_the_rule_of_today(harness: Harness) -> None:
    failed = _failed(harness)
    harness.activate(at=50, digest="digest-2", expected_revision=1)
    harness.act("retry", occurrence_id=failed.id, at=100)
    assert harness.row(failed.id).revision == 2


def a_missed_row_can_be_retried_although_its_window_and_limit_are_over(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(not_after=harness.at(2), expires_at=harness.at(2))
    harness.end(look, Event.MISS, at=3, verdict="skip_window", code="window_closed")
    harness.act("retry", occurrence_id=look.id, at=100)
    row = harness.take_one(at=100)
    assert row.looking, "a row that lost its window needs a look: only the rule knows today's"
    assert harness.start(row, at=100).outcome == "applied"


def a_retry_is_in_the_ledger_with_who_and_why(harness: Harness) -> None:
    failed = _failed(harness)
    harness.act("retry", occurrence_id=failed.id, actor="grace", reason="fixed the key", at=100)
    line = harness.story(failed.id).ledger[-1]
    assert (line.event, line.actor, line.at) == ("retry", "grace", harness.at(100))


def only_a_failed_row_can_be_retried(harness: Harness) -> None:
    harness.activate()
    done = harness.ended(Event.SUCCEED, "done")
    waiting = harness.add_one(harness.caller_row("waiting", at=60))
    for row_id, state in ((done.id, State.SUCCESS), (waiting, State.PENDING)):
        acted = harness.act("retry", occurrence_id=row_id)
        assert (acted.outcome, acted.state) == ("refused", state)
        assert harness.row(row_id).state is state
    assert harness.act("retry", occurrence_id=9999).outcome == "not_found"


def what_a_run_noted_is_kept_through_a_retry(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.store.note_if_held("w1", run.id, run.fence, Note(kind="step", name="fetch", value="1"), at=harness.at(1))
    harness.end(run, Event.FAIL_MANUAL, at=2)
    harness.act("retry", occurrence_id=run.id, at=3)
    assert [(note.name, note.value) for note in harness.story(run.id).notes] == [("fetch", "1")]


# --- marks -----------------------------------------------------------------------------------------


def marking_done_makes_a_failed_row_a_success(harness: Harness) -> None:
    harness.activate()
    row = harness.ended(Event.FAIL_MANUAL)
    acted = harness.act("mark_done", occurrence_id=row.id, at=9)
    assert (acted.outcome, acted.state) == ("done", State.SUCCESS)
    assert harness.row(row.id).state is State.SUCCESS


def marking_done_is_a_success_that_others_can_depend_on(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.caller_row(at=60, business_date="2026-11-28"))
    harness.act("mark_done", occurrence_id=row_id)
    name = "success:job::2026-11-28"
    assert harness.store.facts([name])[name].is_set


def marking_done_claims_the_key(harness: Harness) -> None:
    row_id = harness.add_one(harness.series_row(at=60, key="k"))
    harness.act("mark_done", occurrence_id=row_id)
    assert harness.add(harness.caller_row("b", key="k"))[0].duplicate_of == row_id


def marking_done_never_makes_a_second_success_of_a_key(harness: Harness) -> None:
    harness.activate()
    done = harness.ended(Event.SUCCEED, "done", key="k")
    row_id = harness.add_one(harness.series_row("b", at=60, key="k"))
    assert harness.act("mark_done", occurrence_id=row_id).outcome == "refused"
    assert harness.row(row_id).state is State.PENDING
    assert harness.row(done.id).state is State.SUCCESS


def a_mark_that_another_rows_key_refuses_answers_with_that_row_and_its_state(harness: Harness) -> None:
    harness.activate()
    done, failed = harness.ended(Event.SUCCEED, "done", key="k"), harness.ended(Event.FAIL_MANUAL, "failed", key="l")
    runs = harness.running("runs", key="m")
    for other, state in ((done, State.SUCCESS), (failed, State.FAILED_MANUAL), (runs, State.RUNNING)):
        row_id = harness.add_one(harness.series_row(f"b{other.id}", at=60, key=other.key))
        answer = harness.act("mark_done", occurrence_id=row_id)
        assert (answer.outcome, answer.ids, answer.state) == ("refused", (other.id,), state)
        assert harness.row(row_id).state is State.PENDING


def marking_skip_ends_a_waiting_row(harness: Harness) -> None:
    row_id = harness.add_one(harness.caller_row(at=60))
    assert harness.act("mark_skip", occurrence_id=row_id).state is State.SKIPPED
    assert harness.take_ids(at=60) == []


def marking_handled_ends_a_failed_row(harness: Harness) -> None:
    harness.activate()
    row = harness.ended(Event.FAIL_MANUAL)
    assert harness.act("mark_handled", occurrence_id=row.id).state is State.CANCELLED


def dealing_with_a_failed_row_closes_its_alert(harness: Harness) -> None:
    harness.activate()
    for kind in ("mark_done", "mark_skip", "mark_handled", "cancel"):
        run = harness.running(kind)
        alert = AlertWrite(job="job", kind="failing", level=3, code="failed_final", occurrence_id=run.id)
        harness.end(run, Event.FAIL_MANUAL, alerts=(alert,))
        assert len(harness.store.tallies().open_alerts) == 1
        assert harness.act(kind, occurrence_id=run.id, at=1).outcome == "done"
        assert harness.store.tallies().open_alerts == (), kind


def dealing_with_a_row_leaves_the_alerts_of_others_open(harness: Harness) -> None:
    harness.activate()
    first, second = harness.ended(Event.FAIL_MANUAL, "a"), harness.running("b")
    alert = AlertWrite(job="job", kind="failing", level=3, code="failed_final", occurrence_id=second.id)
    harness.end(second, Event.FAIL_MANUAL, alerts=(alert,))
    harness.act("mark_handled", occurrence_id=first.id)
    assert len(harness.store.tallies().open_alerts) == 1


def dealing_with_a_row_leaves_an_alert_open_that_is_about_another_by_now(harness: Harness) -> None:
    harness.activate()
    harness.add(harness.caller_row("a"), harness.caller_row("b"))
    first, second = harness.take().rows
    write = AlertWrite(job="job", kind="failing", level=3, code="failed_final")
    harness.settle(
        *(make_end(run, Event.FAIL_MANUAL, alerts=(replace(write, occurrence_id=run.id),)) for run in (first, second))
    )
    assert harness.story(first.id).alerts == ()
    harness.act("mark_handled", occurrence_id=first.id)
    assert [alert.occurrence_id for alert in harness.store.tallies().open_alerts] == [second.id]


def a_success_is_never_overwritten_by_a_mark(harness: Harness) -> None:
    harness.activate()
    row = harness.ended(Event.SUCCEED)
    assert harness.act("mark_done", occurrence_id=row.id).outcome == "already_done"
    for kind in ("mark_skip", "mark_handled"):
        assert harness.act(kind, occurrence_id=row.id).outcome in ("refused", "already_done")
    assert harness.row(row.id) == row


def a_running_row_cannot_be_marked(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    for kind in ("mark_done", "mark_skip", "mark_handled"):
        acted = harness.act(kind, occurrence_id=run.id)
        assert (acted.outcome, acted.state) == ("refused", State.RUNNING)
    assert harness.row(run.id) == run


def a_mark_on_an_occurrence_that_never_was_is_not_found(harness: Harness) -> None:
    assert harness.act("mark_done", occurrence_id=9999).outcome == "not_found"
