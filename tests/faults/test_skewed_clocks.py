"""Workers whose wall clocks are five minutes off, each in its direction: nothing is early, nothing runs twice."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import awayjobs
import pytest
from fleet import Fleet, wait_for
from sites import KINDS

from noonmark.core.model import SECOND, Query, State
from noonmark.explain.verify import verify


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_nothing_is_early_and_nothing_runs_twice_with_clocks_five_minutes_off(kind: str, tmp_path: Path) -> None:
    with KINDS[kind].start() as server:
        fleet = Fleet(tmp_path, server.url, jobs="awayjobs.py")
        try:
            behind, ahead = fleet.worker("--skew", "-300"), fleet.worker("--skew", "300")
            wait_for(lambda: len(fleet.store.workers()) == 2, at_most=40, what=f"the workers\n{fleet.said()}")
            before = time.monotonic()
            begun = fleet.store.now()
            asked = [fleet.later(awayjobs.ONCE, (1 + n // 8) * SECOND, n=n) for n in range(48)]
            wait_for(
                lambda: all(row.state is State.SUCCESS for row in fleet.store.occurrences(Query(ids=tuple(asked)))),
                at_most=30,
                what=f"the jobs\n{fleet.said()}",
            )
            traces = [line.split() for name in ("once ", "beat ") for line in fleet.effects(name)]
            due = {row.key: row.scheduled_for for row in fleet.store.occurrences(Query(limit=10_000))}
            # The store's time was read after ``before``, so a moment reckoned from it is never too early a reading.
            early = {
                key: moment
                for _, key, _, _, moment in traces
                if float(moment) > before and begun + (float(moment) - before) * 1e6 < due[key]
            }
            assert early == {}
            assert max(Counter(key for _, key, *_ in traces).values()) == 1
            assert len([trace for trace in traces if trace[0] == "once"]) == len(asked)
            assert {int(trace[3]) for trace in traces} == {behind.pid, ahead.pid}, "both have to take part"
            offsets = sorted(round(worker.wall_offset / SECOND) for worker in fleet.store.workers())
            assert offsets == [-300, 300], "and both are reported"
            assert verify(fleet.store, begun).problems == ()
        finally:
            fleet.close()
