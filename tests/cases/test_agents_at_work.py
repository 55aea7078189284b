"""Faults that people reported about schedulers of agents: limits, failures, deliveries, full pools, dates and people.

Each test is one kind of fault from public trackers, in its smallest form; the name says what has to happen instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    Act,
    At,
    CatchUp,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    Micros,
    Occurrence,
    Origin,
    Retry,
    State,
    Window,
)
from noonmark.core.series import row_for_call
from noonmark.core.times import parse_instant
from noonmark.engine import errors
from noonmark.engine.context import Context
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]


def instant(text: str) -> Micros:
    return parse_instant(text, None)


def cron_job(expression: str, *, tz: str = "UTC", name: str = "job", **fields: Any) -> Job:
    return make_job(name, trigger=Cron(expression=expression, tz=tz), **fields)


def to(world: World, when: str) -> None:
    world.advance(instant(when) - world.now)


def pass_over(world: World, when: str) -> None:
    """Let time pass in which nothing is due, without living through it."""
    world.kill(0)
    world.clock.advance(instant(when) - world.now)
    world.restart(0)
    world.advance("1s")


def row_for(world: World, when: str, job: str = "job") -> Occurrence:
    (found,) = [row for row in world.rows(job) if row.scheduled_for == instant(when)]
    return found


def run_now(world: World, job: Job, request: str) -> str:
    now, revision = world.now, world.store.jobs([job.name])[0].revision
    row = row_for_call(
        job, request_id=request, due_at=now, params={}, key=None, revision=revision, now=now, origin=Origin.MANUAL
    )
    return world.store.add(request, [row])[0].outcome


# --- limits and failures -----------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "state"), [("7m10s", State.SUCCESS), ("25m", State.FAILED_MANUAL)])
def test_a_run_takes_as_long_as_its_own_limit_allows_and_no_longer(
    any_world: MakeWorld, length: str, state: State
) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T05:59:00Z"))
    world.job(cron_job("0 6 * * *", timeout=20 * MINUTE, retry=Retry(max=0)), sleeping(world, "agent", length))
    to(world, "2026-11-28T06:40:00Z")
    row = row_for(world, "2026-11-28T06:00:00Z")
    assert (row.state, row.attempt) == (state, 1)
    assert row.started_at is not None
    assert row.ended_at is not None
    assert row.ended_at - row.started_at >= (7 * MINUTE if state is State.SUCCESS else 20 * MINUTE - SECOND)
    assert row.ended_at - row.started_at <= 20 * MINUTE + 5 * SECOND


def test_a_failure_that_passes_is_tried_again_by_its_own_backoff_not_with_the_next_round(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T05:59:00Z"))

    def agent() -> None:
        world.effect("try")
        if len(world.effects) == 1:
            raise ConnectionError("503")

    world.job(cron_job("0 6 * * *", retry=Retry(max=3, base=MINUTE)), agent)
    to(world, "2026-11-28T06:02:00Z")
    row = row_for(world, "2026-11-28T06:00:00Z")
    assert (row.state, row.attempt) == (State.SUCCESS, 2)
    first, second = (effect.at for effect in world.effects)
    assert MINUTE <= second - first <= MINUTE + 2 * SECOND


def test_a_quota_that_opens_at_a_known_time_is_waited_for_and_costs_one_attempt(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T11:59:00Z"))

    def agent() -> None:
        world.effect("try")
        if len(world.effects) == 1:
            raise errors.Retry("quota used up", after=timedelta(hours=2))

    world.job(cron_job("0 12 * * *", retry=Retry(max=3), catch_up=CatchUp(max_delay=4 * HOUR)), agent)
    to(world, "2026-11-28T13:59:59Z")
    assert world.effect_names() == ["try"]
    row = row_for(world, "2026-11-28T12:00:00Z")
    assert (row.state, row.attempt) == (State.FAILED_RETRYING, 1)
    to(world, "2026-11-28T14:00:10Z")
    row = row_for(world, "2026-11-28T12:00:00Z")
    assert (row.state, row.attempt) == (State.SUCCESS, 2)


# --- deliveries ------------------------------------------------------------------------------------------


def test_a_send_that_timed_out_is_not_repeated_and_a_person_is_asked(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T06:59:00Z"))

    async def report(ctx: Context) -> None:
        def send() -> None:
            world.effect("sent, no answer")
            raise TimeoutError("no answer within 30 s")

        await ctx.once("send", send)

    world.job(cron_job("0 7 * * *"), report)
    to(world, "2026-11-28T07:30:00Z")
    assert world.effect_names() == ["sent, no answer"]
    row = row_for(world, "2026-11-28T07:00:00Z")
    assert (row.state, row.code) == (State.FAILED_MANUAL, "effect_unknown")


def test_a_message_that_arrived_is_not_sent_again_when_the_cleaning_up_fails(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T06:59:00Z"))

    async def report(ctx: Context) -> str:
        def send() -> int:
            world.effect("send")
            return 77

        receipt = await ctx.once("send", send)
        world.effect("clean up")
        if world.effect_names().count("clean up") == 1:
            raise OSError("disk full")
        return f"delivered({receipt})"

    world.job(cron_job("0 7 * * *"), report)
    to(world, "2026-11-28T07:01:00Z")
    row = row_for(world, "2026-11-28T07:00:00Z")
    assert world.effect_names() == ["send", "clean up", "clean up"]
    assert (row.state, row.result) == (State.SUCCESS, '"delivered(77)"')
    assert world.store.tallies().open_alerts == (), "what the first failure told is taken back"


def test_work_whose_target_is_gone_costs_nothing_and_is_told_once(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T09:59:00Z"))
    job = cron_job("0 * * * *", depends_on=(FlagSet(flag="chat.exists"),), catch_up=CatchUp(max_delay=30 * MINUTE))
    world.job(job, lambda: world.effect("model"))
    to(world, "2026-11-28T13:59:00Z")
    assert world.effects == []
    rows = [row for row in world.rows("job") if row.scheduled_for < world.now]
    assert {(row.state, row.code) for row in rows} == {(State.FAILED_MANUAL, "limit_passed")}
    assert len(rows) == 4
    assert len(world.store.tallies().open_alerts) == 1
    world.signal("chat.exists")
    to(world, "2026-11-28T14:00:10Z")
    assert world.effect_names() == ["model"]


# --- many at once -----------------------------------------------------------------------------------------


def test_a_run_of_fifty_minutes_holds_up_nobody_else(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T09:59:00Z"), concurrency=4)
    world.job(cron_job("0 10 * * *", name="long", timeout=HOUR), sleeping(world, "long", "50m"))
    world.job(cron_job("5 10 * * *", name="short"), lambda: world.effect("short"))
    to(world, "2026-11-28T10:05:05Z")
    assert world.effect_names() == ["long", "short"]


def test_a_full_pool_makes_jobs_wait_and_cancels_none(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T08:59:00Z"), concurrency=5)
    busy = most = 0

    async def agent() -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(240)
        busy -= 1

    for number in range(39):
        world.job(cron_job("0 9 * * *", name=f"agent-{number:02d}"), agent)
    to(world, "2026-11-28T09:35:00Z")
    ended = [row for number in range(39) for row in world.rows(f"agent-{number:02d}") if not row.frontier]
    assert {row.state for row in ended} == {State.SUCCESS}
    assert (len(ended), most) == (39, 5)


def test_a_flag_is_looked_at_and_the_model_is_not_asked_whether_there_is_work(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T08:59:00Z"))
    job = cron_job(
        "0 9 * * *",
        depends_on=(FlagSet(flag="corpus_ready"),),
        window=Window(start="09:00", end="10:00"),
        catch_up=CatchUp(recheck=5 * MINUTE),
    )
    world.job(job, lambda: world.effect("model"))
    to(world, "2026-11-28T09:23:00Z")
    row = row_for(world, "2026-11-28T09:00:00Z")
    assert (row.state, row.verdict, row.attempt) == (State.PENDING, "skip_dep", 0)
    assert "corpus_ready" in row.detail
    world.signal("corpus_ready")
    to(world, "2026-11-28T09:23:05Z")
    assert world.effect_names() == ["model"], "the flag wakes the job; nobody waits for 09:25"


def test_a_fixed_grid_keeps_96_starts_a_day_however_long_a_run_takes(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-29T00:00:00Z") - SECOND)
    world.job(make_job("job", trigger=Every(period=15 * MINUTE)), sleeping(world, "run", "90s"))
    to(world, "2026-11-29T23:59:59Z")
    starts = [effect.at for effect in world.effects if effect.name == "run"]
    assert len(starts) == 96
    assert all(at % (15 * MINUTE) < SECOND for at in starts)


# --- dates, people, owners ----------------------------------------------------------------------------------


def test_a_night_job_that_starts_a_day_late_still_works_on_its_own_date(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T12:00:00Z"))
    job = cron_job(
        "0 2 * * *",
        tz="Europe/Berlin",
        business_date="previous_day",
        key="digest:{business_date}",
        catch_up=CatchUp(max_delay=30 * HOUR),
    )
    world.job(job, lambda: world.effect("digest"))
    world.advance("1s")
    world.kill(0)
    to(world, "2026-11-29T23:30:00Z")
    world.restart(0)
    world.advance("10s")
    row = row_for(world, "2026-11-29T01:00:00Z")
    assert (row.state, row.business_date, row.key) == (State.SUCCESS, "2026-11-28", "digest:2026-11-28")


@pytest.mark.parametrize("key", ["", "digest:{business_date}"], ids=["no key", "a key of the date"])
def test_a_manual_run_leaves_the_evening_alone_unless_a_key_joins_them(any_world: MakeWorld, key: str) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T15:00:00Z"))
    job = cron_job("0 18 * * *", key=key)
    world.job(job, lambda: world.effect("run"))
    world.advance("1s")
    assert run_now(world, job, "afternoon") == "added"
    to(world, "2026-11-28T18:00:10Z")
    evening = row_for(world, "2026-11-28T18:00:00Z")
    if key:
        (manual,) = [row for row in world.rows("job") if row.origin is Origin.MANUAL]
        assert (evening.verdict, f'"holder":{manual.id}' in evening.detail.replace(" ", "")) == (
            "skip_duplicated",
            True,
        )
        assert len(world.effects) == 1
    else:
        assert evening.state is State.SUCCESS
        assert len(world.effects) == 2


def test_a_job_whose_owner_is_gone_is_ended_and_nothing_of_it_fires_or_fails(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T10:00:30Z"))
    world.job(cron_job("0 * * * *"), lambda: world.effect("job"))
    world.advance("1m")
    gone = world.store.act("end", Act(kind="end_job", job="job", actor="ops", reason="agent a9 deleted"))
    assert gone.outcome == "done"
    del world.jobs["job"]
    for moment in ("2026-11-28T11:00:01Z", "2026-11-28T12:00:01Z", "2026-11-29T12:00:00Z"):
        pass_over(world, moment)
    assert world.effects == []
    assert {row.state for row in world.rows("job")} == {State.SKIPPED}
    assert world.store.tallies().open_alerts == ()


def test_an_edit_that_takes_all_moments_away_fires_nothing(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-12-01T12:00:00Z"))
    moments = tuple(f"2026-12-{day:02d}T09:00:00" for day in (2, 3, 4))
    job = make_job("job", trigger=At(moments=moments, tz="UTC"), catch_up=CatchUp(max_delay=48 * HOUR))
    world.job(job, lambda: world.effect("job"))
    world.advance("1s")
    pass_over(world, "2026-12-02T08:59:50Z")
    to(world, "2026-12-02T09:10:00Z")
    world.job(replace(job, trigger=At(moments=moments[:1], tz="UTC")), lambda: world.effect("job"))
    world.restart(0)
    world.advance("1m")
    pass_over(world, "2026-12-06T00:00:00Z")
    assert world.effect_names() == ["job"]
    assert [row for row in world.rows("job") if row.frontier] == []


def test_a_guard_that_is_added_excludes_the_moments_to_come_and_starts_none(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-27T10:00:00Z"))  # a Friday
    job = cron_job("0 9 * * *", catch_up=CatchUp(max_delay=72 * HOUR))
    world.job(job, lambda: world.effect("job"))
    world.advance("1s")
    world.job(replace(job, guardrails=Guardrails(allow_weekend=False)), lambda: world.effect("job"))
    world.restart(0)
    world.advance("1m")
    for day in (28, 29, 30):
        pass_over(world, f"2026-11-{day}T08:59:50Z")
        to(world, f"2026-11-{day}T09:00:10Z")
    assert [effect.at // SECOND for effect in world.effects] == [instant("2026-11-30T09:00:00Z") // SECOND]
    assert row_for(world, "2026-11-28T09:00:00Z").verdict == "skip_guard"


@pytest.mark.parametrize(
    "edited", ["2026-11-26T23:49:00Z", "2026-11-27T12:10:00Z"], ids=["the day before", "after it ran"]
)
def test_a_schedule_moved_to_an_earlier_time_runs_each_date_once(any_world: MakeWorld, edited: str) -> None:
    world = any_world(replicas=1, start=instant("2026-11-26T12:00:00Z"))
    job = cron_job("30 11 * * 5", key="report:{business_date}", catch_up=CatchUp(max_delay=12 * HOUR))
    world.job(job, lambda: world.effect("report"))
    world.advance("1s")
    if edited > "2026-11-27T11:30:00Z":
        pass_over(world, "2026-11-27T11:29:50Z")
        to(world, "2026-11-27T11:31:00Z")
    pass_over(world, edited)
    world.job(replace(job, trigger=Cron(expression="0 11 * * 5", tz="UTC")), lambda: world.effect("report"))
    world.restart(0)
    world.advance("1m")
    before = len(world.effects)
    assert before == (1 if edited > "2026-11-27T11:30:00Z" else 0), "the edit itself starts nothing"
    if not before:
        pass_over(world, "2026-11-27T10:59:50Z")
        to(world, "2026-11-27T11:40:00Z")
    pass_over(world, "2026-12-04T10:59:50Z")
    to(world, "2026-12-04T11:00:10Z")
    done = sorted(row.business_date for row in world.rows("job") if row.state is State.SUCCESS)
    assert done == ["2026-11-27", "2026-12-04"]
