"""A clock that stands still until told to move: the clock port for tests and simulations.

Rule of the file: nothing here reads the machine's clocks, so a test that uses it says the same on every machine.
"""

from __future__ import annotations

from noonmark.core.model import Micros

START: Micros = 1_795_867_200_000_000
"""2026-11-28T12:00:00Z, a Saturday: an arbitrary but fixed beginning."""


class VirtualClock:
    """A clock with a wall hand that may jump and a boot-time hand that only goes forward.

    Args:
        wall: first reading of the wall clock, UTC microseconds.
        boot: first reading of the boot-time clock, microseconds since boot.
    """

    def __init__(self, wall: Micros = START, *, boot: Micros = 1_000_000) -> None:
        self._wall = wall
        self._boot = boot
        self._boots = 1

    def wall(self) -> Micros:
        """Return the wall clock, UTC microseconds."""
        return self._wall

    def boot(self) -> Micros:
        """Return microseconds since the (virtual) boot."""
        return self._boot

    def boot_id(self) -> str:
        """Return a name that changes with every virtual boot."""
        return f"virtual-boot-{self._boots}"

    def advance(self, length: Micros) -> None:
        """Let time pass on both hands.

        Args:
            length: microseconds, not negative.

        Raises:
            ValueError: time was asked to run backwards; ``step_wall`` does that to the wall clock alone.
        """
        if length < 0:
            raise ValueError(f"time does not run backwards ({length} µs); use step_wall for a wall clock that jumps")
        self._wall += length
        self._boot += length

    def advance_to(self, wall: Micros) -> None:
        """Let time pass until the wall clock shows ``wall`` (UTC microseconds)."""
        self.advance(wall - self._wall)

    def step_wall(self, length: Micros) -> None:
        """Make the wall clock jump by ``length`` microseconds (negative: back), as NTP or a person would."""
        self._wall += length

    def reboot(self, *, down_for: Micros = 0) -> None:
        """Boot anew: the boot-time clock begins at 0 under another id, the wall clock went on while down."""
        self._wall += down_for
        self._boot = 0
        self._boots += 1
