"""``activate``: revisions, and what becomes of the rows of the one before."""

from __future__ import annotations

from typing import Any

from noonmark.core.model import Event, Gates, JobRow, NewOccurrence, Occurrence, Origin, Passed, Query, State
from noonmark.testing.builders import make_activation
from noonmark.testing.conformance.harness import Harness


def _edit(harness: Harness, *frontiers: NewOccurrence, at: float = 0, expected: int = 1, **fields: Any) -> JobRow:
    """Put the next revision in force."""
    defaults: dict[str, Any] = {"digest": f"digest-{expected + 1}", "expected_revision": expected}
    return harness.activate(*frontiers, at=at, **(defaults | fields))


def _identified(harness: Harness, identity: str) -> Occurrence:
    (row,) = harness.store.occurrences(Query(identity=identity))
    return row


def _frontiers(harness: Harness) -> list[str]:
    rows = harness.store.occurrences(Query(job="job", open_only=True, frontier_only=True, oldest_first=True))
    return [row.identity for row in rows]


def a_first_activation_is_revision_one_with_its_frontiers(harness: Harness) -> None:
    job = harness.activate(
        harness.frontier_row("1", at=60), at=5, rule='{"name": "job"}', digest="d", event="run.finished"
    )
    assert (job.name, job.revision, job.effective_at, job.rule) == ("job", 1, harness.at(5), '{"name": "job"}')
    assert (job.digest, job.event, job.paused, job.pause_version) == ("d", "run.finished", False, 0)
    assert harness.store.jobs() == [job]
    row = _identified(harness, "t:1")
    assert (row.state, row.frontier, row.due_at, row.revision) == (State.PENDING, True, harness.at(60), 1)


def a_job_without_moments_has_no_frontier(harness: Harness) -> None:
    assert harness.activate().revision == 1
    assert harness.store.occurrences(Query()) == []


def several_jobs_are_activated_in_one_call(harness: Harness) -> None:
    changes = [make_activation(name, effective_at=harness.at(0)) for name in ("b", "a", "c")]
    answered = harness.store.activate(harness.request(), changes, actor="ada", at=harness.at(0))
    assert [(job.name, job.revision) for job in answered] == [("b", 1), ("a", 1), ("c", 1)]


def the_same_digest_changes_nothing(harness: Harness) -> None:
    first = harness.activate(harness.frontier_row("1", at=60))
    again = harness.activate(harness.frontier_row("1", at=60), at=30, expected_revision=1)
    assert again == first
    assert len(harness.store.occurrences(Query())) == 1
    assert len(harness.store.tallies(revisions=True).revisions) == 1


def the_same_digest_leaves_an_overdue_frontier_alone(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    harness.activate(harness.frontier_row("5", at=300), at=290, expected_revision=1)
    assert _frontiers(harness) == ["t:1"], "what was missed is derived from the frontier that was there"


def the_same_digest_adds_a_missing_frontier(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, subject="a"))
    harness.activate(
        harness.frontier_row("1", at=60, subject="a"),
        harness.frontier_row("1", at=60, subject="b", key="b"),
        expected_revision=1,
    )
    rows = harness.store.occurrences(Query(open_only=True, frontier_only=True))
    assert sorted(row.subject for row in rows) == ["a", "b"]


def another_digest_is_the_next_revision(harness: Harness) -> None:
    harness.activate()
    job = _edit(harness, at=30, rule='{"name": "job", "v": 2}')
    assert (job.revision, job.digest, job.effective_at) == (2, "digest-2", harness.at(30))
    assert harness.store.jobs() == [job]


def every_revision_is_remembered_oldest_first(harness: Harness) -> None:
    harness.activate()
    _edit(harness, at=30)
    _edit(harness, at=40, expected=2)
    revisions = harness.store.tallies(revisions=True).revisions
    assert [(job.revision, job.digest, job.effective_at, job.by) for job in revisions] == [
        (1, "digest-1", harness.at(0), "ada"),
        (2, "digest-2", harness.at(30), "ada"),
        (3, "digest-3", harness.at(40), "ada"),
    ]
    assert harness.store.tallies().revisions == ()


