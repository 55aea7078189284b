"""The frontier and its successors: what a look adds on its way, and what it must not add."""

from __future__ import annotations

from dataclasses import replace

from noonmark.core.model import Event, Gates, NewOccurrence, Occurrence, Passed, Query, Settlement, State
from noonmark.testing.builders import LEASE, make_end, make_start
from noonmark.testing.conformance.harness import Harness


def _frontiers(harness: Harness) -> list[str]:
    rows = harness.store.occurrences(Query(job="job", open_only=True, frontier_only=True, oldest_first=True))
    return [row.identity for row in rows]


def _look(harness: Harness) -> tuple[Occurrence, NewOccurrence]:
    """Return the frontier of a new series under a look, and its successor."""
    harness.activate(harness.frontier_row("1", at=10))
    return harness.take_one(at=10), harness.frontier_row("2", at=70)


def a_park_hands_the_frontier_to_the_successor(harness: Harness) -> None:
    look, successor = _look(harness)
    harness.end(look, Event.PARK, at=10, due_at=harness.at(20), gates=Gates(revision=1), adds=(successor,))
    assert _frontiers(harness) == ["t:2"]
    assert harness.row(look.id).state is State.PENDING
    assert [row.identity for row in harness.take(at=70).rows] == [look.identity, "t:2"]


def a_start_hands_the_frontier_to_the_successor(harness: Harness) -> None:
    look, successor = _look(harness)
    settlement = harness.store.settle(
        harness.request(),
        "w1",
        [_with_adds(look, successor)],
        at=harness.at(10),
    )[0]
    assert settlement.outcome == "applied"
    assert _frontiers(harness) == ["t:2"]
    assert harness.row(look.id).state is State.RUNNING


def a_skip_hands_the_frontier_to_the_successor(harness: Harness) -> None:
    look, successor = _look(harness)
    harness.end(look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(successor,))
    assert _frontiers(harness) == ["t:2"]


def a_miss_hands_the_frontier_to_the_successor(harness: Harness) -> None:
    look, successor = _look(harness)
    harness.end(look, Event.MISS, at=10, gates=Gates(revision=1), adds=(successor,))
    assert _frontiers(harness) == ["t:2"]


def a_park_without_a_successor_stays_the_frontier(harness: Harness) -> None:
    look, _ = _look(harness)
    harness.end(look, Event.PARK, at=10, due_at=harness.at(20), gates=Gates(revision=1), code="handler_missing")
    assert _frontiers(harness) == ["t:1"]


def the_successor_is_not_due_before_its_moment(harness: Harness) -> None:
    look, successor = _look(harness)
    harness.end(look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(successor,))
    assert harness.take_ids(at=69) == []
    assert harness.take_one(at=70).frontier


def a_refused_start_leaves_the_frontier_where_it_was(harness: Harness) -> None:
    look, successor = _look(harness)
    harness.act("pause", job="job")
    settled = harness.settle(_with_adds(look, successor), at=10)[0]
    assert settled.outcome == "changed"
    assert _frontiers(harness) == ["t:1"]


def a_frontier_of_an_older_revision_is_not_added(harness: Harness) -> None:
    look, successor = _look(harness)
    harness.activate(harness.frontier_row("9", at=90), at=10, digest="digest-2", expected_revision=1)
    assert harness.end(
        look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(successor,)
    ).outcome in ("changed", "stale")
    assert _frontiers(harness) == ["t:9"]


def moments_of_a_series_come_along_with_its_frontier_only(harness: Harness) -> None:
    look, _ = _look(harness)
    harness.activate(harness.frontier_row("9", at=90), at=15, digest="digest-2", expected_revision=1)
    between, successor = harness.series_row("2", at=12), harness.frontier_row("3", at=70)
    for revision in (1, 2):  # the rule that was taken back, and the one that knows nothing of moments before it
        gates, adds = Gates(revision=revision), (between, successor)
        ends = [
            harness.end(look, event, at=20, due_at=harness.at(30), gates=gates, adds=adds)
            for event in (Event.SKIP, Event.PARK, Event.MISS)
        ]
        started = harness.settle(replace(make_start(look, revision=revision), adds=adds), at=20)[0]
        assert [answer.outcome for answer in (*ends, started)] == ["changed"] * 4, revision
    assert harness.store.occurrences(Query(identity="t:2")) == []
    assert _frontiers(harness) == ["t:9"]
    assert harness.settle(make_start(look, revision=2), at=20)[0].outcome == "applied"


