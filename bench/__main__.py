"""``make bench``: drain, lateness and idling, each beside something that makes the figure mean something.

Machines are noisy: every figure is the median of alternating runs, and the drain is quoted as a ratio to a raw loop of the
same statements at the same batch size in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import raw
from noonmark.core import codec, series
from noonmark.core.model import Job, Manual, Origin, Query, State
from noonmark.ports.store import Store
from noonmark.wiring import open_store

DRAIN_ROWS = 10_000
LATE_ROWS = 2_000
LATE_SPAN_S = 20.0
SCHEDULES = 100_000
BATCH = 500


def main() -> None:
    """Run the benchmarks asked for and print one JSON line per figure, then a table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", nargs="*", choices=[[], "drain", "lateness", "idle"], default=[])
    parser.add_argument("--runs", type=int, default=3, help="alternating runs per figure (default 3)")
    parser.add_argument("--idle-seconds", type=float, default=60.0, help="length of the idle window")
    options = parser.parse_args()
    wanted = options.what or ["drain", "lateness", "idle"]
    print(
        f"# {platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores,"
        f" load {os.getloadavg()[0]:.1f}"
    )
    if "drain" in wanted:
        drain(options.runs)
    if "lateness" in wanted:
        lateness(options.runs)
    if "idle" in wanted:
        idle(options.idle_seconds)


# --- drain -----------------------------------------------------------------------------------------


def drain(runs: int) -> None:
    """Drain due no-op async jobs with one worker process, beside the raw loop, in turn."""
    ours, bare = [], []
    for _ in range(runs):
        bare.append(raw.drain(DRAIN_ROWS, BATCH))
        ours.append(drain_once())
    report(
        "drain",
        unit="jobs/s",
        noonmark=round(statistics.median(ours)),
        noonmark_all=[round(x) for x in ours],
        raw=round(statistics.median(bare)),
        raw_all=[round(x) for x in bare],
        ratio=round(statistics.median(o / b for o, b in zip(ours, bare, strict=True)), 3),
        rows=DRAIN_ROWS,
        batch=BATCH,
        durability="host-crash (synchronous=FULL)",
    )


def drain_once() -> float:
    """Return jobs per second, from the first start to the last recorded success."""
    with scratch() as url:
        store = open_store(url)
        fill(store, "noop", [store.now()] * DRAIN_ROWS)
        with worker(url, concurrency=2 * BATCH):
            wait_for_successes(store, DRAIN_ROWS, within_s=60)
        rows = store.occurrences(Query(job="noop", limit=DRAIN_ROWS + 1))
        store.close()
    done = [row for row in rows if row.state is State.SUCCESS]
    assert len(done) == DRAIN_ROWS, f"{len(done)} of {DRAIN_ROWS} done"
    assert all(row.attempt == 1 for row in done), "a job ran more than once"
    first = min(row.started_at for row in done if row.started_at is not None)
    last = max(row.ended_at for row in done if row.ended_at is not None)
    return DRAIN_ROWS / ((last - first) / 1e6)


# --- lateness --------------------------------------------------------------------------------------