def a_wrong_expected_revision_changes_nothing(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    before = harness.store.jobs()
    answered = _edit(harness, harness.frontier_row("9", at=90), expected=7)
    assert answered == before[0]
    assert harness.store.jobs() == before
    assert _frontiers(harness) == ["t:1"]


def of_two_who_register_at_once_the_second_sees_the_first(harness: Harness) -> None:
    harness.activate(digest="mine")
    answered = harness.activate(digest="theirs", expected_revision=0)
    assert (answered.revision, answered.digest) == (1, "mine")


def one_mismatch_does_not_hinder_the_others(harness: Harness) -> None:
    harness.activate(job="a")
    changes = [
        make_activation("a", effective_at=harness.at(1), digest="other", expected_revision=0),
        make_activation("b", effective_at=harness.at(1)),
    ]
    answered = harness.store.activate(harness.request(), changes, actor="ada", at=harness.at(1))
    assert [(job.name, job.revision, job.digest) for job in answered] == [("a", 1, "digest-1"), ("b", 1, "digest-1")]


# --- rows that are not yet due -------------------------------------------------------------------------


def a_moment_that_the_new_rule_yields_too_keeps_its_row_restamped(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, key="old"))
    row_id = _identified(harness, "t:1").id
    new = harness.frontier_row(
        "1", at=60, key="new", not_before=harness.at(50), not_after=harness.at(90), expires_at=harness.at(80)
    )
    _edit(harness, new, at=30)
    row = _identified(harness, "t:1")
    assert (row.id, row.state, row.frontier, row.due_at) == (row_id, State.PENDING, True, harness.at(60))
    assert (row.key, row.revision) == ("new", 2)
    assert (row.not_before, row.not_after, row.expires_at) == (harness.at(50), harness.at(90), harness.at(80))


def a_moment_that_the_new_rule_does_not_yield_is_superseded(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    _edit(harness, harness.frontier_row("9", at=90), at=30)
    row = _identified(harness, "t:1")
    assert (row.state, row.verdict, row.due_at, row.ended_at) == (
        State.SKIPPED,
        "skip_superseded",
        None,
        harness.at(30),
    )
    assert row.code == "revision_superseded"
    assert _frontiers(harness) == ["t:9"]
    assert harness.take_ids(at=60) == []


def superseding_by_a_revision_is_in_the_ledger(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    _edit(harness, at=30)
    line = harness.story(_identified(harness, "t:1").id).ledger[-1]
    assert (line.verdict, line.code, line.at, line.actor) == (
        "skip_superseded",
        "revision_superseded",
        harness.at(30),
        "ada",
    )


def a_superseded_moment_that_is_yielded_again_is_reopened(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, key="old"))
    row_id = _identified(harness, "t:1").id
    _edit(harness, harness.frontier_row("9", at=90), at=10)
    _edit(harness, harness.frontier_row("1", at=60, key="new"), at=20, expected=2)
    row = _identified(harness, "t:1")
    assert (row.id, row.state, row.due_at, row.frontier) == (row_id, State.PENDING, harness.at(60), True)
    assert (row.key, row.revision, row.ended_at, row.verdict) == ("new", 3, None, "")
    assert _frontiers(harness) == ["t:1"]
    assert harness.take_ids(at=60) == [row_id]


def only_rows_of_the_schedule_are_superseded(harness: Harness) -> None:
    harness.activate()
    ids = [
        harness.add_one(harness.caller_row(origin.value, at=60, origin=origin))
        for origin in (Origin.LATER, Origin.EVENT, Origin.MANUAL, Origin.BACKFILL)
    ]
    _edit(harness, at=30)
    assert {harness.row(row_id).state for row_id in ids} == {State.PENDING}
    assert harness.take_ids(at=60) == ids


def other_jobs_are_not_touched(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, job="other", key="o"), job="other")
    harness.activate(harness.frontier_row("1", at=60))
    _edit(harness, at=30)
    (row,) = harness.store.occurrences(Query(job="other"))
    assert (row.state, row.revision) == (State.PENDING, 1)


def a_subject_that_is_gone_is_superseded(harness: Harness) -> None:
    first = harness.frontier_row("1", at=60, subject="a", key="a")
    second = harness.frontier_row("1", at=60, subject="b", key="b")
    harness.activate(first, second)
    _edit(harness, first, at=30)
    rows = {row.subject: row.state for row in harness.store.occurrences(Query())}
    assert rows == {"a": State.PENDING, "b": State.SKIPPED}


