"""What a seed stands for: where and when a world begins, who lives in it, what people do, and what goes wrong.

Promise: the same seed and length give the same plan; dropping a fault from it leaves the others as they are.

Rule of the file: swarm testing: each seed first draws which kinds of fault there are at all, then how often.  A world in
which everything goes wrong at once hides what a single fault would show.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from noonmark.core.model import HOUR, MINUTE, SECOND, Micros
from noonmark.engine.points import Point
from noonmark.sim import faults as f
from noonmark.sim.zoo import Specimen, populate

QUIET: Micros = 25 * MINUTE
"""The end of every world: nothing goes wrong any more, so that what must happen in the end can be asked for."""
SHORTEST: Micros = QUIET + 10 * MINUTE
"""A shorter world would have no time for anything to go wrong."""
LENGTH: Micros = 75 * MINUTE
"""How long a world lasts unless told otherwise, the quiet end included."""
STARTS: tuple[Micros, ...] = (
    1_795_867_200_000_000,  # Sat 2026-11-28 12:00Z, plain
    1_793_508_300_000_000,  # Sun 2026-11-01 04:45Z, before New York's clocks go back
    1_805_006_700_000_000,  # Sun 2027-03-14 06:05Z, before New York's clocks go forward
    1_774_745_100_000_000,  # Sun 2026-03-29 00:45Z, before Berlin's clocks go forward
    1_792_888_200_000_000,  # Sat 2026-10-25 00:30Z, before Berlin's clocks go back
    1_796_399_400_000_000,  # Fri 2026-12-04 15:50Z, before midnight and the weekend in Shanghai
    1_796_572_200_000_000,  # Sun 2026-12-06 15:50Z, before Monday there
    1_798_759_500_000_000,  # Thu 2026-12-31 23:25Z, before the year ends
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that people or programs outside do at ``at`` (microseconds after the beginning).

    ``kind``: later, run, emit, flag, announce, cancel, pause, resume, retry, mark, edit.
    ``what`` is a job, an order or an event.
    """

    at: Micros
    kind: str
    what: str
    number: int = 0
    delay: Micros = 0
    copies: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One world, drawn from its seed."""

    seed: int
    start: Micros
    length: Micros  # from the beginning to the quiet time
    replicas: int
    zoo: tuple[Specimen, ...]
    deeds: tuple[Deed, ...]
    faults: tuple[f.AnyFault, ...]
    latency: Micros
    in_any_order: bool

    @property
    def is_lossy(self) -> bool:
        """True when the store may lose what it acknowledged."""
        return any(isinstance(fault, f.Failover) for fault in self.faults)

    def keeping(self, kept: frozenset[int]) -> Plan:
        """Return the plan with only these faults, by their places."""
        return replace(self, faults=tuple(fault for place, fault in enumerate(self.faults) if place in kept))


def draw(seed: int, *, length: Micros = LENGTH) -> Plan:
    """Return the plan of a seed.

    Args:
        length: of the world, microseconds, the quiet end included.
    """
    dice = random.Random(f"noonmark world {seed}")
    start = dice.choice(STARTS)
    busy = max(SHORTEST, length) - QUIET
    replicas = dice.choice((1, 2, 3, 3, 3))
    zoo = populate(dice, start)
    return Plan(
        seed=seed,
        start=start,
        length=busy,
        replicas=replicas,
        zoo=zoo,
        deeds=_in_order([*_deeds(dice, zoo, busy), *_marks(seed, zoo, busy)]),
        faults=_emptied(seed, _faults(dice, replicas, busy), busy),
        latency=dice.choice((500, 2_000, 20_000, 200_000)),
        in_any_order=dice.random() < 0.7,
    )


# --- what people do ------------------------------------------------------------------------------------


def _deeds(dice: random.Random, zoo: tuple[Specimen, ...], busy: Micros) -> list[Deed]:
    deeds: list[Deed] = []
    for specimen in zoo:
        for feed in specimen.feeds:
            deeds += _FEEDS[feed](dice, specimen.job.name, busy)
        if specimen.editable and dice.random() < 0.4:
            deeds += [
                Deed(at=dice.randrange(busy), kind="edit", what=specimen.job.name, number=number)
                for number in range(dice.randrange(1, 3))
            ]
    return deeds


def _marks(seed: int, zoo: tuple[Specimen, ...], busy: Micros) -> list[Deed]:
    """Somebody looks through what waits for a person and marks some of it, with dice of his own: the others' fell before."""
    dice = random.Random(f"noonmark marks {seed}")
    return [
        Deed(at=dice.randrange(busy), kind="mark", what=specimen.job.name, number=dice.randrange(12))
        for specimen in zoo
        if dice.random() < 0.5
        for _ in range(dice.randrange(1, 5))
    ]


