"""A deterministic world in which several real engines share one store, and time passes only when told to.

Promises: the engine's own loop runs here, not a model of it; the same seed gives the same story; a replica can be
killed (everything in its memory is gone), stopped and continued (as by SIGSTOP and SIGCONT) at any instant.

Rule of the file: jobs run inline on their replica's virtual loop; nothing waits in real time.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from noonmark.core.durations import parse_duration
from noonmark.core.model import SECOND, Fact, Job, Micros, NewOccurrence, Occurrence, Origin, Query, WorkerInfo
from noonmark.core.series import row_for_call
from noonmark.engine.callbacks import Callbacks
from noonmark.engine.loop import Engine
from noonmark.engine.registry import Registry
from noonmark.engine.signals import Happening
from noonmark.engine.statefolder import StateFolder
from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.clock import ReplicaClock, VirtualClock
from noonmark.testing.inline import DirectGate, InlineExecutor
from noonmark.testing.locks import ReplicaLocks, VirtualLocks
from noonmark.testing.virtual import VirtualLoop, entering

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Something a job did to the outside."""

    at: Micros  # the store's time
    replica: int
    name: str


class Replica:
    """One worker process of the world."""

    def __init__(self, world: World, number: int, incarnation: int) -> None:
        self.number = number
        self.is_alive = True
        self.is_paused = False
        self.happenings: list[Happening] = []
        self.clock = world.clock_of(number)
        dice = random.Random(f"{world.seed}/{number}/{incarnation}")
        self.loop = VirtualLoop(self.clock, world.order_of(number, incarnation))
        self.gate = DirectGate(self.clock, dice, world.latency)
        store = world.store_for(self)
        self.registry = Registry()
        for job, fn in world.jobs.values():
            self.registry.add(job, fn)
        self.info = WorkerInfo(
            id=f"w{number}.{incarnation}",
            name=f"w{number}",
            host="virtual",
            pid=100 * (number + 1) + incarnation,
            process_started=str(incarnation),
            boot_id=self.clock.boot_id(),
            started_at=self.clock.wall(),
            jobs=tuple(world.jobs),
        )
        self._hint = asyncio.Event()
        self.locks = ReplicaLocks(world.locks, self.info.id, self.clock)
        self.engine = Engine(
            store,
            self.gate,
            self.registry,
            clock=self.clock,
            info=self.info,
            concurrency=world.concurrency,
            dice=dice.random,
            is_alive=world.is_alive,
            observer=self.noticed,
            expect_renewal=lambda _: self._hint.set(),
            lock_source=self.locks,
            inline_locks=True,
            state=world.state_of(number),
        )
        callbacks = Callbacks(store, self.gate, self.info.id, self.clock, self.engine.store_now)
        self.engine.bind(InlineExecutor(self.engine.inbox, callbacks))
        self.main = self.loop.create_task(self.engine.run())
        self.keeper = self.loop.create_task(self._keep())

    async def _keep(self) -> None:
        while not self.main.done():
            self._hint.clear()
            try:
                upcoming = min(self.engine.duty.keep_once(), self.locks.turn())
            except RuntimeError:  # as the thread does that keeps the leases in production
                upcoming = self.clock.boot() + SECOND
            timer = self.loop.call_at(upcoming / 1e6, self._hint.set)
            await self._hint.wait()
            timer.cancel()

    @property
    def goes(self) -> bool:
        """True while it lives and is not stopped."""
        return self.is_alive and not self.is_paused

    def noticed(self, happening: Happening) -> None:
        """Keep what the engine tells."""
        self.happenings.append(happening)

    def happened(self, kind: type[T]) -> list[T]:
        """Return what this replica told of one kind."""
        return [happening for happening in self.happenings if isinstance(happening, kind)]

    def vanish(self) -> None:
        """Be killed: not another line of this replica runs, and nothing it holds reaches the store again."""
        self.is_alive = False
        self.gate.is_dead = True

    def bury(self) -> None:
        """Unwind the remains, long after anybody could notice."""
        self.vanish()
        self.loop.bury()


