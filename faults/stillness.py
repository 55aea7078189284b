"""Whether this machine stood still while a cell was measured: what a bound says of a worker then, it says of the machine.

Promise: a standstill is only told, beside a red cell; it makes nothing green.  Rule of the file: one thread that naps and
looks how long it slept.
"""

from __future__ import annotations

import threading
import time

NAP = 0.1
LONG = 1.0
"""Seconds beyond its nap from which on the sleeper's lateness is told: the least bound of the pass line."""


class Stillness:
    """Watches until it is closed; a context manager."""

    def __init__(self, *, nap: float = NAP, long: float = LONG) -> None:
        self._nap = nap
        self._long = long
        self._over = threading.Event()
        self._found: list[tuple[float, float]] = []  # when it began, on the monotonic clock, and how long it lasted
        self._thread = threading.Thread(target=self._watch, name="stillness", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._over.wait(self._nap):
            now = time.monotonic()
            self.note(before, now)
            before = now

    def note(self, before: float, now: float) -> None:
        """Take up one nap, from its beginning to its end on the monotonic clock, in seconds."""
        late = now - before - self._nap
        if late >= self._long:
            self._found.append((before, late))

    def told(self, since: float) -> list[str]:
        """Return a line for each standstill that ended after this moment of the monotonic clock, in seconds."""
        return [
            f"this machine, or this process, stood still for {late:.1f} s, {max(0.0, at - since):.1f} s after the cell began"
            for at, late in list(self._found)
            if at + late >= since
        ]

    def close(self) -> None:
        """Watch no more."""
        self._over.set()
        self._thread.join(10)

    def __enter__(self) -> Stillness:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