def a_look_under_an_older_revision_does_not_take_the_frontier_flag_along(harness: Harness) -> None:
    for event in (Event.PARK, Event.SKIP, Event.MISS, Event.CANCEL):
        job = f"job-{event}"
        harness.activate(harness.frontier_row("1", at=10, job=job, key=job), job=job)
        (look,) = harness.take(at=10, runnable={job: LEASE}).rows
        again = harness.frontier_row("1", at=10, job=job, key=job)  # the edit takes effect just before the moment
        harness.activate(again, job=job, at=9.9, digest="digest-2", expected_revision=1)
        successor = harness.frontier_row("2", at=70, job=job, key="other")
        settled = harness.end(look, event, at=10, due_at=harness.at(20), gates=Gates(revision=1), adds=(successor,))
        rows = harness.store.occurrences(Query(job=job, open_only=True, frontier_only=True))
        assert [row.identity for row in rows] == ["t:1"], event
        assert settled.outcome == "changed"
        harness.end(look, event, at=10, due_at=harness.at(20), gates=Gates(revision=2), adds=(successor,))
        rows = harness.store.occurrences(Query(job=job, open_only=True, frontier_only=True))
        assert [row.identity for row in rows] == ["t:2"], event


def other_follow_ups_do_not_depend_on_the_revision(harness: Harness) -> None:
    look, _ = _look(harness)
    harness.activate(harness.frontier_row("9", at=90), at=10, digest="digest-2", expected_revision=1)
    digest = harness.caller_row("digest", at=300)
    settled = harness.end(look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(digest,))
    assert settled.outcome == "applied"
    assert [row.identity for row in harness.store.occurrences(Query(identity="l:digest"))] == ["l:digest"]


def a_follow_up_that_exists_is_left_alone(harness: Harness) -> None:
    look, _ = _look(harness)
    there = harness.add_one(harness.caller_row("x", at=500))
    harness.end(
        look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(harness.caller_row("x", at=600),)
    )
    assert harness.row(there).due_at == harness.at(500)


def a_follow_up_that_ended_is_left_alone(harness: Harness) -> None:
    look, _ = _look(harness)
    done = harness.ended(Event.SUCCEED, "x", at=1)
    harness.end(
        look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(harness.caller_row("x", at=600),)
    )
    assert harness.row(done.id).state is State.SUCCESS


def a_follow_up_whose_key_is_held_is_recorded_as_a_duplicate(harness: Harness) -> None:
    harness.activate()
    run = harness.running(key="k")
    harness.end(run, adds=(harness.caller_row("x", at=60, key="k"),))
    (row,) = harness.store.occurrences(Query(identity="l:x"))
    assert (row.state, row.verdict, row.duplicate_of) == (State.SKIPPED, "skip_duplicated", run.id)


def a_range_record_travels_with_the_look_that_skipped_the_range(harness: Harness) -> None:
    look, _ = _look(harness)
    record = harness.series_row(
        identity="g:1", at=70, key="", state=State.SKIPPED, due_at=None, verdict="skip_superseded",
        code="range_superseded", range_until=harness.at(190), range_count=3,
    )  # fmt: skip
    latest = harness.series_row("5", at=250)
    successor = harness.frontier_row("6", at=310)
    harness.end(
        look, Event.SKIP, at=260, verdict="skip_superseded", code="superseded", gates=Gates(revision=1),
        adds=(record, latest, successor),
    )  # fmt: skip
    (stored,) = harness.store.occurrences(Query(identity="g:1"))
    assert (stored.state, stored.range_count, stored.due_at) == (State.SKIPPED, 3, None)
    assert _frontiers(harness) == ["t:6"]
    assert harness.take_one(at=260).identity == "t:5"


def a_superseded_moment_that_is_not_yet_due_is_reopened(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=10), harness.frontier_row("2", at=70, subject="s"))
    harness.activate(harness.frontier_row("1", at=10), digest="digest-2", expected_revision=1)
    (gone,) = harness.store.occurrences(Query(identity="t:2"))
    assert (gone.state, gone.verdict) == (State.SKIPPED, "skip_superseded")
    look = harness.take_one(at=10)
    again = harness.frontier_row("2", at=70, subject="s", key="fresh", revision=2, not_after=harness.at(99))
    harness.end(look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=2), adds=(again,))
    row = harness.row(gone.id)
    assert (row.state, row.due_at, row.frontier, row.ended_at) == (State.PENDING, harness.at(70), True, None)
    assert (row.key, row.revision, row.not_after, row.verdict) == ("fresh", 2, harness.at(99), "")
    assert harness.take_ids(at=70) == [gone.id]