class World:
    """Replicas, one store, one clock."""

    def __init__(
        self,
        *,
        replicas: int = 2,
        store: Callable[[VirtualClock], Store] = MemoryStore,
        seed: int = 0,
        start: Micros | None = None,
        latency: Micros = 1000,
        concurrency: int = 100,
    ) -> None:
        self.clock = VirtualClock() if start is None else VirtualClock(start)
        self.store = store(self.clock)
        self.locks = VirtualLocks(self.clock)
        self.seed = seed
        self.latency = latency
        self.concurrency = concurrency
        self.jobs: dict[str, tuple[Job, Callable[..., Any]]] = {}
        self.effects: list[Done] = []
        self.replicas: list[Replica] = []
        self._every: list[Replica] = []  # those that were killed, too
        self._wanted = replicas
        self._incarnations: dict[int, int] = defaultdict(int)
        self._requests = 0
        self._current: Replica | None = None

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- before it starts ---------------------------------------------------------------------------

    def job(self, job: Job, fn: Callable[..., Any]) -> None:
        """Declare a job for every replica that starts from here on."""
        self.jobs[job.name] = (job, fn)

    def start(self) -> World:
        """Start the replicas; ``advance`` does so by itself."""
        for number in range(len(self.replicas), self._wanted):
            self.replicas.append(self._replica(number))
        return self

    # -- what a replica sees of the world; a world with more faults sees to it that they differ ---------

    def clock_of(self, number: int) -> ReplicaClock:  # noqa: ARG002
        """Return the clocks of the machine that a replica runs on."""
        return ReplicaClock(self.clock)

    def order_of(self, number: int, incarnation: int) -> random.Random | None:  # noqa: ARG002
        """Return the dice that choose what comes first of all that is ready at one instant; None = as it came."""
        return None

    def state_of(self, number: int) -> StateFolder | None:  # noqa: ARG002
        """Return what the machine of a replica remembers across restarts; None = nothing."""
        return None

    def store_for(self, replica: Replica) -> Store:  # noqa: ARG002
        """Return the replica's way to the store."""
        return self.store

    # -- time ---------------------------------------------------------------------------------------

    @property
    def now(self) -> Micros:
        """The store's time."""
        return self.store.now()

    def advance(self, length: str | Micros) -> None:
        """Let time pass, in the order of events; errors that a replica let slip are raised here."""
        self.start()
        target = self.clock.boot() + (parse_duration(length) if isinstance(length, str) else length)
        with entering():
            self._settle_instant()
            while (upcoming := self._next_moment()) is not None and upcoming <= target:
                self.clock.advance(max(0, upcoming - self.clock.boot()))
                self._settle_instant()
        self.clock.advance(max(0, target - self.clock.boot()))
        self._raise_errors()

    def _next_moment(self) -> Micros | None:
        """Return the moment (boot clock of the world) at which some replica has something to do."""
        upcoming: Micros | None = None
        for replica in self.replicas:
            next_at = replica.loop.next_at
            if next_at is None or replica.is_paused or not replica.is_alive:
                continue
            clock = replica.clock
            moment = clock.true_boot(next_at) if clock.drift else next_at - clock.gained  # most clocks do not drift
            if upcoming is None or moment < upcoming:
                upcoming = moment
        return upcoming

    def until(self, is_so: Callable[[], bool], *, at_most: str = "1h", step: str = "100ms") -> None:
        """Let time pass until something is so.

        Raises:
            AssertionError: it was not so in time.
        """
        end = self.clock.boot() + parse_duration(at_most)
        while not is_so():
            assert self.clock.boot() < end, f"it did not come true within {at_most}"
            self.advance(step)

    def _settle_instant(self) -> None:
        """Run whatever has something to do now; what one replica does may give another one work."""
        now = self.clock.boot()
        is_over = False
        while not is_over:
            is_over = True
            for replica in self.replicas:
                if not replica.is_alive or replica.is_paused:
                    continue
                loop, clock = replica.loop, replica.clock
                next_at = loop.next_at
                if loop.ready or (
                    next_at is not None and next_at <= (clock.boot() if clock.drift else now + clock.gained)
                ):
                    is_over = False
                    self._current = replica
                    loop.go_on()
            self._current = None

    def _raise_errors(self) -> None:
        for replica in self.replicas:
            if not replica.is_alive:
                continue
            for task in (replica.main, replica.keeper):
                if task.done() and not task.cancelled() and task.exception() is not None:
                    raise task.exception()  # type: ignore[misc]
            if replica.loop.errors:
                raise replica.loop.errors[0]

    # -- faults -------------------------------------------------------------------------------------

    def kill(self, number: int) -> None:
        """SIGKILL a replica: everything in its memory is gone."""
        self.replicas[number].vanish()

    def pause(self, number: int) -> None:
        """SIGSTOP a replica: time goes on without it."""
        self.replicas[number].is_paused = True

    def resume(self, number: int) -> None:
        """SIGCONT a replica: all its timers are overdue at once."""
        self.replicas[number].is_paused = False

    def restart(self, number: int) -> Replica:
        """Start a killed or stopped replica anew, as another process."""
        if self.replicas[number].is_alive:
            self.replicas[number].vanish()
        self.replicas[number] = self._replica(number)
        return self.replicas[number]

    def stop(self, number: int, *, grace: str = "30s") -> None:
        """SIGTERM a replica."""
        self.replicas[number].engine.stop(parse_duration(grace))

    def is_alive(self, fact: Any, _us: WorkerInfo, _now: Micros) -> bool | None:
        """Answer as the kernel of one machine would: a stopped process lives."""
        if not fact:
            return None
        return any(replica.info.pid == fact["pid"] and replica.is_alive for replica in self.replicas)

    def close(self) -> None:
        """End the world."""
        for replica in self._every:
            replica.bury()
        self.store.close()

    # -- what jobs and people do ----------------------------------------------------------------------

    def effect(self, name: str) -> None:
        """Record an outside effect of a job, with who did it and when."""
        if self._current is not None and self._current.is_alive:
            self.effects.append(Done(at=self.store.now(), replica=self._current.number, name=name))

    def effect_names(self) -> list[str]:
        """Return the names of the effects, in order."""
        return [effect.name for effect in self.effects]

    def signal(self, name: str) -> None:
        """Set a flag, as an upstream would."""
        self.store.signal(self._request(), [Fact(name=f"flag:{name}", value=True)])

    def later(self, job: Job, delay: str = "0s", **params: Any) -> int:
        """Ask for one run after a delay; returns the occurrence."""
        now = self.store.now()
        request = self._request()
        revision = self.store.jobs([job.name])[0].revision
        row: NewOccurrence = row_for_call(
            job,
            request_id=request,
            due_at=now + parse_duration(delay),
            params=params,
            key=None,
            revision=revision,
            now=now,
            origin=Origin.LATER,
        )
        return self.store.add(request, [row])[0].id

    def rows(self, job: str | None = None) -> list[Occurrence]:
        """Return the occurrences of a job, oldest first."""
        return self.store.occurrences(Query(job=job, oldest_first=True, limit=100_000))

    def row(self, occurrence_id: int) -> Occurrence:
        """Return one occurrence."""
        return self.store.occurrences(Query(ids=(occurrence_id,)))[0]

    def _request(self) -> str:
        self._requests += 1
        return f"world-{self._requests}"

    def _replica(self, number: int) -> Replica:
        self._incarnations[number] += 1
        replica = Replica(self, number, self._incarnations[number])
        self._every.append(replica)
        return replica


def sleeping(world: World, name: str, length: str) -> Callable[[], Awaitable[None]]:
    """Return a job that records ``name``, takes its time, and records ``name done``."""

    async def job() -> None:
        world.effect(name)
        await asyncio.sleep(parse_duration(length) / SECOND)
        world.effect(f"{name} done")

    return job
