"""The small worlds that are searched: one job, two occurrences, two replicas, and which faults may happen how often.

Rule of the file: data.  Each scene says in one line what it is there for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from noonmark.core.model import (
    MINUTE,
    SECOND,
    At,
    CatchUp,
    FlagSet,
    Job,
    Manual,
    Micros,
    NewOccurrence,
    Origin,
    Retry,
)
from noonmark.core.moments import moments_between
from noonmark.core.series import row_for_call
from noonmark.engine.activate import put_in_force
from noonmark.sim.exhaustive.replay import Bench
from noonmark.sim.exhaustive.state import Replica, State, Task
from noonmark.stores.memory.tables import Tables

START: Final[Micros] = 1_795_867_200_000_000
"""2026-11-28T12:00:00Z, as in ``testing.clock``."""
REPLICAS = 2
FLAG = "ready"
LEASE = 30 * SECOND
_RETRY = Retry(max=1, base=SECOND, jitter=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One small world.

    Args:
        about: what it is there for.
        jobs: the rule in force, and those that an edit puts in force after it, in turn.
        calls: rows that somebody asked for at the beginning: (name, seconds after the beginning, key).
        faults: how often each thing may happen that nobody has to do: ``crash lose fail set clear cancel edit pause``.
        is_set: the flag is set at the beginning.
        depth: how far it is searched by ``make exhaustive``.
        small: how far in a test of every change.
    """

    name: str
    about: str
    jobs: tuple[Job, ...]
    calls: tuple[tuple[str, int, str], ...] = ()
    faults: Mapping[str, int]
    is_host_shared: bool = True
    is_set: bool = True
    slots: int = 2
    depth: int = 14
    small: int = 9

    def bench(self) -> Bench:
        """Return a bench with this scene's rules."""
        return Bench(self.jobs, is_host_shared=self.is_host_shared, slots=self.slots)

    def moments(self) -> tuple[Micros, ...]:
        """Return every moment that one of its rules yields."""
        found = {
            moment.at for job in self.jobs for moment in moments_between(job, START, START + 86_400 * SECOND, limit=9)
        }
        return tuple(sorted(found))

    def begin(self, bench: Bench) -> State:
        """Return the first state: the rule in force, both replicas begun, the first moment come."""
        store, job = bench.store, self.jobs[0]
        state = State(
            now=START,
            tables=Tables(),
            answers={},
            replicas=tuple(Replica(number=number, is_alive=False, incarnation=0) for number in range(REPLICAS)),
            left=dict(self.faults),
        )
        bench.load(state)
        put_in_force(store, [job], actor="ann")
        if self.is_set:
            store.signal("begin", [_flag(value=True)])
        store.add("begin", [self._called(job, *call) for call in self.calls])
        store._answers.clear()
        state = bench.unload(state)
        for number in range(REPLICAS):
            state = restarted(bench, state, number)
        first = min(row.due_at for row in state.tables.rows.values() if row.due_at is not None)
        return replace(state, now=max(first, START), steps=0)

    def _called(self, job: Job, name: str, after: int, key: str) -> NewOccurrence:
        return row_for_call(
            job,
            request_id=name,
            due_at=START + after * SECOND,
            params={},
            key=key,
            revision=1,
            now=START,
            origin=Origin.LATER,
        )


def restarted(bench: Bench, state: State, number: int) -> State:
    """Let a replica begin as another process: one step, for nothing of it is raced for but what rounds race for, too."""
    bench.load(state)
    old = state.replicas[number]
    new = Replica(number=number, incarnation=old.incarnation + 1)
    task = Task(
        kind="begin",
        name=f"{new.name}/begin{state.steps}",
        began_at=state.now,
        rules=tuple(state.tables.jobs.values()),
    )
    did = bench.go(state, new, task, fuel=100)
    assert did.task is None
    replicas = tuple(did.replica if each.number == number else each for each in state.replicas)
    return bench.unload(state, replicas=replicas)


def _flag(*, value: bool) -> object:
    from noonmark.core.model import Fact

    return Fact(name=f"flag:{FLAG}", value=True if value else None)


def _job(**fields: object) -> Job:
    plain: dict[str, object] = {
        "trigger": Manual(),
        "reason": "a small world",
        "retry": _RETRY,
        "lease": LEASE,
        "max_takeovers": 1,
    }
    return Job(name="job", **(plain | fields))  # type: ignore[arg-type]


def _at(*seconds: int) -> At:
    moments = [datetime.fromtimestamp(START // SECOND + after, UTC) for after in seconds]
    return At(moments=tuple(f"{moment:%Y-%m-%dT%H:%M:%S}Z" for moment in moments))


_SERIES = _job(
    trigger=_at(5, 65),
    depends_on=(FlagSet(flag=FLAG),),
    catch_up=CatchUp(missed="all", max_delay=3 * MINUTE),
)

SCENES: Final = (
    Scene(
        name="calls",
        about="two plain delayed jobs, which take starts by itself: crashes, lost replies, failures, a cancel",
        jobs=(_job(),),
        calls=(("one", 5, "k1"), ("two", 5, "k2")),
        faults={"crash": 1, "lose": 1, "fail": 1, "cancel": 1},
    ),
    Scene(
        name="one-key",
        about="two calls of one key that nobody holds yet, and workers that know nothing of each other",
        jobs=(_job(),),
        calls=(("one", 5, "k"),),
        faults={"crash": 2, "lose": 1, "fail": 1, "add": 2, "cancel": 1},
        is_host_shared=False,
    ),
    Scene(
        name="series",
        about="a series that waits for a flag, one at a time, every moment wanted: crashes, lost replies, the flag moves",
        jobs=(_SERIES,),
        faults={"crash": 1, "lose": 1, "fail": 1, "set": 1, "clear": 1},
    ),
    Scene(
        name="waiting",
        about="the same series with the flag not set yet, and workers that know nothing of each other",
        jobs=(_SERIES,),
        faults={"crash": 1, "lose": 1, "set": 1, "clear": 1},
        is_set=False,
        is_host_shared=False,
    ),
    Scene(
        name="latest",
        about="a series of which only the latest moment is wanted, paused and continued",
        jobs=(_job(trigger=_at(5, 25), catch_up=CatchUp(missed="latest", max_delay=3 * MINUTE)),),
        faults={"crash": 1, "lose": 1, "pause": 1, "cancel": 1},
    ),
    Scene(
        name="edit",
        about="a series whose rule gains a condition and another second moment while it is looked at",
        jobs=(
            _job(trigger=_at(5, 25), overlap="allow", catch_up=CatchUp(missed="all", max_delay=3 * MINUTE)),
            _job(
                trigger=_at(5, 35),
                overlap="allow",
                depends_on=(FlagSet(flag=FLAG),),
                catch_up=CatchUp(missed="all", max_delay=3 * MINUTE),
            ),
        ),
        faults={"crash": 1, "edit": 1, "set": 1, "fail": 1},
        is_set=False,
    ),
)


def scene(name: str) -> Scene:
    """Return the scene of this name.

    Raises:
        LookupError: there is none; the message names those there are.
    """
    for each in SCENES:
        if each.name == name:
            return each
    raise LookupError(f"no such scene: {name!r}; there are {', '.join(each.name for each in SCENES)}")
