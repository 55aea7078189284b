"""A world in which everything may go wrong: the testing world, with a wire and a clock of its own for every replica.

Promise: what happens follows from the plan alone.  Rule of the file: faults are done here as the plan says; what is
right is judged elsewhere (``checkers``).
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from noonmark.core import times
from noonmark.core.model import DAY, MINUTE, SECOND, Job, Micros
from noonmark.engine import points
from noonmark.engine.points import Point
from noonmark.engine.statefolder import StateFolder
from noonmark.ports.store import Store, StoreUnreachable
from noonmark.sim import faults as f
from noonmark.sim.deeds import Outsiders
from noonmark.sim.history import Call, Effect, History, Violation
from noonmark.sim.locks import SimLocks
from noonmark.sim.machines import Machine, ServerClock
from noonmark.sim.memory import MachineMemory
from noonmark.sim.plan import BEHIND_A_WRITE, QUIET, Plan
from noonmark.sim.store import Cluster, Link, Wire
from noonmark.sim.strikes import strike
from noonmark.sim.watchers import Watchers
from noonmark.sim.zoo import Specimen
from noonmark.testing.clock import ReplicaClock, VirtualClock
from noonmark.testing.world import Replica, World

RELEASED_IN_PEACE: Micros = 2 * MINUTE
"""So long after the beginning of the quiet time a person lets go what is held still."""


class Gone(BaseException):
    """This replica was killed at this very line."""


class SimWorld(World):
    """The world of one plan."""

    def __init__(self, plan: Plan, bodies: Callable[[SimWorld, Specimen], Callable[..., Any]]) -> None:
        self.plan = plan
        self.history = History()
        self.watchers = Watchers(self)
        self.machines: dict[int, Machine] = {}
        self.fences: dict[str, int] = {}  # a thing outside that checks fences: run -> highest fence it has seen
        self._takes: set[str] = set()  # processes that have begun to take
        self._agenda: list[tuple[Micros, int, Callable[[], None]]] = []
        self._entries = 0
        super().__init__(
            replicas=plan.replicas,
            store=self._make_cluster,
            seed=plan.seed,
            start=plan.start,
            latency=plan.latency,
            concurrency=20,
        )
        self.locks: SimLocks = SimLocks(self.clock, self.struck)
        for specimen in plan.zoo:
            self.job(specimen.job, bodies(self, specimen))
        for number in range(plan.replicas):
            self.machines[number] = self._machine(number)
        self.outside = Outsiders(self, self._link(Wire(), "client"))
        self.begins = self.clock.boot()

    # -- what a replica sees ------------------------------------------------------------------------

    def _make_cluster(self, clock: VirtualClock) -> Store:
        self._server_clock = ServerClock(ReplicaClock(clock))
        self.cluster = Cluster(self._server_clock, has_standby=self.plan.is_lossy)
        return self.cluster

    def leap(self, by: Micros) -> None:
        """Let the store's clock leap forward; whoever waits for its time hears of it."""
        self._server_clock.leapt += by

    def day(self, job: Job, number: int) -> str:
        """Return a business date of a job: that of the beginning, or so many days later."""
        return times.business_date(self.plan.start + number * DAY, job.tz, job.business_date)

    def _machine(self, number: int) -> Machine:
        return Machine(
            clock=ReplicaClock(self.clock),
            wire=Wire(),
            jobs=dict(self.jobs),
            traps=[],
            memory=MachineMemory(f"machine-{number}"),
        )

    def clock_of(self, number: int) -> ReplicaClock:
        """Return the machine's clock."""
        return self.machines[number].clock

    def order_of(self, number: int, incarnation: int) -> random.Random | None:
        """Return the dice of the ready queue."""
        return random.Random(f"{self.seed}/{number}/{incarnation}/order") if self.plan.in_any_order else None

    def state_of(self, number: int) -> StateFolder:
        """Return the machine's memory."""
        return self.machines[number].memory

    def store_for(self, replica: Replica) -> Store:
        """Return a process's own way to the cluster, which dies with it."""
        machine = self.machines[replica.number]
        machine.link = self._link(machine.wire, f"w{replica.number}.{self._incarnations[replica.number]}")
        return machine.link

    def _link(self, wire: Wire, who: str) -> Link:
        return Link(self.cluster, wire, who, told=self._called, count=self.struck)

    # -- what is kept -------------------------------------------------------------------------------

    def struck(self, kind: str) -> None:
        """Count a fault that has struck."""
        self.history.injected[kind] += 1

    def _called(self, call: Call) -> None:
        self.history.calls[call.verb] += 1
        self.watchers.on_call(call)

    def record(self, effect: Effect) -> None:
        """Write a line into the effect ledger, unless whoever writes is dead."""
        if self._current is None or not self._current.is_alive:
            return
        self.history.effects.append(effect)
        self.watchers.on_effect(effect)

    @property
    def here(self) -> Replica | None:
        """The replica whose code runs at this moment."""
        return self._current

    # -- the course of things -------------------------------------------------------------------------

    def at(self, moment: Micros, act: Callable[[], None]) -> None:
        """Do something at a moment, microseconds after the world's beginning."""
        self._entries += 1
        heapq.heappush(self._agenda, (self.begins + moment, self._entries, act))

    def after(self, length: Micros, act: Callable[[], None]) -> None:
        """Do something after a while."""
        self.at(self.clock.boot() - self.begins + length, act)

    def live(self, *, quiet: Micros = QUIET) -> None:
        """Live through the plan, then through the quiet time, and let the checkers judge."""
        points.install(self._passed)
        try:
            for fault in self.plan.faults:
                self.at(fault.at, partial(strike, self, fault))
            for deed in self.plan.deeds:
                self.at(deed.at, partial(self.outside.do, deed))
            self._until(self.plan.length)
            self._make_peace()
            self._until(self.plan.length + quiet)
        finally:
            points.install(None)
        self.watchers.at_end()
        if self.cluster.refused:
            raise AssertionError(f"the standby did not follow: {self.cluster.refused[0]}")

    def _until(self, moment: Micros) -> None:
        self.advance(max(0, self.begins + moment - self.clock.boot()))

    def _next_moment(self) -> Micros | None:
        """Return when something happens next: what is planned, what was added since, or what a replica waits for."""
        upcoming = super()._next_moment()
        if not self._agenda:
            return upcoming
        return self._agenda[0][0] if upcoming is None else min(upcoming, self._agenda[0][0])

    def _settle_instant(self) -> None:
        while self._agenda and self._agenda[0][0] <= self.clock.boot():
            _, _, act = heapq.heappop(self._agenda)
            super()._settle_instant()
            self._raise_errors()
            act()
        super()._settle_instant()

    def _make_peace(self) -> None:
        """Nothing goes wrong from here on."""
        self._agenda = []
        self.locks.heal()
        self.locks.free("ledger")
        self.outside.link.wire.heal()
        for number, machine in self.machines.items():
            machine.traps.clear()
            machine.wire.heal()
            self.set_pace(number)
            is_leaving = machine.comes_back_at is not None  # it was killed, or told to stop and has not ended yet
            machine.comes_back_at = None
            self.resume(number)
            if is_leaving or not self.replicas[number].is_alive or self.replicas[number].main.done():
                self.restart(number)
        self.outside.finish()
        if self.cluster.failovers:  # whoever was away has proved himself by then
            self.after(RELEASED_IN_PEACE, self.outside.release)

    # -- faults -------------------------------------------------------------------------------------

    def replica(self, number: int) -> Replica | None:
        """Return a replica that lives, None when nobody is there just now."""
        self.start()
        replica = self.replicas[number]
        return replica if replica.is_alive and not replica.main.done() else None

    def well(self) -> frozenset[str]:
        """Return the processes that nothing ails at this moment."""
        found = set()
        for replica in self.replicas:
            machine = self.machines[replica.number]
            is_leaving = machine.comes_back_at is not None  # it was told to stop, and takes nothing more
            if replica.goes and not replica.main.done() and machine.wire.is_well and not is_leaving:
                found.add(replica.info.id)
        return frozenset(found)

    def wires(self) -> list[Wire]:
        """Return every way to the store."""
        return [*(machine.wire for machine in self.machines.values()), self.outside.link.wire]

    def set_pace(self, number: int) -> None:
        """Let a replica's calls take as long as its wire makes them."""
        plain = (
            self.plan.latency if self.clock.boot() < self.begins + self.plan.length else min(self.plan.latency, 20_000)
        )
        self.replicas[number].gate.latency = self.machines[number].wire.latency(plain)

    def fail_over(self, lose: int, *, unseen: bool = False) -> int:
        """Let the store's standby take over without the last writes; returns how many were really lost."""
        lost = self.cluster.failover(lose, unseen=unseen)
        self.watchers.on_failover()
        return lost

    def empty(self) -> None:
        """Let another store lie here, in which there is nothing."""
        self.cluster.empty()
        self.outside.forget()
        self.watchers.on_emptied()

    def crash(self, number: int, down: Micros, *, kind: str = "crash") -> None:
        """Kill a replica and start another process in its place; it is counted as ``kind``."""
        if self.replica(number) is None:
            return
        self.struck(kind)
        self.kill(number)
        self.revive(number, down)

    def kill(self, number: int) -> None:
        """Kill a replica: it does nothing more, and nothing it asked for reaches the store."""
        super().kill(number)
        link = self.machines[number].link
        assert link is not None
        link.is_dead = True
        self.machines[number].wire.repeats.clear()

    def revive(self, number: int, down: Micros) -> None:
        """Start a new process after a while, unless one has come meanwhile."""
        moment = self.clock.boot() + down
        self.machines[number].comes_back_at = moment

        def back() -> None:
            if self.machines[number].comes_back_at == moment:
                self.machines[number].comes_back_at = None
                self.resume(number)
                self.restart(number)

        self.after(down, back)

    def restart(self, number: int) -> Replica:
        """Start a replica anew, with what its machine is to run."""
        old = self.replicas[number]
        if old.is_alive:
            self.kill(number)
        old.bury()
        self._every.remove(old)
        jobs, self.jobs = self.jobs, self.machines[number].jobs
        try:
            fresh = super().restart(number)
        finally:
            self.jobs = jobs
        self.set_pace(number)
        return fresh

    def stand_still(self, number: int, length: Micros) -> None:
        """Stop a replica for a while."""
        if self.replica(number) is None:
            return
        machine = self.machines[number]
        if machine.paused_until < self.clock.boot() + length:  # else it stands still for longer already
            self.struck("pause")
            machine.paused_until = self.clock.boot() + length
        self.pause(number)

        def go_on() -> None:
            if self.clock.boot() >= machine.paused_until:
                self.resume(number)

        self.after(length, go_on)

    def _passed(self, point: Point) -> None:
        """A replica's code passes a named point."""
        self.history.points[point] += 1
        replica = self._current
        if replica is None or not replica.is_alive:
            return
        if point is Point.TAKEN:
            self._takes.add(replica.info.id)
        traps = self.machines[replica.number].traps
        if not traps:
            return
        trap = next((trap for trap in traps if trap.point == point), None)
        if trap is None or (trap.act == "error" and replica.info.id not in self._takes):
            return  # a worker that cannot begin says why and ends: errors wait until it has begun
        if trap.act == "twice":
            self._repeat(replica.number, trap)
            return
        traps.remove(trap)
        self.history.points[f"{point}: {trap.act}"] += 1
        if trap.act == "crash":
            self.crash(replica.number, trap.length)
            replica.loop.stop()
            raise Gone(point)
        if trap.act == "pause":
            self.stand_still(replica.number, trap.length)
            replica.loop.stop()
        elif trap.act == "error":
            self.struck("error")
            error = StoreUnreachable if point is Point.APPLIED else RuntimeError
            raise error(f"injected: {point}")

    def _repeat(self, number: int, trap: f.AtPoint) -> None:
        """Let a write arrive twice: the one that comes next, or, at a point behind one, that one once more."""
        machine = self.machines[number]

        def count() -> None:
            self.history.points[f"{trap.point}: twice"] += 1

        assert machine.link is not None
        if trap.point not in BEHIND_A_WRITE:
            machine.wire.repeats.append(count)
        elif machine.link.arrive_again():
            count()
        else:
            return  # nothing was written yet, or nothing passes: it waits
        machine.traps.remove(trap)

    def _raise_errors(self) -> None:
        """A worker that ended by an error of its own is a finding; it is started anew, and the world goes on."""
        for replica in self.replicas:
            if not replica.is_alive:
                continue
            ended = (task for task in (replica.main, replica.keeper) if task.done() and not task.cancelled())
            errors = [*replica.loop.errors, *filter(None, (task.exception() for task in ended))]
            for error in errors[:1]:
                what = f"{replica.info.id} ended by {type(error).__name__}: {error}"
                self.blame(Violation(invariant="L3", checker="world", at=self.store.now(), what=what))
                self.kill(replica.number)
                self.revive(replica.number, SECOND)

    def blame(self, violation: Violation) -> None:
        """Keep a finding."""
        self.history.violations.append(violation)

    def die_here(self) -> None:
        """The code that runs takes its process with it."""
        replica = self._current
        assert replica is not None
        self.crash(replica.number, 3 * SECOND, kind="killed by its job")
        replica.loop.stop()
        raise Gone("killed by its job")

    def roll_out(self, name: str, job: Job, gap: Micros) -> None:
        """Give every machine a newer rule, one after the other; in between two versions run side by side."""
        fn = self.jobs[name][1]
        self.jobs[name] = (job, fn)
        for number, machine in self.machines.items():

            def upgrade(number: int = number, machine: Machine = machine) -> None:
                machine.jobs = {**machine.jobs, name: (job, fn)}
                if self.replica(number) is not None:
                    self.end_gracefully(number, 10 * SECOND)

            self.after(number * gap, upgrade)

    def end_gracefully(self, number: int, grace: Micros) -> None:
        """SIGTERM, and a new process when the old one has ended, by force if it takes too long."""
        self.replicas[number].engine.stop(grace)
        self.revive(number, grace + 20 * SECOND)
