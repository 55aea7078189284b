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


class ReplicaClock:
    """The clocks of one machine of a world: they follow its true clock, but may run apart from it.

    Args:
        truth: the world's clock.
        offset: what the wall hand shows more than the truth, µs.
        drift: how much faster both hands run, in millionths (negative: slower).
    """

    def __init__(self, truth: VirtualClock, *, offset: Micros = 0, drift: int = 0) -> None:
        self._truth = truth
        self.offset = offset
        self.drift = drift
        self._since = truth.boot()  # the hands are exact here, and run with the drift from here on
        self.gained: Micros = 0
        """How much more the boot-time hand shows than the truth; all there is to know while there is no drift."""

    def wall(self) -> Micros:
        """Return this machine's wall clock, UTC microseconds."""
        return self._truth.wall() + self.offset + self._gain()

    def boot(self) -> Micros:
        """Return this machine's boot-time clock, microseconds."""
        if not self.drift:  # by far the most frequent question in a world
            return self._truth._boot + self.gained
        return self._truth.boot() + self._gain()

    def boot_id(self) -> str:
        """Return a name that changes with every boot."""
        return self._truth.boot_id()

    def true_boot(self, moment: Micros) -> Micros:
        """Return the true boot-clock moment at which ``boot`` first shows ``moment``, or now if that is over."""
        if not self.drift:
            return max(self._truth._boot, moment - self.gained)
        left = moment - self.boot()
        return self._truth.boot() + max(0, -(-left * 1_000_000 // (1_000_000 + self.drift)))

    def run_at(self, drift: int) -> None:
        """Run faster or slower from here on, by so many millionths."""
        self.gained = self._gain()
        self._since = self._truth.boot()
        self.drift = drift

    def step(self, length: Micros) -> None:
        """Make the wall hand jump, as NTP or a person would."""
        self.offset += length

    def hold(self, length: Micros) -> None:
        """Let the boot-time hand stand where it stood so long ago; the wall hand has gone on."""
        self.gained -= length
        self.offset += length

    def _gain(self) -> Micros:
        if not self.drift:
            return self.gained
        return self.gained + (self._truth.boot() - self._since) * self.drift // 1_000_000
