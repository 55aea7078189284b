"""What the first text shows with its own hands on Redis, done with noonmark's own jobs on a Redis store.

The same listings and the same five points as in test_source_redis_locks.py; lock and token read here: lease and fence.
What takes minutes happens in virtual time (the store is told the time), what is about processes in real time.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import noonmark as noonmark_package
from noonmark import Scheduler, State, on_event
from noonmark.core.model import HOUR, LOOK_LEASE, MINUTE, SECOND, Every, Origin, Query, Renewal
from noonmark.core.series import row_for_call
from noonmark.engine.activate import declare
from noonmark.testing.builders import make_end, make_job
from noonmark.testing.servers import Redis, find, start_redis
from noonmark.testing.world import World, sleeping
from noonmark.wiring import open_store

MakeWorld = Callable[..., World]
KINDS = [kind for kind in ("valkey", "redis") if find(kind)] or ["valkey"]
PERSISTENT = {"appendonly": "yes", "appendfsync": "everysec"}
_numbers = count(1)

JOBS = """
import os, time
from datetime import datetime, timezone
from noonmark import ContextSync, Scheduler, every

sched = Scheduler(rules=False)

def say(text):
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with open("rounds.log", "a") as log:
        log.write(f"[{now}] worker-{os.environ['NOONMARK_WORKER_NAME']} {text}\\n")

@sched.job(every("1s"), key="digest:{scheduled_for}", reason="The index must be fresh.")
def digest(ctx: ContextSync) -> None:
    say(f"round {ctx.key}: has it under fence {ctx.fence}, runs digest (128 documents)")
    time.sleep(0.3)
    say(f"round {ctx.key}: done")
