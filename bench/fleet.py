"""What the benchmarks share: rows to work off, a worker process, waiting, and one way to say a figure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.places import Place
from noonmark.core import codec, series
from noonmark.core.model import Job, Manual, NewOccurrence, Origin, State
from noonmark.engine.activate import declare
from noonmark.ports.store import Store


@contextmanager
def worker(
    place: Place, *, concurrency: int, starts: Path | None = None, schedules: int = 0, is_guarded: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """Run one worker process until the block ends, logging every run to a file as a production worker does."""
    env = os.environ | {"NOONMARK_URL": place.url, "BENCH_SCHEDULES": str(schedules)}
    if starts is not None:
        env["BENCH_STARTS"] = str(starts)
    if not is_guarded:
        env["BENCH_NO_GUARD"] = "1"
    command = [sys.executable, "-m", "noonmark.faces.cli", "worker", "bench.jobs:sched", "-n", str(concurrency)]
    with (place.folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def rows_of(store: Store, name: str, due: list[int]) -> list[NewOccurrence]:
    """Declare the job as the worker will, and make one row per due moment."""
    from bench import jobs

    job: Job = jobs.sched.jobs[name].job
    assert isinstance(job.trigger, Manual)
    declare(store, [job], actor="bench")
    row = store.jobs([name])[0]
    assert row.digest == codec.digest(job)
    now = store.now()
    return [
        series.row_for_call(
            job,
            request_id=f"{name}-{n}",
            due_at=moment,
            params={"due": moment} if name == "stamp" else {},
            key=f"{name}:{n}",
            revision=row.revision,
            now=now,
            origin=Origin.LATER,
        )
        for n, moment in enumerate(due)
    ]


def fill(store: Store, name: str, due: list[int]) -> None:
    """Add one row of the job per due moment."""
    rows = rows_of(store, name, due)
    for start in range(0, len(rows), 1000):
        store.add(f"fill-{name}-{start}", rows[start : start + 1000])


def wait_for_successes(store: Store, count: int, *, within_s: float) -> None:
    """Wait until that many rows have succeeded."""
    deadline = time.perf_counter() + within_s
    while store.tallies().by_state.get(State.SUCCESS, 0) < count:
        assert time.perf_counter() < deadline, f"not done after {within_s:.0f} s: {store.tallies().by_state}"
        time.sleep(0.2)


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(bench: str, **figures: object) -> None:
    """Print one figure as a JSON line, with the load it was measured under."""
    print(json.dumps({"bench": bench, **figures, "load": round(os.getloadavg()[0], 1)}, ensure_ascii=False), flush=True)
