"""Somebody's own rules in a simulated world: what would be on time, late, skipped or missed.

Promise: the decisions are those of the engine, over the rules as they are; only the jobs' code is replaced by waiting,
so nothing outside is touched.

Rule of the file: every assumption about the outside (how long a job takes, when data comes) is a field of ``Wish``.
"""

from __future__ import annotations

import contextlib
import gc
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from noonmark.core import conditions, series
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, FlagSet, Job, Micros, Occurrence, OnEvent, Query, Succeeded
from noonmark.core.stored import object_of
from noonmark.core.templates import TemplateProblem
from noonmark.explain.outcomes import lateness, outcome_of
from noonmark.explain.why import why
from noonmark.ports.store import Store
from noonmark.sim import plan as plans
from noonmark.sim.bodies import body_of
from noonmark.sim.checkers import make_checkers
from noonmark.sim.faults import AnyFault
from noonmark.sim.history import Violation
from noonmark.sim.kinds import COLUMNS, KINDS, RAN
from noonmark.sim.own import OwnWorld
from noonmark.sim.plan import Deed, Plan
from noonmark.sim.run import quiet_log
from noonmark.sim.zoo import Body, Specimen
from noonmark.testing.builders import make_row

MOST = 200_000
"""Moments of one job whose data is announced; more is more than a simulation of minutes can live through."""
ALLOCATIONS = (200_000, 50, 100)
"""How many of them lie between two looks of the collector, and how many looks before it looks at older things."""
LATE: Micros = MINUTE
"""From here on a run counts as late."""
WITH_A_REASON = frozenset(
    name for column in ("skipped", "missed", "failed", "cancelled") for name in COLUMNS[column]
) | {"waiting", "retrying"}
"""Outcomes that ask for one: the others are done, under way or yet to come."""
DONE_LATE = "late"
"""What stands in the place of an outcome where a run was done, but late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be simulated.

    Args:
        start: the first instant, UTC microseconds.
        length: microseconds.
        replicas: how many workers.
        seed: of everything that is left to chance.
        faults: kinds, keys of ``KINDS``.
        a_day: how many faults of each kind a day, among all workers.
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
class Reason:
    """Why moments of one job were not simply done: how many for one reason, and the first of them."""

    outcome: str
    count: int
    first: Occurrence
    lacked: tuple[str, ...] = ()  # facts that the first one waited for until it was too late
    said: Mapping[str, str] = field(
        default_factory=dict
    )  # language -> what ``why`` says of the first, where it was late


@dataclass(slots=True)
class Lot:
    """What became of one job's moments."""

    job: str
    tz: str
    outcomes: Counter[str] = field(default_factory=Counter)
    worst: Micros = 0  # the latest first start, after its moment
    late: int = 0  # of those that were done
    reasons: dict[tuple[str, str], Reason] = field(default_factory=dict)  # by outcome and code, in order of coming

    @property
    def due(self) -> int:
        """How many moments came."""
        return sum(self.outcomes.values())

    @property
    def on_time(self) -> int:
        """How many of them were done in time."""
        return sum(self.outcomes[name] for name in RAN) - self.late

    @property
    def bad(self) -> int:
        """How many were missed or failed."""
        return self.count("missed") + self.count("failed")

    def count(self, column: str) -> int:
        """How many of them stand in one of ``COLUMNS``."""
        return sum(self.outcomes[name] for name in COLUMNS[column])


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What came of it; ``faults`` counts them by the names of ``KINDS``."""

    lots: tuple[Lot, ...]
    faults: Mapping[str, int]
    violations: tuple[Violation, ...]
    until: Micros


def simulate(jobs: Sequence[Job], wish: Wish, told: Callable[[float], None] = lambda _: None) -> Foreseen:
    """Live through somebody's rules; ``told`` hears now and then which share of the time is over, 0 to 1."""
    with quiet_log(), _seldom_tidied():
        dice = random.Random(f"yours {wish.seed}")
        deeds = _deeds(jobs, wish, dice)
        kinds = _kinds(wish, dice)
        faults = plans.strew(
            dice,
            {kind: count * HOUR / wish.length for names in kinds.values() for kind, count in names.items()},
            wish.replicas,
            wish.length,
        )
        world = OwnWorld(_plan(jobs, wish, deeds, faults), body_of, told)
        try:
            world.watchers.begin(make_checkers)
            world.live(quiet=0)
            now = world.cluster.now()
            by_job: dict[str, list[Occurrence]] = {job.name: [] for job in jobs}
            for row in world.cluster.occurrences(Query(oldest_first=True, limit=10_000_000)):
                by_job[row.job].append(row)
            lots = tuple(_lot(job, by_job[job.name], now, world.cluster) for job in jobs)
            came = {name: sum(counts.values()) for name, counts in kinds.items()}
            found = tuple(world.history.violations)
            return Foreseen(lots=lots, faults=came, violations=found, until=now)
        finally:
            world.close()


