"""What can go wrong in a world, each kind as one value with its moment.

Rule of the file: a fault is plain data that says when, whom and how long, so that a list of them can be printed, cut
down and replayed; how it is done stands in ``strikes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from noonmark.core.model import Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that goes wrong at ``at`` (microseconds after the world's beginning)."""

    at: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash(Fault):
    """A replica is killed; another process takes its place after ``down``."""

    replica: int
    down: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashAll(Fault):
    """Every replica is killed at once."""

    down: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPoint(Fault):
    """The next time a replica passes a named point, it crashes, stands still, fails, or a write of it arrives twice.

    Which write: the one that follows, or, at a point behind a write, that one once more (``plan.BEHIND_A_WRITE``).
    """

    replica: int
    point: str
    act: str  # crash | pause | error | twice
    length: Micros = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Fault):
    """A replica stands still; afterwards all its timers are overdue at once."""

    replica: int
    length: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Fault):
    """SIGTERM, and a new process after it ended."""

    replica: int
    grace: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class StepClock(Fault):
    """A replica's wall clock jumps."""

    replica: int
    by: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Fault):
    """A replica's clocks run faster or slower from here on, by millionths."""

    replica: int
    ppm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeapStore(Fault):
    """The store's clock leaps forward."""

    by: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage(Fault):
    """Nobody reaches the store."""

    length: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Fault):
    """One replica does not reach the store."""

    replica: int
    length: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky(Fault):
    """One replica's calls fail before or after their effect, arrive twice, and its notices get lost; shares of 1."""

    replica: int  # -1: the callers outside
    length: Micros
    before: float
    after: float
    twice: float
    deaf: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Fault):
    """One replica's calls take up to ``latency``."""

    replica: int
    length: Micros
    latency: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover(Fault):
    """The standby takes over without the last writes.

    ``unseen``: nothing tells its clients so, as when a file is put back under those that have it open: no server changes.
    """

    lose: int
    unseen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Emptied(Fault):
    """Another store lies there, in which there is nothing; no server changes, no connection ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTaken(Fault):
    """Somebody outside takes the lock that jobs share with him."""

    length: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class LocksAway(Fault):
    """The lock service does not answer."""

    length: Micros


AnyFault: TypeAlias = (
    Crash | CrashAll | AtPoint | Pause | Stop | StepClock | Drift | LeapStore | Outage | Cut | Flaky | Slow | Failover
    | Emptied | LockTaken | LocksAway
)  # fmt: skip
