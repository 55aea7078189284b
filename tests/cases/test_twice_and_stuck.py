"""Faults that people reported: work done twice, moments passed over, jobs stuck for ever, state lost.

Each test is one kind of fault from public trackers, in its smallest form; the name says what has to happen instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from noonmark.core.model import (
    HOUR,
    LOOK_LEASE,
    MINUTE,
    SECOND,
    Act,
    At,
    CatchUp,
    Cron,
    Every,
    Job,
    Micros,
    Occurrence,
    Origin,
    Retry,
    State,
)
from noonmark.core.series import row_for_call
from noonmark.core.times import parse_instant
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]


def instant(text: str) -> Micros:
    return parse_instant(text, None)


def cron_job(expression: str, *, name: str = "job", **fields: Any) -> Job:
    return make_job(name, trigger=Cron(expression=expression, tz="UTC"), **fields)


def to(world: World, when: str) -> None:
    world.advance(instant(when) - world.now)


def row_for(world: World, when: str, job: str = "job") -> Occurrence:
    (found,) = [row for row in world.rows(job) if row.scheduled_for == instant(when)]
    return found


# --- twice ---------------------------------------------------------------------------------------


def test_unequal_clocks_make_one_claim_and_no_early_start(any_world: MakeWorld) -> None:
    world = any_world(replicas=2, start=instant("2026-11-28T08:59:00Z"))
    world.job(cron_job("0 9 * * *"), lambda: world.effect("job"))
    world.advance("1s")
    world.clock.step_wall(3 * SECOND)  # a wall clock that is ahead is only reported: the store's clock decides
    to(world, "2026-11-28T09:05:00Z")
    (effect,) = world.effects
    assert effect.at >= instant("2026-11-28T09:00:00Z")
    assert row_for(world, "2026-11-28T09:00:00Z").attempt == 1


def test_a_slow_look_that_is_overtaken_cannot_start_the_same_moment(any_world: MakeWorld) -> None:
    world = any_world(replicas=2, start=instant("2026-11-28T09:59:00Z"))
    world.job(cron_job("*/5 * * * *"), lambda: world.effect("job"))
    world.advance("1s")
    world.pause(1)
    taken = world.store.take("stalled", "stalled-poll", limit=1, runnable={}, look_lease=LOOK_LEASE)
    assert taken.rows == ()
    world.clock.advance(instant("2026-11-28T10:00:00Z") - world.now)
    (listed,) = world.store.take("stalls", "stalled-poll", limit=1, runnable={}, look_lease=LOOK_LEASE).rows
    to(world, "2026-11-28T10:01:10Z")  # the poll stalls for 70 s; the other replica looks when the look lease has ended
    assert len(world.effects) == 1

    from noonmark.core.model import Event, Gates, Settlement

    late = Settlement(
        occurrence_id=listed.id, fence=listed.fence, event=Event.START, lease=30 * SECOND, gates=Gates(revision=1)
    )
    (answer,) = world.store.settle("late", "stalled-poll", [late])
    assert answer.outcome == "stale", "reading a due row is not owning it"
    assert world.store.tallies().stale_refused == 1
    assert len(world.effects) == 1


def test_a_moment_finished_before_a_restart_is_not_run_again(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T04:59:00Z"))
    job = cron_job("0 5 * * *", key="brief:{business_date}", catch_up=CatchUp(max_delay=4 * HOUR))
    world.job(job, lambda: world.effect("brief"))
    to(world, "2026-11-28T05:03:00Z")
    assert world.effect_names() == ["brief"]
    for _ in range(3):
        world.restart(0)
        world.advance("20m")
    assert world.effect_names() == ["brief"]
    # and a person who asks for the same outcome is told that it is done
    revision = world.store.jobs(["job"])[0].revision
    now = world.now
    row = row_for_call(
        job, request_id="again", due_at=now, params={}, key=None, revision=revision, now=now, origin=Origin.MANUAL
    )
    assert row.key == "brief:2026-11-28"
    (added,) = world.store.add("again", [row])
    assert (added.outcome, added.duplicate_of) == ("duplicate_key", row_for(world, "2026-11-28T05:00:00Z").id)


def test_a_wake_up_a_few_milliseconds_early_neither_runs_nor_spins(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T12:00:00Z"))
    world.job(cron_job("0 13 * * *"), lambda: world.effect("job"))
    to(world, "2026-11-28T12:59:59.988Z")
    world.replicas[0].engine.wake()
    world.advance(1000)
    assert world.effects == []
    to(world, "2026-11-28T13:10:00Z")
    assert [effect.at >= instant("2026-11-28T13:00:00Z") for effect in world.effects] == [True]
    assert [row.scheduled_for for row in world.rows("job") if row.frontier] == [instant("2026-11-29T13:00:00Z")]


def test_declaring_a_job_at_every_start_keeps_it_one_job(any_world: MakeWorld) -> None:
    world = any_world(replicas=3, start=instant("2026-11-28T12:00:00Z"))
    world.job(cron_job("0 2 * * *"), lambda: world.effect("job"))
    for _ in range(4):
        for number in range(3):
            if world.replicas:
                world.restart(number)
        world.advance("1s")
    (row,) = world.store.jobs()
    assert row.revision == 1, "the same declaration changes nothing"
    world.job(cron_job("0 3 * * *"), lambda: world.effect("job"))
    world.restart(0)
    world.advance("1s")
    (row,) = world.store.jobs()
    assert row.revision == 2
    assert len([r for r in world.rows("job") if r.frontier]) == 1


# --- passed over ---------------------------------------------------------------------------------


def test_adding_another_job_does_not_carry_a_due_one_past_its_moment(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-29T09:59:00Z"))
    world.job(cron_job("0 10 */2 * *"), lambda: world.effect("job"))
    world.advance("1s")
    world.pause(0)
    to(world, "2026-11-29T10:00:00.200Z")
    world.job(cron_job("0 1 * * *", name="other"), lambda: world.effect("other"))
    world.kill(0)
    world.restart(0)
    world.advance("10s")
    assert world.effect_names() == ["job"]
    assert row_for(world, "2026-11-29T10:00:00Z").state is State.SUCCESS


def test_a_start_that_fails_is_a_failure_and_not_a_run(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T08:14:00Z"))

    def broken() -> None:
        raise RuntimeError("the agent session could not be opened")

    world.job(cron_job("15 8 * * *"), broken)
    to(world, "2026-11-28T08:15:00.500Z")
    row = row_for(world, "2026-11-28T08:15:00Z")
    assert row.state is State.FAILED_RETRYING
    assert "could not be opened" in (row.error or "")


def test_an_edit_leaves_nothing_of_the_old_recurrence(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-30T06:00:00Z"))  # a Monday
    world.job(cron_job("0 9 * * mon"), lambda: world.effect("job"))
    to(world, "2026-11-30T06:30:00Z")
    world.job(cron_job("0 7,9 * * *"), lambda: world.effect("job"))
    world.restart(0)
    to(world, "2026-11-30T10:00:00Z")
    done = [row.scheduled_for for row in world.rows("job") if row.state is State.SUCCESS]
    assert done == [instant("2026-11-30T07:00:00Z"), instant("2026-11-30T09:00:00Z")]


# --- stuck ---------------------------------------------------------------------------------------


def test_a_crash_leaves_no_running_mark_behind(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T01:59:00Z"))
    job = cron_job("0 * * * *", lease=90 * SECOND, overlap="skip", on_lost="manual", timeout=HOUR)
    world.job(job, sleeping(world, "run", "10m"))
    to(world, "2026-11-28T02:03:20Z")
    world.kill(0)
    to(world, "2026-11-28T02:10:00Z")
    world.restart(0)
    to(world, "2026-11-28T03:00:30Z")
    assert row_for(world, "2026-11-28T02:00:00Z").state is State.FAILED_MANUAL, "interrupted, and a person is asked"
    assert row_for(world, "2026-11-28T03:00:00Z").state is State.RUNNING, "the slot was given back with the end"


def test_a_failed_one_shot_does_not_come_back_at_each_start(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T09:59:00Z"))

    def broken() -> None:
        world.effect("try")
        raise ValueError("no")

    world.job(make_job("job", trigger=At(moments=("2026-11-28T10:00:00Z",)), retry=Retry(max=0)), broken)
    to(world, "2026-11-28T10:00:09Z")
    for _ in range(2):
        world.restart(0)
        world.advance("1h")
    assert world.effect_names() == ["try"]
    assert row_for(world, "2026-11-28T10:00:00Z").state is State.FAILED_MANUAL
    acted = world.store.act(
        "retry", Act(kind="retry", occurrence_id=row_for(world, "2026-11-28T10:00:00Z").id, actor="ops")
    )
    assert acted.outcome == "done"
    world.advance("1s")
    assert world.effect_names() == ["try", "try"], "until somebody retries it by hand"


def test_a_manual_run_changes_nothing_of_the_rule(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T09:00:00Z"))
    job = make_job("job", trigger=At(moments=("2026-11-27T10:00:00Z",)))
    world.job(job, lambda: world.effect("job"))
    world.advance("1s")
    before = world.store.jobs()
    now = world.now
    row = row_for_call(
        job, request_id="now", due_at=now, params={}, key=None, revision=1, now=now, origin=Origin.MANUAL
    )
    assert world.store.add("now", [row])[0].outcome == "added"
    world.advance("1s")
    world.restart(0)
    world.advance("1h")
    assert world.effect_names() == ["job"]
    assert world.store.jobs() == before
    assert not [r for r in world.rows("job") if r.frontier], "the one moment is past, so there is no next one"


def test_a_skip_for_overlap_is_the_end_of_that_moment_only(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T09:59:00Z"))
    world.job(cron_job("*/30 * * * *", overlap="skip", timeout=HOUR), sleeping(world, "run", "47m"))
    to(world, "2026-11-28T11:00:10Z")
    row = row_for(world, "2026-11-28T10:30:00Z")
    assert (row.state, row.verdict) == (State.SKIPPED, "skip_overlap")
    assert row_for(world, "2026-11-28T11:00:00Z").state is State.RUNNING


def test_a_deleted_row_does_not_stop_a_series(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T12:00:00Z"))
    world.job(cron_job("0 * * * *"), lambda: world.effect("job"))
    world.advance("1s")
    (frontier,) = [row for row in world.rows("job") if row.frontier]
    tables = world.store._tables  # type: ignore[attr-defined]  # the port cannot delete; a database tool can
    del tables.rows[frontier.id], tables.open_ids[frontier.id], tables.by_identity["job", "", frontier.identity]
    to(world, "2026-11-28T13:05:00Z")
    assert row_for(world, "2026-11-28T13:00:00Z").state is State.SUCCESS


# --- leases, keys, delays ------------------------------------------------------------------------


def test_a_crash_between_claim_and_end_is_seen_at_the_end_of_the_lease(any_world: MakeWorld) -> None:
    world = any_world(replicas=2, start=instant("2026-11-28T06:59:00Z"))
    world.job(cron_job("0 7 * * *", lease=60 * SECOND, timeout=HOUR, retry=Retry(max=3)), sleeping(world, "run", "10m"))
    to(world, "2026-11-28T07:04:00Z")
    (first,) = world.effects
    world.kill(first.replica)
    to(world, "2026-11-28T07:05:30Z")
    row = row_for(world, "2026-11-28T07:00:00Z")
    assert row.state is State.RUNNING, "taken over by the other replica"
    story = world.store.story(row.id)
    assert story is not None
    assert [attempt.outcome for attempt in story.attempts] == ["lost", "running"]
    to(world, "2026-11-28T07:16:00Z")
    assert row_for(world, "2026-11-28T07:00:00Z").state is State.SUCCESS


def test_a_backlog_larger_than_a_lease_is_worked_off_once(make_world: MakeWorld) -> None:
    world = make_world(replicas=2, start=instant("2026-11-28T12:00:00Z"), concurrency=50)
    job = make_job("job", lease=5 * SECOND, key="job:{params.n}")

    async def work(n: int) -> None:
        await asyncio.sleep(0.5)
        world.effect(str(n))

    world.job(job, work)
    world.advance("1s")
    for number in range(2_000):
        world.later(job, n=number)
    world.until(lambda: len(world.effects) >= 2_000, at_most="5m")
    world.advance("10s")
    assert sorted(map(int, world.effect_names())) == list(range(2_000))


def test_a_job_of_a_millisecond_runs_once_on_four_workers(any_world: MakeWorld) -> None:
    world = any_world(replicas=4, start=instant("2026-11-28T11:59:00Z"))
    world.job(cron_job("0 12 * * *"), lambda: world.effect("job"))
    to(world, "2026-11-28T12:10:00Z")
    assert world.effect_names() == ["job"]


def test_a_key_stays_taken_when_the_history_is_cleaned(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2026-11-28T11:59:00Z"))
    job = cron_job("0 12 * * *", key="job:{business_date}")
    world.job(job, lambda: world.effect("job"))
    to(world, "2026-11-28T12:01:00Z")
    done = row_for(world, "2026-11-28T12:00:00Z")
    fact = world.store.facts([f"key:{done.key}"])[f"key:{done.key}"]
    assert fact.is_set
    assert fact.value["state"] == "SUCCESS"


def test_a_long_delay_is_kept_in_the_store_and_fires_once(any_world: MakeWorld) -> None:
    world = any_world(replicas=4, start=instant("2026-11-29T06:00:00Z"))
    job = make_job("job")
    world.job(job, lambda: world.effect("job"))
    world.advance("1s")
    asked = world.later(job, delay="90m")
    world.advance("45m")
    for number in range(4):
        world.restart(number)  # nothing lives in a worker's memory
    world.advance("1h")
    (effect,) = world.effects
    assert 0 <= effect.at - world.row(asked).scheduled_for < SECOND


def test_a_month_is_not_too_long_to_wait(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, start=instant("2027-01-01T04:00:01Z"))
    world.job(cron_job("0 4 1 * *"), lambda: world.effect("job"))
    world.advance("25h")
    assert world.effects == []
    assert [row.scheduled_for for row in world.rows("job") if row.frontier] == [instant("2027-02-01T04:00:00Z")]


def test_a_handler_that_no_longer_exists_loses_no_rows_and_runs_when_it_is_back(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T12:00:00Z"))
    job = make_job("job")
    world.job(job, lambda: world.effect("job"))
    world.advance("1s")
    asked = [world.later(job, delay="1m", n=n) for n in range(20)]
    handler = world.jobs.pop("job")
    world.restart(0)
    world.advance("10m")
    assert {(world.row(one).state, world.row(one).code) for one in asked} == {(State.PENDING, "handler_missing")}
    assert world.effects == []
    world.jobs["job"] = handler
    world.restart(0)
    world.advance("1m")
    assert {world.row(one).state for one in asked} == {State.SUCCESS}
    assert len(world.effects) == 20


def test_one_job_that_cannot_run_does_not_stop_the_others(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T00:00:00Z"))
    world.job(make_job("over", trigger=At(moments=("2026-06-13T00:00:00Z",))), lambda: world.effect("over"))
    world.job(cron_job("0 3 * * *", name="nightly"), lambda: world.effect("nightly"))
    to(world, "2026-11-28T03:01:00Z")
    assert world.effect_names() == ["nightly"]


def test_restarts_at_the_very_moment_of_a_tick_lose_none(make_world: MakeWorld) -> None:
    world = make_world(replicas=3, start=instant("2026-11-28T12:00:00Z"))
    world.job(make_job("job", trigger=Every(period=10 * SECOND)), lambda: world.effect("job"))
    for minute in range(30):
        world.advance(MINUTE)
        if minute % 7 == 3:
            world.restart(minute % 3)
    world.advance(SECOND)
    assert len(world.effects) == len({row.scheduled_for for row in world.rows("job") if row.state is State.SUCCESS})
    assert len(world.effects) == 30 * 6, "every tick, the last one included"
