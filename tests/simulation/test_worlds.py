"""Worlds of the simulator: decided by their seed alone, and struck in every way they claim to be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND
from noonmark.engine.points import Point, install, reach
from noonmark.sim import faults as f
from noonmark.sim.history import Checker
from noonmark.sim.mutants.plant import Planter
from noonmark.sim.plan import ENDS_BY_ERROR, Deed, Plan, draw
from noonmark.sim.report import pairs
from noonmark.sim.run import run_plan, run_seed
from noonmark.sim.world import SimWorld
from noonmark.testing import inline

LENGTH = HOUR // 2 + 25 * MINUTE
"""Half an hour of trouble, and the quiet time."""


def test_one_seed_is_one_story_in_another_process_with_other_hashes() -> None:
    code = f"from noonmark.sim.run import run_seed; print(run_seed(7, length={LENGTH}).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert digests == {run_seed(7, length=LENGTH).digest + "\n"}


def test_other_seeds_are_other_stories() -> None:
    assert len({run_seed(seed, length=LENGTH).digest for seed in range(3)}) == 3


def test_leaving_a_fault_out_leaves_the_others_as_they_are() -> None:
    plan = draw(3, length=LENGTH)
    assert len(plan.faults) > 3
    kept = plan.keeping(frozenset(range(1, len(plan.faults))))
    assert kept.faults == plan.faults[1:]
    assert (kept.zoo, kept.deeds, kept.start) == (plan.zoo, plan.deeds, plan.start)


LOCKED = next(seed for seed in range(100) if any(each.job.lock for each in draw(seed, length=LENGTH).zoo))
"""A world in which a job shares a lock with people outside."""


def with_only(*faults: f.AnyFault, replicas: int = 2, seed: int = 5) -> Plan:
    """Return the world of a seed with these faults and no others."""
    return replace(draw(seed, length=LENGTH), faults=faults, replicas=replicas)


@pytest.mark.parametrize(
    "fault",
    [
        f.LockTaken(at=MINUTE, length=5 * MINUTE),
        f.LocksAway(at=MINUTE, length=5 * MINUTE),
        f.Failover(at=MINUTE, lose=0),
        f.Cut(at=MINUTE, replica=1, length=1),
        f.AtPoint(at=MINUTE, replica=0, point=Point.LOCK_HELD, act="twice"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_fault_that_nothing_meets_is_not_counted(fault: f.AnyFault) -> None:
    plan = with_only(fault)
    assert not any(specimen.job.lock for specimen in plan.zoo)
    outcome = run_plan(plan)
    assert set(outcome.faults) <= {"killed by its job"}, outcome.faults
    assert not [point for point in outcome.points if point.endswith(": twice")]


def test_one_death_is_one_fault_and_an_edit_is_none() -> None:
    seed = next(seed for seed in range(200) if {"poison", "minutely"} <= {each.job.name for each in draw(seed).zoo})
    plan = with_only(seed=seed)
    edits = tuple(Deed(at=minute * MINUTE, kind="edit", what="minutely", number=minute) for minute in (3, 9))
    outcome = run_plan(replace(plan, deeds=tuple(sorted((*plan.deeds, *edits), key=lambda deed: deed.at))))
    assert outcome.faults["killed by its job"] > 0, "nothing died: the test tested nothing"
    assert set(outcome.faults) == {"killed by its job"}


def test_faults_of_one_kind_that_overlap_end_each_for_itself() -> None:
    seen: dict[int, tuple[bool, int, bool]] = {}

    def make(world: SimWorld) -> list[Checker]:
        def look(second: int) -> None:
            wire, gate = world.machines[0].wire, world.replicas[0].gate
            seen[second] = (wire.is_cut, gate.latency // SECOND, world.locks.is_away)

        for second in (30, 70, 95, 150):
            world.at(second * SECOND, partial(look, second))
        return []

    def at(second: int, make: Callable[..., f.AnyFault], length: int, **fields: int) -> f.AnyFault:
        return make(at=second * SECOND, length=length * SECOND, **fields)

    run_plan(
        with_only(
            at(20, f.Cut, 60, replica=0),
            at(25, f.Cut, 20, replica=0),
            at(27, f.Outage, 30),
            at(60, f.Slow, 60, replica=0, latency=6 * SECOND),
            at(65, f.Slow, 20, replica=0, latency=3 * SECOND),
            at(61, f.LocksAway, 60),
            at(66, f.LocksAway, 20),
        ),
        make,
    )
    assert seen == {30: (True, 0, False), 70: (True, 6, True), 95: (False, 6, True), 150: (False, 0, False)}


@pytest.mark.parametrize(
    "point", [Point.DECIDED, Point.OUTCOME_ASKED, Point.TAKEN, Point.OUTCOME_STORED, Point.APPLIED]
)
def test_a_write_at_a_named_point_arrives_twice(point: Point) -> None:
    outcome = run_plan(with_only(f.AtPoint(at=MINUTE, replica=0, point=point, act="twice")))
    assert outcome.points[f"{point}: twice"] == 1
    assert outcome.faults == {"arrived twice": 1}
    assert outcome.is_good, (outcome.error, outcome.violations[:3])


OUTAGES = tuple(f.Outage(at=minute * MINUTE, length=70 * SECOND) for minute in (4, 9, 14, 19))


def test_what_was_due_when_the_store_comes_back_is_asked_for() -> None:
    outcome = run_plan(with_only(*OUTAGES))
    assert outcome.is_good, (outcome.error, outcome.violations[:3])
    assert outcome.proofs["liveness: returns of the store"] >= 3


def test_a_worker_that_is_slow_to_see_the_store_again_is_found() -> None:
    planter = Planter()
    planter.put(inline, "backoff", lambda *_: 20.0)
    try:
        outcome = run_plan(with_only(*OUTAGES))
    finally:
        planter.pull()
    assert any(violation.invariant == "L3" for violation in outcome.violations)


def test_a_lock_is_given_back_when_the_worker_fails_with_it_in_hand() -> None:
    failing = f.AtPoint(at=MINUTE, replica=0, point=Point.LOCK_HELD, act="error")
    outcome = run_plan(with_only(failing, replicas=1, seed=LOCKED))
    assert outcome.points["lock held: error"] == 1
    assert outcome.proofs["liveness: locks that are given back"] == 1
    assert outcome.is_good, (outcome.error, outcome.violations[:3])


def test_every_point_on_the_way_of_a_write_is_asked_to_repeat_one() -> None:
    asked = {pair.partition(": ")[0] for pair in pairs() if pair.endswith(": twice")}
    assert asked == set(Point) - {Point.RULE_CHANGED}
    drawn = [each for seed in range(400) for each in draw(seed).faults if isinstance(each, f.AtPoint)]
    assert {fault.point for fault in drawn if fault.act == "twice"} == asked


@pytest.mark.parametrize(
    ("fault", "shows"),
    [
        (f.Crash(at=MINUTE, replica=0, down=5 * SECOND), "crash"),
        (f.CrashAll(at=MINUTE, down=5 * SECOND), "crash"),
        (f.Pause(at=MINUTE, replica=0, length=40 * SECOND), "pause"),
        (f.Stop(at=MINUTE, replica=0, grace=SECOND), "stop"),
        (f.Outage(at=MINUTE, length=5 * SECOND), "outage"),
        (f.Cut(at=MINUTE, replica=0, length=5 * SECOND), "cut"),
        (f.LeapStore(at=MINUTE, by=90 * SECOND), "leap"),
        (f.StepClock(at=MINUTE, replica=0, by=-300 * SECOND), "step"),
        (f.Drift(at=MINUTE, replica=0, ppm=400), "drift"),
        (f.Slow(at=MINUTE, replica=0, length=MINUTE, latency=3 * SECOND), "slow"),
        (f.LockTaken(at=MINUTE, length=5 * MINUTE), "lock taken"),
        (f.LocksAway(at=MINUTE, length=5 * MINUTE), "locks away"),
        (
            f.Flaky(at=MINUTE, replica=0, length=5 * MINUTE, before=0.3, after=0.3, twice=0.3, deaf=0.5),
            "reply lost",
        ),
        (f.AtPoint(at=MINUTE, replica=0, point=Point.APPLIED, act="twice"), "arrived twice"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, f.Fault) else "",
)
def test_a_fault_of_the_plan_strikes_and_is_counted(fault: f.AnyFault, shows: str) -> None:
    seed = LOCKED if isinstance(fault, f.LockTaken | f.LocksAway) else 5
    outcome = run_plan(with_only(fault, seed=seed))
    assert outcome.faults[shows] >= 1
    assert outcome.is_good, (outcome.error, outcome.violations[:3])


@pytest.mark.parametrize("act", ["crash", "pause", "error"])
def test_a_trap_at_a_named_point_strikes_there(act: str) -> None:
    fault = f.AtPoint(at=MINUTE, replica=0, point=Point.TAKEN, act=act, length=SECOND)
    outcome = run_plan(with_only(fault))
    assert outcome.points[f"taken: {act}"] == 1
    assert outcome.is_good, (outcome.error, outcome.violations[:3])


def test_a_world_without_faults_has_none_and_is_right() -> None:
    outcome = run_plan(with_only())
    assert not sum(count for kind, count in outcome.faults.items() if kind != "killed by its job")
    assert outcome.runs > 50
    assert outcome.is_good, (outcome.error, outcome.violations[:3])


def test_no_error_is_injected_where_a_worker_may_end_by_it() -> None:
    drawn = [fault for seed in range(60) for fault in draw(seed).faults if isinstance(fault, f.AtPoint)]
    assert drawn
    assert not [fault for fault in drawn if fault.act == "error" and fault.point in ENDS_BY_ERROR]


def test_with_nothing_installed_a_point_does_nothing() -> None:
    passed: list[Point] = []
    strikes: Callable[[Point], None] = passed.append
    install(strikes)
    try:
        reach(Point.TAKEN)
    finally:
        install(None)
    reach(Point.TAKEN)
    assert passed == [Point.TAKEN]
