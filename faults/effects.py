"""The effects: one append-only file that no fault of a store can touch, written by the jobs, read by the judge.

Promise: a line is whole or not there, whatever kills its writer; its first moment is of the monotonic clock, which all
processes of one machine share and no wrong wall clock moves.  Rule of the file: it imports nothing of noonmark.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = "FAULTS_EFFECTS"
"""The environment variable that names the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One line.  ``mono`` and ``wall`` in nanoseconds; ``wall`` is what the writer's own clock said."""

    mono: int
    wall: int
    pid: int
    phase: str  # begin, line, asked, accepted, refused, end
    job: str
    key: str
    run_id: str
    fence: int
    attempt: int


def leave(phase: str, *, job: str, key: str, run_id: str, fence: int, attempt: int) -> None:
    """Write one line, in one write, so that lines of several processes do not mix."""
    mono, wall = time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.clock_gettime_ns(time.CLOCK_REALTIME)
    line = f"{mono} {wall} {os.getpid()} {phase} {job} {key} {run_id} {fence} {attempt}\n"
    log = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(log, line.encode())
    finally:
        os.close(log)


class Reader:
    """Reads what is new each time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self.all: list[Effect] = []

    def read(self) -> list[Effect]:
        """Return every effect so far, in the order of the file."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            new = file.read()
        whole, newline, _ = new.rpartition(b"\n")
        self._at += len(whole) + len(newline)
        self.all += [parse(line) for line in whole.decode().splitlines()]
        return self.all


def parse(line: str) -> Effect:
    """Read one line."""
    mono, wall, pid, phase, job, key, run_id, fence, attempt = line.split(" ")
    return Effect(
        mono=int(mono),
        wall=int(wall),
        pid=int(pid),
        phase=phase,
        job=job,
        key=key,
        run_id=run_id,
        fence=int(fence),
        attempt=int(attempt),
    )


def of_phase(effects: Iterable[Effect], phase: str, job: str = "") -> list[Effect]:
    """Return those of one phase, and of one job if it is named."""
    return [one for one in effects if one.phase == phase and (not job or one.job == job)]
