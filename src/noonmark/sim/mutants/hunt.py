"""Let worlds live with one bug until somebody finds it.

Promise: a world with a bug comes to its end within bounds, whatever the bug does to it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from noonmark.core.model import HOUR
from noonmark.sim.mutants.of_acts import ACT_MUTANTS
from noonmark.sim.mutants.of_engine import ENGINE_MUTANTS
from noonmark.sim.mutants.of_records import RECORD_MUTANTS
from noonmark.sim.mutants.of_rollbacks import ROLLBACK_MUTANTS
from noonmark.sim.mutants.of_rules import RULE_MUTANTS
from noonmark.sim.mutants.of_stores import STORE_MUTANTS
from noonmark.sim.mutants.plant import Mutant, planted
from noonmark.sim.plan import draw
from noonmark.sim.run import run_seed

MUTANTS: tuple[Mutant, ...] = (
    *STORE_MUTANTS,
    *RECORD_MUTANTS,
    *ACT_MUTANTS,
    *ENGINE_MUTANTS,
    *RULE_MUTANTS,
    *ROLLBACK_MUTANTS,
)
SEEDS = 12
"""How many worlds a bug may live in before it counts as not found."""
DRAWN = 4000
"""Among how many plans those worlds are looked for."""
PATIENCE = 40.0
"""Seconds of processor time after which a world counts as one that does not come to its end."""


class Stuck(KeyboardInterrupt):
    """The world does not come to its end; no ``except Exception`` of it may hide that."""


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
        outcome = run_seed(seed, length=length)
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
