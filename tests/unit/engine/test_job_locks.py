"""The rule ``lock:``: a run holds what others outside contend for, from its start to its end, or does not start."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND, CatchUp, Every, FlagSet, Job, LockRule, Retry, State, Verdict
from noonmark.engine.context import Context
from noonmark.engine.joblocks import _give_back_late
from noonmark.engine.signals import Lost
from noonmark.ports.lock import LockError
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]
LOCK = LockRule(name="reindex", ttl=9 * SECOND)


def later(world: World, fn: Callable[..., Any], delay: str = "1s", **fields: Any) -> int:
    """Declare a manual job of this function and ask for one run."""
    job: Job = make_job("work", **({"lock": LOCK} | fields))
    world.job(job, fn)
    world.advance("100ms")
    return world.later(job, delay)


def test_a_run_holds_the_lock_from_its_start_to_its_end(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    fences: list[int] = []

    async def work(ctx: Context) -> None:
        fences.append(ctx.lock_fence)
        world.effect("held" if world.locks.is_held("reindex") else "free")
        await asyncio.sleep(60)  # many times the ttl
        world.effect("held" if world.locks.is_held("reindex") else "free")

    id_ = later(world, work)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="3m")
    assert world.effect_names() == ["held", "held"]
    assert fences[0] > 0
    world.advance("1s")
    assert not world.locks.is_held("reindex"), "it is given back when the run has ended"


def test_a_round_whose_lock_somebody_outside_holds_is_skipped_and_says_so(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    job = make_job("tick", trigger=Every(period=MINUTE), lock=LOCK)
    world.job(job, lambda: world.effect("tick"))
    world.start()
    world.locks.take("reindex", HOUR)
    world.advance("150s")
    world.locks.free("reindex")
    world.advance("60s")
    rows = sorted(world.rows("tick"), key=lambda row: row.scheduled_for)
    skipped = [row for row in rows if row.state is State.SKIPPED]
    assert len(skipped) == 2
    assert {(row.verdict, row.code) for row in skipped} == {(Verdict.SKIP_OVERLAP, "lock_held")}
    story = world.store.story(skipped[0].id)
    assert story is not None
    assert json.loads(story.ledger[-1].detail) == {"lock": "reindex", "at": "memory://"}
    assert ["lock", False, "reindex ours", "taken"] in json.loads(story.ledger[-1].checks)
    assert world.effect_names() == ["tick"], "the round after it was freed"


def test_with_busy_wait_it_is_asked_again_until_it_is_free(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    job = make_job("tick", trigger=Every(period=5 * MINUTE), lock=replace(LOCK, busy="wait"))
    world.job(job, lambda: world.effect("tick"))
    world.start()
    world.locks.take("reindex", 24 * HOUR)
    world.until(lambda: any(row.code == "lock_wait" for row in world.rows("tick")), at_most="2h")
    (row,) = [row for row in world.rows("tick") if row.code == "lock_wait"]
    assert row.state is State.PENDING
    world.advance("50s")
    assert world.effects == []
    freed = world.now
    world.locks.free("reindex")
    world.until(lambda: world.row(row.id).state is State.SUCCESS, at_most="1m")
    assert world.effects[0].at - freed <= 6 * SECOND


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_who_waits_behind_a_run_of_ours_is_woken_when_that_run_gives_the_lock_back(
    any_world: MakeWorld, ends: str
) -> None:
    world = any_world(replicas=2)
    ended: list[int] = []

    async def hold() -> None:
        world.effect("hold")
        await asyncio.sleep(64.2)
        ended.append(world.now)
        if ends == "badly":
            raise ValueError("badly")

    world.job(make_job("hold", lock=LOCK, retry=Retry(max=0)), hold)
    waiting = make_job("wait", lock=LOCK)
    world.job(waiting, lambda: world.effect("wait"))
    world.advance("100ms")
    world.later(make_job("hold", lock=LOCK, retry=Retry(max=0)), "1s")
    world.advance("2s")
    id_ = world.later(waiting, "1s")
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="3m")
    assert world.effect_names() == ["hold", "wait"]
    assert world.effects[1].at - ended[0] <= SECOND, "it does not wait for the next asking, five seconds later"


def test_what_somebody_asked_for_waits_by_default(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    world.locks.take("reindex", HOUR)
    id_ = later(world, lambda: world.effect("work"))
    world.advance("1m")
    assert (world.row(id_).state, world.row(id_).code) == (State.PENDING, "lock_wait")
    world.locks.free("reindex")
    world.advance("20s")
    assert world.row(id_).state is State.SUCCESS


def test_a_lock_service_that_is_away_starts_nothing_and_its_error_is_kept(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    world.locks.is_away = True
    id_ = later(world, lambda: world.effect("work"))
    world.advance("2m")
    row = world.row(id_)
    assert (row.state, row.verdict, row.code) == (State.PENDING, Verdict.SKIP_DEP, "lock_away")
    story = world.store.story(id_)
    assert story is not None
    assert "the virtual lock service is away" in story.ledger[-1].detail
    world.locks.is_away = False
    world.advance("20s")
    assert world.row(id_).state is State.SUCCESS


def test_a_schedule_whose_lock_service_is_away_is_not_skipped_but_waits(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    world.job(make_job("tick", trigger=Every(period=5 * MINUTE), lock=LOCK), lambda: world.effect("tick"))
    world.start()
    world.locks.is_away = True
    world.until(lambda: any(row.code == "lock_away" for row in world.rows("tick")), at_most="2h")
    world.locks.is_away = False
    world.advance("20s")
    assert world.effect_names() == ["tick"]


def test_a_run_that_loses_its_lock_is_cancelled_told_why_and_tried_again(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    told: list[bool] = []

    async def work(ctx: Context) -> None:
        world.effect(f"begin {ctx.attempt}")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            told.append(ctx.lost)
            world.effect("cancelled")
            raise
        world.effect("done")

    id_ = later(world, work, retry=Retry(max=2))
    world.until(lambda: bool(world.effects))
    world.locks.steal("reindex", 20 * SECOND)
    world.until(lambda: "cancelled" in world.effect_names(), at_most="5s")
    assert told == [True]
    world.advance("3s")
    assert world.row(id_).state is State.FAILED_RETRYING
    story = world.store.story(id_)
    assert story is not None
    assert any("its outside lock reindex was lost" in line.detail for line in story.ledger)
    assert world.replicas[0].happened(Lost)[0].why == "lock"
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="3m")
    assert world.effect_names() == ["begin 1", "cancelled", "begin 2", "done"], "not before the outsider let go"


def test_the_last_loss_of_a_lock_asks_a_person(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    id_ = later(world, sleeping(world, "work", "30s"), retry=Retry(max=0))
    world.until(lambda: bool(world.effects))
    world.locks.steal("reindex", MINUTE)
    world.advance("10s")
    assert (world.row(id_).state, world.row(id_).code) == (State.FAILED_MANUAL, "lock_lost")
    story = world.store.story(id_)
    assert story is not None
    assert [alert.level for alert in story.alerts] == [3]


def test_a_lock_service_that_is_away_during_a_run_ends_it_when_trust_ends_not_before(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    id_ = later(world, sleeping(world, "work", "30s"), retry=Retry(max=0))
    world.until(lambda: bool(world.effects))
    world.locks.is_away = True
    world.advance("5s")
    assert world.row(id_).state is State.RUNNING
    world.advance("10s")
    assert (world.row(id_).state, world.row(id_).code) == (State.FAILED_MANUAL, "lock_lost")


def test_a_killed_workers_lock_lapses_and_the_takeover_waits_for_it(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    id_ = later(world, sleeping(world, "work", "20s"), lock=replace(LOCK, ttl=2 * MINUTE), lease=10 * SECOND)
    world.until(lambda: bool(world.effects))
    world.kill(world.effects[0].replica)
    world.advance("30s")
    row = world.row(id_)
    assert (row.state, row.code) == (State.RUNNING, "lock_wait"), "the lease is over, the dead worker's lock is not"
    takeovers = row.takeovers
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="5m")
    assert takeovers == 1
    assert world.effect_names() == ["work", "work", "work done"]
    assert world.effects[1].at - world.effects[0].at >= 2 * MINUTE
    assert world.row(id_).takeovers == 1, "waiting for a lock is no further loss"


def test_two_rows_of_one_job_share_the_lock_one_after_the_other(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(5)
        running -= 1

    job = make_job("work", lock=LOCK, overlap="allow", catch_up=CatchUp(recheck=SECOND))
    world.job(job, work)
    world.advance("100ms")
    ids = [world.later(job, "1s", n=n) for n in range(4)]
    world.until(lambda: all(world.row(id_).state is State.SUCCESS for id_ in ids), at_most="3m")
    assert most == 1


def test_nothing_is_asked_of_the_lock_service_while_another_check_refuses(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    id_ = later(world, lambda: world.effect("work"), depends_on=(FlagSet(flag="ready"),))
    world.advance("20m")
    assert world.locks.asked == 0
    world.signal("ready")
    world.advance("5s")
    assert world.row(id_).state is State.SUCCESS
    assert world.locks.asked == 1


def test_a_lock_that_was_taken_for_a_start_that_did_not_happen_is_given_back(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    job = make_job("work", lock=LOCK, depends_on=(FlagSet(flag="ready"),))
    world.job(job, lambda: world.effect("work"))
    world.advance("100ms")
    world.signal("ready")
    world.advance("1s")
    id_ = world.later(job, "1s")

    def clear() -> None:
        from noonmark.core.model import Fact

        world.store.signal("clear", [Fact(name="flag:ready", value=None)])

    gate = world.replicas[0].gate
    world.advance("900ms")
    gate.before("settle", clear)
    world.advance("5s")
    assert (world.row(id_).state, world.row(id_).code) == (State.PENDING, "flag_missing")
    assert world.locks.asked == 1
    assert not world.locks.is_held("reindex")


def test_the_name_is_a_template(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    lock = LockRule(name="reindex:{channel}", busy="skip")
    job = make_job("tick", trigger=Every(period=5 * MINUTE), each={"channel": ("ops", "sales")}, lock=lock)
    world.job(job, lambda channel: world.effect(channel))
    world.start()
    world.locks.take("reindex:ops", 24 * HOUR)
    world.until(lambda: len([row for row in world.rows("tick") if row.state is not State.PENDING]) >= 2, at_most="2h")
    world.advance("1s")
    assert world.effect_names() == ["sales"]


@pytest.mark.parametrize("outsiders", [0, 1])
def test_a_worker_that_stops_gives_its_locks_back(any_world: MakeWorld, outsiders: int) -> None:
    world = any_world(replicas=1)
    id_ = later(world, sleeping(world, "work", "10m"))
    world.until(lambda: bool(world.effects))
    world.stop(0, grace="1s")
    world.advance("30s")
    assert world.row(id_).state is State.PENDING
    assert not world.locks.is_held("reindex")
    if outsiders:
        assert world.locks.take("reindex") is not None


def test_a_lock_added_to_a_rule_binds_rows_that_were_queued_before(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    id_ = later(world, lambda: world.effect("work"), "1h", lock=None)
    world.job(make_job("work", lock=LOCK), lambda: world.effect("work"))
    world.restart(0)
    world.locks.take("reindex", 24 * HOUR)
    world.advance("61m")
    assert (world.row(id_).state, world.row(id_).code) == (State.PENDING, "lock_wait")


class Kept:
    """A lock as its source gives it, of which only the end matters."""

    def __init__(self, error: LockError | None = None) -> None:
        self.freed, self.error = 0, error

    def release(self) -> None:
        self.freed += 1
        if self.error is not None:
            raise self.error


def test_a_lock_that_comes_when_nobody_waits_for_it_any_more_is_given_back(caplog: pytest.LogCaptureFixture) -> None:
    kept, stubborn = Kept(), Kept(LockError("the service is away"))
    came: list[Future[Any]] = [Future() for _ in range(5)]
    for future, result in zip(came, (kept, stubborn, None), strict=False):
        future.set_result(result)
    came[3].set_exception(LockError("taken"))
    came[4].cancel()
    for future in came:
        _give_back_late(future)
    assert (kept.freed, stubborn.freed) == (1, 1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
