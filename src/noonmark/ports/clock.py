"""The clock port, and the one place in noonmark that reads the machine's clocks.

Promise: all processes of one boot that have the same ``boot_id`` read the same boot-time clock.  A process in a time
namespace of its own (containers, ``unshare -T``) reads the machine's all the same, because what the namespace adds is
taken off again.  One whose clock is faked on the way (libfaketime) has a boot id of its own, with ``STRANGE`` in it.
"""

from __future__ import annotations

import os
import threading
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
        """Return a name that changes with every boot: ``boot`` readings compare only within one.

        After ``STRANGE`` stands what tells a clock apart that is not the one of the other processes of that boot.
        """
        ...


class SystemClock:
    """The clocks of this machine."""

    def wall(self) -> Micros:
        """Return the wall clock, UTC microseconds."""
        return time.time_ns() // 1000

    def boot(self) -> Micros:
        """Return microseconds since boot; where the system has no boot-time clock, its monotonic one."""
        if _BOOT_CLOCK is None:
            return time.monotonic_ns() // 1000
        return (time.clock_gettime_ns(_BOOT_CLOCK) - (namespace_offset() or 0)) // 1000

    def boot_id(self) -> str:
        """Return the kernel's boot id, or a constant where there is none (the clock is then re-anchored by wall time)."""
        return _boot_id()


STRANGE = "+"
_FIRST_NAMESPACE = "time:[4026531834]"
"""The kernel's name for the one that every machine begins with; it adds nothing."""
_APART_NS = 5_000_000_000
_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


@cache
def namespace_offset() -> int | None:
    """Return what this process's time namespace adds to the boot-time clock, ns; None where that cannot be known."""
    try:
        ours, childrens = (os.readlink(f"/proc/self/ns/{name}") for name in ("time", "time_for_children"))
        if ours == _FIRST_NAMESPACE:
            return 0
        text = Path("/proc/self/timens_offsets").read_text(encoding="ascii")
    except OSError:  # an older kernel, another system
        return 0
    return offset_in(text) if ours == childrens else None  # the file tells of the children's


def offset_in(text: str) -> int:
    """Return the offset of the boot-time clock, ns, as ``/proc/PID/timens_offsets`` writes it."""
    for line in text.splitlines():
        name, seconds, nanoseconds = line.split()
        if name in ("boottime", "7"):  # older kernels write the clock's number
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return 0


@cache
def _boot_id() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "no-boot-id"
    if namespace_offset() is None:
        return f"{boot}{STRANGE}{os.readlink('/proc/self/ns/time')}"
    return boot if _is_the_kernels() else f"{boot}{STRANGE}faked"


def _is_the_kernels() -> bool:
    """Compare the boot-time clock with the moment at which the kernel says that a thread of ours began.

    What fakes the clock stands between us and the kernel and fakes only what we ask the clock.  The thread begins
    between two readings, so neither a suspended machine nor a slow one looks like a fake.
    """
    told: list[bytes] = []

    def look() -> None:
        try:
            told.append(Path("/proc/thread-self/stat").read_bytes())
        except OSError:
            return

    if _BOOT_CLOCK is None:
        return True
    try:
        before = time.clock_gettime_ns(_BOOT_CLOCK)
        thread = threading.Thread(target=look, name="noonmark-clock")
        thread.start()
        thread.join()
        after = time.clock_gettime_ns(_BOOT_CLOCK)
        ticks = int(told[0].rpartition(b")")[2].split()[19])
        began = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, RuntimeError, ValueError, IndexError):  # nothing is known: no fake, until one is proved
        return True
    return before - _APART_NS <= began <= after + _APART_NS
