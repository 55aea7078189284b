"""What a person may do to a whole job: pause, resume, end it."""

from __future__ import annotations

import json

from noonmark.core.model import Event, Gates, Passed, Query, State
from noonmark.testing.conformance.harness import Harness


def a_pause_is_on_the_job_with_when_and_why(harness: Harness) -> None:
    harness.activate()
    assert harness.act("pause", job="job", reason="vendor is down", at=5).outcome == "done"
    (job,) = harness.store.jobs(["job"])
    assert (job.paused, job.paused_at, job.pause_reason) == (True, harness.at(5), "vendor is down")
    assert (job.pause_version, job.revision) == (1, 1)


def resuming_ends_the_pause_and_keeps_when_it_began(harness: Harness) -> None:
    harness.activate()
    harness.act("pause", job="job", at=5)
    assert harness.act("resume", job="job", at=9).outcome == "done"
    (job,) = harness.store.jobs(["job"])
    assert (job.paused, job.paused_at, job.resumed_at) == (False, harness.at(5), harness.at(9))
    assert job.pause_version == 2


def pausing_twice_is_pausing_once(harness: Harness) -> None:
    harness.activate()
    harness.act("pause", job="job", at=5)
    assert harness.act("pause", job="job", at=6).outcome == "already_done"
    (job,) = harness.store.jobs(["job"])
    assert (job.pause_version, job.paused_at) == (1, harness.at(5))


def resuming_what_is_not_paused_changes_nothing(harness: Harness) -> None:
    harness.activate()
    assert harness.act("resume", job="job").outcome == "already_done"
    assert harness.store.jobs(["job"])[0].pause_version == 0


def an_unknown_job_is_not_found(harness: Harness) -> None:
    for kind in ("pause", "resume", "end_job"):
        assert harness.act(kind, job="nobody").outcome == "not_found"


def a_pause_does_not_touch_other_jobs(harness: Harness) -> None:
    harness.activate()
    harness.activate(job="other")
    harness.act("pause", job="job")
    assert not harness.store.jobs(["other"])[0].paused


def a_pause_does_not_touch_a_run(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.act("pause", job="job")
    assert harness.end(run).outcome == "applied"


def a_pause_between_the_decision_and_the_park_is_not_lost(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.act("pause", job="job", at=1)
    gates = Gates(revision=1, facts={"pause:job": 0})
    harness.end(look, Event.PARK, at=2, due_at=harness.at(3600), gates=gates)
    assert harness.take_ids(at=2) == [look.id]


def resuming_wakes_what_waits_for_it(harness: Harness) -> None:
    harness.activate()
    harness.act("pause", job="job")
    look = harness.looked_at()
    gates = Gates(revision=1, pause_version=1, facts={"pause:job": 1})
    harness.end(look, Event.PARK, due_at=harness.at(3600), gates=gates, verdict="skip_paused")
    assert harness.take_ids(at=5) == []
    harness.act("resume", job="job", at=6)
    assert harness.take_ids(at=6) == [look.id]


def ending_a_job_ends_its_series(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    assert harness.act("end_job", job="job", at=5).outcome == "done"
    assert harness.store.occurrences(Query(open_only=True, frontier_only=True)) == []
    assert harness.take_ids(at=60) == []


def ending_a_job_ends_the_series_of_every_worker(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60, worker="w1", subject="w1"))
    harness.activate(harness.frontier_row("1", at=60, worker="w2", subject="w2", key="w2"), expected_revision=1)
    harness.act("end_job", job="job", at=5)
    assert harness.store.occurrences(Query(open_only=True)) == []


def ending_a_job_leaves_what_callers_asked_for(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.caller_row(at=60))
    harness.act("end_job", job="job")
    row = harness.take_one(at=60)
    assert (row.id, row.looking, row.state) == (row_id, True, State.PENDING)


def an_ended_job_no_longer_hears_its_event(harness: Harness) -> None:
    harness.activate(event="run.finished")
    harness.act("end_job", job="job")
    assert harness.store.jobs(event="run.finished") == []


def a_job_that_was_ended_can_be_activated_again(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    harness.act("end_job", job="job", at=5)
    known = harness.store.jobs(["job"])
    expected = known[0].revision if known else 0
    job = harness.activate(harness.frontier_row("1", at=60), at=10, expected_revision=expected)
    assert (job.digest, job.revision) == ("digest-1", expected + 1)
    assert harness.take_one(at=60).identity == "t:1"


def what_people_did_to_jobs_is_told_with_the_revisions(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60))
    harness.activate(job="other")
    harness.act("pause", job="other", actor="bob", reason="vendor is down", at=3)
    harness.act("end_job", job="job", actor="ada", reason="no more", at=5)
    harness.act("cancel", occurrence_id=harness.add_one(harness.caller_row(job="other", at=60)), at=6)
    assert harness.store.tallies().acts == ()
    told = [
        (line.event, line.job, line.actor, json.loads(line.detail)["reason"], line.at, line.revision)
        for line in harness.store.tallies(revisions=True).acts
    ]
    assert told == [
        ("pause", "other", "bob", "vendor is down", harness.at(3), 1),
        ("end_job", "job", "ada", "no more", harness.at(5), 2),
    ]


def ending_a_job_leaves_behind_what_its_rule_missed(harness: Harness) -> None:
    harness.activate(harness.frontier_row("1", at=60), harness.frontier_row("1", at=60, subject="a", key="a"))
    first, second = harness.store.occurrences(Query(frontier_only=True, oldest_first=True))
    passed = (
        Passed(occurrence_id=first.id, fence=first.fence, verdict="skip_superseded", code="superseded"),
        Passed(occurrence_id=second.id, fence=second.fence),
    )
    adds = (harness.series_row("4", at=240),)
    fields = {"job": "job", "effective_at": harness.at(290), "adds": adds}
    old = (Passed(occurrence_id=first.id, fence=4711),)
    assert harness.act("end_job", at=300, passed=old, **fields).outcome == "refused"
    assert harness.store.jobs(["job"])[0].rule, "nothing happened"
    assert harness.act("end_job", at=300, passed=passed, **fields).outcome == "done"
    (job,) = harness.store.jobs(["job"])
    assert (job.rule, job.effective_at) == ("", harness.at(290))
    assert (harness.row(first.id).state, harness.row(first.id).code) == (State.SKIPPED, "superseded")
    assert (harness.row(second.id).state, harness.row(second.id).frontier) == (State.PENDING, False)
    (latest,) = harness.store.occurrences(Query(identity="t:4"))
    assert (latest.state, latest.revision, latest.frontier) == (State.PENDING, job.revision, False)
