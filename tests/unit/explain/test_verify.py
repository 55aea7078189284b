"""``verify`` proves the ledger against the rules, and finds what was planted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from desk import DIGEST, TICK, Desk, at

from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    Cron,
    Event,
    NewOccurrence,
    Occurrence,
    Origin,
    Query,
    State,
    Tallies,
)
from noonmark.explain.report import report_counts, report_json, report_line, report_text
from noonmark.explain.verify import Report, verify
from noonmark.explain.voice import Voice
from noonmark.testing.builders import make_caller_row

NOON = at("2026-11-27T12:00:00")


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.register(TICK)
    return made


def run_ticks(desk: Desk, count: int) -> None:
    for _ in range(count):
        desk.later(5 * MINUTE)
        desk.beat()
        row = desk.look()
        if row.state is State.RUNNING:
            desk.finish(row, code="succeeded")


def kinds(report: Report) -> list[str]:
    return [problem.kind for problem in report.problems]


class Tampered:
    """A store in which something is not as it should be."""

    def __init__(self, desk: Desk, **changes: Any) -> None:
        self._store = desk.store
        self._changes = changes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def occurrences(self, query: Query) -> list[Occurrence]:
        """Rows as the tamperer wants them seen."""
        change = self._changes["rows"]
        return [row for found in self._store.occurrences(query) if (row := change(found)) is not None]

    def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
        """As they are."""
        return self._store.tallies(revisions=revisions)


def test_an_hour_of_ticks_that_all_ran_is_proved(desk: Desk) -> None:
    run_ticks(desk, 12)
    report = verify(desk.store, NOON)
    assert report.ok
    assert (report.due, report.accounted, report.twice, report.missing) == (12, 12, 0, 0)
    assert report.outcomes == {"on_time": 12}
    assert report_line(report) == "12 occurrences due · 12 accounted for · 0 ran twice · 0 missing"


def test_a_key_that_was_cancelled_for_no_job_is_no_job_of_its_own(desk: Desk) -> None:
    run_ticks(desk, 1)
    desk.act("cancel", key="order:7")
    report = verify(desk.store, NOON)
    assert report.outcomes == {"on_time": 1, "cancelled": 1}
    assert "jobs: 1," in report_text(report, Voice(lang="en", zone="UTC", now=desk.now))


def test_a_moment_that_vanished_from_the_ledger_is_missing(desk: Desk) -> None:
    run_ticks(desk, 12)
    gone = at("2026-11-27T12:30:00")
    report = verify(Tampered(desk, rows=lambda row: None if row.scheduled_for == gone else row), NOON)
    assert kinds(report) == ["missing"]
    assert report.problems[0].at == gone
    assert (report.due, report.accounted, report.missing) == (12, 11, 1)
    assert "noonmark why tick --at 2026-11-27T12:30:00+08:00" in report_text(
        report, Voice(zone="Asia/Shanghai", now=desk.now)
    )


def test_two_successes_of_one_key_and_generation_are_found(desk: Desk) -> None:
    run_ticks(desk, 3)
    report = verify(
        Tampered(desk, rows=lambda row: replace(row, key="same") if row.state is State.SUCCESS else row), NOON
    )
    assert kinds(report) == ["twice", "twice"]
    assert not report.ok


def test_another_generation_of_a_key_is_no_twin(desk: Desk) -> None:
    run_ticks(desk, 2)
    report = verify(Tampered(desk, rows=lambda row: replace(row, key="same", generation=row.id)), NOON)
    assert "twice" not in kinds(report)


def test_a_range_record_accounts_for_every_moment_in_it(desk: Desk) -> None:
    run_ticks(desk, 1)
    desk.until("2026-11-27T13:00:00")
    desk.beat()
    (row,) = desk.take()
    assert row.frontier
    missed = NewOccurrence(
        job="tick",
        identity="g:1",
        key="",
        scheduled_for=at("2026-11-27T12:15:00"),
        due_at=None,
        state=State.SKIPPED,
        verdict="skip_superseded",
        code="range_superseded",
        range_until=at("2026-11-27T12:55:00"),
        range_count=9,
        revision=1,
    )
    latest = _moment("2026-11-27T13:00:00")
    following = replace(_moment("2026-11-27T13:05:00"), frontier=True)
    from noonmark.core.model import Gates, Settlement

    item = Settlement(
        occurrence_id=row.id,
        fence=row.fence,
        event=Event.SKIP,
        verdict="skip_superseded",
        code="superseded",
        gates=Gates(revision=1),
        adds=(missed, latest, following),
    )
    assert desk.store.settle(desk.request(), "w1", [item])[0].outcome == "applied"
    desk.finish(desk.look(), code="succeeded")
    report = verify(desk.store, NOON)
    assert report.ok, report.problems
    assert report.outcomes == {"on_time": 2, "skipped": 10}


def _moment(text: str) -> NewOccurrence:
    from noonmark.core import series

    (moment,) = series.moments_between(TICK, at(text) - 1, at(text), limit=2)
    return series.row_for_moment(TICK, moment, revision=1, frontier=False)


def test_what_lies_behind_an_open_frontier_while_nobody_is_awake_is_accounted_for(desk: Desk) -> None:
    run_ticks(desk, 1)
    desk.later(HOUR)
    report = verify(desk.store, NOON)
    assert report.ok
    assert report.outcomes == {"on_time": 1, "due": 12}


def test_a_due_row_that_a_living_worker_leaves_alone_is_overdue(desk: Desk) -> None:
    desk.beat()
    desk.later(5 * MINUTE)
    desk.beat()
    desk.later(2 * MINUTE)
    desk.beat()
    report = verify(desk.store, NOON)
    assert kinds(report) == ["overdue"]
    assert report.missing == 1


def test_a_row_that_waits_for_data_is_no_problem() -> None:
    desk = Desk()
    desk.register(DIGEST)
    desk.beat()
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.look()
    desk.later(2 * MINUTE)
    desk.beat()
    report = verify(desk.store, NOON)
    assert report.ok
    assert report.outcomes == {"waiting": 1}


def test_moments_before_an_edit_belong_to_the_old_rule_and_those_after_it_to_the_new(desk: Desk) -> None:
    run_ticks(desk, 6)
    desk.later(MINUTE)
    desk.register(replace(TICK, trigger=Cron(expression="*/10 * * * *", tz="Asia/Shanghai")))
    for text in ("2026-11-27T12:40:00", "2026-11-27T12:50:00"):
        desk.until(text)
        desk.beat()
        desk.finish(desk.look(), code="succeeded")
    report = verify(desk.store, NOON)
    assert report.ok, report.problems
    assert report.due == 8


def test_a_series_without_a_frontier_row_breaks_the_invariant(desk: Desk) -> None:
    run_ticks(desk, 1)
    report = verify(Tampered(desk, rows=lambda row: None if row.frontier else row), NOON)
    assert kinds(report) == ["frontier"]


def test_more_attempts_than_the_rule_allows_are_found(desk: Desk) -> None:
    run_ticks(desk, 1)
    report = verify(
        Tampered(desk, rows=lambda row: replace(row, attempt=9) if row.state is State.SUCCESS else row), NOON
    )
    assert kinds(report) == ["attempts"]


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"state": State.PENDING, "due_at": None}, "forgotten", "nobody looks again (I4)"),
        ({"code": "", "verdict": ""}, "silent", "ended without a reason (I4)"),
        ({"first_started_at": NOON + 5 * MINUTE - 1500}, "ground", "it began 0.0015 s too early"),
    ],
)
def test_a_row_that_is_forgotten_silent_or_too_early_is_found(
    desk: Desk, change: dict[str, Any], kind: str, said: str
) -> None:
    run_ticks(desk, 1)
    report = verify(Tampered(desk, rows=lambda row: row if row.frontier else replace(row, **change)), NOON)
    assert kinds(report) == [kind]
    assert not report.ok
    assert report.missing == (kind == "forgotten")
    assert said in report_text(report, Voice(lang="en", zone="UTC", now=desk.now))
    assert said not in report_text(report, Voice(lang="zh", zone="UTC", now=desk.now))


def test_a_row_from_before_its_rule_took_effect_is_found(desk: Desk) -> None:
    early = NewOccurrence(
        job="tick",
        identity="t:early",
        key="tick:early",
        scheduled_for=NOON - HOUR,
        due_at=NOON - HOUR,
        revision=1,
        origin=Origin.SCHEDULE,
        state=State.SKIPPED,
        code="weekend",
        verdict="skip_guard",
    )
    desk.store.add(desk.request(), [early])
    assert "early" in kinds(verify(desk.store, NOON - 2 * HOUR))


def test_an_ended_job_promises_nothing_more(desk: Desk) -> None:
    run_ticks(desk, 2)
    desk.later(SECOND)
    desk.act("end_job", job="tick")
    desk.later(HOUR)
    report = verify(desk.store, NOON)
    assert report.ok, report.problems
    assert report.due == 2


def test_a_rule_that_cannot_be_read_is_said_and_not_guessed(desk: Desk) -> None:
    from noonmark.core.model import Activation

    change = Activation(
        name="odd", rule='{"v": 99, "name": "odd"}', digest="d", expected_revision=0, effective_at=desk.now
    )
    desk.store.activate(desk.request(), [change], actor="test")
    desk.later(MINUTE)
    assert kinds(verify(desk.store, NOON)) == ["unreadable"]


def test_a_job_on_each_worker_is_expected_only_while_that_worker_lived() -> None:
    desk = Desk()
    job = replace(TICK, name="metrics", scope="each_worker", key="metrics:{worker}:{scheduled_for}")
    from noonmark.core import series
    from noonmark.core.model import Activation

    desk.register(job)
    desk.beat("w1", ttl=6 * MINUTE)
    rows = series.frontier_rows(job, desk.now, revision=1, worker="w1")
    (known,) = desk.store.jobs(["metrics"])
    change = Activation(
        name="metrics",
        rule=known.rule,
        digest=known.digest,
        expected_revision=1,
        effective_at=known.effective_at,
        frontiers=rows,
    )
    desk.store.activate(desk.request(), [change], actor="w1")
    desk.until("2026-11-27T12:07:00")
    desk.beat("w1")
    desk.later(HOUR)  # it fell silent at 12:07, so 12:10 and later were never promised
    report = verify(desk.store, NOON)
    assert report.ok, report.problems
    assert report.outcomes == {"due": 1}


def test_the_report_is_told_in_both_languages_and_as_json(desk: Desk) -> None:
    run_ticks(desk, 2)
    report = verify(desk.store, NOON)
    assert report_text(report, Voice(zone="Asia/Shanghai", now=desk.now)).endswith("OK")
    assert "2 次到期 · 2 次有据可查" in report_text(report, Voice(lang="zh", zone="Asia/Shanghai", now=desk.now))
    plain = report_json(report, "Asia/Shanghai")
    assert plain["v"] == 1
    assert plain["ok"] is True
    assert plain["jobs"] == {"tick": {"on_time": 2}}


def test_the_counts_add_up_and_refused_duplicates_stand_beside_them(desk: Desk) -> None:
    run_ticks(desk, 3)
    (done, *_rest) = desk.store.occurrences(Query(job="tick", states=frozenset({State.SUCCESS})))
    asked = make_caller_row("twice", job="tick", key=done.key, at=desk.now)
    assert desk.store.add("again", [asked])[0].outcome != "added"
    report = verify(desk.store, desk.now - HOUR)
    assert report.outcomes["refused_duplicate"] == 1
    assert sum(count for count, _ in report_counts(report)) == report.due
    told = report_text(report, Voice(now=report.until))
    counted = [int(line.split()[0]) for line in told.splitlines() if line[:4].strip().isdigit() and line[:1] == " "]
    assert sum(counted) == report.due
    assert "beside them 1 refused as duplicates" in told
    assert "此外拦下 1 次重复" in report_text(report, Voice(lang="zh", now=report.until))


def test_a_series_that_has_stood_still_since_before_the_span_is_found(desk: Desk) -> None:
    desk.later(6 * MINUTE)
    desk.beat(ttl=2 * HOUR)
    desk.later(HOUR)
    report = verify(desk.store, desk.now - 30 * MINUTE)
    assert kinds(report) == ["overdue"]
    assert report.problems[0].at == at("2026-11-27T12:05:00")
