"""The small worlds that are searched: one job, two occurrences, two replicas, and which faults may happen how often.

Rule of the file: data.  Each scene says in one line what it is there for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from noonmark.core.model import (
    DAY,
    MINUTE,
    SECOND,
    At,
    CatchUp,
    Fact,
    FlagSet,
    Job,
    Manual,
    Micros,
    NewOccurrence,
    Origin,
    Retry,
)
from noonmark.core.series import row_for_call
from noonmark.engine.activate import put_in_force
from noonmark.sim import almanac
from noonmark.sim.exhaustive.chains import Past
from noonmark.sim.exhaustive.replay import Bench
from noonmark.sim.exhaustive.state import Kept, Replica, State, Task
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
        faults: how often each thing may happen that nobody has to do: ``crash lose late fail set clear cancel edit pause
            add copy forget``.
        is_set: the flag is set at the beginning.
        forgets: the store may come back as it was when it was copied (``copy``, ``forget``), so workers prove themselves;
            a replica does one thing at a time here, and reads are no steps.
        prelude: steps that have happened already.
        is_behind: the replicas have yet to hear of the last change of the rules, so that their first take reads them.
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
    is_behind: bool = False
    slots: int = 2
    forgets: bool = False
    prelude: tuple[tuple[str, int, int], ...] = ()
    depth: int = 14
    small: int = 9

    def bench(self) -> Bench:
        """Return a bench with this scene's rules."""
        return Bench(self.jobs, is_host_shared=self.is_host_shared, slots=self.slots, forgets=self.forgets)

    def moments(self) -> tuple[Micros, ...]:
        """Return every moment that one of its rules yields."""
        return tuple(sorted({at for job in self.jobs for at in almanac.moments(job, START, START + DAY)}))

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
        if self.is_behind:
            behind = (replace(each, version=each.version - 1) for each in state.replicas)
            state = replace(state, replicas=tuple(behind))
        first = min(row.due_at for row in state.tables.rows.values() if row.due_at is not None)
        state = replace(state, now=max(first, START), steps=0)
        if self.forgets:
            # One microsecond on: what ran, was acknowledged and is lost was due before the loss is noticed.
            state = replace(state, now=state.now + 1, past=Past())
            state = replace(state, kept=Kept(tables=state.tables, at=state.now, mark=0))
        return self._after_the_prelude(bench, state)

    def _after_the_prelude(self, bench: Bench, state: State) -> State:
        from noonmark.sim.exhaustive.moves import apply  # it knows scenes

        for move in self.prelude:
            state = apply(bench, self, state, move).state
        return state

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
    did = bench.go(new, task, fuel=100)
    assert did.task is None
    replicas = tuple(did.replica if each.number == number else each for each in state.replicas)
    return bench.unload(state, replicas=replicas)


def _flag(*, value: bool) -> Fact:
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

_TO_EDIT = (
    _job(trigger=_at(5, 25), overlap="allow", catch_up=CatchUp(missed="all", max_delay=3 * MINUTE)),
    _job(
        trigger=_at(5, 35),
        overlap="allow",
        depends_on=(FlagSet(flag=FLAG),),
        catch_up=CatchUp(missed="all", max_delay=3 * MINUTE),
    ),
)