def the_looker_at_a_row_that_was_superseded_is_refused(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    look = harness.take_one(at=60)
    # In force from a moment before the row's: it counts as not yet due, although somebody looks at it already.
    _edit(harness, harness.frontier_row("9", at=90), at=61, effective_at=harness.at(59))
    assert harness.start(look, at=61).outcome in ("stale", "changed")
    assert harness.row(look.id).state is State.SKIPPED


# --- rows that are due already ---------------------------------------------------------------------------


def a_row_that_is_due_keeps_identity_key_and_date_and_meets_the_new_rule(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, key="old", business_date="2026-11-27"))
    _edit(harness, harness.frontier_row("9", at=90), at=70)
    row = _identified(harness, "t:1")
    assert (row.state, row.frontier, row.revision, row.due_at) == (State.PENDING, False, 2, harness.at(60))
    assert (row.key, row.business_date, row.scheduled_for) == ("old", "2026-11-27", harness.at(60))
    assert _frontiers(harness) == ["t:9"]


def a_row_scheduled_exactly_at_the_change_counts_as_due(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    _edit(harness, harness.frontier_row("9", at=90), at=60)
    assert _identified(harness, "t:1").state is State.PENDING


def a_parked_row_that_is_due_survives_the_change(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    harness.end(harness.take_one(at=60), Event.PARK, at=60, due_at=harness.at(360), verdict="skip_dep")
    _edit(harness, harness.frontier_row("9", at=90), at=70)
    row = _identified(harness, "t:1")
    assert (row.state, row.frontier, row.revision, row.due_at) == (State.PENDING, False, 2, harness.at(360))


def a_started_attempt_keeps_its_revision(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(at=60)
    harness.start(look, at=60)
    _edit(harness, at=70)
    row = harness.row(look.id)
    assert (row.state, row.revision) == (State.RUNNING, 1)
    assert harness.end(row, at=71).outcome == "applied"


def a_retry_meets_the_gates_of_a_new_revision_by_a_look(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(gated=False)
    assert harness.start(look).outcome == "applied"
    harness.end(harness.row(look.id), Event.FAIL_RETRY, at=1, due_at=harness.at(50))
    _edit(harness, at=30)
    again = harness.take_one(at=50)
    assert (again.state, again.looking, again.revision) == (State.FAILED_RETRYING, True, 2)


def an_activation_does_not_touch_what_ended(harness: Harness) -> None:
    harness.activate()
    done = harness.ended(Event.SUCCEED)
    _edit(harness, at=30)
    assert harness.row(done.id) == done


def a_pause_survives_an_edit(harness: Harness) -> None:
    harness.activate()
    harness.act("pause", job="job", at=10)
    job = _edit(harness, at=30)
    assert (job.paused, job.pause_version, job.paused_at) == (True, 1, harness.at(10))


# --- what the old rule leaves behind -------------------------------------------------------------------


def _passed(row: Occurrence, **fields: Any) -> Passed:
    return Passed(occurrence_id=row.id, fence=row.fence, **fields)


def _range(harness: Harness, name: str, *, at: float, until: float) -> NewOccurrence:
    return harness.series_row(
        name,
        at=at,
        key="",
        identity=f"g:{name}",
        state=State.SKIPPED,
        verdict="skip_superseded",
        code="range_superseded",
        range_until=harness.at(until),
        range_count=2,
        gated=False,
    )


def an_edit_ends_what_it_passes_and_adds_what_the_old_rule_missed(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    old = _identified(harness, "t:1")
    _edit(
        harness,
        harness.frontier_row("9", at=400),
        at=300,
        passed=(_passed(old, verdict="skip_superseded", code="superseded", detail='{"late": 1}', checks="[1]"),),
        adds=(_range(harness, "2", at=120, until=180), harness.series_row("4", at=240, gated=False)),
    )
    ended = _identified(harness, "t:1")
    assert (ended.state, ended.verdict, ended.code) == (State.SKIPPED, "skip_superseded", "superseded")
    assert (ended.detail, ended.ended_at, ended.due_at) == ('{"late": 1}', harness.at(300), None)
    line = harness.story(old.id).ledger[-1]
    assert (line.event, line.code, line.checks, line.actor) == ("skip", "superseded", "[1]", "ada")
    record = _identified(harness, "g:2")
    assert (record.state, record.revision, record.range_until) == (State.SKIPPED, 1, harness.at(180))
    latest = _identified(harness, "t:4")
    assert (latest.state, latest.revision, latest.due_at) == (State.PENDING, 2, harness.at(240))
    assert _frontiers(harness) == ["t:9"]
    look = harness.take_one(at=300)
    assert (look.id, look.looking) == (latest.id, True), "it meets the new gates, so somebody must look"


def a_passed_row_without_a_verdict_stays_and_meets_the_new_rule(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    old = _identified(harness, "t:1")
    _edit(harness, harness.frontier_row("9", at=400), at=300, passed=(_passed(old),))
    row = harness.row(old.id)
    assert (row.state, row.frontier, row.revision, row.due_at) == (State.PENDING, False, 2, harness.at(60))


def an_edit_does_nothing_once_somebody_has_looked_at_what_it_passes(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    old = _identified(harness, "t:1")
    passed = (_passed(old, verdict="skip_superseded", code="superseded"),)
    look = harness.take_one(at=60)
    adds = (harness.series_row("4", at=240),)
    assert _edit(harness, harness.frontier_row("9", at=400), at=300, passed=passed, adds=adds).revision == 1
    harness.end(look, Event.SKIP, at=61, adds=(harness.frontier_row("2", at=120),), gates=Gates(revision=1))
    assert _edit(harness, harness.frontier_row("9", at=400), at=300, passed=passed, adds=adds).revision == 1
    gone = (Passed(occurrence_id=4711, fence=0),)
    assert _edit(harness, harness.frontier_row("9", at=400), at=300, passed=gone, adds=adds).revision == 1
    assert _frontiers(harness) == ["t:2"]
    assert harness.store.occurrences(Query(identity="t:4")) == []


def the_same_digest_works_off_a_long_absence_in_steps(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    old = _identified(harness, "t:1")
    adds = (harness.series_row("2", at=120), harness.frontier_row("3", at=180))
    job = harness.activate(at=300, expected_revision=1, effective_at=harness.at(0), passed=(_passed(old),), adds=adds)
    assert (job.revision, job.effective_at) == (1, harness.at(0))
    assert _frontiers(harness) == ["t:3"]
    rows = harness.store.occurrences(Query(open_only=True, oldest_first=True))
    assert [(row.identity, row.frontier, row.revision) for row in rows] == [
        ("t:1", False, 1),
        ("t:2", False, 1),
        ("t:3", True, 1),
    ]


def a_moment_that_is_there_already_is_not_added_again(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    there = harness.add_one(harness.series_row("2", at=120))
    _edit(harness, at=300, passed=(_passed(_identified(harness, "t:1")),), adds=(harness.series_row("2", at=120),))
    assert _identified(harness, "t:2").id == there
    assert harness.store.tallies().duplicates_refused == 0


# --- scope=each_worker -----------------------------------------------------------------------------------


def _own(harness: Harness, worker: str, name: str, at: float) -> NewOccurrence:
    return harness.frontier_row(name, at=at, worker=worker, subject=worker, key=f"{worker}:{name}")


def a_second_worker_adds_its_own_frontier(harness: Harness) -> None:
    harness.activate(_own(harness, "w1", "1", 60))
    harness.activate(_own(harness, "w2", "1", 60), expected_revision=1)
    rows = harness.store.occurrences(Query(open_only=True, frontier_only=True))
    assert sorted(row.worker for row in rows) == ["w1", "w2"]
    assert harness.take_one("w2", at=60).worker == "w2"


def rows_of_a_worker_are_touched_only_by_frontiers_of_that_worker(harness: Harness) -> None:
    harness.activate(_own(harness, "w1", "1", 60))
    harness.activate(_own(harness, "w2", "1", 60), expected_revision=1)
    _edit(harness, _own(harness, "w1", "9", 90), at=30)
    rows = {(row.worker, row.identity): row.state for row in harness.store.occurrences(Query())}
    assert rows == {
        ("w1", "t:1"): State.SKIPPED,
        ("w1", "t:9"): State.PENDING,
        ("w2", "t:1"): State.PENDING,
    }


def rows_of_a_worker_meet_what_another_worker_activated(harness: Harness) -> None:
    harness.activate(_own(harness, "w1", "1", 60))
    harness.activate(_own(harness, "w2", "1", 60), expected_revision=1)
    _edit(harness, _own(harness, "w1", "9", 90), at=30)
    harness.activate(_own(harness, "w2", "9", 90), at=31, digest="digest-2", expected_revision=2)
    rows = harness.store.occurrences(Query(open_only=True, frontier_only=True))
    assert sorted((row.worker, row.identity, row.revision) for row in rows) == [("w1", "t:9", 2), ("w2", "t:9", 2)]
