"""What a planted bug is, and how it is planted and pulled out again.

Rule of the file: a mutant replaces functions of modules and classes for a while; no file is touched, and whatever was
replaced stands in its place again afterwards, in reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from noonmark.sim import faults as f
from noonmark.sim.plan import Plan

Anything = Callable[..., Any]


class Planter:
    """Replaces things, and puts them back."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module or class."""
        self._before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def around(self, owner: Any, name: str, make: Callable[[Anything], Anything]) -> None:
        """Replace a function by one that knows the original."""
        self.put(owner, name, make(vars(owner)[name]))

    def pull(self) -> None:
        """Put everything back."""
        while self._before:
            owner, name, value = self._before.pop()
            setattr(owner, name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Which worlds can show a bug at all: who must live there, and what must happen."""

    jobs: tuple[str, ...] = ()
    any_job: tuple[str, ...] = ()
    faults: tuple[type, ...] = ()
    points: tuple[str, ...] = ()
    deeds: tuple[str, ...] = ()
    replicas: int = 1
    starts: tuple[int, ...] = ()
    when: Callable[[Plan], bool] = field(default=lambda _: True)

    def fits(self, plan: Plan) -> bool:
        """Return True for a plan in which the bug may show."""
        names = {specimen.job.name for specimen in plan.zoo}
        kinds = {type(fault) for fault in plan.faults}
        points = {fault.point for fault in plan.faults if isinstance(fault, f.AtPoint)}
        deeds = {deed.kind for deed in plan.deeds}
        return (
            names.issuperset(self.jobs)
            and (not self.any_job or not names.isdisjoint(self.any_job))
            and kinds.issuperset(self.faults)
            and points.issuperset(self.points)
            and deeds.issuperset(self.deeds)
            and plan.replicas >= self.replicas
            and (not self.starts or plan.start in self.starts)
            and self.when(plan)
        )


def queues(plan: Plan) -> bool:
    """Return True for a plan with a job whose rounds wait for each other."""
    return any(specimen.job.on_overlap == "queue_all" for specimen in plan.zoo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One planted bug.

    ``name`` says what is wrong, ``seen_in`` where such a bug was met or what it stands for; ``hours`` is how long its
    worlds must be.
    """

    name: str
    plant: Callable[[Planter], None]
    seen_in: str = ""
    needs: Needs = Needs()
    hours: float = 1.25


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Let a bug live for a while."""
    planter = Planter()
    try:
        mutant.plant(planter)
        yield
    finally:
        planter.pull()
