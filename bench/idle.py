"""What it costs to have very many schedules and nothing to do."""

from __future__ import annotations

import time

from bench.fleet import cpu_seconds, report, worker
from bench.places import MAKERS
from noonmark.core.model import State
from noonmark.wiring import open_store

SCHEDULES = 100_000


def measure(name: str, seconds: float) -> None:
    """Register the schedules, let the worker settle, and read the CPU time it uses while nothing is due."""
    with MAKERS[name]() as place:
        began = time.perf_counter()
        with worker(place, concurrency=100, schedules=SCHEDULES) as process:
            store = open_store(place.url)
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
        store=name,
        unit="CPU s/min",
        cpu=round(used * 60 / seconds, 3),
        schedules=SCHEDULES,
        window_s=seconds,
        registered_s=round(registered, 1),
    )
