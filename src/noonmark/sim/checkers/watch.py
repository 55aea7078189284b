"""What every checker is made of.

Rule of the file: a checker sees calls and effects in the order in which they happened, after ``ground`` has read them;
it blames at most a handful of times, for one fault seldom comes alone, and counts what it has really tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.sim.history import Call, Effect, Violation

if TYPE_CHECKING:
    from noonmark.sim.checkers.ground import Ground
    from noonmark.sim.world import SimWorld

FINDINGS = 5
"""How often one checker blames in one world at most."""


class Watch:
    """A checker that sees nothing yet.

    Args:
        world: the world it watches.
        ground: what is known of that world's store, kept by whoever is told first.
    """

    name = "watch"
    hears_silence = False
    """True for one that is shown calls, too, that changed nothing."""

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        self.world = world
        self.ground = ground
        self._blamed = 0

    def on_call(self, call: Call) -> None:
        """See a verb that the store has just carried out."""

    def on_effect(self, effect: Effect) -> None:
        """See what a job has just done to the outside."""

    def on_failover(self) -> None:
        """See that the store has just lost its last writes; ``ground`` has read it anew."""

    def at_end(self) -> None:
        """Judge the whole, long after the last fault."""

    def blame(self, invariant: str, what: str) -> None:
        """Report a violation."""
        self._blamed += 1
        if self._blamed <= FINDINGS:
            violation = Violation(invariant=invariant, checker=self.name, at=self.world.store.now(), what=what)
            self.world.blame(violation)

    def prove(self, what: str, times: int = 1) -> None:
        """Count something that was really tested."""
        if times:
            self.world.history.proofs[f"{self.name}: {what}"] += times
