"""Somebody's own rules in a simulated world: what would be on time, late, skipped or missed.

Promise: the decisions are those of the engine, over the rules as they are; only the jobs' code is replaced by waiting,
so nothing outside is touched.

Rule of the file: every assumption about the outside (how long a job takes, when data comes) is a field of ``Wish``.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from noonmark.core import conditions, series
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, FlagSet, Job, Micros, Occurrence, OnEvent, Query
from noonmark.explain.outcomes import lateness, outcome_of
from noonmark.sim import plan as plans
from noonmark.sim.bodies import body_of
from noonmark.sim.checkers import make_checkers
from noonmark.sim.history import Violation
from noonmark.sim.kinds import COLUMNS, KINDS, RAN
from noonmark.sim.plan import Deed, Plan
from noonmark.sim.run import quiet_log
from noonmark.sim.world import SimWorld
from noonmark.sim.zoo import Body, Specimen
from noonmark.testing.builders import make_row

MOST = 200_000
"""Moments of one job whose data is announced; more is more than a simulation of minutes can live through."""
LATE: Micros = MINUTE
"""From here on a run counts as late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be simulated.

    Args:
        start: the first instant, UTC microseconds.
        length: microseconds.
        replicas: how many workers.
        seed: of everything that is left to chance.
        faults: kinds, keys of ``KINDS``.
        a_day: how many faults of each kind a day.
        takes: how long a run takes, microseconds.
        fails: share of the attempts that fail, 0 to 1.
        data: how long after a moment what it waits for is announced, microseconds; None = never.
        events: how many events of each name a day.
    """

    start: Micros
    length: Micros
    replicas: int = 3
    seed: int = 1
    faults: tuple[str, ...] = ()
    a_day: float = 2.0
    takes: Micros = 5 * SECOND
    fails: float = 0.0
    data: Micros | None = 0
    events: int = 4


@dataclass(slots=True)
class Lot:
    """What became of one job's moments."""

    job: str
    tz: str
    outcomes: Counter[str] = field(default_factory=Counter)
    worst: Micros = 0  # the latest first start, after its moment
    late: int = 0  # of those that were done
    bad: list[Occurrence] = field(default_factory=list)  # missed or failed, oldest first

    @property
    def due(self) -> int:
        """How many moments came."""
        return sum(self.outcomes.values())

    @property
    def on_time(self) -> int:
        """How many of them were done in time."""
        return sum(self.outcomes[name] for name in RAN) - self.late

    def count(self, column: str) -> int:
        """How many of them stand in one of ``COLUMNS``."""
        return sum(self.outcomes[name] for name in COLUMNS[column])


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What came of it."""

    lots: tuple[Lot, ...]
    faults: Mapping[str, int]
    violations: tuple[Violation, ...]
    until: Micros


def simulate(jobs: Sequence[Job], wish: Wish) -> Foreseen:
    """Live through somebody's rules."""
    with quiet_log():
        world = SimWorld(_plan(jobs, wish), body_of)
        try:
            world.checkers = list(make_checkers(world))
            world.live(quiet=0)
            rows = world.cluster.occurrences(Query(oldest_first=True, limit=10_000_000))
            now = world.cluster.now()
            lots = tuple(_lot(job, rows, now) for job in jobs)
            found = tuple(world.history.violations)
            return Foreseen(lots=lots, faults=dict(world.history.injected), violations=found, until=now)
        finally:
            world.close()


def _plan(jobs: Sequence[Job], wish: Wish) -> Plan:
    dice = random.Random(f"yours {wish.seed}")
    body = Body(shortest=wish.takes, longest=wish.takes + 1, fails=wish.fails)
    return Plan(
        seed=wish.seed,
        start=wish.start,
        length=wish.length,
        replicas=wish.replicas,
        # Nothing of the rules is called: their code is replaced by waiting.
        zoo=tuple(Specimen(job=replace(job, isolation="", command=(), run=""), body=body) for job in jobs),
        deeds=tuple(sorted(_deeds(jobs, wish, dice), key=lambda deed: deed.at)),
        faults=plans.strew(
            dice,
            {kind: wish.a_day / (DAY / HOUR) for name in wish.faults for kind in KINDS[name]},
            wish.replicas,
            wish.length,
        ),
        latency=0,
        in_any_order=True,
    )


def _deeds(jobs: Iterable[Job], wish: Wish, dice: random.Random) -> list[Deed]:
    deeds: list[Deed] = []
    for job in jobs:
        if isinstance(job.trigger, OnEvent):
            count = round(wish.events * wish.length / DAY)
            deeds += [
                Deed(at=dice.randrange(wish.length), kind="emit", what=job.name, number=number)
                for number in range(count)
            ]
        if job.is_series and wish.data is not None:
            deeds += _announcements(job, wish)
    return deeds


def _announcements(job: Job, wish: Wish) -> list[Deed]:
    """Announce what each moment waits for, so long after it."""
    flags = [condition for condition in job.depends_on if isinstance(condition, FlagSet)]
    if not flags:
        return []
    assert wish.data is not None
    found: dict[str, Micros] = {}
    for moment in series.moments_between(job, wish.start, wish.start + wish.length, limit=MOST):
        for subject, values in series.subjects(job):
            row = make_row(
                at=moment.at,
                job=job.name,
                subject=subject,
                business_date=moment.business_date,
                params=json.dumps(values),
            )
            for condition in flags:
                name = conditions.fact_name(condition, job, row).removeprefix("flag:")
                found.setdefault(name, max(0, moment.at + wish.data - wish.start))
    return [Deed(at=at, kind="announce", what=name) for name, at in found.items() if at < wish.length]


def _lot(job: Job, rows: Sequence[Occurrence], now: Micros) -> Lot:
    lot = Lot(job=job.name, tz=job.tz)
    for row in rows:
        if row.job != job.name or (row.due_at is not None and row.scheduled_for > now):
            continue
        outcome = outcome_of(row, now)
        lot.outcomes[outcome] += row.range_count or 1
        lot.worst = max(lot.worst, lateness(row))
        lot.late += outcome in RAN and lateness(row) >= LATE
        if outcome in ("missed", "failed"):
            lot.bad.append(row)
    return lot
