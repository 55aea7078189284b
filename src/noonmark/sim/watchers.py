"""Who watches a world: checkers for the store that lies there, and those of the stores that lay there before.

Rule of the file: what a call does belongs to the store of now; what a run does belongs to the store that granted it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from noonmark.sim.history import Call, Checker, Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld


class Watchers:
    """The checkers of one world."""

    def __init__(self, world: SimWorld) -> None:
        self._world = world
        self._make: Callable[[SimWorld], Sequence[Checker]] = lambda _: ()
        self._now: list[Checker] = []
        self._former: list[list[Checker]] = []

    def begin(self, make: Callable[[SimWorld], Sequence[Checker]]) -> None:
        """Let these watch, and others of the same make every store that comes to lie here."""
        self._make = make
        self._now = list(make(self._world))

    def on_call(self, call: Call) -> None:
        """Show a verb that the store has just carried out."""
        for checker in self._now:
            checker.on_call(call)

    def on_effect(self, effect: Effect) -> None:
        """Show what a job has just done to the outside, and to those in whose time its run was granted."""
        eras = [self._now, *reversed(self._former)]
        granted = (era for era in eras if any(checker.has_claim(effect) for checker in era))
        for checker in next(granted, self._now) if self._former else self._now:
            checker.on_effect(effect)

    def on_failover(self) -> None:
        """Tell that the store has just lost its last writes."""
        for checker in self._now:
            checker.on_failover()

    def on_emptied(self) -> None:
        """Another store lies there: what is written there is judged anew."""
        self._former.append(self._now)
        self._now = list(self._make(self._world))

    def at_end(self) -> None:
        """Let all judge the whole; of a store that is gone nothing can be asked any more."""
        for checker in self._now:
            checker.at_end()