SCENES: Final = (
    Scene(
        name="calls",
        about="two plain delayed jobs, which take starts by itself: a crash, a lost reply, a failure",
        jobs=(_job(),),
        calls=(("one", 5, "k1"), ("two", 5, "k2")),
        faults={"crash": 1, "lose": 1, "fail": 1},
        depth=8,
        small=5,
    ),
    Scene(
        name="cancelled",
        about="two plain delayed jobs, one of which is cancelled while anything may happen to it",
        jobs=(_job(),),
        calls=(("one", 5, "k1"), ("two", 15, "k2")),
        faults={"cancel": 1, "crash": 1, "fail": 1},
        depth=9,
        small=6,
    ),
    Scene(
        name="one-key",
        about="two more calls of a key that is held, and workers that know nothing of each other",
        jobs=(_job(),),
        calls=(("one", 5, "k"),),
        faults={"crash": 2, "lose": 1, "fail": 1, "add": 2, "cancel": 1},
        is_host_shared=False,
        depth=9,
        small=6,
    ),
    Scene(
        name="lapsing",
        about="a job that one lost worker is enough to ask a person about, and workers that know nothing of each other",
        jobs=(_job(max_takeovers=0, retry=Retry(max=0)),),
        calls=(("one", 5, "k1"), ("two", 65, "k2")),
        faults={"crash": 2, "fail": 1},
        is_host_shared=False,
        slots=1,
        depth=10,
        small=7,
    ),
    Scene(
        name="series",
        about="a series that waits for a flag, one at a time, every moment wanted: a crash, a lost reply, the flag moves",
        jobs=(_SERIES,),
        faults={"crash": 1, "lose": 1, "fail": 1, "set": 1, "clear": 1},
        depth=10,
        small=7,
    ),
    Scene(
        name="overlap",
        about="a series whose second moment comes while the first is in progress, one at a time",
        jobs=(_job(trigger=_at(5, 10), overlap="skip", catch_up=CatchUp(missed="all", max_delay=3 * MINUTE)),),
        faults={"crash": 1, "fail": 1},
        depth=13,
        small=8,
    ),
    Scene(
        name="waiting",
        about="a series whose flag is not set yet, and workers that know nothing of each other",
        jobs=(_SERIES,),
        faults={"crash": 1, "lose": 1, "set": 1, "clear": 1},
        is_set=False,
        is_host_shared=False,
        depth=10,
        small=6,
    ),
    Scene(
        name="latest",
        about="a series of which only the latest moment is wanted, cancelled, paused and continued",
        jobs=(_job(trigger=_at(5, 25), catch_up=CatchUp(missed="latest", max_delay=3 * MINUTE)),),
        faults={"crash": 1, "pause": 1, "cancel": 1},
        depth=8,
        small=5,
    ),
    Scene(
        name="edit",
        about="a series whose rule gains a condition and another second moment while anything may happen",
        jobs=_TO_EDIT,
        faults={"crash": 1, "edit": 1, "set": 1, "fail": 1},
        is_set=False,
        depth=8,
        small=5,
    ),
    Scene(
        name="one-at-a-time",
        about="two delayed jobs of which one may run at a time, and a rule that gains a condition",
        jobs=(_job(overlap="skip"), _job(overlap="skip", depends_on=(FlagSet(flag=FLAG),))),
        calls=(("one", 5, "k1"), ("two", 5, "k2")),
        faults={"edit": 1, "crash": 1},
        is_set=False,
        slots=1,
        depth=10,
        small=6,
    ),
    Scene(
        name="overtaken",
        about="an edit, and workers that are stopped between an answer and what they make of it",
        jobs=tuple(replace(job, catch_up=CatchUp(missed="latest", max_delay=3 * MINUTE)) for job in _TO_EDIT),
        faults={"edit": 1, "late": 1, "cancel": 1},
        is_set=False,
        is_behind=True,
        depth=8,
        small=6,
    ),
    Scene(
        name="forgetful",
        about="a store that comes back without what it acknowledged, two workers that prove it, a person who lets go",
        jobs=(_job(),),
        calls=(("one", 5, "k1"), ("two", 5, "k2")),
        faults={"copy": 1, "forget": 1},
        slots=1,
        forgets=True,
        depth=8,
        small=5,
    ),
    Scene(
        name="forgotten",
        about="a success that was acknowledged and is lost: who proves it when, and a person who lets it go",
        jobs=(_job(),),
        calls=(("one", 5, "k1"), ("two", 5, "k2")),
        faults={"forget": 1},
        slots=1,
        forgets=True,
        prelude=(("take", 0, 0), ("ok", 0, 1), ("forget", -1, 0)),
        depth=12,
        small=8,
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
