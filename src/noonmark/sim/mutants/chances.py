"""How many runs a world's faults are likely to meet, for bugs that show only in a run that is at work in a bad moment.

Promise: the plan alone is looked at, no world is lived through for it.  Rule of the file: an estimate from when runs
begin and how long their code takes; that a job is paused, edited, late or tried again is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from noonmark.core.model import FAR, Micros
from noonmark.sim import almanac
from noonmark.sim import faults as f
from noonmark.sim.plan import Plan
from noonmark.sim.zoo import Specimen

Rest: TypeAlias = tuple[Micros, Micros, float]
"""How much longer, at least and at most, a run's code must go on after a fault has struck, and how often that counts."""
ENOUGH = 0.5
"""So many runs met: such a world shows the bug more often than not, and some fifty of the plans looked at are such."""
MANY = 10
"""So many lost writes take a lease back, more often than not."""
_CALLS = frozenset({"later", "emit", "run"})


def runs_met(plan: Plan, rest_of: Callable[[f.AnyFault, Micros], Rest | None]) -> float:
    """Return how many runs are likely to be met by a fault at a moment that counts.

    Args:
        rest_of: for a fault and a job's lease, with how much work left a run is met; None = never.
    """
    met = 0.0
    for specimen in plan.zoo:
        if specimen.body.has_once:  # at its end it asks the store first, and goes no further
            continue
        rests = [(fault, rest) for fault in plan.faults if (rest := rest_of(fault, specimen.job.lease)) is not None]
        rests = [(fault, rest) for fault, rest in rests if rest[0] < specimen.body.longest]
        if not rests:
            continue
        begins = _begins(plan, specimen)
        for fault, (least, most, chance) in rests:
            likely = sum(
                _likely(specimen, fault.at - at + least, fault.at - at + most) for at in begins if at <= fault.at
            )
            met += chance * likely / (plan.replicas if isinstance(fault, f.Cut | f.Pause) else 1)
    return met


def cut_off(fault: f.AnyFault, lease: Micros) -> Rest | None:
    """A run that comes to its end while its worker reaches no store, and after its lease."""
    if isinstance(fault, f.Cut | f.Outage) and fault.length > lease:
        return lease, fault.length, 1.0
    return None


def bereft(fault: f.AnyFault, lease: Micros) -> Rest | None:
    """A run that has work left when its lease is another's, or nobody's, and whose worker hears so at the next renewal.

    A process that wakes may look first at the time and then ask; of two workers one may renew before the other takes;
    and a failover takes back only what is new.
    """
    if isinstance(fault, f.Pause) and fault.length > lease:
        return fault.length, FAR, 0.4
    if isinstance(fault, f.LeapStore) and fault.by > lease:
        return lease // 3, FAR, 0.3
    if isinstance(fault, f.Failover) and fault.lose >= MANY:
        return lease // 3, FAR, 0.5
    return None


def _begins(plan: Plan, specimen: Specimen) -> list[Micros]:
    """Return when runs of a job are to begin, microseconds after the world's beginning."""
    job = specimen.job
    asked = [deed.at + deed.delay for deed in plan.deeds if deed.what == job.name and deed.kind in _CALLS]
    moments = [at - plan.start for at in almanac.moments(job, plan.start, plan.start + plan.length)]
    subjects = 1
    for values in job.each.values():
        subjects *= len(values)
    return asked + moments * subjects


def _likely(specimen: Specimen, least: Micros, most: Micros) -> float:
    """Return the share of a job's runs that take between so and so long."""
    low, high = specimen.body.shortest, max(specimen.body.longest, specimen.body.shortest + 1)
    return max(0, min(high, most) - max(low, least)) / (high - low)
