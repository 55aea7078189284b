"""Locks: acquire and release in a loop, beside a bare loop that sends the same commands through the same client.

Rule of the file: the bare loop does nothing but send and receive; both run in turn against one server, and the ratio is
that of each pair.
"""

from __future__ import annotations

import asyncio
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import Any

from bench.fleet import report
from noonmark.locks import Locks, bare, lock, open_locks
from noonmark.locks.checks import drift
from noonmark.locks.scripts import script
from noonmark.ports.clock import SystemClock
from noonmark.testing.servers import find, start_etcd, start_postgres, start_redis, start_zookeeper

SLICES = 100
NAME, TTL = "bench", 30_000_000
MEMORY_MS = 86_430_000
Loop = Callable[[int], None]


def measure(kind: str, runs: int, cycles: int) -> None:
    """Report cycles per second of both loops, and their ratio."""
    ours: list[float] = []
    raw: list[float] = []
    slices = SLICES * runs  # short ones: a neighbour's work then falls on both, or on few
    with KINDS[kind]() as (our_loop, raw_loop, server):
        for loop in (our_loop, raw_loop):
            loop(max(20, cycles // 10))
        for number in range(slices):
            turns = [(raw, raw_loop), (ours, our_loop)]
            for speeds, loop in turns if number % 2 else reversed(turns):  # what the first leaves behind meets both
                speeds.append(timed(loop, cycles // SLICES))
    report(
        "locks",
        kind=kind,
        unit="acquire+release/s",
        noonmark=round(statistics.median(ours)),
        raw=round(statistics.median(raw)),
        ratio=round(statistics.median(o / r for o, r in zip(ours, raw, strict=True)), 3),
        slices=slices,
        cycles=cycles * runs,
        server=server,
    )


def timed(loop: Loop, cycles: int) -> float:
    """Return cycles per second."""
    began = time.perf_counter()
    loop(cycles)
    return cycles / (time.perf_counter() - began)


def held(locks: Locks) -> Loop:
    """Return a loop that holds a lock again and again, as people do: renewed, watched, freed."""
    one = lock(NAME, ttl="30s", at=locks)

    def loop(cycles: int) -> None:
        for _ in range(cycles):
            with one:
                pass

    return loop


# -- one pair of loops per kind -----------------------------------------------------------------------

Pair = tuple[Loop, Loop, str]


@contextmanager
def redis_one() -> Iterator[Pair]:
    """``lock()`` on one Redis, beside two scripts by their digests."""
    with start_redis() as server:
        locks = open_locks(server.url)
        client: Any = locks._client  # type: ignore[attr-defined]  # the same client
        hold, release = script("hold").sha, script("release").sha

        def raw(cycles: int) -> None:
            for _ in range(cycles):
                token = os.urandom(16).hex()
                assert client.evalsha(
                    hold, 2, "lock:raw", "fence:{lock:raw}", token, TTL // 1000, MEMORY_MS, "acquire", 0
                )
                assert client.evalsha(release, 1, "lock:raw", token)

        yield held(locks), raw, str(server)
        locks.close()


@contextmanager
def redis_bare() -> Iterator[Pair]:
    """The bare functions, beside the commands of the source."""
    with start_redis() as server:
        locks = open_locks(server.url)
        client: Any = locks._client  # type: ignore[attr-defined]
        text = script("release").text

        def ours(cycles: int) -> None:
            for _ in range(cycles):
                token = os.urandom(16).hex()
                assert bare.acquire(client, NAME, 30_000, token)
                assert bare.release(client, NAME, token)

        def raw(cycles: int) -> None:
            for _ in range(cycles):
                token = os.urandom(16).hex()
                assert client.set("lock:raw", token, nx=True, px=30_000)
                assert client.eval(text, 1, "lock:raw", token)

        yield ours, raw, str(server)
        locks.close()


@contextmanager
def redlock() -> Iterator[Pair]:
    """Redlock over three servers, beside the same two rounds of commands on three connections, which are all written to
    before the first is read, and whose answers are counted and timed."""
    with ExitStack() as stack:
        servers = [stack.enter_context(start_redis()) for _ in range(3)]
        locks = open_locks("redlock://" + ",".join(f"127.0.0.1:{server.port}" for server in servers))
        connections: list[Any] = [
            node._client.connection_pool.make_connection()
            for node in locks._nodes  # type: ignore[attr-defined]
        ]

        clock = SystemClock()

        def ask_all(*command: str | int) -> list[Any]:
            for connection in connections:
                connection.send_command(*command)
            return [connection.read_response() for connection in connections]

        def raw(cycles: int) -> None:
            keys: tuple[str, str] = ("lock:raw", "fence:{lock:raw}")
            hold, release = script("hold").sha, script("release").sha
            for _ in range(cycles):
                token, asked_at = os.urandom(16).hex(), clock.boot()
                answers = ask_all("EVALSHA", hold, 2, *keys, token, TTL // 1000, MEMORY_MS, "acquire", 0)
                assert sum(answer is not None for answer in answers) >= 2
                assert clock.boot() < asked_at + TTL - drift(TTL)
                assert ask_all("EVALSHA", release, 1, keys[0], token).count(1) >= 2

        yield held(locks), raw, f"3 x {servers[0]}"
        for connection in connections:
            connection.disconnect()
        locks.close()


@contextmanager
def postgres() -> Iterator[Pair]:
    """A lease row in PostgreSQL as it is installed, beside the same two statements."""
    with start_postgres() as server:
        locks = open_locks(server.url)
        link: Any = locks._link  # type: ignore[attr-defined]
        acquire, release = locks._acquire, locks._release  # type: ignore[attr-defined]
        connection = link.take()

        def raw(cycles: int) -> None:
            for _ in range(cycles):
                values = {"name": "raw", "token": os.urandom(16).hex(), "ttl": TTL}
                assert connection.execute(acquire, values).fetchone()
                assert connection.execute(release, values).fetchone()

        yield held(locks), raw, str(server)
        connection.close()
        locks.close()


@contextmanager
def sqlite() -> Iterator[Pair]:
    """A file, beside the same two statements on one connection."""
    from noonmark.locks import sqlite as kind

    with tempfile.TemporaryDirectory(prefix="noonmark-bench-") as folder:
        locks = open_locks(f"sqlite:///{folder}/bench.db")
        connection: Any = locks._calls.connection  # type: ignore[attr-defined]
        clock = SystemClock()
        boot = clock.boot_id()

        def raw(cycles: int) -> None:
            for _ in range(cycles):
                token, asked_at = os.urandom(16).hex(), clock.boot()
                values = (asked_at, boot, "raw", token, TTL, clock.wall())
                assert connection.execute(kind._ACQUIRE, values).fetchall()
                left_at = clock.boot()
                assert left_at < asked_at + TTL
                assert connection.execute(kind._RELEASE, (left_at, boot, "raw", token)).fetchall()

        yield held(locks), raw, "SQLite in the process"
        locks.close()


@contextmanager
def etcd() -> Iterator[Pair]:
    """A lease and a key in etcd, beside the same four commands awaited one after the other in a bare event loop."""
    from noonmark.locks.etcd_link import client_for, read_url

    with start_etcd() as server, closing(asyncio.new_event_loop()) as loop:
        locks, place = open_locks(server.url), read_url(server.url)
        client: Any = client_for(place, *place.members[0])
        key = b"noonmark/locks/raw"

        async def cycle(count: int) -> None:
            txn = client.transactions
            for _ in range(count):
                token = os.urandom(16).hex().encode()
                lease = await client.lease(30)
                done, _ = await client.transaction(
                    compare=[txn.create(key) == 0],
                    success=[txn.put(key, token, lease.id), txn.get(key)],
                    failure=[txn.get(key)],
                )
                assert done
                done, _ = await client.transaction(
                    compare=[txn.value(key) == token], success=[txn.get(key), txn.delete(key)], failure=[]
                )
                assert done
                await client.revoke_lease(lease.id)

        yield held(locks), lambda cycles: loop.run_until_complete(cycle(cycles)), str(server)
        loop.run_until_complete(client.close())
        locks.close()


@contextmanager
def zookeeper() -> Iterator[Pair]:
    """A node in ZooKeeper, beside the same three commands through kazoo's blocking calls."""
    from kazoo.client import KazooClient

    with start_zookeeper() as server:
        locks = open_locks(server.url)
        client = KazooClient(
            hosts=f"127.0.0.1:{server.port}", logger=logging.getLogger("noonmark.locks.zookeeper.client")
        )
        client.start()
        client.ensure_path("/raw")

        def raw(cycles: int) -> None:
            for _ in range(cycles):
                token = os.urandom(16).hex().encode()
                path, _ = client.create("/raw/lock-", token, ephemeral=True, sequence=True, include_data=True)
                assert len(client.get_children("/raw")) == 1
                client.delete(path)

        yield held(locks), raw, str(server)
        client.stop()
        client.close()
        locks.close()


KINDS: dict[str, Callable[[], AbstractContextManager[Pair]]] = {
    "redis": redis_one,
    "redis-bare": redis_bare,
    "redlock": redlock,
    "postgres": postgres,
    "sqlite": sqlite,
    "etcd": etcd,
    "zookeeper": zookeeper,
}
CYCLES = {
    "redis": 4000,
    "redis-bare": 4000,
    "redlock": 1500,
    "postgres": 300,
    "sqlite": 4000,
    "etcd": 400,
    "zookeeper": 1000,
}
if not find("zookeeper"):  # it comes from the system's packages, so not everywhere
    del CYCLES["zookeeper"]
