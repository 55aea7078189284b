"""The kinds of lock under test: how each is opened, and how the time of a lock runs out there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import psycopg
import pytest
import redis
from kazoo.client import KazooClient

from noonmark.core.model import SECOND
from noonmark.locks import Locks, open_locks
from noonmark.locks.etcd import lock_key
from noonmark.locks.etcd_link import Link
from noonmark.locks.memory import MemoryLocks
from noonmark.locks.zookeeper import row_of
from noonmark.testing.locking import LockHarness


@dataclass(frozen=True)
class Place:
    """A lock service under test: how to open it, and how to let a lock's time run out."""

    url: str
    expire: Callable[[str], None]
    open: Callable[[], Locks]
    longest: int | None = None

    def harness(self) -> LockHarness:
        return LockHarness(open_=self.open, expire=self.expire, longest=self.longest)


def memory_place(_request: pytest.FixtureRequest, _folder: Path) -> Place:
    locks = MemoryLocks()
    return Place(url="memory://", expire=locks.expire, open=lambda: locks)


def sqlite_place(_request: pytest.FixtureRequest, folder: Path) -> Place:
    path = folder / "a.db-locks"

    def expire(name: str) -> None:
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            connection.execute("UPDATE noonmark_lock SET until = 1 WHERE name = ?", (name,))

    url = f"sqlite:///{folder}/a.db"
    return Place(url=url, expire=expire, open=lambda: open_locks(url))


def redis_place(request: pytest.FixtureRequest, _folder: Path) -> Place:
    url = request.getfixturevalue("valkey").url

    def expire(name: str) -> None:
        with redis.Redis.from_url(url) as client:
            client.pexpire(f"lock:{name}", 0)

    return Place(url=url, expire=expire, open=lambda: open_locks(url))


def cluster_place(request: pytest.FixtureRequest, _folder: Path) -> Place:
    url = request.getfixturevalue("cluster").url

    def expire(name: str) -> None:
        where = urlsplit(url.split(",")[0])
        with contextlib.closing(redis.RedisCluster(host=str(where.hostname), port=where.port or 0)) as client:
            client.pexpire(f"lock:{name}", 0)

    return Place(url=url, expire=expire, open=lambda: open_locks(url))


def redlock_place(request: pytest.FixtureRequest, _folder: Path) -> Place:
    servers = request.getfixturevalue("trio")
    url = "redlock://" + ",".join(f"127.0.0.1:{server.port}" for server in servers) + "?timeout=2s"

    def expire(name: str) -> None:
        for server in servers:
            with redis.Redis.from_url(server.url) as client:
                client.pexpire(f"lock:{name}", 0)

    return Place(url=url, expire=expire, open=lambda: open_locks(url))


def postgres_place(request: pytest.FixtureRequest, _folder: Path) -> Place:
    url = request.getfixturevalue("postgres").url

    def expire(name: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE noonmark_locks.lease SET until_us = 1 WHERE name = %s", (name,))

    return Place(url=url, expire=expire, open=lambda: open_locks(url))


def advisory_place(request: pytest.FixtureRequest, _folder: Path) -> Place:
    url = request.getfixturevalue("postgres").url

    def expire(name: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'"
                " AND ((classid::bigint << 32) | objid::bigint) = hashtextextended(%s, 0)",
                (f"lock:{name}",),
            )

    return Place(url=f"{url}?kind=advisory", expire=expire, open=lambda: open_locks(f"{url}?kind=advisory"))


def etcd_place(request: pytest.FixtureRequest, _folder: Path) -> Place:
    url = request.getfixturevalue("etcd").url

    async def revoke(client: Any, name: str) -> None:
        found = await client.get(lock_key(name))
        if found is not None:
            await client.revoke_lease(found.lease)

    def expire(name: str) -> None:
        link = Link(url)
        try:
            link.call(lambda client: revoke(client, name), 5)
        finally:
            link.close()

    return Place(url=url, expire=expire, open=lambda: open_locks(url))


def zookeeper_place(request: pytest.FixtureRequest, _folder: Path) -> Place:
    url = request.getfixturevalue("zookeeper").url

    def expire(name: str) -> None:
        client = KazooClient(hosts=urlsplit(url).netloc)
        client.start(timeout=20)
        try:
            parent = row_of(name)
            for child in client.get_children(parent) if client.exists(parent) else ():
                client.delete(f"{parent}/{child}")
        finally:
            client.stop()
            client.close()

    patient = f"{url}?timeout=20"  # a busy machine is no dead server
    return Place(url=patient, expire=expire, open=lambda: open_locks(patient), longest=60 * SECOND)


PLACES: dict[str, Callable[[pytest.FixtureRequest, Path], Place]] = {
    "memory": memory_place,
    "sqlite": sqlite_place,
    "redis": redis_place,
    "redis-cluster": cluster_place,
    "redlock": redlock_place,
    "postgres": postgres_place,
    "postgres-advisory": advisory_place,
    "etcd": etcd_place,
    "zookeeper": zookeeper_place,
}
SESSION_BOUND = {"postgres-advisory", "zookeeper"}
MARKS = {"zookeeper": pytest.mark.server("zookeeper", "second")}
"""Kinds whose server is no wheel's."""
