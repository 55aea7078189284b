"""The checkers: each watches one family of invariants from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.sim.checkers.acknowledged import Acknowledged
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
from noonmark.sim.history import Checker

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
    Liveness,
    Reasons,
    Explain,
    Rollbacks,
)


def make_checkers(world: SimWorld) -> list[Checker]:
    """Return every checker, fresh, for one world; the first keeps what the others judge by."""
    ground = Ground(world)
    return [ground, *(make(world, ground) for make in CHECKERS)]
