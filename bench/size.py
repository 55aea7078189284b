"""What a finished occurrence costs: bytes that the store keeps for it for good, on disk or in memory."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from bench.drain import by_verbs
from bench.fleet import report
from bench.places import MAKERS, Place
from noonmark.core.model import SECOND, Every, State
from noonmark.testing.builders import make_job
from noonmark.testing.world import World
from noonmark.wiring import open_store

TICKS = 2_000
ROWS = 10_000


def measure(name: str, runs: int) -> None:  # noqa: ARG001 - sizes do not scatter
    """Weigh rows that a caller added and ``take`` started at once, and scheduled moments that a worker looked at."""
    with MAKERS[name]() as place:
        before = weigh(place)
        by_verbs(place)
        called = (weigh(place) - before) / ROWS
        server = place.server
    with MAKERS[name]() as place:
        before = weigh(place)
        _tick(place)
        scheduled = (weigh(place) - before) / TICKS
    report(
        "size",
        store=name,
        unit="bytes per finished occurrence",
        called=round(called),
        scheduled=round(scheduled),
        server=server,
    )


def _tick(place: Place) -> None:
    """Let one worker of the virtual world run every tick of a job, on the real store."""
    world = World(replicas=1, store=lambda clock: open_store(place.url, clock=clock))
    try:
        world.job(make_job("tick", trigger=Every(period=SECOND)), lambda: None)
        world.advance(f"{TICKS * 1000 + 500}ms")
        done = world.store.tallies().by_state[State.SUCCESS]
        assert done == TICKS, f"{done} ticks ran"
    finally:
        world.store.close()
        world.close()


def weigh(place: Place) -> int:
    """Return how many bytes the store takes now."""
    scheme = place.url.partition("://")[0]
    if scheme == "sqlite":
        import apsw

        file = Path(unquote(place.url.removeprefix("sqlite:///")))
        if not file.exists():
            return 0
        own = apsw.Connection(str(file))
        own.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        own.close()
        return file.stat().st_size
    if scheme == "postgresql":
        import psycopg

        with psycopg.connect(place.url, autocommit=True) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'noonmark'").fetchall()
            for (table,) in tables:
                if table == "request":
                    connection.execute("TRUNCATE noonmark.request")  # remembered for an hour only
                connection.execute(f'VACUUM (FULL) noonmark."{table}"'.encode())  # what updates left is used again
            found = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
                " WHERE relkind = 'r' AND relnamespace = to_regnamespace('noonmark')"
            ).fetchone()
        return int(found[0]) if found else 0
    import redis

    client = redis.Redis.from_url(place.url)
    try:
        for key in client.scan_iter(match="noonmark:{noonmark}:req:*", count=1000):
            client.delete(key)  # remembered for an hour only
        return int(client.info("memory")["used_memory_dataset"])
    finally:
        client.close()
