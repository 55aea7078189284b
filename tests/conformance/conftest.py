"""Servers that the suite's tests share, and what they must look like when everybody has gone.

Rule of the file: a test leaves namespaces, never connections, transactions or keys that nobody can account for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import redis
from psycopg import sql

from noonmark.testing import servers
from noonmark.testing.servers import wait_until
from noonmark.wiring import open_store

pytest.register_assert_rewrite(
    "noonmark.testing.archives",
    "noonmark.testing.conformance",
    "noonmark.testing.contention",
    "noonmark.testing.suite",
    "noonmark.testing.twins",
)

PATIENCE = 10.0


class SharedPostgres:
    """A server, and a connection to look after it."""

    def __init__(self, server: servers.Postgres) -> None:
        self.url_with = server.url_with
        self._connection = psycopg.connect(server.url, autocommit=True, application_name="caretaker")
        self._made = 0
        self._given: dict[str, str] = {}
        self._free: list[str] = []
        self._emptying: dict[str, sql.Composed] = {}

    def _rows(self, query: str) -> list[Any]:
        return [row[0] for row in self._connection.execute(query)]  # type: ignore[call-overload]

    def open_transactions(self) -> list[str]:
        """Return what connections were doing when they forgot to end their transaction."""
        return self._rows(
            "select query from pg_stat_activity where state like 'idle in transaction%' and pid <> pg_backend_pid()"
        )

    def connections(self) -> list[str]:
        """Return what the connections of others did last."""
        return self._rows(
            "select query from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
        )

    def schema_for(self, name: str) -> str:
        """Return the schema in which a namespace lives: a used one that was emptied, where there is one.

        Making a schema and dropping it takes three times as long as emptying one.
        """
        if name not in self._given:
            self._given[name] = self._free.pop() if self._free else self._make()
        return self._given[name]

    def _make(self) -> str:
        self._made += 1
        schema = f"pool{self._made}"
        open_store(self.url_with(schema=schema)).close()
        tables = self._rows(f"select tablename from pg_tables where schemaname = '{schema}'")
        sequences = self._rows(f"select sequencename from pg_sequences where schemaname = '{schema}'")
        steps = [sql.SQL("delete from {}").format(sql.Identifier(schema, table)) for table in tables]
        # setval writes a row; "alter sequence" a new file, after which every connection reads the catalogue anew
        steps += [
            sql.SQL("select setval({}, 1, false)").format(sql.Literal(f'"{schema}"."{name}"')) for name in sequences
        ]
        for table in tables:  # what opening wrote there belongs to a fresh one
            place = sql.Identifier(schema, table)
            for row in self._connection.execute(sql.SQL("select * from {}").format(place)):
                values = sql.SQL(", ").join(map(sql.Literal, row))
                steps.append(sql.SQL("insert into {} overriding system value values ({})").format(place, values))
        self._emptying[schema] = sql.SQL("; ").join(steps)
        return schema

    def take_back(self) -> None:
        """Empty what the last test used."""
        for schema in self._given.values():
            self._connection.execute(self._emptying[schema])
            self._free.append(schema)
        self._given.clear()

    def close(self) -> None:
        """See that nobody is left, and leave."""
        try:
            wait_until(lambda: not self.connections(), PATIENCE, f"connections to be closed: {self.connections()}")
        finally:
            self._connection.close()


def _shared(server: servers.Postgres) -> Iterator[SharedPostgres]:
    shared = SharedPostgres(server)
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def shared_postgres(postgres: servers.Postgres) -> Iterator[SharedPostgres]:
    yield from _shared(postgres)


@pytest.fixture(scope="session")
def shared_second_postgres(second_postgres: servers.Postgres) -> Iterator[SharedPostgres]:
    yield from _shared(second_postgres)


def check_keys(client: Any) -> None:
    """Fail if there is a key that the store's list does not name, or of another type, or that should have expired."""
    from noonmark.stores.redis.keys import listed

    keys = list(client.scan_iter(count=1000))
    pipe = client.pipeline(transaction=False)
    for key in keys:
        pipe.type(key)
        pipe.ttl(key)
    told = pipe.execute()
    for key, type_, ttl in zip(keys, told[::2], told[1::2], strict=True):
        prefix, _, name = key.decode(errors="surrogateescape").partition("}:")
        entry = listed(name)
        assert prefix.startswith("noonmark:{"), key
        assert entry is not None, f"nobody knows why there is {key!r}"
        assert entry.type == type_.decode(), key
        assert (ttl >= 0) == ("expires" in entry.growth), f"{key!r} expires in {ttl} s; the list says: {entry.growth}"


def check_clients(client: Any) -> None:
    """Fail if somebody other than this client (and replicas) is still connected."""

    def others() -> list[Any]:
        me = client.client_id()
        return [one for one in client.client_list() if int(one["id"]) != me and "S" not in one["flags"]]

    wait_until(lambda: not others(), PATIENCE, f"clients to go: {others()}")


def _tidy(server: servers.Redis) -> None:
    with redis.Redis(port=server.port) as client:
        check_keys(client)
        check_clients(client)


@pytest.fixture(scope="session")
def shared_valkey(valkey: servers.Redis) -> Iterator[servers.Redis]:
    yield valkey
    _tidy(valkey)


@pytest.fixture(scope="session")
def shared_second_redis(second_redis: servers.Redis) -> Iterator[servers.Redis]:
    yield second_redis
    _tidy(second_redis)


@pytest.fixture(scope="session")
def shared_cluster(redis_cluster: servers.RedisCluster) -> Iterator[servers.RedisCluster]:
    yield redis_cluster
    for node in redis_cluster.nodes:
        _tidy(node)


class SharedPair:
    """A primary and its replica; the primary is killed when so many tests have begun."""

    FAIL_OVER_AT = (60, 300)

    def __init__(self, pair: servers.Sentinel) -> None:
        self.pair = pair
        self.url_with = pair.url_with
        self.tests = 0

    def count_a_test(self) -> None:
        """Kill the primary if it is time, and bring it back as a replica."""
        self.tests += 1
        if self.tests in self.FAIL_OVER_AT:
            self.pair.fail_over(at_once=True)
            self.pair.start()


@pytest.fixture(scope="session")
def shared_pair() -> Iterator[SharedPair]:
    # So patient that no sentinel finds a server dead which is only slow; the one that is killed is told of.
    with servers.start_sentinel(kind="valkey", down_after=30_000) as pair:
        yield SharedPair(pair)
        _tidy_keys_of(pair.primary)


def _tidy_keys_of(server: servers.Redis) -> None:
    with redis.Redis(port=server.port) as client:
        check_keys(client)