def a_superseded_moment_that_the_rule_in_force_yields_late_is_reopened(harness: Harness) -> None:
    harness.activate(harness.frontier_row("4", at=20))
    harness.activate(harness.frontier_row("2", at=10), digest="digest-2", expected_revision=1)
    (gone,) = harness.store.occurrences(Query(identity="t:4"))
    assert gone.code == "revision_superseded"
    look = harness.take_one(at=30)
    again = harness.frontier_row("4", at=20, revision=2)
    harness.end(look, Event.SKIP, at=30, verdict="skip_superseded", gates=Gates(revision=2), adds=(again,))
    assert _frontiers(harness) == ["t:4"], "the series would have ended here"
    assert harness.take_ids(at=30) == [gone.id]


def a_superseded_moment_from_before_the_rule_in_force_stays_ended(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=10), harness.frontier_row("2", at=20, subject="s"))
    harness.activate(harness.frontier_row("1", at=10), digest="digest-2", expected_revision=1)
    harness.activate(harness.frontier_row("3", at=90), digest="digest-3", expected_revision=2, at=22)
    (gone,) = harness.store.occurrences(Query(identity="t:2"))
    look = harness.take_one(at=30)
    again = harness.frontier_row("2", at=20, subject="s", revision=3)
    harness.end(look, Event.SKIP, at=30, verdict="skip_guard", gates=Gates(revision=3), adds=(again,))
    assert harness.row(gone.id).state is State.SKIPPED


def a_skip_for_another_reason_is_never_reopened(harness: Harness) -> None:
    look, _ = _look(harness)
    skipped = harness.ended(Event.SKIP, "x", at=1)
    again = harness.caller_row("x", at=600)
    harness.end(look, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(again,))
    assert harness.row(skipped.id).state is State.SKIPPED


# --- a person's word about a frontier: the series must go on without that one moment -------------------


def cancelling_a_frontier_is_a_request_until_its_first_look(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=10, key="k"))
    acted = harness.act("cancel", key="k", at=1)
    assert acted.outcome == "requested"
    assert _frontiers(harness) == ["t:1"], "only a look can name the successor: ended here, the series would stop"
    assert harness.add(harness.caller_row("b", key="k"), at=2)[0].duplicate_of == acted.ids[0]


def a_cancelled_frontier_never_runs_and_hands_over_to_its_successor(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=10))
    (row_id,) = harness.act("cancel", key="key:1", at=1).ids
    look, successor = harness.take_one(at=10), harness.frontier_row("2", at=70)
    assert look.cancel_requested
    started = harness.settle(_with_adds(look, successor), at=10)[0]
    if started.outcome != "applied":
        assert started.outcome == "changed"
        gates = Gates(revision=1)
        assert harness.end(look, Event.CANCEL, at=10, gates=gates, adds=(successor,)).outcome == "applied"
    assert harness.row(row_id).state is State.CANCELLED
    assert harness.row(row_id).attempt == 0
    assert _frontiers(harness) == ["t:2"]


def a_frontier_that_is_cancelled_under_its_look_and_parks_is_not_started_by_the_next_take(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=10, gated=False))
    look = harness.take_one(at=10)
    assert harness.act("cancel", occurrence_id=look.id, at=11).outcome == "requested"
    park = make_end(
        look,
        Event.PARK,
        due_at=harness.at(12),
        gates=Gates(revision=1),
        verdict="skip_window",
        adds=(harness.frontier_row("2", at=70),),
    )
    assert harness.settle(park, at=12)[0].outcome == "applied"
    assert _frontiers(harness) == ["t:2"]
    again = harness.take_one(at=14)
    assert (again.id, again.state, again.looking) == (look.id, State.PENDING, True), "nothing but the cancel forbids it"
    assert harness.end(again, Event.CANCEL, at=14).outcome == "applied"
    assert (harness.row(look.id).state, harness.row(look.id).attempt) == (State.CANCELLED, 0)


