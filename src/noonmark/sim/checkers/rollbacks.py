"""S13, X2: what a failover loses is told, and nothing whose success was acknowledged is repeated in silence.

Rule of the file: a success counts as acknowledged when its answer reached the worker; what happened before the failover
is taken from what crossed the wire, for the store has forgotten it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.core import rollback
from noonmark.core.model import Event, Query
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call, Effect

if TYPE_CHECKING:
    from noonmark.sim.checkers.ground import Ground
    from noonmark.sim.world import SimWorld

_FLAGS = frozenset({"restored_epoch", "released"})


class Rollbacks(Watch):
    """Watches worlds whose store loses what it acknowledged."""

    name = "rollbacks"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._succeeded: set[tuple[int, str]] = set()  # occurrence and key of every acknowledged success
        self._repeated: list[Effect] = []

    def on_call(self, call: Call) -> None:
        """Remember acknowledged successes."""
        if not self.world.plan.is_lossy or call.verb != "settle" or not call.told:
            return
        for item, answer in zip(call.args[2], call.answer, strict=True):
            if item.event is Event.SUCCEED and answer.outcome == "applied":
                row = self.world.cluster.occurrences(Query(ids=(item.occurrence_id,)))[0]
                self._succeeded.add((row.id, row.key))

    def on_effect(self, effect: Effect) -> None:
        """Remember runs of what had succeeded."""
        if effect.phase == "start" and (effect.occurrence_id, effect.key) in self._succeeded:
            self._repeated.append(effect)

    def at_end(self) -> None:
        """Judge what was lost and what was repeated."""
        lost = [(at, count) for at, count in self.world.cluster.failovers if count]
        if not lost:
            if self._repeated:
                self.blame("S1", f"{self._repeated[0].key} was run again after its success, and nothing was lost")
            return
        self.prove("failovers that lost something", len(lost))
        self.prove("successes that a failover could have lost", len(self._succeeded))
        fact = self.world.cluster.facts([rollback.FACT])[rollback.FACT]
        for effect in self._repeated:
            story = self.world.cluster.story(effect.occurrence_id)
            codes = {line.code for line in story.ledger} if story is not None else set()
            if codes & _FLAGS:
                self.prove("repeats, each flagged")
            elif story is not None and rollback.epoch_of(story.occurrence, fact) is not None:
                self.prove("repeats that began before the loss was proved, each flagged by why")
            else:
                self.blame("S13", f"r{effect.occurrence_id} ({effect.key}) was repeated in silence; it was {codes}")
