"""False clocks for whole processes, by libfaketime.

Rule of the file: where it lies, what it is told, and what is left of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"


def fake_clock(offset: str) -> dict[str, str]:
    """Return what sets a process's wall clock wrong, monotonic clocks left alone."""
    library = faketime_library()
    assert library is not None
    return {"LD_PRELOAD": library, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1"}


def sweep(memory: Path = Path("/dev/shm")) -> None:
    """Remove what processes under a false clock left in shared memory when they were killed.

    It is named by the number of the process, and libfaketime ends every later one of the same number.
    """
    for path in memory.glob("*faketime_*_*"):
        number = path.name.rpartition("_")[2]
        if number.isdigit() and not Path(f"/proc/{number}").exists():
            with contextlib.suppress(OSError):  # somebody else's
                path.unlink()


def faketime_library() -> str | None:
    """Return where libfaketime is, None where it is not installed."""
    found: Iterator[Path] = Path("/").glob(FAKETIME.lstrip("/"))
    return next((str(path) for path in sorted(found)), None)
