"""A replica's steps: the engine's own code, stopped before each call of the store and brought back there by its answers.

Which engine function each kind of task runs: ``begin`` is ``Engine._begin``, ``round`` is ``Engine._round`` (take, adopt
rules, look, launch), ``record`` is ``Recorder.record``, ``edit`` is ``activate.put_in_force`` as a new release or a
command line calls it.  Renewing is ``Duty.keep_once``, watching is one round of ``Roster``; those two have one call or
none, so they are one step.

Nothing of the engine is modelled but its surroundings: which of these runs when, and that jobs end some time.  What is
left out: the pacing of takes, backoff between tries, heartbeats after the first, the boot clock behind the store's.

Rule of the file: a task that is brought back gets what it had then (answers, instants, names), never what is true now.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from noonmark.core.codec import rule_text
from noonmark.core.model import FAR, Job, Micros, WorkerInfo
from noonmark.engine.activate import put_in_force
from noonmark.engine.executor import Executor
from noonmark.engine.loop import Engine
from noonmark.engine.registry import Registry
from noonmark.engine.runs import Finish, Run
from noonmark.ports.rollback import ChainBroken
from noonmark.ports.store import Capability, Store, StoreError, StoreUnreachable, StoreUnusable
from noonmark.sim.exhaustive.chains import remembered, remind, serving_name
from noonmark.sim.exhaustive.state import Entry, Held, Replica, State, Task, copied, held
from noonmark.stores.memory import MemoryStore

FREE_VERBS = frozenset({"now", "is_alive", "tallies"})
"""Answered at the instant of the step before them: they read a clock, the kernel, or what only a log line says."""
READS = frozenset({"facts", "occurrences", "story", "jobs", "workers", "writers", "identity", "store_id"})
"""Answered so as well where the store may forget: with every read as a step, a proof and its release are too far away."""
FOREVER: Micros = FAR // 4
"""A heartbeat that never runs out: who is dead is known by its process."""


class Pending(BaseException):
    """The code wants to call the store, and this step ends here."""


class ModelClock:
    """A clock that shows what it was set to."""

    def __init__(self) -> None:
        self.now: Micros = 0

    def wall(self) -> Micros:
        """Return the instant."""
        return self.now

    def boot(self) -> Micros:
        """Return the instant: both hands run together here."""
        return self.now

    def boot_id(self) -> str:
        """Return the one boot there is."""
        return "model"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call that reached the store in this step."""

    verb: str
    args: tuple[Any, ...]
    answer: Any
    request: str = ""
    repeats: Entry | None = None  # the lost call of which it is the repetition