@contextlib.contextmanager
def _seldom_tidied() -> Iterator[None]:
    """Look for garbage in cycles less often: a world keeps nearly everything, and each look goes through all of it."""
    before = gc.get_threshold()
    gc.set_threshold(*ALLOCATIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _kinds(wish: Wish, dice: random.Random) -> dict[str, Counter[str]]:
    """Draw how many faults of which kinds of the plan there are; the first kind of each name is the usual one."""
    many = round(wish.a_day * wish.length / DAY)
    found = {
        name: Counter(dice.choices(KINDS[name], weights=[3, *(1 for _ in KINDS[name][1:])], k=many))
        for name in wish.faults
    }
    return {name: counts for name, counts in found.items() if counts}


def _plan(jobs: Sequence[Job], wish: Wish, deeds: Iterable[Deed], faults: tuple[AnyFault, ...]) -> Plan:
    body = Body(shortest=wish.takes, longest=wish.takes + 1, fails=wish.fails)
    return Plan(
        seed=wish.seed,
        start=wish.start,
        length=wish.length,
        replicas=wish.replicas,
        # Nothing of the rules is called: their code is replaced by waiting.
        zoo=tuple(Specimen(job=replace(job, isolation="", command=(), run=""), body=body) for job in jobs),
        deeds=tuple(sorted(deeds, key=lambda deed: deed.at)),
        faults=faults,
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
                for name in _names(condition, job, row):
                    found.setdefault(name.removeprefix("flag:"), max(0, moment.at + wish.data - wish.start))
    return [Deed(at=at, kind="announce", what=name) for name, at in found.items() if at < wish.length]


def _lot(job: Job, rows: Iterable[Occurrence], now: Micros, store: Store) -> Lot:
    lot = Lot(job=job.name, tz=job.tz)
    for row in rows:
        if row.due_at is not None and row.scheduled_for > now:
            continue
        outcome, many = outcome_of(row, now), row.range_count or 1
        lot.outcomes[outcome] += many
        lot.worst = max(lot.worst, lateness(row))
        if outcome in RAN and lateness(row) >= LATE:
            lot.late += many
            if not _count(lot, (DONE_LATE, ""), many):
                said = {lang: why(store, occurrence_id=row.id, lang=lang).sentence for lang in ("en", "zh")}
                lot.reasons[DONE_LATE, ""] = Reason(outcome=DONE_LATE, count=many, first=row, said=said)
        elif outcome in WITH_A_REASON and not _count(lot, (outcome, row.code), many):
            lot.reasons[outcome, row.code] = Reason(outcome=outcome, count=many, first=row, lacked=_lacked(job, row))
    return lot


def _count(lot: Lot, reason: tuple[str, str], many: int) -> bool:
    """Count a reason on; False when it is a new one."""
    known = lot.reasons.get(reason)
    if known is not None:
        known.count += many
    return known is not None


def _lacked(job: Job, row: Occurrence) -> tuple[str, ...]:
    """Return the facts that a row waited for when its time was over."""
    last = object_of(row.detail).get("last")
    return tuple(
        name
        for condition in job.depends_on
        if conditions.missing_code(condition) == last
        for name in _names(condition, job, row)
    )


def _names(condition: FlagSet | Succeeded, job: Job, row: Occurrence) -> tuple[str, ...]:
    """Return the fact that a row waits for; nothing where its name cannot be: then nobody announces it either."""
    try:
        return (conditions.fact_name(condition, job, row),)
    except TemplateProblem:
        return ()
