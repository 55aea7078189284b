"""One seed from beginning to end, and what came of it.

Promise: the same seed and the same kept faults give the same digest, whatever else the process has done.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

from noonmark.core.model import HOUR, Micros, Occurrence, Query
from noonmark.sim.bodies import body_of
from noonmark.sim.checkers import make_checkers
from noonmark.sim.history import Checker, Violation
from noonmark.sim.plan import LENGTH, QUIET, Plan, draw
from noonmark.sim.world import SimWorld

_CHOSEN_BY_CHANCE = frozenset({"holder"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one seed came to."""

    seed: int
    hours: float  # simulated
    scheduler_hours: float  # ... times replicas
    digest: str
    cpu: float  # seconds
    faults: Counter[str]
    points: Counter[str]
    calls: Counter[str]
    proofs: Counter[str]
    runs: int
    occurrences: int
    violations: tuple[Violation, ...]
    error: str = ""

    @property
    def is_good(self) -> bool:
        """True when nothing was found wrong."""
        return not self.violations and not self.error


def run_seed(seed: int, *, length: Micros = LENGTH, kept: frozenset[int] | None = None) -> Outcome:
    """Draw a seed's plan and live through it.

    Args:
        length: of the world, microseconds.
        kept: which of the plan's faults happen, by their places; None = all.
    """
    plan = draw(seed, length=length)
    return run_plan(plan if kept is None else plan.keeping(kept))


def run_plan(plan: Plan, make: Callable[[SimWorld], Sequence[Checker]] = make_checkers) -> Outcome:
    """Live through a plan."""
    began = time.process_time()
    error = ""
    with quiet_log(), unswept():
        world = SimWorld(plan, body_of)
        try:
            world.watchers.begin(make)
            try:
                world.live()
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
            rows = world.cluster.occurrences(Query(after_id=0, limit=1_000_000))
            return Outcome(
                seed=plan.seed,
                hours=(plan.length + QUIET) / HOUR,
                scheduler_hours=(plan.length + QUIET) / HOUR * plan.replicas,
                digest=_digest(world, rows),
                cpu=time.process_time() - began,
                faults=world.history.injected,
                points=world.history.points,
                calls=world.history.calls,
                proofs=world.history.proofs,
                runs=sum(effect.phase == "start" for effect in world.history.effects),
                occurrences=len(rows),
                violations=tuple(world.history.violations),
                error=error,
            )
        finally:
            world.close()


def _digest(world: SimWorld, rows: Sequence[Occurrence]) -> str:
    """Return a hash of everything that happened."""
    found = hashlib.sha256()
    for effect in world.history.effects:
        found.update(repr(effect).encode())
    names = [each.name for each in fields(Occurrence) if each.name not in _CHOSEN_BY_CHANCE]
    for row in rows:
        found.update(
            repr([_said(getattr(row, name)) if name == "error" else getattr(row, name) for name in names]).encode()
        )
    return found.hexdigest()[:16]


def _said(error: str | None) -> str:
    """Return what an error says without where: paths and lines are those of one machine and one day."""
    return (error or "").strip().rpartition("\n")[2]


@contextmanager
def unswept() -> Iterator[None]:
    """Look for garbage once, when the world is over: until then nearly all of it lives, and looking costs a tenth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
        gc.collect(1)  # what is older is not of this world


@contextmanager
def quiet_log() -> Iterator[None]:
    """The engine warns of every fault; here faults are the rule."""
    logger = logging.getLogger("noonmark")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
