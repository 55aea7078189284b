"""``tallies``: counts for backlog and overview, by the store's own clock."""

from __future__ import annotations

from noonmark.core.model import Event, State
from noonmark.testing.conformance.harness import Harness


def an_empty_store_counts_nothing(harness: Harness) -> None:
    tallies = harness.store.tallies()
    assert sum(tallies.by_state.values()) == 0
    assert (tallies.due_now, tallies.delayed, tallies.waiting, tallies.earliest_due) == (0, 0, 0, None)
    assert (tallies.stale_refused, tallies.duplicates_refused, tallies.open_alerts) == (0, 0, ())
    assert tallies.now >= harness.t0


def rows_are_counted_by_state(harness: Harness) -> None:
    harness.activate()
    harness.ended(Event.SUCCEED, "a")
    harness.ended(Event.SUCCEED, "b")
    harness.ended(Event.FAIL_MANUAL, "c")
    harness.ended(Event.SKIP, "d")
    harness.running("e")
    harness.add_one(harness.caller_row("f", at=3600))
    by_state = {state: count for state, count in harness.store.tallies().by_state.items() if count}
    assert by_state == {
        State.SUCCESS: 2,
        State.FAILED_MANUAL: 1,
        State.SKIPPED: 1,
        State.RUNNING: 1,
        State.PENDING: 1,
    }


def due_delayed_and_waiting_rows_are_told_apart(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at("waiting", at=-3600)
    harness.end(look, Event.PARK, at=-3600, due_at=harness.at(3600), verdict="skip_dep")
    harness.add(*(harness.caller_row(f"due-{n}", at=-60) for n in range(2)))
    harness.add(*(harness.caller_row(f"delayed-{n}", at=7200) for n in range(3)))
    tallies = harness.store.tallies()
    assert (tallies.due_now, tallies.delayed, tallies.waiting) == (2, 3, 1)
    assert tallies.earliest_due == harness.at(-60)


def ended_rows_are_never_due(harness: Harness) -> None:
    harness.activate()
    harness.ended(Event.SUCCEED)
    tallies = harness.store.tallies()
    assert (tallies.due_now, tallies.earliest_due) == (0, None)


def refused_duplicates_are_counted(harness: Harness) -> None:
    harness.add(harness.caller_row("a", key="k"), harness.caller_row("b", key="k"))
    assert harness.store.tallies().duplicates_refused == 1


def a_reopened_row_is_counted_once(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    harness.activate(digest="digest-2", expected_revision=1)
    harness.activate(harness.frontier_row("1", at=60), digest="digest-3", expected_revision=2)
    by_state = {state: count for state, count in harness.store.tallies().by_state.items() if count}
    assert by_state == {State.PENDING: 1}


def every_way_to_an_end_keeps_the_counts_right(harness: Harness) -> None:
    harness.activate()
    row = harness.ended(Event.FAIL_MANUAL, "a")
    harness.act("retry", occurrence_id=row.id)
    harness.act("mark_done", occurrence_id=row.id)
    harness.add_one(harness.caller_row("b", at=3600))
    harness.act("cancel", key="key:b")
    harness.act("cancel", key="never-seen")
    by_state = {state: count for state, count in harness.store.tallies().by_state.items() if count}
    assert by_state == {State.SUCCESS: 1, State.CANCELLED: 2}


def the_revisions_of_some_jobs_are_told_alone_in_the_order_in_which_they_came(harness: Harness) -> None:
    for number in (1, 2, 3):
        for job in ("a", "b", "c"):
            harness.activate(job=job, digest=f"digest-{number}", expected_revision=number - 1, at=number)
    harness.act("end_job", job="c", at=4, effective_at=harness.at(4))
    harness.act("pause", job="b", at=5)
    told = harness.store.tallies(revisions=["c", "a", "nobody"])
    assert [(row.name, row.revision) for row in told.revisions] == [
        ("a", 1), ("c", 1), ("a", 2), ("c", 2), ("a", 3), ("c", 3), ("c", 4),
    ]  # fmt: skip
    assert told.acts == ()
    every = harness.store.tallies(revisions=True)
    assert told.revisions == tuple(row for row in every.revisions if row.name != "b")
    assert {line.event for line in every.acts} == {"end_job", "pause"}
    assert harness.store.tallies(revisions=["b"]).revisions == tuple(row for row in every.revisions if row.name == "b")
    assert harness.store.tallies(revisions=[]).revisions == ()