def _in_order(deeds: list[Deed]) -> tuple[Deed, ...]:
    return tuple(sorted(deeds, key=lambda deed: deed.at))


def _later(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    deeds = []
    for number in range(dice.randrange(5, 40)):
        at, delay = dice.randrange(busy), dice.choice((0, 0, 3, 30, 300)) * SECOND
        copies = dice.choice((1, 1, 1, 2, 3))
        deeds.append(Deed(at=at, kind="later", what=job, number=number, delay=delay, copies=copies))
    return deeds


def _seldom(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    return [Deed(at=dice.randrange(busy), kind="later", what=job, number=number) for number in range(2)]


def _emit(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    return [
        Deed(at=dice.randrange(busy), kind="emit", what=job, number=number, copies=dice.choice((1, 1, 2, 4)))
        for number in range(dice.randrange(5, 40))
    ]


def _flag(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    times = range(dice.randrange(0, 3))
    return [
        Deed(at=dice.randrange(busy), kind="flag", what=job, number=number - 1) for number in (0, 1, 2) for _ in times
    ]


def _cancel(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    return [
        Deed(at=dice.randrange(busy), kind="cancel", what=job, number=dice.randrange(40))
        for _ in range(dice.randrange(0, 6))
    ]


def _pause(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    if dice.random() < 0.6:
        return []
    at = dice.randrange(busy)
    until = min(busy - SECOND, at + dice.randrange(1, 30) * MINUTE)
    return [Deed(at=at, kind="pause", what=job), Deed(at=max(at + 1, until), kind="resume", what=job)]


def _retry(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    return [Deed(at=dice.randrange(busy), kind="retry", what=job) for _ in range(3)]


def _run(dice: random.Random, job: str, busy: Micros) -> list[Deed]:
    return [Deed(at=dice.randrange(busy), kind="run", what=job) for _ in range(dice.randrange(0, 2))]


_FEEDS: dict[str, Callable[[random.Random, str, Micros], list[Deed]]] = {
    "later": _later,
    "seldom": _seldom,
    "emit": _emit,
    "flag": _flag,
    "cancel": _cancel,
    "pause": _pause,
    "retry": _retry,
    "run": _run,
}


# --- what goes wrong -----------------------------------------------------------------------------------

ENDS_BY_ERROR = frozenset({Point.HEARD_OF, Point.RULES_IN_FORCE, Point.TOLD_TO_STOP, Point.HANDING_BACK})
"""A worker that cannot begin says why and ends, and one that is ending ends sooner; elsewhere it must survive."""
BEHIND_A_WRITE = frozenset(
    {Point.TAKEN, Point.LOOKED, Point.RUN_BEGINS, Point.NOTED, Point.OUTCOME_STORED, Point.RENEWED, Point.APPLIED}
)
"""Here the store has just carried out a write: a duplicate that is late arrives now."""
AHEAD_OF_A_WRITE = frozenset(
    {
        Point.HEARD_OF, Point.RULES_IN_FORCE, Point.TAKE_ASKED, Point.DECIDED, Point.LOCK_HELD, Point.JUDGED_LAPSED,
        Point.EFFECT_DONE, Point.STEP_DONE, Point.OUTCOME_ASKED, Point.RENEW_ASKED, Point.TOLD_TO_STOP,
        Point.HANDING_BACK,
    }
)  # fmt: skip
"""Here a write comes next: it arrives twice.  Behind ``rule changed`` none need come."""
REPEATED = tuple(point for point in Point if point in BEHIND_A_WRITE | AHEAD_OF_A_WRITE)
_Make: TypeAlias = Callable[[random.Random, Micros, int], f.AnyFault]


def _length(dice: random.Random, *choices: float) -> Micros:
    return int(dice.choice(choices) * SECOND * (0.5 + dice.random()))


def _at_point(dice: random.Random, at: Micros, replicas: int) -> f.AtPoint:
    point, act = dice.choice(list(Point)), dice.choice(("crash", "crash", "pause", "error"))
    if act == "error" and point in ENDS_BY_ERROR:
        act = "pause"
    return f.AtPoint(at=at, replica=dice.randrange(replicas), point=point, act=act, length=_length(dice, 0.5, 12, 45))


def _ppm(dice: random.Random) -> int:
    """Boot-time clocks are slewed by at most 500 millionths."""
    return dice.randrange(-500, 501)


_KINDS: dict[str, tuple[float, _Make]] = {
    # name: how many an hour at most, how to make one
    "crash": (6, lambda d, at, n: f.Crash(at=at, replica=d.randrange(n), down=_length(d, 0.1, 5, 60, 400))),
    "crash all": (1, lambda d, at, n: f.CrashAll(at=at, down=_length(d, 1, 20, 300, 900))),  # noqa: ARG005
    "point": (14, lambda d, at, n: _at_point(d, at, n)),
    "twice": (
        10,
        # The moment chooses the point, so that the other dice fall as they always did.
        lambda d, at, n: f.AtPoint(at=at, replica=d.randrange(n), point=REPEATED[at % len(REPEATED)], act="twice"),
    ),
    "pause": (6, lambda d, at, n: f.Pause(at=at, replica=d.randrange(n), length=_length(d, 0.2, 4, 12, 35, 200))),
    "stop": (3, lambda d, at, n: f.Stop(at=at, replica=d.randrange(n), grace=d.choice((0, 2, 30)) * SECOND)),
    "step": (6, lambda d, at, n: f.StepClock(at=at, replica=d.randrange(n), by=_step(d))),
    "drift": (2, lambda d, at, n: f.Drift(at=at, replica=d.randrange(n), ppm=_ppm(d))),
    "leap": (1, lambda d, at, n: f.LeapStore(at=at, by=_length(d, 0.5, 5, 90, 300))),  # noqa: ARG005
    "outage": (3, lambda d, at, n: f.Outage(at=at, length=_length(d, 0.3, 3, 10, 50))),  # noqa: ARG005
    "cut": (6, lambda d, at, n: f.Cut(at=at, replica=d.randrange(n), length=_length(d, 0.5, 8, 40))),
    "flaky": (
        4,
        lambda d, at, n: f.Flaky(
            at=at,
            replica=d.randrange(-1, n),
            length=_length(d, 20, 120, 600),
            before=d.choice((0, 0.05, 0.3)),
            after=d.choice((0, 0.05, 0.3)),
            twice=d.choice((0, 0.05, 0.3)),
            deaf=d.choice((0, 0.5, 1)),
        ),
    ),
    "slow": (
        3,
        lambda d, at, n: f.Slow(
            at=at, replica=d.randrange(n), length=_length(d, 20, 120), latency=_length(d, 0.2, 2, 6)
        ),
    ),
    "lock taken": (3, lambda d, at, n: f.LockTaken(at=at, length=_length(d, 10, 100))),  # noqa: ARG005
    "locks away": (2, lambda d, at, n: f.LocksAway(at=at, length=_length(d, 5, 40))),  # noqa: ARG005
    # As above: the moment says whether anybody sees that another server serves.
    "failover": (3, lambda d, at, n: f.Failover(at=at, lose=d.randrange(0, 40), unseen=at % 3 == 0)),  # noqa: ARG005
}
LOSSY_SHARE = 0.1
"""Of the seeds: worlds whose store loses what it acknowledged."""
EMPTIED_SHARE = 0.06
"""Of the seeds: worlds in which another store comes to lie there, an empty one."""


def _step(dice: random.Random) -> Micros:
    return dice.choice((-300, -5, 5, 300, 3600)) * SECOND + dice.randrange(-SECOND, SECOND)


def _faults(dice: random.Random, replicas: int, busy: Micros) -> tuple[f.AnyFault, ...]:
    if dice.random() < 0.03:
        return ()  # a world without any fault must be right, too
    kinds = {name: kind for name, kind in _KINDS.items() if name != "failover" and dice.random() < 0.6}
    if dice.random() < LOSSY_SHARE:
        kinds["failover"] = _KINDS["failover"]
    rates = {name: most * dice.choice((0.3, 1.0, 1.5)) for name, (most, _) in kinds.items()}
    return strew(dice, rates, replicas, busy)


def _emptied(seed: int, others: tuple[f.AnyFault, ...], busy: Micros) -> tuple[f.AnyFault, ...]:
    """Some stores come back empty among the rest, by dice of their own: the others fell before."""
    dice = random.Random(f"noonmark emptied {seed}")
    if not others or dice.random() >= EMPTIED_SHARE:
        return others
    emptied = [f.Emptied(at=dice.randrange(busy)) for _ in range(dice.choice((1, 1, 2)))]
    return tuple(sorted([*others, *emptied], key=lambda fault: fault.at))


def strew(dice: random.Random, an_hour: Mapping[str, float], replicas: int, busy: Micros) -> tuple[f.AnyFault, ...]:
    """Return faults at random moments.

    Args:
        an_hour: kind -> how many an hour.
        replicas: among how many.
        busy: over how long, microseconds.
    """
    found: list[f.AnyFault] = []
    for name, rate in an_hour.items():
        _, make = _KINDS[name]
        found += [make(dice, dice.randrange(busy), replicas) for _ in range(round(rate * busy / HOUR))]
    return tuple(sorted(found, key=lambda fault: fault.at))
