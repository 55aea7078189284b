"""What outlives a process in a simulated world: the machines that workers run on, and the clock of the store's server.

Rule of the file: what something has, not what is done to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noonmark.core.model import Job, Micros
from noonmark.engine.points import Point
from noonmark.sim import faults as f
from noonmark.sim.memory import MachineMemory
from noonmark.sim.store import Link, Wire
from noonmark.testing.clock import ReplicaClock


@dataclass(slots=True)
class Machine:
    """What outlives a replica's processes: its clock, its wire, what it is to run, what awaits it."""

    clock: ReplicaClock
    wire: Wire
    jobs: dict[str, tuple[Job, Callable[..., Any]]]
    traps: list[f.AtPoint]
    memory: MachineMemory
    link: Link | None = None  # of the process that runs there
    paused_until: Micros = 0
    comes_back_at: Micros | None = None

    @property
    def misses_renewals(self) -> bool:
        """True when an error is about to strike right behind the next renewal: its answer is heard by nobody."""
        return any((trap.point, trap.act) == (Point.RENEWED, "error") for trap in self.traps)


class ServerClock:
    """The store's own clock: it may leap forward, because what it measures is the time of the server."""

    def __init__(self, hands: ReplicaClock) -> None:
        self._hands = hands
        self.leapt: Micros = 0

    def wall(self) -> Micros:
        """Return the server's wall clock."""
        return self._hands.wall() + self.leapt

    def boot(self) -> Micros:
        """Return the server's boot-time clock, leaps included."""
        return self._hands.boot() + self.leapt

    def boot_id(self) -> str:
        """Return the server's boot."""
        return self._hands.boot_id()
