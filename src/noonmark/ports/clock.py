"""The clock port, and the one place in noonmark that reads the machine's clocks."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Protocol

from noonmark.core.model import Micros


class Clock(Protocol):
    """What a machine knows of time."""

    def wall(self) -> Micros:
        """Return the wall clock, UTC microseconds; it may jump."""
        ...

    def boot(self) -> Micros:
        """Return microseconds since boot, suspend included; it never jumps."""
        ...

    def boot_id(self) -> str:
        """Return a name that changes with every boot: ``boot`` readings compare only within one."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def wall(self) -> Micros:
        """Return the wall clock, UTC microseconds."""
        return time.time_ns() // 1000

    def boot(self) -> Micros:
        """Return microseconds since boot; where the system has no boot-time clock, its monotonic one."""
        return time.clock_gettime_ns(_BOOT_CLOCK) // 1000 if _BOOT_CLOCK is not None else time.monotonic_ns() // 1000

    def boot_id(self) -> str:
        """Return the kernel's boot id, or a constant where there is none (the clock is then re-anchored by wall time)."""
        return _boot_id()


_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "no-boot-id"
