"""Another store lies where ours was, an empty one: workers declare what they run in it, and ticks go on."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import cast

import pytest

from noonmark.core import former
from noonmark.core.model import MINUTE, SECOND, Every, State
from noonmark.engine.signals import Lost
from noonmark.explain.verify import verify
from noonmark.stores.memory import MemoryStore
from noonmark.stores.memory.tables import Tables
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

MakeWorld = Callable[..., World]
TICK = make_job("tick", trigger=Every(period=SECOND), key="tick:{scheduled_for}")
OWN = make_job("own", trigger=Every(period=SECOND), scope="each_worker", key="own:{worker}:{scheduled_for}")
ASKED = make_job("asked")


def make_anew(world: World) -> None:
    """Empty the store, its name too, as deleting everything or another file at the path does."""
    assert isinstance(world.store, MemoryStore)
    world.store._tables, world.store._answers = Tables(), {}
    world.store._id = uuid.uuid4().hex


@pytest.mark.parametrize("replicas", [1, 2])
def test_workers_declare_their_jobs_in_a_store_that_came_back_empty_and_ticks_go_on(
    make_world: MakeWorld, caplog: pytest.LogCaptureFixture, replicas: int
) -> None:
    world = make_world(replicas=replicas)
    world.job(TICK, lambda: world.effect("tick"))
    world.job(OWN, lambda: world.effect("own"))
    world.job(ASKED, lambda: world.effect("asked"))
    world.advance("30s")
    before = cast("MemoryStore", world.store).store_id()
    make_anew(world)
    emptied = world.now
    world.advance("12s")
    assert [row.name for row in world.store.jobs()] == ["asked", "own", "tick"]
    assert len([row for row in world.rows("tick") if row.frontier]) == 1
    assert len([row for row in world.rows("own") if row.frontier]) == replicas
    assert len([info for info in world.store.workers() if info.is_awake(world.now)]) == replicas
    told = former.former_of(world.store.facts([former.FACT])[former.FACT])
    assert told is not None
    assert told.store == before
    (alert,) = world.store.tallies().open_alerts
    assert (alert.code, alert.level, alert.count) == (former.CODE, 3, 1), "told once, whoever else finds it"
    world.advance("18s")
    again = [done for done in world.effects if done.at > emptied + 12 * SECOND]
    assert [len([d for d in again if d.name == name]) for name in ("tick", "own")] == [18, 18 * replicas]
    world.later(ASKED)
    world.advance("1s")
    assert world.effect_names().count("asked") == 1
    said = [record for record in caplog.records if "another store lies" in record.getMessage()]
    assert [record.levelno for record in said] == [logging.ERROR] * replicas
    report = verify(world.store, emptied - MINUTE)
    assert report.ok
    assert report.begins is not None
    assert report.begins >= emptied, "its workers are older"


def test_a_store_that_came_back_empty_is_noticed_as_soon_as_something_happens_in_it(make_world: MakeWorld) -> None:
    world = make_world()
    world.job(TICK, lambda: world.effect("tick"))
    world.advance("30s")
    make_anew(world)
    world.signal("x")
    world.advance("3s")
    assert world.effect_names()[-2:] == ["tick", "tick"]
    assert world.effects[-1].at > world.now - 2 * SECOND


def test_a_run_of_the_store_before_is_stopped_and_ends_no_row_of_the_one_that_lies_there_now(
    make_world: MakeWorld,
) -> None:
    world = make_world(replicas=1)
    began: list[bool] = []

    async def work() -> None:
        began.append(True)
        if len(began) == 1:
            try:
                await asyncio.sleep(3600)
            finally:
                world.effect("stopped")
            return
        await asyncio.sleep(5)
        world.effect("worked")

    world.job(ASKED, work)
    world.advance("1s")
    world.later(ASKED)
    world.advance("5s")
    (first,) = world.rows("asked")
    make_anew(world)
    world.advance("12s")
    assert [lost.why for lost in world.replicas[0].happened(Lost)] == ["another store"]
    assert world.effect_names() == ["stopped"]
    second = world.later(ASKED)
    assert second == first.id, "the numbers begin anew, so that they say nothing"
    world.advance("3s")
    assert world.row(second).state is State.RUNNING
    world.advance("3s")
    assert (world.row(second).state, world.row(second).attempt) == (State.SUCCESS, 1)
    assert world.effect_names() == ["stopped", "worked"]


def test_a_run_that_ends_while_nobody_has_noticed_yet_ends_no_row_of_another_store(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)

    async def work() -> None:
        await asyncio.sleep(6)
        world.effect("worked")

    world.job(ASKED, work)
    world.advance("1s")
    world.later(ASKED)
    world.advance("5s")
    make_anew(world)
    world.advance("3s")  # the outcome is offered, and nothing of it is there
    assert world.rows() == []
    assert [row.name for row in world.store.jobs()] == ["asked"], "it was noticed by the outcome, at once"
    second = world.later(ASKED)
    world.advance("10s")
    assert world.row(second).state is State.SUCCESS
    assert world.effect_names() == ["worked", "worked"]


def test_another_store_that_others_have_filled_is_noticed_too(make_world: MakeWorld) -> None:
    world = make_world()
    world.job(TICK, lambda: world.effect("tick"))
    world.advance("30s")
    world.pause(1)
    make_anew(world)
    world.advance("12s")
    version = world.store.take("v", "w", limit=0, runnable={}, look_lease=SECOND).rules_version
    assert version == world.replicas[1].engine.rules.version, "its number does not tell it from the one before"
    world.resume(1)
    world.advance("12s")
    assert len([info for info in world.store.workers() if info.is_awake(world.now)]) == 2
    world.kill(0)
    world.advance("40s")
    assert world.effects[-1].replica == 1
    assert world.effects[-1].at > world.now - 2 * SECOND


def test_jobs_that_are_gone_from_a_store_which_is_the_same_are_declared_anew(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    world.job(TICK, lambda: world.effect("tick"))
    world.advance("30s")
    assert isinstance(world.store, MemoryStore)
    world.store._tables.jobs.clear()
    world.store._tables.rules_version += 1
    world.advance("12s")
    assert [row.name for row in world.store.jobs()] == ["tick"]
