"""Seeded misfortune: replicas die and stop, replies get lost, people edit, pause, cancel and retry, all at bad moments.

Rule of the file: after the last misfortune there is quiet; then what must hold is read from the rows, not from ``verify``
alone, so that a blind ``verify`` shows.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from noonmark.core.model import (
    HOUR,
    OPEN_STATES,
    SECOND,
    Act,
    CatchUp,
    Every,
    Fact,
    FlagSet,
    Job,
    Occurrence,
    Query,
    Retry,
    State,
)
from noonmark.engine.activate import declare
from noonmark.engine.context import Context
from noonmark.explain.verify import verify
from noonmark.testing.builders import make_job
from noonmark.testing.world import Replica, World

MakeWorld = Callable[..., World]
SEEDS = int(os.environ.get("NOONMARK_SEEDS", "4"))
"""How many stories are told on each store; a few in the suite, hundreds on demand."""
FLAGS = ("f:0", "f:1", "f:2")
ENDED = frozenset({State.SUCCESS, State.CANCELLED, State.FAILED_MANUAL})
LATEST, ALL = CatchUp(missed="latest", max_delay=HOUR), CatchUp(missed="all", max_delay=HOUR)


def _series(name: str, seconds: int, overlap: str, catch_up: CatchUp, depends_on: tuple[FlagSet, ...] = ()) -> Job:
    return _job(
        name, trigger=Every(period=seconds * SECOND), key=f"{name}:{{scheduled_for}}", overlap=overlap,
        catch_up=catch_up, depends_on=depends_on,
    )  # fmt: skip


def _job(name: str, **fields: object) -> Job:
    retry = Retry(max=30, base=SECOND, cap=2 * SECOND)
    return make_job(name, lease=3 * SECOND, max_takeovers=50, retry=retry, **fields)


class Drama:
    """One seeded story."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.dice = random.Random(seed)
        self.asked: list[int] = []
        self.number = 0
        needs = FlagSet(flag="f:1", reason="a test needs it")
        own = _job(
            "own", trigger=Every(period=4 * SECOND), scope="each_worker", key="own:{worker}:{scheduled_for}",
            catch_up=CatchUp(missed="skip"),
        )  # fmt: skip
        known = (
            _series("tick", 2, "allow", ALL),
            _series("alone", 3, "skip", LATEST),
            _series("needy", 5, "skip", replace(LATEST, max_delay=20 * SECOND, recheck=30 * SECOND), (needs,)),
            own,
            _job("asked"),
        )
        self.jobs = {job.name: job for job in known}
        for job in known:
            world.job(job, self.work)

    async def work(self, ctx: Context) -> None:
        """Take a while, fail now and then, announce something."""
        await asyncio.sleep(self.dice.random() * 4)
        await ctx.step("once", lambda: 1)
        if self.dice.random() < 0.15:
            raise OSError("upstream is down")
        await ctx.signal(self.dice.choice(FLAGS))

    def misfortune(self) -> None:
        """Let one thing go wrong, or let a person do one thing."""
        self.number += 1
        acts = (self.break_replica, self.edit, self.announce, self.cancel, self.pause, self.ask, self.retry)
        self.dice.choices(acts, weights=(45, 10, 10, 13, 8, 6, 8))[0]()

    def break_replica(self) -> None:
        number = self.dice.randrange(3)
        replica = self.world.replicas[number]
        if not replica.is_alive or replica.main.done():
            self.world.restart(number)
        elif replica.is_paused:
            self.world.resume(number)
        else:
            gate = replica.gate
            faults: list[Callable[[int], object]] = [
                self.world.kill, self.world.pause, lambda _: gate.fail(5), lambda _: gate.lose_replies(3),
                lambda index: self.world.stop(index, grace="1s"), lambda _: None,
            ]  # fmt: skip
            self.dice.choice(faults)(number)

    def at_a_bad_moment(self, act: Callable[[], object]) -> None:
        awake = [replica for replica in self.world.replicas if self.is_up(replica) and not replica.is_paused]
        if awake and self.dice.random() < 0.7:
            self.dice.choice(awake).gate.before(self.dice.choice(("settle", "take", "facts")), lambda: act() and None)
        else:
            act()

    def edit(self) -> None:
        name = self.dice.choice(["tick", "alone", "needy", "own"])
        job = self.jobs[name]
        if self.dice.random() < 0.6:
            job = replace(job, trigger=Every(period=self.dice.choice([2, 3, 4, 5]) * SECOND))
        else:
            job = replace(job, lease=self.dice.choice([3, 6, 9]) * SECOND)
        self.jobs[name] = job
        self.at_a_bad_moment(lambda: declare(self.world.store, [job], actor="ann"))

    def announce(self) -> None:
        value = True if self.dice.random() < 0.6 else None
        self.world.store.signal(f"s{self.number}", [Fact(name=f"flag:{self.dice.choice(FLAGS)}", value=value)])

    def cancel(self) -> None:
        rows = self.world.store.occurrences(Query(open_only=True, limit=200))
        if rows:
            self.act_on(self.dice.choice(rows), "cancel")

    def retry(self) -> None:
        rows = self.world.store.occurrences(Query(states=frozenset({State.FAILED_MANUAL}), limit=100))
        if rows:
            self.act_on(self.dice.choice(rows), "retry")

    def act_on(self, row: Occurrence, kind: str) -> None:
        act = Act(kind=kind, occurrence_id=row.id, actor="ann")
        request = f"a{self.number}"
        self.at_a_bad_moment(lambda: self.world.store.act(request, act))

    def pause(self) -> None:
        kind = self.dice.choice(["pause", "resume", "resume"])
        self.world.store.act(f"p{self.number}", Act(kind=kind, job=self.dice.choice(list(self.jobs)), actor="ann"))

    def ask(self) -> None:
        self.asked.append(self.world.later(self.jobs["asked"], f"{self.dice.randrange(5)}s"))

    def quiet(self) -> None:
        """Repair everything, and wait longer than anything may take."""
        for number in range(3):
            self.world.resume(number)
            self.world.replicas[number].gate._before.clear()
            if not self.is_up(self.world.replicas[number]):
                self.world.restart(number)
        for name in self.jobs:
            self.world.store.act(f"q{name}", Act(kind="resume", job=name, actor="ann"))
        self.world.store.signal("q", [Fact(name=f"flag:{flag}", value=True) for flag in FLAGS])
        self.world.advance("130s")

    @staticmethod
    def is_up(replica: Replica) -> bool:
        return replica.is_alive and not replica.main.done()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_goes_wrong_every_moment_ends_once_and_every_series_goes_on(any_world: MakeWorld, seed: int) -> None:
    world = any_world(replicas=3, seed=seed, latency=20_000)
    drama = Drama(world, seed)
    world.advance("1s")
    for _ in range(40):
        world.advance(int(drama.dice.random() * 4 * SECOND))
        drama.misfortune()
    drama.quiet()

    rows = world.rows()
    done = [(row.key, row.generation) for row in rows if row.state is State.SUCCESS]
    assert len(done) == len(set(done)), "I1: a key succeeded twice"
    open_rows = [row for row in rows if row.state in OPEN_STATES]
    assert all(row.scheduled_for > world.now - 60 * SECOND for row in open_rows), "I11: a row never ends"
    assert {world.row(row_id).state for row_id in drama.asked} <= ENDED, "I12: an acknowledged request is lost"
    frontiers = sorted((row.job, row.worker) for row in open_rows if row.frontier)
    own = [("own", replica.info.id) for replica in world.replicas if drama.is_up(replica)]
    assert frontiers == sorted([("tick", ""), ("alone", ""), ("needy", ""), *own]), "I13"
    for name, slot in world.store.facts(["slot:alone:", "slot:needy:"]).items():
        assert slot.value is None or world.row(slot.value["occurrence_id"]).state in OPEN_STATES, f"{name} leaks"
    for row in rows:
        if row.attempt > 1 or row.lost:
            story = world.store.story(row.id)
            assert story is not None
            fences = [attempt.fence for attempt in story.attempts]
            assert fences == sorted(set(fences)), "I2: a fence is reissued"
    assert verify(world.store, 0).problems == ()
