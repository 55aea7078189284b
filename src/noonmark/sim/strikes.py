"""How each fault is done to a world.

Rule of the file: one small function for each kind; what begins here ends by itself, unless peace comes first.  What
waits for a call to meet it (a wire, a lock, a trap) is counted when one does, and not before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from noonmark.core.model import MINUTE, Micros
from noonmark.sim import faults as f
from noonmark.sim.store import Flaw, Wire

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
    world.machines[fault.replica].traps.append(fault)


def _stop(world: SimWorld, fault: f.Stop) -> None:
    if world.replica(fault.replica) is not None and world.machines[fault.replica].comes_back_at is None:
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


def _lay(world: SimWorld, flaw: Flaw, wires: Sequence[Wire], length: Micros) -> None:
    """Let a flaw lie over wires for a while."""
    for wire in wires:
        wire.flaws.append(flaw)

    def mend() -> None:
        for wire in wires:
            wire.mend(flaw)

    world.after(length, mend)


def _cut_one(world: SimWorld, fault: f.Cut) -> None:
    _lay(world, Flaw("cut", cuts=True), [world.machines[fault.replica].wire], fault.length)


def _outage(world: SimWorld, fault: f.Outage) -> None:
    _lay(world, Flaw("outage", cuts=True), world.wires(), fault.length)


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
    _lay(world, Flaw(fate=fate, hears=lambda: dice.random() >= fault.deaf), [wire], fault.length)


def _slow(world: SimWorld, fault: f.Slow) -> None:
    world.start()
    machine = world.machines[fault.replica]
    _lay(world, Flaw("slow", latency=fault.latency), [machine.wire], fault.length)
    world.set_pace(fault.replica)
    world.after(fault.length, lambda: world.set_pace(fault.replica))


def _failover(world: SimWorld, fault: f.Failover) -> None:
    if world.fail_over(fault.lose, unseen=fault.unseen):
        world.struck("put back unseen" if fault.unseen else "failover")
    world.after(RELEASE_AFTER, world.outside.release)


def _emptied(world: SimWorld, _fault: f.Emptied) -> None:
    world.struck("came back empty")
    world.empty()


def _lock_taken(world: SimWorld, fault: f.LockTaken) -> None:
    world.locks.take_away("ledger", fault.length)


def _locks_away(world: SimWorld, fault: f.LocksAway) -> None:
    world.after(fault.length, world.locks.go_away())


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
    f.Emptied: _emptied,
    f.LockTaken: _lock_taken,
    f.LocksAway: _locks_away,
}
