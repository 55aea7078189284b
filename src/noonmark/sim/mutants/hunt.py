"""Let worlds live with one bug until somebody finds it.

Promise: a world with a bug comes to its end within bounds, whatever the bug does to it, and at once when it was found.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from noonmark.core.model import HOUR, Micros
from noonmark.sim.checkers import make_checkers
from noonmark.sim.history import Checker
from noonmark.sim.mutants.of_acts import ACT_MUTANTS
from noonmark.sim.mutants.of_emptied import EMPTIED_MUTANTS
from noonmark.sim.mutants.of_engine import ENGINE_MUTANTS
from noonmark.sim.mutants.of_records import RECORD_MUTANTS
from noonmark.sim.mutants.of_rollbacks import ROLLBACK_MUTANTS
from noonmark.sim.mutants.of_rules import RULE_MUTANTS
from noonmark.sim.mutants.of_stores import STORE_MUTANTS
from noonmark.sim.mutants.plant import Mutant, planted
from noonmark.sim.plan import draw
from noonmark.sim.run import Outcome, run_plan
from noonmark.sim.world import SimWorld

MUTANTS: tuple[Mutant, ...] = (
    *STORE_MUTANTS,
    *RECORD_MUTANTS,
    *ACT_MUTANTS,
    *ENGINE_MUTANTS,
    *RULE_MUTANTS,
    *ROLLBACK_MUTANTS,
    *EMPTIED_MUTANTS,
)
SEEDS = 12
"""How many worlds a bug may live in before it counts as not found."""
DRAWN = 4000
"""Among how many plans those worlds are looked for."""
PATIENCE = 40.0
"""Seconds of processor time after which a world counts as one that does not come to its end."""


class Stuck(KeyboardInterrupt):
    """The world does not come to its end; no ``except Exception`` of it may hide that."""


class Found(Exception):
    """Something is wrong in this world, and that is all that was asked of it."""


class Impatient:
    """A checker that ends a world at the next step after somebody, or who is waited for, has found something."""

    name = "impatient"

    def __init__(self, world: SimWorld, finder: str) -> None:
        self._world = world
        self._finder = finder

    def on_call(self, call: object) -> None:  # noqa: ARG002
        """End the world if it is time; from here the engine would catch what is raised."""
        if any(self._finder in ("", each.checker) for each in self._world.history.violations):
            self._world.after(0, self._end)

    on_effect = on_call

    def _end(self) -> None:
        raise Found

    def on_failover(self) -> None:
        """Nothing to see."""

    def has_claim(self, effect: object) -> bool:  # noqa: ARG002
        """No claim is judged here."""
        return False

    def at_end(self) -> None:
        """Nothing to judge."""


def run_until_found(seed: int, length: Micros, *, finder: str = "") -> Outcome:
    """Live through a seed's world, of so many microseconds, until ``finder`` (a checker's name; "" = any) blames it.

    The first violation is the one of the whole world; what would have come after it is left out, and so are the
    judgements at the end.
    """

    def make(world: SimWorld) -> list[Checker]:
        return [*make_checkers(world), Impatient(world, finder)]

    return run_plan(draw(seed, length=length), make)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """What came of one mutant: who found it, by which invariant, in the how manieth world."""

    name: str
    seen_in: str
    checker: str = ""
    invariant: str = ""
    what: str = ""
    seed: int = -1
    worlds: int = 0


def hunt(mutant: Mutant, *, seeds: int = SEEDS) -> Hunt:
    """Let seeds live with a bug until somebody finds it."""
    lived = 0
    for seed in _fitting(mutant, seeds):
        lived += 1
        with planted(mutant):
            found = _first_finding(seed, int(mutant.hours * HOUR))
        if found is not None:
            checker, invariant, what = found
            return Hunt(
                name=mutant.name, seen_in=mutant.seen_in, checker=checker, invariant=invariant, what=what, seed=seed,
                worlds=lived,
            )  # fmt: skip
    return Hunt(name=mutant.name, seen_in=mutant.seen_in, worlds=lived)


def _fitting(mutant: Mutant, most: int) -> Iterator[int]:
    found = 0
    for seed in range(DRAWN):
        if mutant.needs.fits(draw(seed, length=int(mutant.hours * HOUR))):
            yield seed
            found += 1
            if found == most:
                return


def _first_finding(seed: int, length: int) -> tuple[str, str, str] | None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Stuck

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        outcome = run_until_found(seed, length)
    except Stuck:
        return "world", "L1", "it does not come to its end"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    if outcome.violations:
        first = outcome.violations[0]
        return first.checker, first.invariant, first.what
    return ("world", "", outcome.error) if outcome.error else None


def hunt_at(place: int, *, seeds: int) -> Hunt:
    """Hunt one bug by its place; what crosses to another process is a number."""
    return hunt(MUTANTS[place], seeds=seeds)
