"""I9: what a run remembers as done is not done again, and an effect that was to happen once happens once.

Rule of the file: a step counts as remembered when the store has kept it, whether or not its worker heard so.  A run that
lost its lease may be in the middle of a step (S11); it is not blamed here.
A memory that a failover took back is none: the step may be done again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from noonmark.engine.journal import intended
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld


class Steps(Watch):
    """Watches steps and once-effects."""

    name = "steps"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._once: Counter[tuple[int, str]] = Counter()

    def on_effect(self, effect: Effect) -> None:
        """Judge the bodies of steps and once-effects."""
        kind, _, name = effect.phase.partition(":")
        if kind == "step":
            self._judge_step(effect, name)
        elif kind == "once":
            self._judge_once(effect, name)

    def on_failover(self) -> None:
        """Forget what the store has forgotten: an effect may happen again where its intent or its mark is gone."""
        self._once = Counter(
            {once: count for once, count in self._once.items() if (once[0], "done", once[1]) in self.ground.notes}
        )

    def _judge_step(self, effect: Effect, number: str) -> None:
        self.prove("steps")
        if effect.attempt > 1:
            self.prove("steps of later attempts")
        is_ours = effect.fence == self.ground.newest.get(effect.occurrence_id, 0)
        kept_by = self.ground.notes.get((effect.occurrence_id, "step", f"step-{number}"))
        if kept_by is not None and is_ours:
            name = f"r{effect.occurrence_id} of {effect.job}"
            self.blame("I9", f"{name} did step {number} again, which fence {kept_by} had recorded")

    def _judge_once(self, effect: Effect, name: str) -> None:
        self.prove("once-effects")
        run = f"r{effect.occurrence_id} of {effect.job}"
        self._once[(effect.occurrence_id, name)] += 1
        intents = [
            noted
            for number, kind, noted in self.ground.ever_noted
            if number == effect.occurrence_id and kind == "intent" and intended(noted)[0] == name
        ]  # more than one where a person answered for an effect that nobody knew of: it may be caused once more
        if self._once[(effect.occurrence_id, name)] > max(1, len(intents)):
            self.blame("I9", f"{run} caused {name} twice")
        if (effect.occurrence_id, "intent", name) not in self.ground.ever_noted:
            self.blame("I9", f"{run} caused {name} without an intent on record")
