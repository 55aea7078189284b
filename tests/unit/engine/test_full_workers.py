"""A worker whose slots are all taken: what waits for it, what becomes of it, and what is said meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND, CatchUp, Every, State
from noonmark.engine.roster import Roster
from noonmark.engine.signals import Happening, Lost
from noonmark.explain.verify import verify
from noonmark.explain.why import why
from noonmark.testing.builders import make_job, make_row
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]


@pytest.fixture
def world_of() -> Iterator[MakeWorld]:
    """A world in which some of the workers have their one slot taken, and a job whose moments are worth a minute."""
    made: list[World] = []

    def make(replicas: int, *, busy: int) -> World:
        world = World(replicas=replicas, concurrency=1, start=1_800_000_000 * SECOND // HOUR * HOUR)
        made.append(world)
        brief = make_job(
            "brief", trigger=Every(period=20 * MINUTE), key="brief:{scheduled_for}", catch_up=CatchUp(max_delay=MINUTE)
        )
        world.job(brief, sleeping(world, "brief", "1s"))
        long = [make_job(f"long{number}", timeout=HOUR) for number in range(busy)]
        for job in long:
            world.job(job, sleeping(world, "long", "10m"))
        world.advance("19m")
        for job in long:
            world.later(job)
        world.advance("5m")
        return world

    yield make
    for world in made:
        world.close()


@pytest.mark.parametrize("replicas", [1, 2])
def test_what_is_over_while_every_worker_is_full_ends_with_its_alert_as_soon_as_a_slot_is_free(
    world_of: MakeWorld, replicas: int
) -> None:
    world = world_of(replicas, busy=replicas)
    (waiting,) = [row for row in world.rows("brief") if row.scheduled_for <= world.now and row.state is State.PENDING]
    assert waiting.fence == 0, "nobody looks at it, so a worker with a free slot would get it at once"
    world.until(lambda: world.row(waiting.id).state is not State.PENDING)
    ended = world.row(waiting.id)
    free_at = min(row.ended_at or world.now for row in world.rows() if row.job.startswith("long"))
    assert (ended.state, ended.code, ended.attempt) == (State.FAILED_MANUAL, "limit_passed", 0)
    assert ended.ended_at is not None
    assert ended.ended_at - free_at < SECOND
    assert [alert.kind for alert in world.store.tallies().open_alerts] == ["missed"]
    told = why(world.store, occurrence_id=waiting.id, tz="UTC").sentence
    assert told.startswith("It did not run: its catch-up limit ended at ")
    assert ", and the first worker to look at it did so only at " in told
    assert "才有 worker 查看它" in why(world.store, occurrence_id=waiting.id, tz="UTC", lang="zh").sentence


def test_a_worker_with_a_free_slot_takes_it_in_time(world_of: MakeWorld) -> None:
    world = world_of(2, busy=1)
    assert world.rows("long0")[0].state is State.RUNNING
    assert world.rows("brief")[0].state is State.SUCCESS


def test_meanwhile_why_says_that_the_workers_are_busy_and_verify_lists_it(world_of: MakeWorld) -> None:
    world = world_of(2, busy=2)
    told = why(world.store, "brief", tz="UTC")
    assert told.outcome == "due"
    assert "the workers that could take it up (2 awake) have 2 runs in progress" in told.sentence
    assert "正在运行 2 次" in why(world.store, "brief", tz="UTC", lang="zh").sentence
    report = verify(world.store, since=world.now - HOUR, until=world.now)
    assert [problem.kind for problem in report.problems] == ["overdue"]


class Given:
    """What the roster asks of a run that was given up."""

    def __init__(self, *, abandoned: bool) -> None:
        self.settled, self.abandoned = False, abandoned


def test_runs_that_were_given_up_cost_slots_only_while_their_code_is_still_at_work() -> None:
    roster = Roster(cast(Any, None), cast(Any, None), concurrency=2, observer=None)

    def ends(run: Given) -> bool:
        return roster.end(cast(Any, SimpleNamespace(run=run)))

    for _ in range(2):
        runs = [Given(abandoned=True) for _ in range(3)]
        assert [ends(run) for run in runs] == [True] * 3
        assert roster.free() == 1, "two strays cost nothing, the third one does"
        assert [ends(run) for run in runs] == [False] * 3, "they report late"
        assert roster.free() == 2
    assert ends(Given(abandoned=False))
    assert roster.free() == 2


def test_a_run_is_told_once_to_stop_and_only_a_lost_lease_outranks_why() -> None:
    clock = VirtualClock()
    told: list[Happening] = []
    roster = Roster(clock, cast(Any, None), concurrency=2, observer=told.append)
    stopped: list[object] = []
    roster.bind(cast(Any, SimpleNamespace(stop=stopped.append)))
    run: Any = SimpleNamespace(
        settled=False, stop_reason="", lost=False, row=make_row(), fence=7, renew_at=5, stop_by=None
    )
    for reason, after in (("cancelled", "cancelled"), ("timed_out", "cancelled"), ("lost", "lost"), ("lost", "lost")):
        roster.stop([run], reason)
        clock.advance(SECOND)
        assert run.stop_reason == after
    assert (len(stopped), [type(each) for each in told]) == (2, [Lost])
    run.settled, run.stop_reason = True, ""
    roster.stop([run], "cancelled")
    assert (run.stop_reason, len(stopped)) == ("", 2), "it is over"
