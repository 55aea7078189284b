"""Seeded misfortune around a job's outside lock: whatever dies or falls silent, two never work under it at once."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable

import pytest

from noonmark.core.model import SECOND, CatchUp, Every, LockRule, Retry, State
from noonmark.engine.context import Context
from noonmark.testing.builders import make_job
from noonmark.testing.world import Done, World

MakeWorld = Callable[..., World]
TTL = 6 * SECOND
SEEDS = int(os.environ.get("NOONMARK_SEEDS", "6"))
"""How many stories are told of each kind; a few in the suite, hundreds on demand."""


def build(make_world: MakeWorld, seed: int) -> World:
    world = make_world(replicas=3, seed=seed)
    dice = random.Random(f"work {seed}")

    async def work(ctx: Context) -> None:
        world.effect(f"begin {ctx.lock_fence}")
        try:
            await asyncio.sleep(dice.uniform(0.2, 3))
            if dice.random() < 0.2:
                raise OSError("bad luck")
        finally:
            world.effect("end")

    for name, busy, period in (("skips", "skip", 3), ("waits", "wait", 11)):
        world.job(
            make_job(
                name,
                trigger=Every(period=period * SECOND),
                lock=LockRule(name="one", ttl=TTL, busy=busy),
                overlap="allow",
                lease=4 * SECOND,
                retry=Retry(max=3),
                catch_up=CatchUp(missed="all", recheck=2 * SECOND),
            ),
            work,
        )
    return world


def mark(world: World, number: int, name: str) -> None:
    world.effects.append(Done(at=world.now, replica=number, name=name))


def misfortune(world: World, dice: random.Random, *, pauses: bool) -> None:
    """Do one bad thing, and let it last for a while."""
    number = dice.randrange(3)
    what = dice.choice(["kill", "stop", "away", "outsider", "replies", "nothing", *(["pause"] * 2 if pauses else [])])
    if what == "kill":
        world.kill(number)
        mark(world, number, "killed")
        world.advance(round(dice.uniform(0.1, 9) * SECOND))
        world.restart(number)
    elif what == "stop":
        world.stop(number, grace="500ms")
        world.advance(round(dice.uniform(4, 9) * SECOND))
        mark(world, number, "killed")
        world.restart(number)
    elif what == "away":
        world.locks.is_away = True
        world.advance(round(dice.uniform(0.1, 14) * SECOND))
        world.locks.is_away = False
    elif what == "outsider":
        if world.locks.take("one", 30 * SECOND) is not None:
            mark(world, -1, "begin outsider")
            world.advance(round(dice.uniform(0.1, 8) * SECOND))
            mark(world, -1, "end")
            world.locks.free("one")
    elif what == "replies":
        world.replicas[number].gate.lose_replies(dice.randrange(1, 4))
    elif what == "pause":
        world.pause(number)
        world.advance(round(dice.uniform(0.5, 12) * SECOND))
        world.resume(number)
    world.advance(round(dice.uniform(0.1, 4) * SECOND))


def live_through(world: World, seed: int, *, pauses: bool) -> None:
    dice = random.Random(seed)
    world.advance("2s")
    for _ in range(12):
        misfortune(world, dice, pauses=pauses)
    world.advance("2m")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_without_pauses_nobody_works_while_another_does(make_world: MakeWorld, seed: int) -> None:
    world = build(make_world, seed)
    live_through(world, seed, pauses=False)
    inside: dict[int, int] = {}
    begun = 0
    for effect in world.effects:
        what = effect.name.partition(" ")[0]
        if what == "begin":
            others = {number for number, count in inside.items() if count}
            assert not others, f"seed {seed}: {effect} while {others} were at work"
            inside[effect.replica] = inside.get(effect.replica, 0) + 1
            begun += 1
        elif what == "end":
            inside[effect.replica] = max(0, inside.get(effect.replica, 0) - 1)
        else:
            inside[effect.replica] = 0
    assert begun > 20
    check_end(world)


@pytest.mark.parametrize("seed", [1001, 1022, *range(1030, 1030 + SEEDS)])
def test_with_pauses_the_fences_still_tell_the_order(make_world: MakeWorld, seed: int) -> None:
    world = build(make_world, seed)
    live_through(world, seed, pauses=True)
    fences = [int(effect.name.split()[1]) for effect in world.effects if effect.name.split()[-1].isdigit()]
    assert len(fences) > 20
    assert fences == sorted(set(fences)), "whoever begins later has the greater fence"
    check_end(world)


def check_end(world: World) -> None:
    """Everything due has an outcome or is about to, and no lock was left behind."""
    old = [row for row in world.rows() if row.scheduled_for < world.now - 60 * SECOND]
    stuck = [row for row in old if row.state in (State.RUNNING, State.FAILED_RETRYING)]
    assert not stuck, [(row.run_id, row.state, row.code) for row in stuck[:5]]
    for number in range(3):
        world.stop(number, grace="10s")
    world.advance("30s")
    assert not world.locks.is_held("one")
