"""How fast due work is worked off: one worker process, beside a bare loop of the same verbs, in turn."""

from __future__ import annotations

import secrets
import statistics
import time

from bench import raw_sqlite
from bench.fleet import fill, report, wait_for_successes, worker
from bench.places import MAKERS, Place
from noonmark.core.model import LOOK_LEASE, SECOND, Event, Query, Settlement, State
from noonmark.wiring import open_store

ROWS = 10_000
BATCH = 500
LEASE = 30 * SECOND


def measure(name: str, runs: int) -> None:
    """Drain due no-op async jobs, and beside them the store's own verbs without an engine."""
    ours, verbs, bare = [], [], []
    for _ in range(runs):
        with MAKERS[name]() as place:
            verbs.append(by_verbs(place))
        with MAKERS[name]() as place:
            ours.append(by_worker(place))
            server, durability = place.server, place.durability
        if name == "sqlite":
            bare.append(raw_sqlite.drain(ROWS, BATCH))
    figures: dict[str, object] = {
        "noonmark": round(statistics.median(ours)),
        "noonmark_all": [round(x) for x in ours],
        "verbs": round(statistics.median(verbs)),
        "verbs_all": [round(x) for x in verbs],
        "ratio": round(statistics.median(o / v for o, v in zip(ours, verbs, strict=True)), 3),
    }
    if bare:
        figures |= {"statements": round(statistics.median(bare)), "statements_all": [round(x) for x in bare]}
    report("drain", store=name, unit="jobs/s", **figures, rows=ROWS, batch=BATCH, server=server, durability=durability)


def guard(name: str, runs: int) -> None:
    """Drain with and without the guard against rollbacks, in turn: each writer's chain, its receipt and its journal."""
    guarded: list[float] = []
    bare: list[float] = []
    for run in range(runs + 1):
        for is_guarded in (True, False) if run % 2 else (False, True):
            with MAKERS[name]() as place:
                (guarded if is_guarded else bare).append(by_worker(place, is_guarded=is_guarded))
    guarded, bare = guarded[1:], bare[1:]  # the first pair warms the caches of files
    report(
        "guard", store=name, unit="jobs/s", rows=ROWS,
        guarded=round(statistics.median(guarded)), guarded_all=[round(x) for x in guarded],
        bare=round(statistics.median(bare)), bare_all=[round(x) for x in bare],
        ratio=round(statistics.median(g / b for g, b in zip(guarded, bare, strict=True)), 3),
    )  # fmt: skip


def by_worker(place: Place, *, is_guarded: bool = True) -> float:
    """Return jobs per second of a worker process, from the first start to the last recorded success."""
    store = open_store(place.url)
    try:
        fill(store, "noop", [store.now()] * ROWS)
        with worker(place, concurrency=2 * BATCH, is_guarded=is_guarded):
            wait_for_successes(store, ROWS, within_s=60)
        rows = store.occurrences(Query(job="noop", limit=ROWS + 1))
    finally:
        store.close()
    done = [row for row in rows if row.state is State.SUCCESS]
    assert len(done) == ROWS, f"{len(done)} of {ROWS} done"
    assert all(row.attempt == 1 for row in done), "a job ran more than once"
    first = min(row.started_at for row in done if row.started_at is not None)
    last = max(row.ended_at for row in done if row.ended_at is not None)
    return ROWS / ((last - first) / 1e6)


def by_verbs(place: Place) -> float:
    """Return rows per second of a loop of take and settle, with no engine, no job and no second process."""
    store = open_store(place.url)
    try:
        fill(store, "noop", [store.now()] * ROWS)
        left = ROWS
        began = time.perf_counter()
        while left:
            taken = store.take(
                secrets.token_hex(8), "bare", limit=BATCH, runnable={"noop": LEASE}, look_lease=LOOK_LEASE
            )
            ends = [
                Settlement(occurrence_id=row.id, fence=row.fence, event=Event.SUCCEED, code="succeeded")
                for row in taken.rows
            ]
            answers = store.settle(secrets.token_hex(8), "bare", ends)
            assert all(answer.outcome == "applied" for answer in answers), "a bare loop lost a row"
            left -= len(answers)
        took = time.perf_counter() - began
    finally:
        store.close()
    return ROWS / took