def lateness(runs: int) -> None:
    """Start delayed jobs spread over twenty seconds and compare each start, as the job saw it, with its due moment."""
    percentiles = []
    for _ in range(runs):
        with scratch() as url:
            store = open_store(url)
            begin = store.now() + 3_000_000
            due = [begin + int(LATE_SPAN_S * 1e6 * n / LATE_ROWS) for n in range(LATE_ROWS)]
            starts = Path(url.removeprefix("sqlite:///")).with_name("starts.txt")
            fill(store, "stamp", due)
            with worker(url, concurrency=100, starts=starts):
                wait_for_successes(store, LATE_ROWS, within_s=60)
            store.close()
            lines = [tuple(map(int, line.split())) for line in starts.read_text(encoding="ascii").splitlines()]
        late = sorted(started - wanted for wanted, started in lines)
        percentiles.append((late[len(late) // 2], late[int(len(late) * 0.99)], late[-1]))
        doubled = len(lines) - len({wanted for wanted, _ in lines})
        early, lost = sum(x < 0 for x in late), LATE_ROWS - len({wanted for wanted, _ in lines})
        assert not early, f"{early} started early"
        assert not lost, f"{lost} lost"
        assert not doubled, f"{doubled} ran twice"
    p50, p99, worst = (statistics.median(column) / 1000 for column in zip(*percentiles, strict=True))
    report(
        "lateness",
        unit="ms",
        p50=round(p50, 2),
        p99=round(p99, 2),
        max=round(worst, 2),
        jobs=LATE_ROWS,
        seconds=LATE_SPAN_S,
        early=0,
        lost=0,
        doubled=0,
    )


# --- idle ------------------------------------------------------------------------------------------


def idle(seconds: float) -> None:
    """Register very many schedules, let the worker settle, and read the CPU time it uses while nothing is due."""
    with scratch() as url:
        began = time.perf_counter()
        with worker(url, concurrency=100, schedules=SCHEDULES) as process:
            store = open_store(url)
            while store.tallies().by_state.get(State.PENDING, 0) < SCHEDULES:
                assert process.poll() is None, "the worker ended while registering"
                time.sleep(1.0)
            registered = time.perf_counter() - began
            time.sleep(15.0)  # caches, first heartbeats, the write-ahead log's checkpoint
            before = cpu_seconds(process.pid)
            time.sleep(seconds)
            used = cpu_seconds(process.pid) - before
            store.close()
    report(
        "idle",
        unit="CPU s/min",
        cpu=round(used * 60 / seconds, 3),
        schedules=SCHEDULES,
        window_s=seconds,
        registered_s=round(registered, 1),
    )


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- what they share -------------------------------------------------------------------------------


@contextmanager
def scratch() -> Iterator[str]:
    """Yield the URL of a fresh database in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="noonmark-bench-") as folder:
        yield f"sqlite:///{folder}/bench.db"


@contextmanager
def worker(
    url: str, *, concurrency: int, starts: Path | None = None, schedules: int = 0
) -> Iterator[subprocess.Popen[bytes]]:
    """Run one worker process until the block ends, logging every run to a file as a production worker does."""
    env = os.environ | {"NOONMARK_URL": url, "BENCH_SCHEDULES": str(schedules)}
    if starts is not None:
        env["BENCH_STARTS"] = str(starts)
    command = [sys.executable, "-m", "noonmark.faces.cli", "worker", "bench.jobs:sched", "-n", str(concurrency)]
    with Path(url.removeprefix("sqlite:///")).with_name("worker.log").open("wb") as log:
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def fill(store: Store, name: str, due: list[int]) -> None:
    """Declare the job as the worker will, and add one row per due moment."""
    from bench import jobs

    job: Job = jobs.sched.jobs[name].job
    assert isinstance(job.trigger, Manual)
    from noonmark.engine.activate import declare

    declare(store, [job], actor="bench")
    revision = store.jobs([name])[0].revision
    assert store.jobs([name])[0].digest == codec.digest(job)
    now = store.now()
    rows = [
        series.row_for_call(
            job,
            request_id=f"{name}-{n}",
            due_at=moment,
            params={"due": moment} if name == "stamp" else {},
            key=f"{name}:{n}",
            revision=revision,
            now=now,
            origin=Origin.LATER,
        )
        for n, moment in enumerate(due)
    ]
    for start in range(0, len(rows), 1000):
        store.add(f"fill-{name}-{start}", rows[start : start + 1000])


def wait_for_successes(store: Store, count: int, *, within_s: float) -> None:
    """Wait until that many rows have succeeded."""
    deadline = time.perf_counter() + within_s
    while store.tallies().by_state.get(State.SUCCESS, 0) < count:
        assert time.perf_counter() < deadline, f"not done after {within_s:.0f} s: {store.tallies().by_state}"
        time.sleep(0.2)


def report(bench: str, **figures: object) -> None:
    """Print one figure as a JSON line."""
    print(json.dumps({"bench": bench, **figures}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
