"""Process groups of runs: who is left in one, and its end.

Promise: nothing of a run outlives it.  What its process had started and left behind gets a moment to end by itself, then
SIGTERM, a grace, and SIGKILL.

Rule of the file: a process that is only waiting for its parent to hear of its end is no process any more.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

BY_ITSELF = 1.0
"""Seconds in which what ends with its parent (a ``tee``, a tracker) may do so before anybody calls it left behind."""
_POLL, _LONGEST_POLL = 0.02, 0.25
"""Seconds between two looks, twice as long each time: a look goes through all processes of the machine."""
_PROC = Path("/proc")


def signal_group(group: int, number: int) -> None:
    """Send a signal to a whole group, if there still is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def left_in(group: int) -> int:
    """Return how many processes of a group live; 1 where the system tells only that some do."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return 0
    except PermissionError:  # another user's (sudo), and there
        pass
    try:
        names = [name for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return 1
    return sum(_is_member(name, group) for name in names)


def end_group(group: int, grace: float) -> tuple[int, int]:
    """End what is left in a group whose first process has ended.

    Args:
        group: its number.
        grace: seconds between SIGTERM and SIGKILL.

    Returns:
        How many had been left behind, and how many of them live all the same: another user's.
    """
    if not _wait(group, BY_ITSELF):
        return 0, 0
    left = left_in(group)
    signal_group(group, signal.SIGTERM)
    if _wait(group, grace):
        signal_group(group, signal.SIGKILL)
    return left, _wait(group, BY_ITSELF)


def _wait(group: int, seconds: float) -> int:
    """Wait until a group is empty; return how many are in it at the end."""
    until, pause = time.monotonic() + seconds, _POLL
    while (left := left_in(group)) and (rest := until - time.monotonic()) > 0:
        time.sleep(min(pause, rest))
        pause = min(2 * pause, _LONGEST_POLL)
    return left


def _is_member(name: str, group: int) -> bool:
    try:
        state, _, of_group = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):  # it ended meanwhile
        return False
    return int(of_group) == group and state not in (b"Z", b"X")
