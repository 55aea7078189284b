"""Worlds of the simulator: decided by their seed alone, and struck in every way they claim to be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND
from noonmark.engine.points import Point, install, reach
from noonmark.sim import faults as f
from noonmark.sim.plan import ENDS_BY_ERROR, Plan, draw
from noonmark.sim.run import run_plan, run_seed

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
    assert len({run_seed(seed, length=LENGTH).digest for seed in range(4)}) == 4


def test_leaving_a_fault_out_leaves_the_others_as_they_are() -> None:
    plan = draw(3, length=LENGTH)
    assert len(plan.faults) > 3
    kept = plan.keeping(frozenset(range(1, len(plan.faults))))
    assert kept.faults == plan.faults[1:]
    assert (kept.zoo, kept.deeds, kept.start) == (plan.zoo, plan.deeds, plan.start)


def with_only(*faults: f.AnyFault, replicas: int = 2) -> Plan:
    """Return the world of a seed with these faults and no others."""
    plan = draw(5, length=LENGTH)
    return Plan(**{name: getattr(plan, name) for name in plan.__slots__} | {"faults": faults, "replicas": replicas})


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
        (f.LockTaken(at=MINUTE, length=MINUTE), "lock taken"),
        (f.LocksAway(at=MINUTE, length=MINUTE), "locks away"),
        (
            f.Flaky(at=MINUTE, replica=0, length=5 * MINUTE, before=0.3, after=0.3, twice=0.3, deaf=0.5),
            "reply lost",
        ),
        (f.AtPoint(at=MINUTE, replica=0, point=Point.APPLIED, act="twice"), "arrived twice"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, f.Fault) else "",
)
def test_a_fault_of_the_plan_strikes_and_is_counted(fault: f.AnyFault, shows: str) -> None:
    outcome = run_plan(with_only(fault))
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
    assert not sum(
        count for kind, count in outcome.faults.items() if kind not in ("edit", "killed by its job", "crash")
    )
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
