"""What the server is: refused where it would lose jobs, warned of where it promises less, and never guessed at."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from noonmark.explain.doctor import promises
from noonmark.ports.store import Capability, StoreUnreachable, StoreUnusable
from noonmark.stores.redis import health, open_redis
from noonmark.stores.redis.address import parse
from noonmark.stores.redis.connection import Wait
from noonmark.stores.redis.durability import wait_for
from noonmark.stores.redis.server import Server, _failing
from noonmark.testing.builders import make_caller_row
from noonmark.testing.servers import Redis, start_redis, start_sentinel

AOF = {"appendonly": "yes", "appendfsync": "everysec"}
ALWAYS = {"appendonly": "yes", "appendfsync": "always"}


@pytest.fixture(scope="module")
def lasting() -> Iterator[Redis]:
    with start_redis(options=AOF) as server:
        yield server


def _codes(url: str) -> dict[str, str]:
    store = open_redis(url)
    try:
        return {finding.code: finding.level for finding in store.diagnose()}
    finally:
        store.close()


def _capabilities(url: str) -> frozenset[Capability]:
    store = open_redis(url)
    try:
        return store.capabilities
    finally:
        store.close()


def test_a_server_without_a_disk_promises_nothing_and_is_warned_of(server: Redis) -> None:
    assert _codes(server.url)["persistence_none"] == "warn"
    assert not {name for name in _capabilities(server.url) if name.startswith("durable")}


def test_snapshots_alone_are_warned_of() -> None:
    with start_redis(options={"save": "3600 1"}) as server:
        assert _codes(server.url)["persistence_snapshots"] == "warn"


def test_an_append_only_file_survives_the_process(lasting: Redis) -> None:
    assert _codes(lasting.url)["aof_everysec"] == "warn", "a power cut costs the last second"
    found = _capabilities(lasting.url)
    assert Capability.DURABLE_PROCESS in found
    assert Capability.DURABLE_HOST not in found
    assert Capability.FAILOVER_LOSS not in found


def test_syncing_always_survives_the_host() -> None:
    with start_redis(options=ALWAYS) as server:
        assert Capability.DURABLE_HOST in _capabilities(server.url)


def test_a_disk_is_promised_only_where_the_server_is_to_be_believed(lasting: Redis) -> None:
    """Valkey 9.1, and Redis before 8.0, answer WAITAOF before the disk has the write, unless appendfsync is always."""
    for asked in ("host", "failover"):
        with pytest.raises(StoreUnusable, match=r"WAITAOF before the disk has the write.*appendfsync always"):
            open_redis(f"{lasting.url}?durability={asked}&namespace=waits")
    with start_redis(options=ALWAYS) as server:
        url = f"{server.url}?durability=host"
        assert Capability.DURABLE_HOST in _capabilities(url)
        assert "aof_slow" not in _codes(url)


@pytest.mark.parametrize(
    ("durability", "fsync", "commands"),
    [
        ("host", "always", None),
        ("host", "everysec", [("WAITAOF", 1, 0, 4000)]),
        ("failover&replicas=2", "always", [("WAIT", 2, 4000)]),
        ("failover", "everysec", [("WAITAOF", 1, 0, 2000), ("WAIT", 1, 2000)]),
    ],
)
def test_what_is_waited_for_is_the_disk_here_and_that_the_replicas_have_it(
    durability: str, fsync: str, commands: list[tuple[object, ...]] | None
) -> None:
    server = Server(name="Redis", version=(8, 0, 3), aof=True, settings={"appendfsync": fsync}, in_step=2)
    address = parse(f"redis://h?durability={durability}")
    assert not {finding.code for finding in health.findings(server, address) if finding.level == "refuse"}
    waits = wait_for(server, address)
    assert (waits.commands if waits is not None else None) == commands


def test_a_disk_that_does_not_confirm_is_told_apart_from_a_replica_that_does_not() -> None:
    wait = Wait(disk=True, replicas=1, patience=1.0)
    wait.check([[1, 0], 1], "redis://h")
    with pytest.raises(StoreUnreachable, match="the server's disk did not confirm"):
        wait.check([[0, 0], 1], "redis://h")
    with pytest.raises(StoreUnreachable, match=r"0 of 1 replicas confirmed.*is a replica away"):
        wait.check([[1, 0], 0], "redis://h")


def test_a_replica_that_is_asked_for_and_not_there_is_refused_and_no_doctor_says_otherwise() -> None:
    with start_redis(options=ALWAYS) as server:
        url = f"{server.url}?durability=failover"
        with pytest.raises(StoreUnusable, match=r"waits for 1 replicas, and 0 answer.*replicaof"):
            open_redis(url)
        assert server.command("EXISTS", "noonmark:{noonmark}:meta") == 0
        with start_redis(options={**ALWAYS, "replicaof": f"127.0.0.1 {server.port}"}) as replica:
            _wait_for_replica(server, replica)
            store = open_redis(f"{url}&timeout=1")
            began = time.monotonic()
            for n in range(5):
                store.add(f"a{n}", [make_caller_row(f"a{n}", at=store.now())])
            assert time.monotonic() - began < 2, "a replica is asked what it has, not what it has on its disk"
            with pytest.raises(StoreUnusable, match="waits for 2 replicas, and 1 answer"):
                open_redis(f"{url}&replicas=2")
        with pytest.raises(StoreUnreachable, match="0 of 1 replicas confirmed the write in time"):
            store.add("b", [make_caller_row("b", at=1)])
        told = {finding.code: finding for finding in store.diagnose()}
        assert told["replicas_missing"].level == "refuse"
        said = promises(store.capabilities, list(told.values()))
        assert "durability_failover" not in {finding.code for finding in said}
        store.close()


def test_waiting_for_a_disk_that_is_not_used_is_refused(server: Redis) -> None:
    with pytest.raises(StoreUnusable, match="appendonly yes"):
        open_redis(f"{server.url}?durability=host")


def test_waiting_for_the_disk_needs_a_server_that_can() -> None:
    with start_redis(kind="redis", options=AOF) as old, pytest.raises(StoreUnusable, match="WAITAOF"):
        open_redis(f"{old.url}?durability=host")


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_eviction_is_refused_where_memory_is_bounded(policy: str) -> None:
    with start_redis(options={"maxmemory": "50mb", "maxmemory-policy": policy}) as server:
        with pytest.raises(StoreUnusable, match="CONFIG SET maxmemory-policy noeviction"):
            open_redis(server.url)
        server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        assert _codes(server.url)["memory_free"] == "ok"
        used = int(server.command("INFO", "memory").split("used_memory:")[1].split()[0])
        server.command("CONFIG", "SET", "maxmemory", used * 11 // 10)
        assert _codes(server.url)["memory_near"] == "warn"
        server.command("CONFIG", "SET", "maxmemory-policy", policy)
        server.command("CONFIG", "SET", "maxmemory", 0)
        assert _codes(server.url)["eviction_possible"] == "warn"


def test_what_may_not_be_read_is_said_and_not_promised() -> None:
    users = ["user default off", "user root on >p ~* &* +@all", "user noon on >p ~* &* +@all -info -config"]
    with start_redis(users=users, options=ALWAYS) as server:
        url = f"redis://noon:p@127.0.0.1:{server.port}/0"
        assert _codes(url)["server_unread"] == "warn"
        found = _capabilities(url)
        assert not {name for name in found if name.startswith("durable")}
        assert Capability.FAILOVER_LOSS in found, "there may be replicas"


def test_replicas_are_warned_of_until_their_lag_is_bounded(lasting: Redis) -> None:
    with start_redis(options={"replicaof": f"127.0.0.1 {lasting.port}"}) as replica:
        _wait_for_replica(lasting, replica)
        assert _codes(lasting.url)["replicas_unbounded"] == "warn"
        assert Capability.FAILOVER_LOSS in _capabilities(lasting.url)
        lasting.command("CONFIG", "SET", "min-replicas-to-write", 1)
        try:
            assert _codes(lasting.url)["replicas_bounded"] == "ok"
            assert Capability.FAILOVER_LOSS in _capabilities(lasting.url), "shorter is not never"
        finally:
            lasting.command("CONFIG", "SET", "min-replicas-to-write", 0)


def test_a_caller_who_waits_for_a_replica_is_told_when_there_is_none_in_step() -> None:
    with start_sentinel(options=ALWAYS) as pair:
        store = open_redis(pair.url_with(durability="failover", timeout="2"))
        try:
            assert {Capability.DURABLE_FAILOVER, Capability.DURABLE_HOST} <= store.capabilities
            assert Capability.FAILOVER_LOSS not in store.capabilities
            row = make_caller_row("a", at=store.now())
            assert store.add("a", [row])[0].outcome == "added"
            pair.replica.pause()
            try:
                with pytest.raises(StoreUnreachable, match="0 of 1 replicas confirmed"):
                    store.add("b", [make_caller_row("b", at=store.now())])
                with pytest.raises(StoreUnreachable, match="0 of 1 replicas confirmed"):
                    store.add("b", [make_caller_row("b", at=store.now())])  # the first answer is no safer than before
            finally:
                pair.replica.resume()
            assert store.add("b", [make_caller_row("b", at=store.now())])[0].outcome == "added"
            assert store.tallies().duplicates_refused == 0
        finally:
            store.close()


def _wait_for_replica(primary: Redis, replica: Redis) -> None:
    from noonmark.testing.servers import wait_until

    wait_until(lambda: "connected_slaves:1" in primary.command("INFO", "replication"), 20, "the replica to connect")
    wait_until(lambda: "master_link_status:up" in replica.command("INFO", "replication"), 20, "the link to be up")


# --- without a server ---------------------------------------------------------------------------------


def _findings(address: str = "redis://h", **fields: object) -> dict[str, str]:
    found = health.findings(Server(**fields), parse(address))  # type: ignore[arg-type]
    return {finding.code: finding.level for finding in found}


@pytest.mark.parametrize(
    ("version", "code"), [((6, 0, 16), "server_too_old"), ((6, 2, 0), "server_version"), ((7, 2, 4), "server_version")]
)
def test_a_version_too_old_is_refused(version: tuple[int, ...], code: str) -> None:
    assert code in _findings(version=version, shown=".".join(map(str, version)))


def test_an_unknown_version_is_not_guessed_at() -> None:
    assert _findings(unread=("INFO",)) == {"server_version": "ok", "server_unread": "warn"}


def test_sentinels_without_a_replica_still_mean_a_failover() -> None:
    found = _findings("redis+sentinel://h/main", version=(7, 0), aof=True, replicas=0)
    assert found["replicas_unbounded"] == "warn"


def test_a_server_that_takes_nothing_in_must_be_mended_and_is_waited_for_when_it_is_opened() -> None:
    found = _findings(version=(7, 2), aof=True, maxmemory=10, used_memory=10, failing="append-only file")
    assert found["memory_full"] == found["saving_fails"] == "refuse"
    assert {"memory_full", "saving_fails"} == health.PASSING


@pytest.mark.parametrize(
    ("info", "settings", "failing"),
    [
        ({"aof_enabled": "1", "aof_last_write_status": "err"}, {}, "append-only file"),
        ({"rdb_last_bgsave_status": "err"}, {"save": "60 1"}, "snapshot"),
        ({"rdb_last_bgsave_status": "err"}, {"save": ""}, ""),
        ({"rdb_last_bgsave_status": "err"}, {"save": "60 1", "stop-writes-on-bgsave-error": "no"}, ""),
        ({"aof_enabled": "1", "aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok"}, {"save": "60 1"}, ""),
    ],
)
def test_a_server_that_refuses_writes_because_it_cannot_save_is_known_by_what_it_says(
    info: dict[str, str], settings: dict[str, str], failing: str
) -> None:
    assert _failing(info, settings) == failing


def test_every_finding_that_is_not_fine_has_a_remedy() -> None:
    servers = [
        Server(version=(6, 0), shown="6.0"),
        Server(version=(7, 2), policy="allkeys-lru", maxmemory=10, used_memory=9, aof=False, replicas=1),
        Server(version=(7, 2), policy="allkeys-lru", aof=False, settings={"save": "60 1"}),
        Server(version=(6, 2), aof=True, unread=("CONFIG GET",)),
        Server(version=(7, 2), aof=True, maxmemory=10, used_memory=11, failing="snapshot"),
    ]
    for server in servers:
        for url in ("redis://h", "redis://h?durability=host", "redis+sentinel://h/main?durability=failover"):
            for finding in health.findings(server, parse(url)):
                assert finding.level == "ok" or finding.remedy, finding
                assert finding.sentence.endswith("."), finding