"""
LINE = re.compile(
    r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00\] worker-(?P<who>[AB]) round (?P<key>\S+): "
    r"(?:has it under fence (?P<fence>\d+), runs digest \(128 documents\)|done)"
)


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Redis]:
    """A server of each kind of the family that is installed."""
    with start_redis(kind=request.param, options=PERSISTENT) as made:
        yield made


@pytest.fixture
def url(server: Redis) -> str:
    """A namespace of its own."""
    return server.url_with(namespace=f"book{next(_numbers)}")


@pytest.fixture
def make_world(server: Redis) -> Iterator[MakeWorld]:
    """Make worlds on the server, each in a namespace of its own."""
    worlds: list[World] = []

    def make(**options: Any) -> World:
        place = server.url_with(namespace=f"world{next(_numbers)}")
        worlds.append(World(store=lambda clock: open_store(place, clock=clock), **options))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


# --- the listings ----------------------------------------------------------------------------------


def test_two_workers_contend_over_three_rounds_and_each_round_has_one_holder(url: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(JOBS, encoding="utf-8")
    log = tmp_path / "rounds.log"
    log.touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")}
    env = {**kept, "PYTHONPATH": str(Path(noonmark_package.__file__ or "").parents[1]), "NOONMARK_URL": url}
    command = [sys.executable, "-m", "noonmark.faces.cli", "worker", "jobs.py"]
    said = tmp_path / "workers.err"
    with said.open("wb") as errors:
        workers = [
            subprocess.Popen(
                command,
                cwd=tmp_path,
                env={**env, "NOONMARK_WORKER_NAME": name},
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            for name in ("A", "B")
        ]
    try:
        deadline = time.monotonic() + 40
        while log.read_text().count("done") < 4:
            assert all(worker.poll() is None for worker in workers), said.read_text()
            assert time.monotonic() < deadline, log.read_text() + said.read_text()
            time.sleep(0.05)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        codes = [worker.wait(timeout=30) for worker in workers]

    assert codes == [0, 0]
    lines = [LINE.fullmatch(line) for line in log.read_text().splitlines()]
    assert all(lines), log.read_text()
    begins = [line for line in lines if line and line["fence"]]
    assert len(lines) == 2 * len(begins)
    pairs = zip(lines[::2], lines[1::2], strict=True)
    assert all(first["key"] == then["key"] and first["who"] == then["who"] for first, then in pairs if first and then)
    rounds = [line["key"] for line in begins]
    assert len(set(rounds)) == len(rounds) >= 4, "a round was run twice"
    fences = [int(line["fence"]) for line in begins]
    assert fences == sorted(set(fences)), "who holds a round has a greater number than whoever held the one before"
    store = open_store(url)
    try:
        rows = [row for row in store.occurrences(Query(job="digest")) if row.state is not State.PENDING]
        assert {row.key for row in rows if row.state is State.SUCCESS} == set(rounds)
        assert {row.verdict for row in rows if row.state is State.SKIPPED} <= {"skip_overlap", "skip_superseded"}
    finally:
        store.close()


def test_the_delayed_job_fires_once_one_second_later_and_leaves_no_queue(url: str) -> None:
    fired: list[tuple[str, float]] = []
    schedulers = [Scheduler(url, rules=False) for _ in range(2)]
    for sched in schedulers:

        @sched.job(on_event("run.done", delay="1s"), name="digest", key="digest:{event.run}", reason="x")
        def digest(run: str) -> None:
            fired.append((run, time.monotonic()))

        sched.declare()
    workers = [sched.worker(name=name) for sched, name in zip(schedulers, "AB", strict=True)]
    for worker in workers:
        worker.start()
    try:
        begun = time.monotonic()
        emitted = [schedulers[n % 2].emit("run.done", id="run-abc", run="run-abc") for n in range(3)]
        assert [each.enqueued[0].duplicate for each in emitted] == [False, True, True]
        waiting = schedulers[0].store.occurrences(Query(job="digest", open_only=True))
        assert len(waiting) == 1, "the queue says what waits"
        deadline = time.monotonic() + 10
        while schedulers[0].store.occurrences(Query(job="digest", open_only=True)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        for worker in workers:
            worker.stop()
    ((run, at),) = fired
    assert run == "run-abc"
    assert 1.0 <= at - begun < 2.0
    assert schedulers[0].store.tallies().by_state[State.SUCCESS] == 1, "fired=1, left in the queue=0"
    for sched in schedulers:
        sched.close()


# --- the five points to accept ---------------------------------------------------------------------


def test_point_1_of_many_replicas_one_runs_each_round(make_world: MakeWorld) -> None:
    world = make_world(replicas=3)
    world.job(make_job("index", trigger=Every(period=5 * MINUTE)), lambda: world.effect("index"))
    world.advance("31m")
    rows = [row for row in world.rows("index") if row.state is State.SUCCESS]
    assert len(world.effects) == len(rows) >= 6
    assert max(Counter(row.key for row in rows).values()) == 1
    assert all(row.attempt == 1 for row in rows)


def test_point_2_ending_and_renewing_need_the_right_fence(make_world: MakeWorld) -> None:
    world = make_world(replicas=0)
    store, job = world.store, make_job("work")
    now = store.now()
    row = row_for_call(job, request_id="r", due_at=now, params={}, key=None, revision=1, now=now, origin=Origin.LATER)
    declare(store, [job], actor="test")
    store.add("r", [row])
    held = store.take("t", "A", limit=1, runnable={"work": 30 * SECOND}, look_lease=LOOK_LEASE).rows[0]
    wrong = replace(held, fence=held.fence - 1)

    (answer,) = store.settle("s1", "B", [make_end(wrong)])
    assert answer.outcome == "stale"
    assert store.renew("B", [Renewal(occurrence_id=held.id, fence=wrong.fence, lease=HOUR)]).lost == {held.id}
    assert (world.row(held.id).state, world.row(held.id).due_at) == (State.RUNNING, held.due_at)

    world.clock.advance(10 * SECOND)
    assert not store.renew("A", [Renewal(occurrence_id=held.id, fence=held.fence, lease=30 * SECOND)]).lost
    assert world.row(held.id).due_at == store.now() + 30 * SECOND
    (answer,) = store.settle("s2", "A", [make_end(held)])
    assert (answer.outcome, world.row(held.id).state) == ("applied", State.SUCCESS)


def test_point_3_a_lease_ends_by_itself_when_its_holder_dies(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    world.job(make_job("index", trigger=Every(period=HOUR), lease=30 * SECOND), sleeping(world, "index", "5m"))
    world.until(lambda: bool(world.effects), at_most="2h")
    first = world.effects[0]
    world.kill(first.replica)
    world.until(lambda: len(world.effects) == 2, at_most="2m")
    second = world.effects[1]
    assert second.replica != first.replica
    assert second.at - first.at <= 31_500_000, "lease plus a second and a half"


def test_point_4_a_long_job_keeps_its_lease_by_renewing_it(make_world: MakeWorld) -> None:
    world = make_world(replicas=3)
    world.job(make_job("index", trigger=Every(period=HOUR), lease=6 * SECOND), sleeping(world, "index", "10m"))
    world.until(lambda: "index done" in world.effect_names(), at_most="2h")
    world.advance("1s")
    (row,) = [row for row in world.rows("index") if row.state is State.SUCCESS]
    assert (row.attempt, row.takeovers, row.lost) == (1, 0, 0), "a run a hundred leases long stays with its holder"
    assert world.effect_names() == ["index", "index done"]


def test_point_5_a_delayed_job_is_found_by_its_due_time_and_claimed_by_one(make_world: MakeWorld) -> None:
    world = make_world(replicas=0)
    store, job = world.store, make_job("digest")
    declare(store, [job], actor="test")
    late = world.later(job, "1s", run="later")
    soon = world.later(job, "500ms", run="sooner")

    def take(who: str) -> list[int]:
        request = f"{who}-{store.now()}"
        taken = store.take(request, who, limit=5, runnable={"digest": 30 * SECOND}, look_lease=LOOK_LEASE)
        return [row.id for row in taken.rows]

    assert take("A") == [], "not due yet"
    world.clock.advance(1100 * 1000)
    assert (take("A"), take("B")) == ([soon, late], []), "oldest due first, and to one of them only"
