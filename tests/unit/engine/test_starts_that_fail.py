"""A run that is on record, and whose code cannot be begun: a thread too many, an error of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from noonmark.core.model import Cron, Micros, Occurrence, State
from noonmark.engine.launching import Launcher
from noonmark.engine.runs import Run
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job, make_row
from noonmark.testing.clock import VirtualClock
from noonmark.testing.faults import Fault, Unreliable
from noonmark.testing.inline import InlineExecutor
from noonmark.testing.world import World, sleeping


@pytest.mark.parametrize("begun", [0, 1])
def test_a_run_that_cannot_be_begun_is_taken_over_after_its_lease(begun: int, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [RuntimeError("can't start new thread")]
    real = InlineExecutor.start

    def start(self: InlineExecutor, runs: Sequence[Run]) -> None:
        if failures:
            real(self, runs[:begun])
            raise failures.pop()
        real(self, runs)

    monkeypatch.setattr(InlineExecutor, "start", start)
    job = make_job("report", key="report:{params.order}")  # its lease is 30 s
    with World(replicas=1, concurrency=2) as world:
        world.job(job, sleeping(world, "report", "1s"))
        world.advance("1s")
        ids = [world.later(job, order="1"), world.later(job, order="2")]
        world.advance("70s")  # the worker is known to be alive, so one more lease is waited
        rows = [world.row(occurrence_id) for occurrence_id in ids]
        assert [(row.state, row.attempt, row.takeovers) for row in rows] == [(State.SUCCESS, 2, 1)] * 2
        assert world.effect_names().count("report done") == 2, "what had begun was stopped"
        world.later(job, order="3")
        world.later(job, order="4")
        world.advance("2s")
        assert world.effect_names().count("report done") == 4, "the slots are free again"


@pytest.mark.parametrize("is_looked_at", [False, True])
def test_code_does_not_begin_under_a_lease_that_was_over_before_the_worker_heard_of_it(is_looked_at: bool) -> None:
    lost: list[str] = []

    def plan(verb: str) -> Fault | None:
        return "after" if verb in lost else None

    def store(clock: VirtualClock) -> Unreliable:
        return Unreliable(MemoryStore(clock), plan)

    job = make_job("report", key="report:{scheduled_for}")  # its lease is 30 s
    if is_looked_at:
        job = make_job("report", key="report:{scheduled_for}", trigger=Cron(expression="* * * * *", tz="UTC"))
    with World(replicas=1, store=store) as world:
        world.job(job, sleeping(world, "report", "1s"))
        world.advance("59s")
        lost.append("settle" if is_looked_at else "take")
        if not is_looked_at:
            world.later(job)
        world.advance("40s")
        assert world.rows("report")[0].state is State.RUNNING
        assert not world.effects, "nobody told it yet"
        lost.clear()
        world.advance("10s")
        row = world.rows("report")[0]
        story = world.store.story(row.id)
        assert story is not None
        assert [attempt.outcome for attempt in story.attempts] == ["handed_back", "success"]
        assert (row.attempt, row.takeovers) == (1, 0), "nothing was at work, so nothing is counted"
        assert world.effect_names() == ["report", "report done"]


def test_what_take_started_but_is_known_to_have_run_before_is_handed_back_at_once_to_be_held() -> None:
    """Nobody renews it and nobody runs it: left alone it would be looked at only when its lease is over."""
    job = make_job("work", on_rollback="hold")
    handed_back: list[tuple[list[int], str]] = []

    async def hand_back(rows: Sequence[Occurrence], _due_at: Micros, code: str) -> None:
        handed_back.append(([row.id for row in rows], code))

    known: Any = SimpleNamespace(runs=lambda name: (job, object()) if name == "work" else None)
    launcher = Launcher(
        *[cast(Any, None)] * 2, known, *[cast(Any, None)] * 3,
        clock=VirtualClock(), worker="w1", store_now=lambda: 0, has_run=lambda row: row.id == 1,
        expect_renewal=lambda _: None, lock_lost=lambda _: None, zone="UTC", observer=None,
    )  # fmt: skip
    launcher._hand_back = hand_back  # type: ignore[method-assign]
    asyncio.run(launcher.start_taken([make_row(1, job="work"), make_row(2, job="unknown")], 0, 0))
    assert handed_back == [([2], "handler_missing"), ([1], "held_rollback")]
