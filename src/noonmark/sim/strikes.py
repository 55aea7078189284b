"""How each fault is done to a world.

Rule of the file: one small function for each kind; what begins here ends by itself, unless peace comes first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from noonmark.core.model import MINUTE, Micros
from noonmark.sim import faults as f
from noonmark.sim.store import hears_all, no_fate

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld


RELEASE_AFTER: Micros = 10 * MINUTE
"""So long after a failover a person lets go what is held."""


def strike(world: SimWorld, fault: f.AnyFault) -> None:
    """Do it."""
    _DOINGS[type(fault)](world, fault)


def _crash_all(world: SimWorld, fault: f.CrashAll) -> None:
    for number in world.machines:
        world.crash(number, fault.down)


def _set_trap(world: SimWorld, fault: f.AtPoint) -> None:
    machine = world.machines[fault.replica]
    if fault.act == "twice":
        machine.wire.repeats += 1
        return
    machine.traps.append(fault)


def _stop(world: SimWorld, fault: f.Stop) -> None:
    if world.replica(fault.replica) is not None:
        world.struck("stop")
        world.end_gracefully(fault.replica, fault.grace)


def _step(world: SimWorld, fault: f.StepClock) -> None:
    world.struck("step")
    world.machines[fault.replica].clock.step(fault.by)


def _drift(world: SimWorld, fault: f.Drift) -> None:
    world.struck("drift")
    world.machines[fault.replica].clock.run_at(fault.ppm)


def _leap(world: SimWorld, fault: f.LeapStore) -> None:
    world.struck("leap")
    world.leap(fault.by)


def _cut(world: SimWorld, numbers: Sequence[int], length: Micros) -> None:
    for number in numbers:
        world.machines[number].wire.is_cut = True

    def mend() -> None:
        for number in numbers:
            world.machines[number].wire.is_cut = False

    world.after(length, mend)


def _cut_one(world: SimWorld, fault: f.Cut) -> None:
    world.struck("cut")
    _cut(world, [fault.replica], fault.length)


def _outage(world: SimWorld, fault: f.Outage) -> None:
    world.struck("outage")
    _cut(world, list(world.machines), fault.length)
    world.outside.link.wire.is_cut = True
    world.after(fault.length, lambda: setattr(world.outside.link.wire, "is_cut", False))


def _flaky(world: SimWorld, fault: f.Flaky) -> None:
    dice = random.Random(f"{world.seed} flaky {fault.at}")

    def fate(_verb: str) -> str:
        drawn = dice.random()
        for share, word in ((fault.before, "before"), (fault.after, "after"), (fault.twice, "twice")):
            if drawn < share:
                return word
            drawn -= share
        return ""

    wire = world.outside.link.wire if fault.replica < 0 else world.machines[fault.replica].wire
    hears = lambda: dice.random() >= fault.deaf  # noqa: E731
    wire.fate, wire.hears = fate, hears

    def mend() -> None:
        if wire.fate is fate:
            wire.fate, wire.hears = no_fate, hears_all

    world.after(fault.length, mend)


def _slow(world: SimWorld, fault: f.Slow) -> None:
    world.struck("slow")
    machine = world.machines[fault.replica]

    def set_latency(latency: Micros) -> None:
        machine.latency = latency
        world.start()
        world.replicas[fault.replica].gate.latency = latency

    set_latency(fault.latency)
    world.after(fault.length, lambda: set_latency(world.plan.latency))


def _failover(world: SimWorld, fault: f.Failover) -> None:
    world.struck("failover")
    world.cluster.failover(fault.lose)
    world.after(RELEASE_AFTER, world.outside.release)


def _lock_taken(world: SimWorld, fault: f.LockTaken) -> None:
    world.struck("lock taken")
    world.locks.take("ledger", fault.length)


def _locks_away(world: SimWorld, fault: f.LocksAway) -> None:
    world.struck("locks away")
    world.locks.is_away = True
    world.after(fault.length, lambda: setattr(world.locks, "is_away", False))


_DOINGS: dict[type, Callable[[SimWorld, Any], None]] = {
    f.Crash: lambda world, fault: world.crash(fault.replica, fault.down),
    f.CrashAll: _crash_all,
    f.AtPoint: _set_trap,
    f.Pause: lambda world, fault: world.stand_still(fault.replica, fault.length),
    f.Stop: _stop,
    f.StepClock: _step,
    f.Drift: _drift,
    f.LeapStore: _leap,
    f.Outage: _outage,
    f.Cut: _cut_one,
    f.Flaky: _flaky,
    f.Slow: _slow,
    f.Failover: _failover,
    f.LockTaken: _lock_taken,
    f.LocksAway: _locks_away,
}
