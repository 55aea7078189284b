"""When all work is over only history is left in a store: nothing that waited, was due, was held or was asked for stays."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Act, CatchUp, Every, FlagSet, OnEvent, Query, Retry, State
from noonmark.core.series import row_for_event
from noonmark.engine.activate import end
from noonmark.engine.statefolder import StateFolder
from noonmark.stores.memory import MemoryStore
from noonmark.stores.redis.keys import KEYS
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping
from noonmark.wiring import open_store

Counted = Counter[str]
GONE = {
    "memory": {"slots", "freed", "waits", "waits_of", "wakes", "open_ids"},
    "sqlite": {"slot", "waiter", "wake", "request"},
    "postgres": {"agenda", "failed", "slot", "waiter", "wake", "request"},
    "valkey": {
        "due:new", "due:parked", "due:held", "own", "gone", "series:JOB", "asked:JOB", "frontier", "failed", "wait:FACT",
        "wake", "slot", "event", "alert:open", "import",
    },
}  # fmt: skip
"""What must be empty by then."""
EVENTS = make_job("events", trigger=OnEvent(name="order"), overlap="queue_all", key="events:{event.id}")
DATA = make_job(
    "data",
    trigger=Every(period=5 * SECOND),
    key="data:{scheduled_for}",
    overlap="allow",
    depends_on=(FlagSet(flag="data:{scheduled_for}"),),
    catch_up=CatchUp(missed="all", max_delay=20 * SECOND, recheck=5 * SECOND),
)
CALLED = make_job("called")


class Remembering(World):
    """A world whose replicas have a state folder."""

    folder: Path

    def state_of(self, number: int) -> StateFolder | None:
        return StateFolder(self.folder / str(number))


@pytest.fixture(params=list(GONE))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if kind == "memory":
        return "memory://"
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/stays.db?synchronous=NORMAL"
    name = "namespace" if kind == "valkey" else "schema"
    return f"{request.getfixturevalue(kind).url}?{name}=stays{os.getpid()}"


@pytest.fixture
def count(kind: str, tmp_path: Path, url: str, request: pytest.FixtureRequest) -> Callable[[World], Counted]:
    """Count the lines of every table, or the entries of every kind of key."""

    def of_tables(execute: Callable[[str], Any], named: str, prefix: str = "") -> Counted:
        names = [row[0] for row in execute(named).fetchall()]
        return Counter({name: execute(f"SELECT count(*) FROM {prefix}{name}").fetchone()[0] for name in names})

    def counted(world: World) -> Counted:
        if kind == "memory":
            assert isinstance(world.store, MemoryStore)
            tables = world.store._tables
            values = {name: getattr(tables, name) for name in tables.__slots__}
            return Counter({name: len(value) for name, value in values.items() if hasattr(value, "__len__")})
        if kind == "sqlite":
            with contextlib.closing(sqlite3.connect(tmp_path / "stays.db")) as file:
                return of_tables(file.execute, "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%'")
        if kind == "postgres":
            schema = url.rpartition("=")[2]
            with psycopg.connect(request.getfixturevalue(kind).url, autocommit=True) as server:
                named = f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"
                return of_tables(server.execute, named, f"{schema}.")  # type: ignore[arg-type]
        return _of_keys(request.getfixturevalue(kind), f"noonmark:{{{url.rpartition('=')[2]}}}:")

    return counted


def _of_keys(server: Any, prefix: str) -> Counted:
    from noonmark.stores.redis.keys import listed

    lengths = {"hash": "HLEN", "zset": "ZCARD", "set": "SCARD", "list": "LLEN", "string": "STRLEN"}
    found: Counted = Counter({key.pattern: 0 for key in KEYS})
    for name in server.command("KEYS", f"{prefix}*"):
        entry = listed(name.removeprefix(prefix))
        assert entry is not None, name
        found[entry.pattern] += int(server.command(lengths[entry.type], name))
    return found


@pytest.fixture
def world(url: str, tmp_path: Path) -> Iterator[World]:
    with Remembering(replicas=3, store=lambda clock: open_store(url, clock=clock)) as made:
        made.folder = tmp_path / "state"
        yield made


def _declare(world: World) -> None:
    dice, once = random.Random(3), Retry(max=1, base=SECOND)

    def fails() -> None:
        if dice.random() < 0.7:
            raise RuntimeError("no")

    world.job(make_job("tick", trigger=Every(period=SECOND)), lambda: None)
    world.job(make_job("fails", trigger=Every(period=3 * SECOND), retry=once, overlap="allow"), fails)
    world.job(make_job("own", trigger=Every(period=5 * SECOND), scope="each_worker"), lambda: None)
    rounds = make_job(
        "rounds",
        trigger=Every(period=2 * SECOND),
        catch_up=CatchUp(missed="all", max_delay=MINUTE),
        overlap="queue_all",
    )
    world.job(rounds, sleeping(world, "round", "4s"))
    world.job(EVENTS, sleeping(world, "event", "2s"))
    world.job(DATA, lambda: None)
    world.job(CALLED, lambda: None)


def _work(world: World) -> None:
    """Forty seconds and more in which runs fail, wait, queue and are lost, and people and upstreams act."""
    store, requests = world.store, iter(range(10_000))
    world.advance("5s")
    for turn in range(8):
        now = store.now()
        for number in range(3):
            payload = {"customer": f"c{turn}"}
            row = row_for_event(
                EVENTS, event_id=f"{turn}-{number}", emitted_at=now, payload=payload, revision=1, subject=f"c{turn}"
            )
            store.add(f"event-{next(requests)}", [row])
        world.later(CALLED, "1s", turn=turn % 3)
        for waiting in store.occurrences(Query(job="data", open_only=True, limit=2)):
            world.signal(waiting.key)
        if turn == 3:
            world.kill(1)
        if turn == 5:
            world.restart(1)
            store.act("pause", Act(kind="pause", actor="ada", reason="a test", job="tick"))
        if turn == 6:
            store.act("resume", Act(kind="resume", actor="ada", reason="a test", job="tick"))
        world.advance("5s")


def _finish(world: World) -> None:
    """End every job, let people deal with what needs them, and let an hour pass in which nothing is asked for.

    The workers that come then end what others left behind and remember that, so there are more such hours.
    """
    store = world.store
    for name in list(world.jobs):
        assert end(store, name, actor="ada", reason="over").outcome == "done"
    world.advance("2m")
    for row in store.occurrences(Query(states=frozenset({State.FAILED_MANUAL}), limit=1000)):
        store.act(f"done-{row.id}", Act(kind="mark_done", actor="ada", reason="seen", occurrence_id=row.id))
    for row in store.occurrences(Query(open_only=True, limit=1000)):
        store.act(f"cancel-{row.id}", Act(kind="cancel", actor="ada", reason="over", occurrence_id=row.id))
    for number in range(3):
        world.stop(number)
    world.advance("1m")
    world.jobs.clear()
    for number in (0, 1, 2):
        world.clock.advance(HOUR)
        world.restart(number)
        world.advance("90s")
        world.stop(number)
        world.advance("10s")


@pytest.mark.timeout(240)
def test_what_was_asked_for_held_due_or_waited_for_is_gone_when_all_work_is_over(
    kind: str, world: World, count: Callable[[World], Counted]
) -> None:
    _declare(world)
    _work(world)
    busy = count(world)
    assert busy.keys() >= GONE[kind], "a name that nothing has would never be found"
    rows = len(world.rows())
    assert rows > 100
    _finish(world)
    left = count(world)
    assert {name: left[name] for name in GONE[kind] if left[name]} == {}
    assert world.store.tallies().open_alerts == ()
    assert world.store.occurrences(Query(open_only=True, limit=5)) == []
    assert len(world.rows()) >= rows, "history stays"


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "kind", ["sqlite", "postgres"]
)  # of the others: by the server's own expiry, test_redis_keys.py
def test_the_links_of_writers_of_a_week_ago_are_gone_when_somebody_proves_again(
    world: World, count: Callable[[World], Counted]
) -> None:
    world.job(CALLED, lambda: None)
    world.advance("1s")
    for number in range(5):
        world.later(CALLED, f"{number}s")
    world.until(lambda: {row.state for row in world.rows("called")} == {State.SUCCESS}, at_most="5m")
    assert count(world)["link"] > 0
    for number in range(3):
        world.stop(number)
    world.advance("1m")
    world.clock.advance(8 * DAY)
    world.restart(0)
    world.advance("5s")
    assert count(world)["link"] == 0
