"""How many runs a world's faults are likely to meet is reckoned from its plan, and right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noonmark.core.model import MINUTE, SECOND, Cron, Micros
from noonmark.sim import faults as f
from noonmark.sim.mutants.chances import bereft, cut_off, runs_met
from noonmark.sim.plan import STARTS, Plan, draw
from noonmark.sim.zoo import Body, Specimen
from noonmark.testing.builders import make_job

AT: Micros = 30 * MINUTE + 5 * SECOND


def world(*faults: f.AnyFault, lease: Micros = 10 * SECOND, **each: tuple[str, ...]) -> Plan:
    """Return a world of two workers and of a job of every full minute, which takes up to a minute."""
    job = make_job(trigger=Cron(expression="* * * * *", tz="UTC"), lease=lease, each=each)
    alone = Specimen(job=job, body=Body(shortest=0, longest=MINUTE))
    plan = draw(0)
    return replace(plan, start=STARTS[0], replicas=2, zoo=(alone,), deeds=(), faults=faults)


@pytest.mark.parametrize(
    ("fault", "met"),
    [
        (f.Cut(at=AT, replica=0, length=40 * SECOND), 0.25),  # 15 to 45 of 60 s, it began 5 s before; one worker of two
        (f.Outage(at=AT, length=40 * SECOND), 0.5),
        (f.Cut(at=AT, replica=0, length=10 * SECOND), 0),
        (f.Pause(at=AT, replica=0, length=40 * SECOND), 0),  # its worker wakes with the lease over, and hears of it
    ],
)
def test_a_run_that_ends_after_its_lease_while_its_worker_is_cut_off_is_counted(fault: f.AnyFault, met: float) -> None:
    assert runs_met(world(fault), cut_off) == pytest.approx(met)


@pytest.mark.parametrize(
    ("fault", "met"),
    [
        (f.Pause(at=AT, replica=1, length=40 * SECOND), 0.4 / 8),  # more than 45 of 60 s; one worker of two
        (f.Pause(at=AT, replica=1, length=9 * SECOND), 0),
        (
            f.LeapStore(at=AT, by=90 * SECOND),
            0.3 * 31 / 36,
        ),  # more than 5 s and a third of the lease of 60 s; both workers
        (f.LeapStore(at=AT, by=9 * SECOND), 0),
        (f.Failover(at=AT, lose=20), 0.5 * 31 / 36),
        (f.Failover(at=AT, lose=2), 0),
        (f.Cut(at=AT, replica=0, length=40 * SECOND), 0),
    ],
)
def test_a_run_that_has_work_left_when_its_lease_is_over_is_counted(fault: f.AnyFault, met: float) -> None:
    assert runs_met(world(fault), bereft) == pytest.approx(met)


def test_every_fault_and_every_subject_counts() -> None:
    leap = f.LeapStore(at=AT, by=90 * SECOND)
    later = replace(leap, at=AT + 10 * MINUTE)
    assert runs_met(world(leap, later, name=("a", "b")), bereft) == pytest.approx(2 * 2 * 0.3 * 31 / 36)
    assert runs_met(world(leap, lease=90 * SECOND), bereft) == 0


def test_a_job_that_asks_the_store_before_its_last_deed_shows_nothing() -> None:
    plan = world(f.LeapStore(at=AT, by=90 * SECOND))
    asking = replace(plan.zoo[0], body=replace(plan.zoo[0].body, has_once=True))
    assert runs_met(plan, bereft) > 0
    assert runs_met(replace(plan, zoo=(asking,)), bereft) == 0
