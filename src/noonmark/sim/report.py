"""What many seeds came to, in figures and words.

Rule of the file: nothing is claimed that was not counted, and no count of zero stands without the bound it proves.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from noonmark.engine.points import Point
from noonmark.sim.plan import ENDS_BY_ERROR, REPEATED, Plan
from noonmark.sim.run import Outcome

ACTS = ("crash", "pause", "error", "twice")


def pairs() -> list[str]:
    """Return every pair of a named point and what can be done to a worker there."""
    spared = {"error": ENDS_BY_ERROR, "twice": frozenset(Point) - frozenset(REPEATED)}
    return [f"{point}: {act}" for point in Point for act in ACTS if point not in spared.get(act, ())]


def bound(count: int) -> str:
    """Return the rule of three: with no failure in n independent trials, at most 3/n fail, 95 times of 100."""
    return f"at most {3 / count:.2g}" if count > 3 else "too few to say"


@dataclass(slots=True)
class Report:
    """The sum of outcomes."""

    seeds: int = 0
    hours: float = 0.0
    scheduler_hours: float = 0.0
    cpu: float = 0.0
    runs: int = 0
    occurrences: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    proofs: Counter[str] = field(default_factory=Counter)
    digests: list[str] = field(default_factory=list)
    replayed: int = 0
    bad: list[Outcome] = field(default_factory=list)
    unlike: list[int] = field(default_factory=list)  # seeds whose second run had another digest

    def add(self, outcome: Outcome) -> None:
        """Count one seed."""
        self.seeds += 1
        self.hours += outcome.hours
        self.scheduler_hours += outcome.scheduler_hours
        self.cpu += outcome.cpu
        self.runs += outcome.runs
        self.occurrences += outcome.occurrences
        self.faults.update(outcome.faults)
        self.points.update(outcome.points)
        self.proofs.update(outcome.proofs)
        self.digests.append(f"{outcome.seed}:{outcome.digest}")
        if not outcome.is_good:
            self.bad.append(outcome)

    @property
    def is_good(self) -> bool:
        """True when no seed found anything and every replay was the same."""
        return not self.bad and not self.unlike

    def unpassed(self) -> list[str]:
        """Return the named points that no seed passed."""
        return [point for point in Point if not self.points[point]]

    def unstruck(self) -> list[str]:
        """Return the pairs of point and act of which none has happened."""
        return [pair for pair in pairs() if not self.points[pair]]

    def failures(self, *, is_whole: bool) -> Iterator[str]:
        """Yield why the run failed, most important first; nothing when it did not.

        Args:
            is_whole: these seeds are meant to strike every named point in every way.
        """
        if self.bad:
            yield f"{len(self.bad)} of {self.seeds} seeds found something wrong"
        if self.unlike:
            yield f"{len(self.unlike)} of {self.replayed} seeds gave another digest when lived through again"
        missing = len(self.unpassed()) + len(self.unstruck())
        if is_whole and missing:
            yield f"{missing} named points or pairs of point and act were not reached, and all are asked for (--cover)"

    def lines(self, *, seconds: float, is_whole: bool) -> Iterator[str]:
        """Say it; what was not reached is told one by one where it is a failure."""
        faults = sum(self.faults.values())
        yield f"{self.seeds} seeds · {self.hours:,.0f} simulated hours · {self.scheduler_hours:,.0f} scheduler-hours"
        spent = f"{seconds:.0f} s, {self.cpu:.0f} s of CPU"
        yield f"{self.occurrences:,} occurrences · {self.runs:,} runs · {faults:,} faults · {spent}"
        yield "faults: " + " · ".join(f"{name} {count:,}" for name, count in self.faults.most_common())
        struck = len(pairs()) - len(self.unstruck())
        yield (
            f"named points: {len(Point) - len(self.unpassed())} of {len(Point)} passed · "
            f"{struck} of {struck + len(self.unstruck())} pairs of point and act struck"
        )
        missing = [*self.unpassed(), *self.unstruck()]
        if is_whole:
            yield from (f"  not reached: {each}" for each in missing)
        elif missing:
            yield f"  not reached: {len(missing)} of them; only a whole run (make sim without SEEDS) is meant to reach all"
        yield from self.claims()
        yield f"replayed: {self.replayed} of {self.seeds} seeds a second time, {len(self.unlike)} differed"
        found = sum(len(outcome.violations) + bool(outcome.error) for outcome in self.bad)
        whole = f" · 95 % bound for this mix of faults: {bound(self.seeds)} of worlds" if self.seeds else ""
        yield f"violations: {found}" + ("" if found else whole)

    def claims(self) -> Iterator[str]:
        """Yield a line for everything that was tested: how often, and how often it may be wrong all the same."""
        blamed = {violation.checker for outcome in self.bad for violation in outcome.violations}
        width = max(map(len, self.proofs), default=0)
        yield "tested, and of which share it may be wrong all the same (95 % bound, 3/n, where none was found wrong):"
        for name, count in sorted(self.proofs.items()):
            is_blamed = name.partition(":")[0] in blamed
            yield f"  {name:{width}} {count:>9,}  {'found wrong, see below' if is_blamed else bound(count)}"

    def as_json(self) -> dict[str, Any]:
        """Return the figures for a file."""
        return {
            "seeds": self.seeds,
            "hours": round(self.hours, 1),
            "scheduler_hours": round(self.scheduler_hours, 1),
            "faults": sum(self.faults.values()),
            "runs": self.runs,
            "occurrences": self.occurrences,
            "tests": sum(self.proofs.values()),
            "replayed": self.replayed,
            "violations": sum(len(outcome.violations) + bool(outcome.error) for outcome in self.bad),
            "bad": sorted(outcome.seed for outcome in self.bad),
            "unlike": sorted(self.unlike),
            "digest": hashlib.sha256("\n".join(sorted(self.digests)).encode()).hexdigest()[:16],
        }


def story(outcome: Outcome, plan: Plan, kept: tuple[int, ...], *, commit: str, hours: float) -> Iterator[str]:
    """Say how a seed failed, and how to see it again."""
    yield f"seed {outcome.seed} at {commit}:"
    for violation in outcome.violations[:10]:
        yield f"  {violation}"
    if outcome.error:
        yield f"  {outcome.error}"
    yield f"  with {len(kept)} of {len(plan.faults)} faults:"
    for place in kept:
        yield f"    {place}: {plan.faults[place]}"
    chosen = ",".join(map(str, kept)) or "none"
    yield f"  again: python -m noonmark.sim --replay {outcome.seed} --hours {hours:g} --keep {chosen}"
