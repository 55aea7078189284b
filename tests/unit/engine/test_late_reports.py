"""A run that does not stop when its lease is lost, and reports its success when it was given up long ago."""

from __future__ import annotations

import asyncio
import copy
from functools import partial
from pathlib import Path

import pytest

from noonmark.core.model import SECOND, Act, Every, Retry, State
from noonmark.engine import mending, witnessing
from noonmark.engine.roster import STOP_GRACE
from noonmark.engine.signals import Finished, Lost, Refused
from noonmark.engine.statefolder import StateFolder
from noonmark.engine.testimony import outcomes
from noonmark.explain.why import why
from noonmark.stores.memory import MemoryStore
from noonmark.stores.memory.tables import Tables
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

JOB = make_job("mail")


class Remembering(World):
    """A world whose replicas have a state folder."""

    folder: Path

    def state_of(self, number: int) -> StateFolder | None:  # noqa: ARG002
        return StateFolder(self.folder)


async def deaf(world: World, seconds: float) -> None:
    """Work on whatever it is told."""
    loop = asyncio.get_running_loop()
    ends, task = loop.time() + seconds, asyncio.current_task()
    assert task is not None
    while (left := ends - loop.time()) > 0:
        try:
            await asyncio.sleep(max(left, 1e-6))  # virtual time goes by whole microseconds
        except asyncio.CancelledError:
            task.uncancel()
    world.effect("worked")


@pytest.mark.parametrize("seconds", [3, 60], ids=["before it is given up", "long after"])
def test_a_success_for_a_store_that_lies_there_no_more_is_in_the_journal_of_that_store(
    tmp_path: Path, seconds: float
) -> None:
    with Remembering(replicas=1) as world:
        world.folder = tmp_path
        store = world.store
        assert isinstance(store, MemoryStore)
        world.job(JOB, partial(deaf, world, 20 + seconds))
        world.advance("1s")
        world.later(JOB)
        world.advance("19s")
        (run,), before = world.rows(), store.store_id()
        store._tables, store._answers, store._id = Tables(), {}, "f" * 32
        world.signal("x")
        world.advance("2m")
        assert world.effect_names() == ["worked"]
        assert world.rows() == []
        assert [(told["key"], told["outcome"]) for told in outcomes(tmp_path, before)] == [(run.key, "success")]


@pytest.mark.parametrize("is_new", [False, True], ids=["the row survived", "the row is gone as well"])
def test_a_run_that_ignores_its_stop_over_a_rollback_is_known_to_have_run_once_it_has_ended(
    tmp_path: Path, is_new: bool
) -> None:
    with Remembering(replicas=1) as world:
        world.folder = tmp_path
        store = world.store
        assert isinstance(store, MemoryStore)
        world.job(JOB, partial(deaf, world, 60))
        world.advance("1s")
        kept = copy.deepcopy(store._tables)
        world.later(JOB, "5s")
        if not is_new:
            kept = copy.deepcopy(store._tables)
        world.advance("10s")
        assert [row.state for row in world.rows()] == [State.RUNNING]
        (run,) = world.rows()
        assert run.started_at is not None
        store._tables = kept
        store._answers.clear()
        world.advance("40s")
        assert [lost.row.id for lost in world.replicas[0].happened(Lost)] == [run.id]
        assert world.now - run.started_at > STOP_GRACE
        epochs = mending.epochs(store)
        assert epochs
        assert not witnessing.lost_successes([tmp_path], store.store_id(), epochs), "nobody knows yet"
        world.advance("30s")
        assert world.effect_names() == ["worked"]
        assert set(witnessing.lost_successes([tmp_path], store.store_id(), epochs)) == {("mail", run.key)}
        assert [each.what for each in world.replicas[0].happened(Refused)] == ["succeed"]
        assert world.replicas[0].happened(Finished) == []


def test_who_comes_back_to_its_former_store_is_the_writer_there_that_it_was(tmp_path: Path) -> None:
    with Remembering(replicas=1) as world:
        world.folder = tmp_path
        store = world.store
        assert isinstance(store, MemoryStore)
        world.job(make_job("tick", trigger=Every(period=SECOND)), lambda: None)
        world.advance("10s")
        chain = world.replicas[0].engine.chain
        writer = chain._receipt.writer
        tables, answers, name = store._tables, store._answers, store._id
        store._tables, store._answers, store._id = Tables(), {}, "f" * 32
        world.advance("20s")
        assert chain._receipt.writer != writer
        store._tables, store._answers, store._id = tables, answers, name
        world.advance("20s")
        assert chain._receipt.writer == writer
        assert mending.epochs(store) == ()


LIMITED = make_job("mail", timeout=10 * SECOND, retry=Retry(max=0))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_why_says_that_a_run_which_was_given_up_at_its_limit_came_back_with_a_success(lang: str) -> None:
    with World(replicas=1) as world:
        world.job(LIMITED, partial(deaf, world, 60))
        world.advance("1s")
        id_ = world.later(LIMITED)
        world.advance("30s")
        assert not [line for line in why(world.store, occurrence_id=id_, lang=lang).lines if "mark" in line]
        world.advance("60s")
        assert world.effect_names() == ["worked"]
        assert (world.row(id_).state, world.row(id_).code) == (State.FAILED_MANUAL, "timed_out_running")
        (told,) = [line for line in why(world.store, occurrence_id=id_, lang=lang).lines if "mark" in line]
        assert f"noonmark mark r{id_} done" in told
        assert ("came back with a success" if lang == "en" else "报告成功") in told
        world.store.act("m", Act(kind="mark_done", actor="ada", reason="it did", occurrence_id=id_))
        (told,) = [line for line in why(world.store, occurrence_id=id_, lang="en").lines if "came back" in line]
        assert "noonmark mark" not in told


def test_why_says_that_a_run_whose_lease_was_lost_came_back_when_another_one_had_taken_over() -> None:
    with World(replicas=2) as world:
        world.job(JOB, partial(deaf, world, 50))
        world.advance("1s")
        id_ = world.later(JOB)
        world.advance("2s")
        first = next(number for number in (0, 1) if world.replicas[number].info.id == world.row(id_).holder)
        world.pause(first)
        world.advance("75s")
        world.resume(first)
        world.advance("3m")
        assert world.effect_names() == ["worked", "worked"]
        row = world.row(id_)
        assert (row.state, row.takeovers) == (State.SUCCESS, 1)
        (told,) = [line for line in why(world.store, occurrence_id=id_).lines if "came back" in line]
        assert told.startswith("Try 1 ")


def test_a_late_success_is_told_of_no_row_that_has_its_number_in_another_store() -> None:
    with World(replicas=1) as world:
        store = world.store
        assert isinstance(store, MemoryStore)
        world.job(LIMITED, partial(deaf, world, 60))
        world.advance("1s")
        id_ = world.later(LIMITED)
        world.advance("40s")
        store._tables, store._answers, store._id = Tables(), {}, "f" * 32
        world.advance("15s")
        assert world.later(LIMITED, "1h") == id_
        world.advance("1m")
        assert world.effect_names() == ["worked"]
        assert not [line for line in why(world.store, occurrence_id=id_).lines if "came back" in line]