def a_cancelled_frontier_that_a_rule_takes_away_is_cancelled_and_never_comes_back(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, key="k"))
    (row_id,) = harness.act("cancel", key="k", at=1).ids
    harness.activate(harness.frontier_row("2", at=90), at=10, digest="digest-2", expected_revision=1)
    row = harness.row(row_id)
    assert (row.state, row.code, row.due_at, row.ended_at) == (State.CANCELLED, "cancelled", None, harness.at(10))
    assert (harness.story(row_id).ledger[-1].event, harness.story(row_id).ledger[-1].actor) == ("cancel", "ada")
    assert harness.add(harness.caller_row("b", key="k"), at=11)[0].duplicate_of == row_id
    harness.activate(harness.frontier_row("1", at=60, key="k"), at=20, digest="digest-3", expected_revision=2)
    assert harness.row(row_id).state is State.CANCELLED, "a later revision that yields it again reopens it"


def a_cancelled_frontier_that_a_rule_yields_again_keeps_the_key_that_was_cancelled(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, key="k"))
    (row_id,) = harness.act("cancel", key="k", at=1).ids
    for revision, key in enumerate(("k", "other"), start=1):
        again = harness.frontier_row("1", at=60, key=key, expires_at=harness.at(60 + revision))
        harness.activate(again, at=10 * revision, digest=f"digest-{key}", expected_revision=revision)
        row = harness.row(row_id)
        assert (row.key, row.claimed, row.cancel_requested, row.frontier) == ("k", True, True, True)
        assert (row.revision, row.expires_at) == (revision + 1, harness.at(60 + revision)), "all else is stamped anew"
        refused = harness.add(harness.caller_row(f"b{key}", key="k"), at=10 * revision)[0]
        assert (refused.outcome, refused.duplicate_of) == ("duplicate_key", row_id)
    look = harness.take_one(at=60)
    harness.end(look, Event.CANCEL, at=60, gates=Gates(revision=3), adds=(harness.frontier_row("2", at=90),))
    assert harness.add(harness.caller_row("c", key="k"), at=61)[0].duplicate_of == row_id


def a_frontier_cannot_be_marked(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=10))
    (row,) = harness.store.occurrences(Query(identity="t:1"))
    for kind in ("mark_done", "mark_skip"):
        assert harness.act(kind, occurrence_id=row.id, at=1).outcome == "refused"
    assert _frontiers(harness) == ["t:1"]


def subjects_have_frontiers_of_their_own(harness: Harness) -> None:
    rows_of = [harness.frontier_row("1", at=10, subject=subject, key=subject) for subject in ("a", "b")]
    harness.activate(*rows_of)
    first = harness.take(at=10).rows[0]
    successor = harness.frontier_row("2", at=70, subject=first.subject)
    harness.end(first, Event.SKIP, at=10, verdict="skip_guard", gates=Gates(revision=1), adds=(successor,))
    rows = harness.store.occurrences(Query(open_only=True, frontier_only=True))
    assert sorted((row.subject, row.identity) for row in rows) == [("a", "t:2"), ("b", "t:1")]


def _with_adds(look: Occurrence, *adds: NewOccurrence) -> Settlement:
    return replace(make_start(look), adds=adds)


# --- a series that is taken past what is known to have run --------------------------------------------


def the_same_rule_takes_its_series_past_a_moment_and_goes_on_in_one_transaction(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, key="k1"))
    (old,) = harness.store.occurrences(Query(identity="t:1"))
    ran = harness.add_one(harness.series_row("2", at=120, key="k2"))
    harness.act("mark_done", occurrence_id=ran)
    gone = Passed(occurrence_id=old.id, fence=old.fence, verdict="skip_superseded", code="importing")
    job = harness.activate(
        harness.frontier_row("3", at=180), at=300, expected_revision=1, effective_at=harness.at(0), passed=(gone,),
        adds=(harness.series_row("2", at=120, key="k2"),),
    )  # fmt: skip
    assert (job.revision, job.effective_at) == (1, harness.at(0))
    assert _frontiers(harness) == ["t:3"]
    assert harness.row(ran).state is State.SUCCESS
    row = harness.row(old.id)
    assert (row.state, row.code, row.claimed) == (State.SKIPPED, "importing", False)
    assert harness.act("mark_done", occurrence_id=old.id, at=301).outcome == "done"
    assert (harness.row(old.id).state, harness.row(old.id).claimed) == (State.SUCCESS, True)
    assert harness.take_ids(at=179) == [], "neither is due any more"
    late = harness.activate(
        harness.frontier_row("9", at=900), at=302, expected_revision=1, effective_at=harness.at(0), passed=(gone,)
    )
    assert (late.revision, _frontiers(harness)) == (1, ["t:3"]), "what was read is out of date"
