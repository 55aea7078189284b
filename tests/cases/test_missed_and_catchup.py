"""Faults that people reported: moments that were missed, and what catching up did to them.

Each test is one kind of fault from public trackers, in its smallest form; the name says what has to happen instead.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND, Act, CatchUp, Cron, Every, Job, Micros, Occurrence, State, Window
from noonmark.core.times import parse_instant
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]


def instant(text: str) -> Micros:
    return parse_instant(text, None)


def cron_job(expression: str, *, tz: str = "UTC", name: str = "job", **fields: Any) -> Job:
    return make_job(name, trigger=Cron(expression=expression, tz=tz), **fields)


def begin(make_world: MakeWorld, start: str, job: Job, **options: Any) -> World:
    """A world whose replica declared the job at ``start``."""
    world = make_world(replicas=options.pop("replicas", 1), start=instant(start), **options)
    world.job(job, lambda: world.effect(job.name))
    world.advance("1s")
    return world


def to(world: World, when: str) -> None:
    """Let time pass until an instant."""
    world.advance(instant(when) - world.now)


def down(world: World, when: str, back: str) -> None:
    """Stop the replica at an instant and start it anew at another."""
    to(world, when)
    world.kill(0)
    to(world, back)
    world.restart(0)


def row_for(world: World, when: str, job: str = "job") -> Occurrence:
    found = [row for row in world.rows(job) if row.scheduled_for == instant(when)]
    assert len(found) == 1, f"{len(found)} rows for {when}: {[(r.nominal, r.state, r.code) for r in world.rows(job)]}"
    return found[0]


def ran(world: World, job: str = "job") -> list[Micros]:
    return [row.scheduled_for for row in world.rows(job) if row.state is State.SUCCESS]


def test_a_restart_of_seconds_that_covers_the_due_minute_loses_nothing(make_world: MakeWorld) -> None:
    world = begin(make_world, "2026-11-27T12:00:00Z", cron_job("0 5 * * *", catch_up=CatchUp(max_delay=2 * HOUR)))
    down(world, "2026-11-28T04:59:53Z", "2026-11-28T05:00:06Z")
    to(world, "2026-11-28T05:00:20Z")

    row = row_for(world, "2026-11-28T05:00:00Z")
    assert row.state is State.SUCCESS
    assert row.first_started_at is not None
    assert 6 * SECOND <= row.first_started_at - row.scheduled_for < 10 * SECOND, "late by the six seconds of the gap"
    assert [r.scheduled_for for r in world.rows("job") if r.frontier] == [instant("2026-11-29T05:00:00Z")]


@pytest.mark.parametrize(
    ("max_delay", "state"), [(12 * HOUR, State.SUCCESS), (HOUR, State.FAILED_MANUAL)], ids=["12h allowed", "1h allowed"]
)
def test_the_limit_of_the_job_is_the_only_limit(make_world: MakeWorld, max_delay: Micros, state: State) -> None:
    world = begin(make_world, "2026-11-27T12:00:00Z", cron_job("0 6 * * *", catch_up=CatchUp(max_delay=max_delay)))
    down(world, "2026-11-28T05:30:00Z", "2026-11-28T11:00:00Z")
    to(world, "2026-11-28T11:00:30Z")

    row = row_for(world, "2026-11-28T06:00:00Z")
    assert row.state is state
    if state is State.FAILED_MANUAL:
        assert row.code == "limit_passed"
        assert [alert.level for alert in world.store.tallies().open_alerts] == [3], "a miss is an urgent alert"
        assert world.effects == []


def test_being_seconds_late_is_no_miss(make_world: MakeWorld) -> None:
    world = begin(make_world, "2026-02-19T12:00:00Z", cron_job("0 3 * * *", tz="America/Los_Angeles"))
    down(world, "2026-02-20T10:59:00Z", "2026-02-20T11:00:09.700Z")
    to(world, "2026-02-20T11:01:00Z")

    row = row_for(world, "2026-02-20T11:00:00Z")
    assert row.state is State.SUCCESS
    assert row.first_started_at is not None
    assert 9_700_000 <= row.first_started_at - row.scheduled_for < 11 * SECOND, "the lateness is on record"


def test_an_edit_creates_no_miss(make_world: MakeWorld) -> None:
    world = begin(make_world, "2026-11-27T17:00:00Z", cron_job("0 18 * * *", catch_up=CatchUp(max_delay=12 * HOUR)))
    to(world, "2026-11-28T12:00:00Z")
    world.job(cron_job("0 9 * * *", catch_up=CatchUp(max_delay=12 * HOUR)), lambda: world.effect("job"))
    world.restart(0)
    to(world, "2026-11-28T12:05:00Z")
    world.restart(0)
    to(world, "2026-11-28T20:00:00Z")

    assert ran(world) == [instant("2026-11-27T18:00:00Z")], "neither the new morning nor the old evening of the 28th"
    assert [r.scheduled_for for r in world.rows("job") if r.frontier] == [instant("2026-11-29T09:00:00Z")]
    assert row_for(world, "2026-11-28T18:00:00Z").verdict == "skip_superseded"


def test_an_interval_keeps_its_grid_whatever_happens_to_single_moments(make_world: MakeWorld) -> None:
    anchor = instant("2026-11-28T00:00:00Z")
    job = make_job("job", trigger=Every(period=6 * HOUR, anchor=anchor), catch_up=CatchUp(max_delay=30 * MINUTE))
    world = begin(make_world, "2026-11-28T01:00:00Z", job)
    down(world, "2026-11-28T05:00:00Z", "2026-11-28T13:00:00Z")
    to(world, "2026-11-28T19:00:00Z")

    assert ran(world) == [instant("2026-11-28T18:00:00Z")], "18:00, not 13:00 plus six hours"
    assert row_for(world, "2026-11-28T06:00:00Z").verdict == "skip_superseded"
    assert row_for(world, "2026-11-28T12:00:00Z").code == "limit_passed"


def test_overdue_jobs_after_downtime_start_once_each_two_at_a_time_and_oldest_first(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T05:30:00Z"), concurrency=2)
    names = [f"agent-{number:02d}" for number in range(17)]
    for number, name in enumerate(names):
        job = cron_job(f"{number} 6 * * *", name=name, catch_up=CatchUp(max_delay=12 * HOUR), timeout=HOUR)
        world.job(job, sleeping(world, name, "4m"))
    world.advance("1s")
    down(world, "2026-11-28T05:40:00Z", "2026-11-28T07:00:00Z")
    to(world, "2026-11-28T07:50:00Z")

    begun = [name for name in world.effect_names() if not name.endswith("done")]
    assert begun == names, "each once, oldest due first"
    active = most = 0
    for name in world.effect_names():
        active += -1 if name.endswith("done") else 1
        most = max(most, active)
    assert most == 2, "catch-up shares the ordinary slots"


def test_a_jump_of_the_clock_runs_the_newest_moment_and_sums_up_the_others(make_world: MakeWorld) -> None:
    world = begin(make_world, "2026-11-28T07:02:00Z", cron_job("*/5 * * * *"))
    world.kill(0)
    to(world, "2026-11-28T08:02:10Z")
    world.restart(0)
    world.advance("5s")

    assert ran(world) == [instant("2026-11-28T08:00:00Z")]
    first = row_for(world, "2026-11-28T07:05:00Z")
    (record,) = [row for row in world.rows("job") if row.range_count]
    assert first.verdict == record.verdict == "skip_superseded"
    assert 1 + record.range_count == 11, "07:05 to 07:55"


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ("skip", []),
        ("latest", ["2026-11-29T02:00:00Z"]),
        ("all", [f"2026-11-{day}T02:00:00Z" for day in (26, 27, 28, 29)]),
    ],
)
def test_days_of_absence_follow_the_stated_policy_with_a_record_for_each_moment(
    make_world: MakeWorld, missed: str, expected: list[str]
) -> None:
    job = cron_job("0 2 * * *", catch_up=CatchUp(missed=missed, max_delay=240 * HOUR))
    world = begin(make_world, "2026-11-25T12:00:00Z", job)
    down(world, "2026-11-25T13:00:00Z", "2026-11-29T12:00:00Z")
    world.advance("1m")

    assert ran(world) == [instant(text) for text in expected]
    covered = [row for row in world.rows("job") if not row.frontier]
    assert sum(max(1, row.range_count) for row in covered) == 4, "26, 27, 28 and 29 November are all accounted for"
    assert [r.scheduled_for for r in world.rows("job") if r.frontier] == [instant("2026-11-30T02:00:00Z")]


def test_registering_a_job_runs_nothing_of_its_past(make_world: MakeWorld) -> None:
    world = begin(make_world, "2026-11-29T12:00:00Z", cron_job("0 2 * * *", catch_up=CatchUp(missed="all")))
    world.advance("1h")
    assert [row.scheduled_for for row in world.rows("job")] == [instant("2026-11-30T02:00:00Z")]


@pytest.mark.parametrize("window", [None, Window(start="01:30", end="05:00")], ids=["no window", "window 01:30-05:00"])
def test_lifting_a_pause_does_not_run_the_night_in_daytime(make_world: MakeWorld, window: Window | None) -> None:
    # The public case allows a catch-up run here where there is no window.  Ours never runs the past of a pause: a moment
    # inside it ends skip_paused, for a person who paused meant it.  The record says so.
    job = cron_job("30 1 * * *", tz="Europe/Madrid", catch_up=CatchUp(max_delay=12 * HOUR), window=window)
    world = begin(make_world, "2026-11-28T00:00:00Z", job)
    world.store.act("pause", Act(kind="pause", job="job", actor="ops", reason="maintenance"))
    to(world, "2026-11-28T03:00:00Z")
    world.store.act("resume", Act(kind="resume", job="job", actor="ops"))
    to(world, "2026-11-28T04:00:00Z")

    assert ran(world) == []
    row = row_for(world, "2026-11-28T00:30:00Z")
    assert (row.state, row.verdict) == (State.SKIPPED, "skip_paused")
    assert [r.scheduled_for for r in world.rows("job") if r.frontier] == [instant("2026-11-29T00:30:00Z")]


def test_a_pause_that_ends_while_nobody_was_awake_is_remembered(make_world: MakeWorld) -> None:
    world = begin(make_world, "2026-11-27T19:00:00Z", cron_job("30 1 * * *", catch_up=CatchUp(max_delay=12 * HOUR)))
    world.store.act("pause", Act(kind="pause", job="job", actor="ops"))
    world.kill(0)
    to(world, "2026-11-28T03:00:00Z")
    world.store.act("resume", Act(kind="resume", job="job", actor="ops"))
    world.restart(0)
    world.advance("1m")
    assert ran(world) == []
    assert row_for(world, "2026-11-28T01:30:00Z").verdict == "skip_paused"


@pytest.mark.parametrize("overlap", [None, "allow"])
def test_with_all_every_missed_round_runs_however_long_each_takes(any_world: MakeWorld, overlap: str | None) -> None:
    job = cron_job("0 2 * * *", catch_up=CatchUp(missed="all", max_delay=240 * HOUR), overlap=overlap)
    world = any_world(replicas=2, start=instant("2026-11-25T12:00:00Z"))
    world.job(job, sleeping(world, "run", "2m"))
    world.advance("1s")
    for number in (0, 1):
        world.kill(number)
    world.clock.advance(instant("2026-11-29T12:00:00Z") - world.now)
    for number in (0, 1):
        world.restart(number)
    world.advance("10m")

    assert ran(world) == [instant(f"2026-11-{day}T02:00:00Z") for day in (26, 27, 28, 29)]
    begun = [row.first_started_at or 0 for row in world.rows("job") if not row.frontier]
    assert begun == sorted(begun), "oldest first"
    apart = min(later - earlier for earlier, later in pairwise(begun))
    assert (apart >= 2 * MINUTE - SECOND) is (overlap is None), "one after another, unless rounds may overlap"


def test_with_all_a_round_that_waits_past_its_limit_is_missed_and_told(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T09:59:00Z"))
    job = cron_job("*/10 * * * *", catch_up=CatchUp(missed="all", max_delay=15 * MINUTE), timeout=2 * HOUR)
    world.job(job, sleeping(world, "run", "40m"))
    to(world, "2026-11-28T10:41:00Z")
    assert row_for(world, "2026-11-28T10:00:00Z").state is State.SUCCESS
    assert {row_for(world, f"2026-11-28T10:{minute}:00Z").code for minute in (10, 20)} == {"limit_passed"}
    assert [alert.level for alert in world.store.tallies().open_alerts] == [3], "never silent"
    assert row_for(world, "2026-11-28T10:30:00Z").state is State.RUNNING, "the oldest that is still in time"
    assert row_for(world, "2026-11-28T10:40:00Z").code == "slot_wait"
