"""Races that an ordinary run shows nothing of: rules that change under a look, leases that change under a take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    Act,
    CatchUp,
    Every,
    FlagSet,
    Query,
    State,
)
from noonmark.core.moments import moment_at
from noonmark.engine.activate import declare
from noonmark.engine.context import Context
from noonmark.explain.verify import verify
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

MakeWorld = Callable[..., World]


def test_trust_lasts_as_long_as_the_lease_that_was_taken_not_as_the_rule_s_new_one(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, latency=0)

    async def work() -> None:
        await asyncio.sleep(200)

    job = make_job("work", lease=30 * SECOND)
    world.job(job, work)
    world.advance("1s")
    longer = replace(job, lease=10 * MINUTE)
    declare(world.store, [longer], actor="ann")
    id_ = world.later(longer)  # it has the new revision; the worker that takes it still knows the old lease
    world.until(lambda: world.row(id_).state is State.RUNNING, step="10ms")
    due_at = world.row(id_).due_at
    assert due_at is not None
    run = world.replicas[0].engine.book.get(id_)
    assert run is not None
    assert run.trust_until <= world.clock.boot() + due_at - world.now, "it trusts a lease that the store does not know"
    world.advance("150s")
    assert world.row(id_).takeovers == 0
    assert world.row(id_).attempt == 1


def test_an_each_worker_job_that_becomes_a_cluster_job_ends_the_workers_own_series(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    job = make_job("m", trigger=Every(period=MINUTE), scope="each_worker")
    world.job(job, lambda: world.effect("m"))
    world.advance("3m5s")
    declare(world.store, [replace(job, scope="cluster")], actor="ann")
    world.effects.clear()
    world.advance("10m")
    assert len(world.effects) == 10
    assert verify(world.store, 0).problems == ()


def test_a_cluster_job_that_becomes_an_each_worker_job_runs_on_every_worker_and_on_no_other(
    any_world: MakeWorld,
) -> None:
    world = any_world(replicas=2)
    job = make_job("m", trigger=Every(period=MINUTE))
    world.job(job, lambda: world.effect("m"))
    world.advance("3m5s")
    each = replace(job, scope="each_worker")
    world.job(each, lambda: world.effect("m"))
    declare(world.store, [each], actor="ann")
    series = world.store.occurrences(Query(job="m", open_only=True, frontier_only=True))
    assert all(row.worker for row in series), "nobody would ever take a moment of no worker"
    for number in (0, 1):
        world.kill(number)
        world.restart(number)
    world.advance("1m")
    world.effects.clear()
    world.advance("10m")
    assert sorted(effect.replica for effect in world.effects) == [0] * 10 + [1] * 10
    assert verify(world.store, 0).problems == ()


def test_what_a_stopped_worker_missed_before_and_after_edits_is_all_on_record(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    job = make_job("m", trigger=Every(period=4 * SECOND), scope="each_worker", catch_up=CatchUp(missed="skip"))
    world.job(job, lambda: world.effect("m"))
    world.advance("10s")
    world.pause(1)
    for period in (2, 5, 3):
        world.advance("7s")
        declare(world.store, [replace(job, trigger=Every(period=period * SECOND))], actor="ann")
    world.advance("5s")
    world.resume(1)
    world.advance("2m")
    assert verify(world.store, 0).problems == ()


def test_an_edit_of_an_each_worker_job_reaches_every_worker_s_series_at_once(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    job = make_job("m", trigger=Every(period=HOUR), scope="each_worker", key="m:{worker}:{scheduled_for}")
    world.job(job, lambda: world.effect("m"))
    world.advance("1m")
    declare(world.store, [replace(job, trigger=Every(period=MINUTE))], actor="ann")
    world.advance("10m")
    assert 16 <= len(world.effects) <= 20


def test_a_stopped_copy_that_wakes_up_announces_nothing(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)

    async def work(ctx: Context) -> None:
        await asyncio.sleep(3)
        await ctx.signal(f"ready:{ctx.attempt}")

    job = make_job("work")
    world.job(job, work)
    world.advance("1s")
    id_ = world.later(job)
    world.until(lambda: world.row(id_).state is State.RUNNING)
    victim = int(world.row(id_).holder[1])
    world.pause(victim)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="2m")
    world.resume(victim)
    world.advance("5s")
    facts = world.store.facts(["flag:ready:1", "flag:ready:2"])
    assert [facts[name].is_set for name in sorted(facts)] == [False, True]


def test_a_cancel_noted_on_a_frontier_holds_its_key_even_when_a_newer_moment_is_due(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    job = make_job("t", trigger=Every(period=HOUR), key="t:{scheduled_for}", catch_up=CatchUp(missed="latest"))
    world.job(job, lambda: world.effect("t"))
    world.advance("1m")
    (row,) = world.rows("t")
    world.store.act("c", Act(kind="cancel", key=row.key, actor="ann"))
    world.kill(0)
    world.advance("3h")
    world.restart(0)
    world.advance("1m")
    assert world.row(row.id).state is State.CANCELLED
    assert world.row(row.id).claimed
    assert len(world.store.occurrences(Query(job="t", frontier_only=True, open_only=True))) == 1
    assert len(world.effects) == 1


def test_a_run_that_was_lost_after_its_job_ended_can_be_cancelled(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)

    async def work() -> None:
        await asyncio.sleep(1000)

    job = make_job("work")
    world.job(job, work)
    world.advance("1s")
    id_ = world.later(job)
    world.until(lambda: world.row(id_).state is State.RUNNING)
    world.kill(int(world.row(id_).holder[1]))
    world.store.act("e", Act(kind="end_job", job="work", actor="ann"))
    world.advance("1m")
    world.store.act("c", Act(kind="cancel", occurrence_id=id_, actor="ann"))
    world.advance("1m")
    assert world.row(id_).state is State.CANCELLED


def test_a_cancel_noted_while_a_frontier_is_looked_at_is_carried_out_soon(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, latency=0)
    job = make_job(
        "t",
        trigger=Every(period=5 * MINUTE),
        key="t:{scheduled_for}",
        depends_on=(FlagSet(flag="never", reason="a test"),),
    )
    world.job(job, lambda: world.effect("t"))
    world.advance("1m")
    (row,) = world.rows("t")
    gate = world.replicas[0].gate
    gate.before("settle", lambda: world.store.act("c", Act(kind="cancel", key=row.key, actor="ann")))
    world.until(lambda: world.row(row.id).cancel_requested, at_most="2h")
    world.advance("3s")
    assert world.row(row.id).state is State.CANCELLED


def test_a_rule_that_is_changed_under_a_look_runs_no_moment_of_its_past(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, latency=0)
    job = make_job("job", trigger=Every(period=HOUR), catch_up=CatchUp(missed="all"))
    world.job(job, lambda: world.effect("run"))
    world.advance("59m59s")

    def change() -> None:
        world.clock.advance(25 * MINUTE)  # the look is slow: it stands between its decision and its settlement
        declare(world.store, [replace(job, trigger=Every(period=10 * MINUTE))], actor="ann")

    world.replicas[0].gate.before("settle", change)
    world.advance("40m")
    changed_at = world.store.jobs(["job"])[0].effective_at
    past = [row for row in world.rows("job")[1:] if row.scheduled_for <= changed_at]
    assert not past, f"moments of the new rule from before it took effect: {[row.nominal for row in past]}"
    assert len([row for row in world.rows("job") if row.frontier]) == 1


def test_a_look_that_began_before_a_change_of_the_rule_adds_nothing_of_the_old_one(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    job = make_job("job", trigger=Every(period=10 * MINUTE), catch_up=CatchUp(missed="latest"))
    world.job(job, lambda: world.effect("run"))
    gate, due_at = world.start().replicas[0].gate, world.now + 10 * MINUTE

    def stop_after_the_take() -> None:
        if world.now < due_at:
            gate.before("take", stop_after_the_take)
            return
        declare(world.store, [make_job("other")], actor="ann")  # so that the take is followed by reading the rules
        gate.before("jobs", lambda: world.pause(0))

    gate.before("take", stop_after_the_take)
    world.advance("15m")
    hourly = replace(job, trigger=Every(period=HOUR))
    declare(world.store, [hourly], actor="ann")
    world.advance("10m")
    world.resume(0)
    world.advance("1m")
    changed_at = world.store.jobs(["job"])[0].effective_at
    later = [row for row in world.rows("job") if row.scheduled_for > changed_at]
    strays = [row.nominal for row in later if moment_at(hourly, row.scheduled_for) is None]
    assert not strays, f"moments of the rule that was taken back: {strays}"
    assert later
    assert len([row for row in world.rows("job") if row.frontier]) == 1
