"""Real workers that were away: every round that was missed runs, one at a time and oldest first, on every kind of store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import noonmark as noonmark_package
from noonmark.core.model import Occurrence, Query, State
from noonmark.testing.servers.server import with_options
from noonmark.wiring import open_store

JOBS = """
import asyncio
from noonmark import CatchUp, Scheduler, every

sched = Scheduler(rules=False)

@sched.job(every("1s"), key="bill:{tenant}:{scheduled_for}", each={"tenant": ["a", "b"]},
           catch_up=CatchUp("all", max_delay="1h"), reason="Bill every period.")
async def bill(tenant: str) -> None:
    await asyncio.sleep(0.2)
"""
AWAY = 8
_OWN = {"postgres": "schema", "valkey": "namespace"}


def _worker(folder: Path, url: str) -> subprocess.Popen[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")}
    env |= {"PYTHONPATH": str(Path(noonmark_package.__file__ or "").parents[1]), "NOONMARK_STATE": "off"}
    command = [sys.executable, "-m", "noonmark.faces.cli", "worker", "jobs.py", "--url", url]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _end(workers: list[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "valkey"])
def test_what_was_missed_while_every_worker_was_away_runs_in_order(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'w.db'}"
    if kind != "sqlite":
        url = with_options(request.getfixturevalue(kind).url, {_OWN[kind]: f"queue{os.getpid()}"})
    (tmp_path / "jobs.py").write_text(JOBS, encoding="utf-8")
    store = open_store(url)
    workers = [_worker(tmp_path, url)]
    try:
        _until(lambda: len(_ran(store.occurrences(Query(job="bill")), "tenant=a")) >= 2)
        _end(workers)
        time.sleep(AWAY)
        back = store.now()
        workers = [_worker(tmp_path, url), _worker(tmp_path, url)]
        _until(lambda: any(row.scheduled_for > back for row in _ran(store.occurrences(Query(job="bill")), "tenant=a")))
        rows = [row for row in store.occurrences(Query(job="bill")) if row.scheduled_for < back]
        assert {row.state for row in rows} == {State.SUCCESS}, [(row.nominal, row.state, row.code) for row in rows]
        for tenant in ("tenant=a", "tenant=b"):
            ran = _ran(rows, tenant)
            moments = [row.scheduled_for for row in ran]
            assert len(moments) > AWAY
            assert moments == list(range(moments[0], moments[-1] + 1, 1_000_000)), "each once, oldest first"
            assert all((one.ended_at or 0) <= (two.started_at or 0) for one, two in pairwise(ran)), "one at a time"
    finally:
        _end(workers)
        store.close()


def _ran(rows: list[Occurrence], tenant: str) -> list[Occurrence]:
    """Return what a tenant's rounds came to, in the order of their starts."""
    done = [row for row in rows if row.subject == tenant and row.state is State.SUCCESS]
    return sorted(done, key=lambda row: row.started_at or 0)


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 40
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)
