"""How late delayed jobs start, as the jobs themselves see it."""

from __future__ import annotations

import statistics

from bench.fleet import fill, report, wait_for_successes, worker
from bench.places import MAKERS
from noonmark.wiring import open_store

ROWS = 2_000
SPAN_S = 20.0


def measure(name: str, runs: int) -> None:
    """Start delayed jobs spread over twenty seconds and compare each start with its due moment."""
    percentiles = []
    for _ in range(runs):
        late = one_run(name)
        percentiles.append((late[len(late) // 2], late[int(len(late) * 0.99)], late[-1]))
    p50, p99, worst = (statistics.median(column) / 1000 for column in zip(*percentiles, strict=True))
    report(
        "lateness",
        store=name,
        unit="ms",
        p50=round(p50, 2),
        p99=round(p99, 2),
        p99_all=[round(run[1] / 1000, 2) for run in percentiles],
        max=round(worst, 2),
        jobs=ROWS,
        seconds=SPAN_S,
        early=0,
        lost=0,
        doubled=0,
    )


def one_run(name: str) -> list[int]:
    """Return how late each job was, in microseconds, sorted; none may be early, lost or doubled."""
    with MAKERS[name]() as place:
        store = open_store(place.url)
        try:
            begin = store.now() + 3_000_000
            starts = place.folder / "starts.txt"
            fill(store, "stamp", [begin + int(SPAN_S * 1e6 * n / ROWS) for n in range(ROWS)])
            with worker(place, concurrency=100, starts=starts):
                wait_for_successes(store, ROWS, within_s=60)
        finally:
            store.close()
        lines = [tuple(map(int, line.split())) for line in starts.read_text(encoding="ascii").splitlines()]
    late = sorted(started - wanted for wanted, started in lines)
    moments = {wanted for wanted, _ in lines}
    assert late[0] >= 0, f"{sum(x < 0 for x in late)} started early"
    assert len(moments) == ROWS, f"{ROWS - len(moments)} lost"
    assert len(lines) == len(moments), f"{len(lines) - len(moments)} ran twice"
    return late
