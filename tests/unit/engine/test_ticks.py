"""Schedules in the virtual world: every tick once, whatever waits or was missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noonmark.core.model import HOUR, MINUTE, SECOND, CatchUp, Every, FlagSet, Query, State
from noonmark.engine.signals import Decided
from noonmark.testing.builders import make_job
from noonmark.testing.clock import START
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]


def tick(**fields: Any) -> Any:
    """A job every second, on the grid of whole seconds."""
    return make_job("tick", trigger=Every(period=SECOND), **fields)


def test_two_replicas_run_every_tick_of_a_one_second_job_once(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    world.job(tick(), lambda: world.effect("tick"))

    world.advance("60500ms")

    rows = world.rows("tick")
    ran = [row for row in rows if row.state is State.SUCCESS]
    assert [row.scheduled_for for row in ran] == [START + n * SECOND for n in range(1, 61)]
    assert len(world.effects) == 60, "a tick ran twice or never"
    assert len([row for row in rows if row.frontier]) == 1, "a series has one open frontier"
    assert {effect.replica for effect in world.effects} == {0, 1}, "both replicas are to share the work"


def test_nothing_runs_before_its_time_and_little_after(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    world.job(tick(), lambda: world.effect("tick"))

    world.advance("30s")

    lateness = [effect.at - (START + n * SECOND) for n, effect in enumerate(world.effects, 1)]
    assert min(lateness) >= 0, "a run began before its moment"
    assert max(lateness) < 30_000


def test_a_row_that_waits_for_data_does_not_stop_the_next_ones(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    job = make_job(
        "report",
        trigger=Every(period=MINUTE),
        key="report:{scheduled_for}",
        overlap="allow",
        catch_up=CatchUp(missed="all", max_delay=HOUR),
        depends_on=(FlagSet(flag="data:{scheduled_for}"),),
    )
    world.job(job, lambda: world.effect("report"))
    world.advance("61s")
    first = world.rows("report")[0]
    assert (first.state, first.code) == (State.PENDING, "flag_missing")

    second = world.rows("report")[1]
    name = world.store.story(first.id).ledger[-1].detail  # type: ignore[union-attr]
    flag = name.partition("flag:")[2].partition('"')[0]
    world.signal(flag.replace(_stamp(first.scheduled_for), _stamp(second.scheduled_for)))
    world.advance("60s")

    rows = world.rows("report")
    assert rows[0].state is State.PENDING, "the first still waits"
    assert rows[1].state is State.SUCCESS, "the second had its data"
    world.signal(flag)
    world.advance("1s")
    assert world.rows("report")[0].state is State.SUCCESS, "a signal wakes what waits"


def _stamp(us: int) -> str:
    from noonmark.core.times import to_datetime

    return to_datetime(us).strftime("%H:%M")


def test_a_fact_that_is_set_between_the_decision_and_the_park_is_not_lost(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    job = make_job("report", trigger=Every(period=HOUR), depends_on=(FlagSet(flag="data"),))
    world.job(job, lambda: world.effect("report"))
    world.advance(HOUR - SECOND)
    world.replicas[0].gate.before("settle", lambda: world.signal("data"))

    world.advance("2s")

    parks = [told for told in world.replicas[0].happened(Decided) if told.decision.code == "flag_missing"]
    assert len(parks) == 1, "the case needs a park that was decided on the old fact"
    assert world.rows("report")[0].state is State.SUCCESS, "the row slept through its wake-up"


def test_after_an_absence_only_the_latest_moment_runs_and_the_others_are_on_record(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    world.job(make_job("index", trigger=Every(period=5 * MINUTE)), lambda: world.effect("index"))
    world.advance("6m")
    assert len(world.effects) == 1
    world.kill(0)
    world.advance("62m")
    world.restart(0)

    world.advance("1s")

    rows = world.rows("index")
    ends = [(row.state, row.code, row.range_count) for row in rows if row.scheduled_for > START + 5 * MINUTE]
    assert ends[:3] == [
        (State.SKIPPED, "superseded", 0),
        (State.SKIPPED, "range_superseded", 10),
        (State.SUCCESS, "succeeded", 0),
    ]
    assert ends[3][0] is State.PENDING
    assert len(world.effects) == 2


def test_every_missed_moment_runs_where_the_rule_says_all(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    job = make_job(
        "meter", trigger=Every(period=MINUTE), overlap="allow", catch_up=CatchUp(missed="all", max_delay=24 * HOUR)
    )
    world.job(job, lambda: world.effect("meter"))
    world.advance("90s")
    world.kill(0)
    world.kill(1)
    world.advance("30m")
    world.restart(0)

    world.advance("5s")

    done = [row.scheduled_for for row in world.rows("meter") if row.state is State.SUCCESS]
    assert done == [START + n * MINUTE for n in range(1, 32)]


def test_a_job_that_is_still_running_skips_its_next_round_on_record(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    world.job(tick(), sleeping(world, "slow", "2500ms"))

    world.advance("4200ms")

    assert [(row.state, row.code) for row in world.rows("tick")][:3] == [
        (State.SUCCESS, "succeeded"),
        (State.SKIPPED, "slot_taken"),
        (State.SKIPPED, "slot_taken"),
    ]


def test_each_worker_runs_its_own_ticks_and_a_dead_one_leaves_none_open(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    job = make_job("metrics", trigger=Every(period=MINUTE), scope="each_worker", key="metrics:{worker}:{scheduled_for}")
    world.job(job, lambda: world.effect("metrics"))

    world.advance("3m5s")
    assert sorted(effect.replica for effect in world.effects) == [0, 0, 0, 1, 1, 1]

    world.kill(1)
    world.advance("3m")
    rows = world.rows("metrics")
    gone = [row for row in rows if row.worker == world.replicas[1].info.id and row.state is not State.SUCCESS]
    assert {(row.state, row.code) for row in gone} == {(State.CANCELLED, "worker_gone")}
    assert len([effect for effect in world.effects if effect.replica == 0]) == 6


def test_a_series_that_lost_its_frontier_gets_it_back_within_a_minute(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    world.job(make_job("index", trigger=Every(period=10 * MINUTE)), lambda: world.effect("index"))
    world.advance("1s")
    (row,) = world.store.occurrences(Query(job="index", frontier_only=True))
    world.store._tables.change(row.id, frontier=False)  # type: ignore[attr-defined]  # as a faulty tool would

    world.advance("61s")

    assert len(world.store.occurrences(Query(job="index", frontier_only=True, open_only=True))) == 1
