"""A small process that outlives its worker just long enough to kill what the worker left running.

Promise: when a worker dies, however it dies, the process groups of its runs get SIGTERM, a short grace, then SIGKILL.

Rule of the file: the child is this very file, run with ``-I -S`` and only the standard library, so that it costs
little. A parent-death signal would not do: it reaches one process, not the group, and fires when a *thread* ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time


class Reaper:
    """The worker's side: a pipe into the reaper process, started at the first group."""

    def __init__(self, *, grace: float) -> None:
        self._grace = grace
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        """From here on the group dies with us."""
        self._say(f"+{group}\n")

    def forget(self, group: int) -> None:
        """The group ended by itself."""
        self._say(f"-{group}\n")

    def close(self) -> None:
        """End the reaper; groups that are still watched are killed by it."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait()

    def _say(self, line: str) -> None:
        with self._lock:
            if self._process is None:
                if line[0] == "-":
                    return
                command = [sys.executable, "-I", "-S", __file__, str(self._grace)]
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
                )
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):  # somebody killed it; the runs go on without this net
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def main(grace: float) -> None:
    """Follow the pipe; at its end kill what is still watched."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # the end of the pipe is the only end
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        group = int(line[1:])
        if line[:1] == b"+":
            groups.add(group)
        else:
            groups.discard(group)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for group in list(groups):
            try:
                os.killpg(group, number)
            except OSError:
                groups.discard(group)
        until = time.monotonic() + grace
        while number == signal.SIGTERM and groups and time.monotonic() < until:
            time.sleep(0.05)
            for group in list(groups):
                try:
                    os.killpg(group, 0)
                except OSError:
                    groups.discard(group)


if __name__ == "__main__":
    main(float(sys.argv[1]))
