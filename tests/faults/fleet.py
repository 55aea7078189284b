"""Worker processes on one store: real time, small leases; every wait is for a fact, with a bound."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noonmark.core.model import Job, Micros, Occurrence, Origin, Query
from noonmark.core.series import row_for_call
from noonmark.engine.activate import declare
from noonmark.ports.store import Store
from noonmark.wiring import open_store

HERE = Path(__file__).parent


def wait_for(is_so: Callable[[], Any], *, at_most: float = 45.0, what: str = "it") -> Any:
    """Wait until something is so, and return it."""
    end = time.monotonic() + at_most
    while not (found := is_so()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {at_most} s")
        time.sleep(0.02)
    return found


class Fleet:
    """Worker processes on one store.

    Args:
        folder: where the effects are written, out of the store's reach.
        url: the store, as the test sees it; None: a SQLite file in the folder.
        workers: the store, as the workers see it (through a proxy, for example); None: as the test does.
        jobs: the program that runs the workers.
    """

    def __init__(
        self, folder: Path, url: str | None = None, *, workers: str | None = None, jobs: str = "faultjobs.py"
    ) -> None:
        self.folder = folder
        self.path = folder / "noonmark.db"
        self.log = folder / "effects.log"
        self.log.touch()
        self.url = url or f"sqlite:///{self.path}"
        self.workers_url = workers or self.url
        self.store: Store = open_store(self.url)
        self._jobs = jobs
        self._numbers = itertools.count()
        self._processes: list[subprocess.Popen[bytes]] = []

    def worker(self, *arguments: str, url: str | None = None, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker process; what it says is kept beside the effects."""
        path = os.pathsep.join([*sys.path, str(HERE)])
        env = {**os.environ, "EFFECTS": str(self.log), "PYTHONPATH": path, **environment}
        command = [sys.executable, str(HERE / self._jobs), url or self.workers_url, *arguments]
        with (self.folder / f"worker-{next(self._numbers)}.log").open("wb") as said:
            process = subprocess.Popen(command, env=env, stdout=said, stderr=subprocess.STDOUT)
        self._processes.append(process)
        return process

    def later(self, job: Job, delay: Micros = 0, **params: Any) -> int:
        """Ask for one run."""
        declare(self.store, [job], actor="test")
        now, request = self.store.now(), secrets.token_hex(4)
        revision = self.store.jobs([job.name])[0].revision
        row = row_for_call(
            job,
            request_id=request,
            due_at=now + delay,
            params=params,
            key=None,
            revision=revision,
            now=now,
            origin=Origin.LATER,
        )
        return self.store.add(request, [row])[0].id

    def row(self, id_: int) -> Occurrence:
        """Read one occurrence."""
        return self.store.occurrences(Query(ids=(id_,)))[0]

    def said(self) -> str:
        """Return what the workers said, each under its number."""
        logs = sorted(self.folder.glob("worker-*.log"))
        return "\n".join(f"{log.stem}:\n{log.read_text(encoding='utf-8', errors='replace')}" for log in logs)

    @property
    def processes(self) -> list[subprocess.Popen[bytes]]:
        """Every worker that was started."""
        return list(self._processes)

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        """A worker has ended, as it was told to."""
        self._processes.remove(process)

    def effects(self, name: str = "") -> list[str]:
        """Return the effects so far, as ``name pid``; only those that begin with ``name``."""
        return [line for line in self.log.read_text().splitlines() if line.startswith(name)]

    def close(self) -> None:
        """End every process that is left."""
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.store.close()
