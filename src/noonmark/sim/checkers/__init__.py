"""The checkers: each watches one family of invariants from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.sim.history import Checker

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld


def make_checkers(world: SimWorld) -> list[Checker]:
    """Return every checker, fresh, for one world."""
    del world
    return []
