"""The checkers: each watches one family of invariants from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.sim.checkers.acknowledged import Acknowledged
from noonmark.sim.checkers.alerts import Alerts
from noonmark.sim.checkers.another import Another
from noonmark.sim.checkers.effects import Effects
from noonmark.sim.checkers.explain import Explain
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.keys import Keys
from noonmark.sim.checkers.leases import Leases
from noonmark.sim.checkers.lifecycle import LifeCycle
from noonmark.sim.checkers.liveness import Liveness
from noonmark.sim.checkers.occurrences import Occurrences
from noonmark.sim.checkers.reasons import Reasons
from noonmark.sim.checkers.rollbacks import Rollbacks
from noonmark.sim.checkers.stale import Stale
from noonmark.sim.checkers.steps import Steps
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call, Checker, Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

CHECKERS = (
    Leases,
    Stale,
    Effects,
    Keys,
    LifeCycle,
    Occurrences,
    Acknowledged,
    Steps,
    Alerts,
    Liveness,
    Reasons,
    Explain,
    Rollbacks,
    Another,
)


class Panel:
    """All checkers as one; what changed nothing, as most calls do, is shown to those only that judge silence, too."""

    name = "panel"

    def __init__(self, world: SimWorld) -> None:
        ground = Ground(world)
        self._ground = ground
        self._watches: list[Watch] = [make(world, ground) for make in CHECKERS]
        listening = [watch for watch in self._watches if type(watch).on_call is not Watch.on_call]
        self._hear = [watch.on_call for watch in listening]
        self._hear_silence = [watch.on_call for watch in listening if watch.hears_silence]
        self._see = [watch.on_effect for watch in self._watches if type(watch).on_effect is not Watch.on_effect]

    def on_call(self, call: Call) -> None:
        """Let ground read a verb, then the others judge."""
        self._ground.on_call(call)
        for hear in self._hear if self._ground.has_news(call) else self._hear_silence:
            hear(call)

    def on_effect(self, effect: Effect) -> None:
        """Show what a job has just done to the outside."""
        for see in self._see:
            see(effect)

    def on_failover(self) -> None:
        """Let ground read everything anew, then tell the others."""
        self._ground.on_failover()
        for watch in self._watches:
            watch.on_failover()

    def has_claim(self, effect: Effect) -> bool:
        """Return True when the store that is watched granted the run that an effect is of."""
        begun = self._ground.began.get((effect.occurrence_id, effect.fence))
        return begun is not None and (begun.who, begun.row.key) == (effect.who, effect.key)

    def at_end(self) -> None:
        """Let all judge the whole."""
        self._ground.at_end()
        for watch in self._watches:
            watch.at_end()


def make_checkers(world: SimWorld) -> list[Checker]:
    """Return every checker, fresh, for one world."""
    return [Panel(world)]
