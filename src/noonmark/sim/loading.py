"""The time in which a command of the proof is still being loaded: asked to stop, it says so in one line and ends.

Rule of the file: nothing but the standard library, and as little of it as can be, is imported here: what comes before it
nobody guards.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

STOPPED = 130
"""The exit code of a command that was stopped: no verdict."""
UNDONE = "stopped before the end: this is no verdict\n"


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Heed Ctrl-C and a wish to end at once: nothing was begun yet, so there is nothing to tidy up.

    An import that is interrupted may turn the interruption into an error of its own, so none is raised.
    """
    before: dict[int, Any] = {}
    for each in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError):  # not in the main thread: nobody interrupts it there
            before[each] = signal.signal(each, _leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os.write(2, UNDONE.encode())
    os._exit(STOPPED)
