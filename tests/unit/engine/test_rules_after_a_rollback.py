"""A store goes back in time: which rules are in force then, whoever declared them."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from noonmark.core import rollback
from noonmark.core.codec import digest
from noonmark.core.model import HOUR, MINUTE, SECOND, Every, Job
from noonmark.engine.activate import declare, end
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

MakeWorld = Callable[..., World]
TICK = make_job("tick", trigger=Every(period=2 * SECOND), key="tick:{scheduled_for}", on_rollback="run")
NEWER = replace(TICK, trigger=Every(period=MINUTE))
OTHER = make_job("other", trigger=Every(period=3 * SECOND), key="other:{scheduled_for}", on_rollback="run")
ASKED = make_job("asked")
AGAIN = "is in force as this worker declares it"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, logger="noonmark.engine")
    return caplog


def working(make_world: MakeWorld, replicas: int) -> World:
    """Return a world whose workers have declared all three jobs."""
    world = make_world(replicas=replicas)
    for job in (TICK, OTHER, ASKED):
        world.job(job, lambda: None)
    world.advance("10s")
    return world


def keep(world: World) -> Callable[[], None]:
    """Return what lets work be done, and then puts the store back to how it is now, under the workers' eyes."""
    store = cast("MemoryStore", world.store)
    kept = copy.deepcopy(store._tables)

    def put_back() -> None:
        world.later(ASKED, n=1)
        world.advance("5s")
        store._tables = kept
        store._answers.clear()
        world.advance("45s")
        epochs = rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)
        assert len(epochs) == 1, "otherwise nothing is tried here"

    return put_back


def upgrade(world: World, number: int, job: Job) -> None:
    """Start one worker anew, with a newer rule in its code."""
    world.jobs[job.name] = (job, lambda: None)
    world.restart(number)
    world.advance("10s")


def in_force(world: World, *jobs: Job) -> list[int]:
    """Return the revisions that are in force, if these are the rules of them."""
    rows = {row.name: row for row in world.store.jobs()}
    assert [rows[job.name].digest for job in jobs] == [digest(job) for job in jobs]
    return [rows[job.name].revision for job in jobs]


@pytest.mark.parametrize("replicas", [1, 2])
def test_what_a_person_ended_or_changed_stays_so_where_the_store_still_has_it(
    make_world: MakeWorld, told: pytest.LogCaptureFixture, replicas: int
) -> None:
    world = working(make_world, replicas)
    edited = replace(OTHER, trigger=Every(period=HOUR))
    declare(world.store, [edited], actor="ada")
    assert end(world.store, "tick", actor="ada", reason="no more").outcome == "done"
    world.advance("5s")
    before = world.store.jobs()
    keep(world)()
    assert in_force(world, edited) == [2]
    after = {row.name: row for row in world.store.jobs()}
    assert [(after[row.name].revision, after[row.name].rule) for row in before] == [
        (row.revision, row.rule) for row in before
    ]
    assert after["tick"].rule == ""
    assert not [row for row in world.rows("tick") if row.frontier]
    assert AGAIN not in told.text


def test_a_worker_puts_in_force_again_what_the_store_lost_of_its_own_and_says_so(
    make_world: MakeWorld, told: pytest.LogCaptureFixture
) -> None:
    world = working(make_world, 2)
    put_back = keep(world)
    upgrade(world, 1, NEWER)
    assert in_force(world, NEWER, OTHER) == [2, 1]
    put_back()
    assert in_force(world, NEWER, OTHER) == [2, 1]
    assert told.text.count(AGAIN) == 1
    assert "the rule of tick" in told.text


@pytest.mark.parametrize(
    "is_lost", [False, True], ids=["what both declared survived", "what the newer one declared is lost"]
)
def test_of_two_versions_that_live_side_by_side_the_newer_ones_rule_stays_in_force_however_often_the_store_goes_back(
    make_world: MakeWorld, is_lost: bool
) -> None:
    world = working(make_world, 2)
    put_back = keep(world)
    upgrade(world, 1, NEWER)
    if not is_lost:
        put_back = keep(world)
    put_back()
    assert in_force(world, NEWER) == [2]
    revisions = [row.digest for row in world.store.tallies(revisions=True).revisions if row.name == "tick"]
    assert sorted(revisions) == sorted([digest(TICK), digest(NEWER)]), "no flip in between"


def test_what_a_person_changed_and_the_store_lost_leaves_our_rule_in_force_as_it_was(
    make_world: MakeWorld, told: pytest.LogCaptureFixture
) -> None:
    world = working(make_world, 1)
    put_back = keep(world)
    declare(world.store, [NEWER], actor="ada")
    put_back()
    assert in_force(world, TICK) == [1]
    assert AGAIN not in told.text


def test_in_another_store_all_is_declared_and_in_the_former_one_that_came_back_only_what_it_lacks(
    make_world: MakeWorld,
) -> None:
    world = working(make_world, 1)
    store = cast("MemoryStore", world.store)
    declare(store, [NEWER], actor="ada")
    world.advance("5s")
    former = store._tables, store._id
    store._tables, store._id = type(store._tables)(), "another"
    store._answers.clear()
    world.advance("15s")
    assert in_force(world, TICK, OTHER, ASKED) == [1, 1, 1]
    store._tables, store._id = former
    store._answers.clear()
    world.advance("30s")
    assert in_force(world, NEWER, OTHER, ASKED) == [2, 1, 1]


@pytest.mark.parametrize("is_older", [False, True], ids=["as it was", "it went back, and still has the end"])
def test_a_worker_that_starts_brings_an_ended_job_back_and_says_so_whether_or_not_the_store_went_back(
    make_world: MakeWorld, told: pytest.LogCaptureFixture, is_older: bool
) -> None:
    world = working(make_world, 1)
    end(world.store, "tick", actor="ada", reason="no more")
    put_back = keep(world)
    if is_older:
        put_back()
    told.clear()
    world.restart(0)
    world.advance("10s")
    assert in_force(world, TICK, OTHER) == [3, 1]
    assert "job tick was ended (revision 2 by ada) and is in force again as this worker declares it" in told.text