class Seat:
    """The store as one task sees it: its old answers first, then so many calls of the real one."""

    url = "memory:"

    def __init__(self, bench: Bench, log: tuple[Entry, ...], *, fuel: int, fault: str = "") -> None:
        self._bench = bench
        self.log = list(log)
        self._position = 0
        self._fuel = fuel
        self._fault = fault  # lost: the reply does not arrive; late: it does, and is looked at in another step
        self.calls: list[Exchange] = []
        self.pending = ""
        self.capabilities = bench.capabilities

    def meet(self, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer one call, from memory or from the store."""
        clock = self._bench.clock
        if self._position < len(self.log):
            entry = self.log[self._position]
            self._position += 1
            clock.now = entry.at
            if entry.lost:
                raise StoreUnreachable("the answer was lost")
            if entry.broken:
                raise ChainBroken
            return _fresh(entry.answer)
        is_free = verb in self._bench.free
        if not is_free:
            if not self._fuel:
                self.pending = verb
                raise Pending
            self._fuel -= 1
        clock.now = self._bench.store_clock.now
        try:
            answer = self._bench.perform(verb, args, kwargs)
        except ChainBroken:
            self.log.append(Entry(verb, None, clock.now, broken=True))
            self._position += 1
            raise
        request = args[0] if args and isinstance(args[0], str) and verb != "renew" else ""
        if not is_free:
            self.calls.append(Exchange(verb, args, answer, request, self._repeated(verb, request)))
        entry = Entry(verb, answer, clock.now, self._fault == "lost" and not is_free, request)
        self.log.append(entry)
        self._position += 1
        if entry.lost:
            self._fault = ""
            raise StoreUnreachable("the answer was lost")
        if self._fault == "late":
            raise Pending
        return _fresh(answer)

    def _repeated(self, verb: str, request: str) -> Entry | None:
        last = self.log[-1] if self.log else None
        return last if last is not None and last.lost and last.verb == verb and last.request == request else None

    def listen(self, _: Callable[[], None]) -> Callable[[], None]:
        """Nobody is told here: who looks when is up to the search."""
        return lambda: None


def _verb(name: str) -> Callable[..., Any]:
    def call(self: Seat, *args: Any, **kwargs: Any) -> Any:
        return self.meet(name, args, kwargs)

    call.__name__ = name
    return call


for _name in ("add", "take", "settle", "renew", "signal", "heartbeat", "activate", "act", "note_if_held", "now",
              "facts", "occurrences", "story", "jobs", "workers", "tallies",
              "prove", "writers", "identity", "store_id"):  # fmt: skip
    setattr(Seat, _name, _verb(_name))


def _fresh(answer: Any) -> Any:
    """Return an answer that its reader may change."""
    return dict(answer) if isinstance(answer, dict) else list(answer) if isinstance(answer, list) else answer


class _Gate:
    """Repeats while the store is away, as ``engine.gate.StoreGate`` does; without its thread and its waits."""

    away_since = None

    async def call(self, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                return verb(*args, **kwargs)
            except StoreUnusable:
                raise
            except StoreError:
                continue

    def over(self) -> list[Any]:
        return []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        raise AssertionError("the jobs of this world write nothing by themselves")


class _Jobs:
    """Takes runs over and lets them be: when a job ends is up to the search."""

    def __init__(self) -> None:
        self.begun: list[Run] = []

    def start(self, runs: Any) -> None:
        self.begun += runs

    def stop(self, run: Run) -> None:
        run.lost = run.lost or run.stop_reason == "lost"

    def close(self) -> None:
        """Nothing to give back."""


async def _work() -> None:
    """The job of this world."""


@dataclass(slots=True)
class Did:
    """What one step of a task did."""

    task: Task | None  # None = it is through
    replica: Replica
    calls: list[Exchange]


class Bench:
    """One memory store and one engine's surroundings, into which states are put and taken out again.

    Args:
        jobs: the rules that may be in force, the first from the beginning.
        is_host_shared: True: a replica learns from the kernel whether another lives; False: nothing is known.
        slots: how many runs a replica takes at once.
        forgets: True: the store may come back older than it was, so workers prove themselves.
    """

    def __init__(self, jobs: tuple[Job, ...], *, is_host_shared: bool, slots: int, forgets: bool = False) -> None:
        self.clock, self.store_clock = ModelClock(), ModelClock()
        self.store = MemoryStore(self.store_clock)
        self.slots = slots
        self._is_host_shared = is_host_shared
        self.store._id = "model"
        self.free = FREE_VERBS | READS if forgets else FREE_VERBS
        self.capabilities = frozenset({Capability.NOTIFY, *([Capability.PROVES] if forgets else [])})
        self._registries = {rule_text(job): Registry() for job in jobs}
        for job in jobs:
            self._registries[rule_text(job)].add(job, _work)
        self._first = rule_text(jobs[0])
        self._alive: frozenset[int] = frozenset()

    # -- states in and out --------------------------------------------------------------------------

    def load(self, state: State) -> None:
        """Put a state in."""
        self.store._tables = copied(state.tables)
        self.store._answers = dict(state.answers)
        self.store_clock.now = self.clock.now = state.now
        self.store._serving = serving_name(state.forgotten)
        self._alive = frozenset(_pid(replica) for replica in state.replicas if replica.is_alive)

    def unload(self, state: State, **fields: Any) -> State:
        """Return the state that follows, with these fields changed."""
        return replace(state, tables=self.store._tables, answers=self.store._answers, steps=state.steps + 1, **fields)

    def perform(self, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Carry a call out."""
        if verb == "is_alive":
            (fact,) = args
            return fact["pid"] in self._alive if fact and self._is_host_shared else None
        return getattr(self.store, verb)(*args, **kwargs)

    # -- steps --------------------------------------------------------------------------------------

    def go(self, replica: Replica, task: Task, *, fuel: int = 1, fault: str = "") -> Did:
        """Bring a task to where it stood and let it make ``fuel`` more calls; the state must be loaded."""
        if task.is_late:  # it wakes with the answer it had, at this instant
            last = replace(task.log[-1], at=self.store_clock.now)
            task, fuel = replace(task, log=(*task.log[:-1], last), is_late=False), 0
        seat = Seat(self, task.log, fuel=fuel, fault=fault)
        self.clock.now = task.began_at
        with _names(task.name):
            try:
                done = self._run(seat, replica, task)
            except Pending:
                task = replace(task, log=tuple(seat.log), pending=seat.pending, is_late=fault == "late")
                return Did(task, replica, seat.calls)
        return Did(None, done, seat.calls)

    def _run(self, seat: Seat, replica: Replica, task: Task) -> Replica:
        if task.kind == "edit":
            put_in_force(cast(Store, seat), self._registry(task.rules[0].rule).jobs(), actor="ann")
            return replica
        jobs = _Jobs()
        engine = self._engine(seat, replica, task, jobs)
        if task.kind == "begin":
            _finish(engine._begin())
        elif task.kind == "round":
            _finish(engine._round(task.free))
        else:
            assert task.run is not None
            _finish(engine._recorder.record([self._outcome(task.run, ok=task.ok)]))
            gone = (task.run.row.id, task.run.fence)
            runs = tuple(run for run in replica.runs if (run.row.id, run.fence) != gone)
            return replace(replica, runs=runs, chain=remembered(engine))
        runs = (*replica.runs, *(held(run) for run in jobs.begun))
        rules = tuple(sorted(engine.rules.rows(), key=lambda row: row.name))
        chain = remembered(engine)
        return replace(replica, rules=rules, version=engine.rules.version, runs=runs, chain=chain)

    def keep(self, replica: Replica, *, fault: str = "") -> Did:
        """Renew what is due: one round of the lease keeper."""
        seat = Seat(self, (), fuel=1, fault=fault)
        engine, runs = self._with_runs(seat, replica)
        engine.duty.beat_at = FAR
        engine.duty.keep_once()
        return Did(None, replace(replica, runs=_remembered(runs, replica.runs)), seat.calls)

    def watch(self, replica: Replica) -> Replica:
        """Tell the runs whose trust is over to stop."""
        engine, runs = self._with_runs(Seat(self, (), fuel=0), replica)
        engine._roster._round(self.clock.now)
        return replace(replica, runs=_remembered(runs, replica.runs))

    def _with_runs(self, seat: Seat, replica: Replica) -> tuple[Engine, list[Run]]:
        engine = self._engine(seat, replica, None, _Jobs())
        runs = [self._run_of(each) for each in replica.runs]
        for run in runs:
            engine.book.hold(run)
            engine._roster.active[run] = None
        return engine, runs

    def _run_of(self, each: Held) -> Run:
        return each.as_run(self._registry(rule_text(each.job)).handler(each.job.name))

    def _outcome(self, run: Held, *, ok: bool) -> Finish:
        return Finish(self._run_of(run), ok=ok, code="succeeded" if ok else "", error=None if ok else "it broke")

    def _engine(self, seat: Seat, replica: Replica, task: Task | None, jobs: Executor) -> Engine:
        rules = replica.rules if task is None else task.rules
        engine = Engine(
            cast(Store, seat),
            cast(Any, _Gate()),
            self._registry(rules[0].rule if rules else self._first),
            clock=self.clock,
            info=_info(replica),
            concurrency=self.slots,
            dice=lambda: 0.0,
            is_alive=lambda fact, _us, _now: seat.meet("is_alive", (fact,), {}),
            heartbeat_ttl=FOREVER,
            inline_locks=True,
        )
        engine.bind(jobs)
        remind(engine, replica.chain)
        engine.duty._counts_until = FOREVER
        engine.rules.trust(rules)
        engine.rules.load(rules, replica.version if task is None else task.version)
        return engine

    def _registry(self, rule: str) -> Registry:
        return self._registries.get(rule) or self._registries[self._first]


def _pid(replica: Replica) -> int:
    return 100 * (replica.number + 1) + replica.incarnation


def _info(replica: Replica) -> WorkerInfo:
    return WorkerInfo(
        id=replica.name, name=f"w{replica.number}", host="model", pid=_pid(replica), boot_id="model",
        process_started=str(replica.incarnation),
    )  # fmt: skip


def _remembered(runs: list[Run], before: tuple[Held, ...]) -> tuple[Held, ...]:
    return tuple(held(run, has_ended=old.has_ended) for run, old in zip(runs, before, strict=True))


def _finish(steps: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine that never really waits."""
    try:
        steps.send(None)
    except StopIteration:
        return
    finally:
        steps.close()
    raise AssertionError("the engine waited for something other than its store")


@contextmanager
def _names(prefix: str) -> Iterator[None]:
    """Let request ids be the same whenever the same code runs."""
    count = 0

    def token(_: int | None = None) -> str:
        nonlocal count
        count += 1
        return f"{prefix}.{count}"

    source: Any = secrets
    before = source.token_hex
    source.token_hex = token
    try:
        yield
    finally:
        source.token_hex = before


@contextmanager
def quiet() -> Iterator[None]:
    """Let the engine say nothing while it is tried a million times."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
