"""Locks on Redis and Valkey: who else may use the keys, what stays behind, and what a person is told."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from noonmark.core.model import SECOND
from noonmark.locks import (
    ZSET,
    LockError,
    LockLost,
    LockTaken,
    LockUnusable,
    acquire,
    lock,
    open_locks,
    poll_once,
    release,
    renew,
    schedule,
)
from noonmark.locks.redis import RedisLocks, keys_of
from noonmark.testing.servers import find, start_redis, start_sentinel

TTL = 30 * SECOND
FAMILY = sorted({installation.kind for kind in ("valkey", "redis") for installation in find(kind)})


@pytest.fixture(params=FAMILY, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with start_redis(kind=request.param) as started:
        yield started


@pytest.fixture(params=[False, True], ids=["bytes", "text"])
def client(server: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    with redis.Redis.from_url(server.url, decode_responses=request.param) as opened:
        opened.flushall()
        yield opened


@pytest.fixture
def locks(server: Any) -> Iterator[RedisLocks]:
    opened = RedisLocks(server.url)
    yield opened
    opened.close()


# -- together with the bare functions and with anybody's SET NX PX -------------------------------------


def test_bare_functions_answer_with_booleans_as_in_the_book(client: Any) -> None:
    assert acquire(client, "n", 30_000, "a") is True
    assert acquire(client, "n", 30_000, "b") is False
    assert acquire(client, "n", 30_000, "a") is False
    assert release(client, "n", "b") is False
    assert client.get("lock:n") in (b"a", "a")
    assert renew(client, "n", "b", 60_000) is False
    assert client.pttl("lock:n") <= 30_000
    assert renew(client, "n", "a", 60_000) is True
    assert client.pttl("lock:n") > 30_000
    assert release(client, "n", "a") is True
    assert client.get("lock:n") is None
    assert release(client, "n", "a") is False
    assert renew(client, "n", "a", 60_000) is False


def test_all_ways_to_lock_exclude_each_other(client: Any, locks: RedisLocks) -> None:
    assert acquire(client, "n", 30_000, "bare")
    with pytest.raises(LockTaken):
        lock("n", at=locks).acquire()
    assert release(client, "n", "bare")
    with lock("n", at=locks) as held:
        assert not acquire(client, "n", 30_000, "bare")
        assert client.set("lock:n", "anybody", nx=True, px=1000) is None
        assert renew(client, "n", held.token, 40_000)
        held.renew()
    client.set("lock:n", "anybody", nx=True, px=30_000)
    assert locks.acquire("n", TTL, "t") is None


def test_a_lock_that_was_taken_by_a_bare_acquire_gets_a_fence_when_it_is_asked_again(
    client: Any, locks: RedisLocks
) -> None:
    with lock("n", at=locks) as earlier:
        pass
    assert acquire(client, "n", 30_000, "bare")
    granted = locks.acquire("n", TTL, "bare")
    assert granted is not None
    assert granted.fence > earlier.fence
    assert locks.renew("n", TTL, "bare") == granted


def test_a_bare_release_with_the_token_of_a_held_lock_is_noticed_at_the_next_renewal(
    client: Any, locks: RedisLocks
) -> None:
    held = lock("n", at=locks).acquire()
    assert release(client, "n", held.token)
    with pytest.raises(LockLost):
        held.renew()


def test_a_client_of_the_caller_s_will_do_and_stays_open(client: Any) -> None:
    theirs = RedisLocks(client=client)
    with lock("n", at=theirs) as held:
        assert client.get("lock:n") in (held.token, held.token.encode())
    theirs.close()
    assert client.ping()


# -- the timer -----------------------------------------------------------------------------------------


def test_the_timer_counts_by_the_server_s_clock_and_fires_each_job_once_in_order(client: Any) -> None:
    schedule(client, "late", "run-1", 3600)
    schedule(client, "second", "run-2", -1)
    schedule(client, "first", "跑-3", -2)
    seconds, microseconds = client.time()
    ((_, due),) = client.zrange(ZSET, -1, -1, withscores=True)
    assert 3599 < due - (seconds + microseconds / 1e6) <= 3600
    fired: list[tuple[str, str]] = []

    def fire(job: str, run: str) -> None:
        fired.append((job, run))

    assert [poll_once(client, fire) for _ in range(3)] == [True, True, False]
    assert fired == [("first", "跑-3"), ("second", "run-2")]
    assert client.zcard(ZSET) == 1


def test_scheduling_the_same_job_and_run_again_moves_it(client: Any) -> None:
    schedule(client, "a", "r", -1)
    schedule(client, "a", "r", 3600)
    assert client.zcard(ZSET) == 1
    assert poll_once(client) is False


def test_many_pollers_claim_each_job_once(server: Any, client: Any) -> None:
    for number in range(200):
        schedule(client, f"job-{number}", "r", -1)
    fired: list[str] = []

    def poll(_number: int) -> None:
        with redis.Redis.from_url(server.url) as own:
            while poll_once(own, lambda job, _run: fired.append(job)):
                pass

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(poll, range(6)))
    assert sorted(fired) == sorted(f"job-{number}" for number in range(200))
    assert client.zcard(ZSET) == 0


# -- what stays behind -----------------------------------------------------------------------------------


def test_every_key_ends_by_itself(client: Any, locks: RedisLocks) -> None:
    """The lock with its ttl, the memory of its fences a day later; after a release only that is left."""
    assert locks.acquire("n", TTL, "t") is not None
    ends = {key: client.pttl(key) / 1000 for key in client.keys("*")}
    assert {str(key).strip("b'") for key in ends} == {"lock:n", "fence:{lock:n}"}
    assert all(0 < left <= 86_400 + 31 for left in ends.values())
    assert locks.release("n", "t")
    assert len(client.keys("*")) == 1


def test_a_refused_acquire_leaves_no_key(client: Any, locks: RedisLocks) -> None:
    client.set("lock:n", "anybody")
    assert locks.acquire("n", TTL, "t") is None
    assert locks.renew("n", TTL, "t") is None
    assert locks.release("n", "t") is False
    assert client.keys("*") in ([b"lock:n"], ["lock:n"])


def test_the_fence_goes_on_from_memory_where_the_server_s_clock_was_ahead(client: Any, locks: RedisLocks) -> None:
    ahead = 4_000_000_000_000_000  # the year 2096
    client.hset("fence:{lock:n}", mapping={"last": str(ahead), "token": "x", "fence": str(ahead)})
    fences = []
    for number in range(3):
        granted = locks.acquire("n", TTL, f"t{number}")
        assert granted is not None
        fences.append(granted.fence)
        locks.release("n", f"t{number}")
    assert fences == [ahead + 1, ahead + 2, ahead + 3]


def test_a_server_that_forgot_its_scripts_is_sent_them_again(client: Any, locks: RedisLocks) -> None:
    for _ in range(2):
        client.script_flush()
        with lock("n", at=locks) as held:
            client.script_flush()
            held.renew()
            client.script_flush()


def test_a_connection_that_died_while_idle_is_replaced_unnoticed(client: Any, locks: RedisLocks) -> None:
    with lock("n", at=locks) as held:
        client.client_kill_filter(skipme=True, _type="normal")
        held.renew()
        client.client_kill_filter(skipme=True, _type="normal")


@pytest.mark.parametrize("name", ["a", "a{b}c", "{}a", "a}b", "a{b", "x{}y{z}"])
def test_lock_and_fence_live_in_one_slot_or_the_name_is_refused_in_a_cluster(name: str, cluster: Any) -> None:
    together = len({redis.crc.key_slot(key.encode()) for key in keys_of(name)}) == 1
    with contextlib.closing(RedisLocks(cluster.url)) as locks:
        if together:
            assert locks.acquire(name, TTL, "t") is not None
            assert locks.release(name, "t")
        else:
            with pytest.raises(ValueError, match="brace"):
                locks.acquire(name, TTL, "t")


# -- what a person is told -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([">pw", "~other:*", "+@all"], "keys lock:"),
        ([">pw", "~*", "+get", "+evalsha"], "commands eval"),
        ([">pw", "~*", "+eval", "+evalsha", "+get"], "commands eval"),
        ([">another", "~*", "+@all"], "user and password"),
    ],
)
def test_a_user_who_may_not_is_told_what_to_allow(server: Any, client: Any, rules: list[str], said: str) -> None:
    client.execute_command("ACL", "SETUSER", "bob", "reset", "on", *rules)
    with contextlib.closing(RedisLocks(server.url.replace("redis://", "redis://bob:pw@"))) as locks:
        with pytest.raises(LockUnusable, match=said) as refused:
            locks.acquire("n", TTL, "t")
        assert "pw" not in str(refused.value).replace("passw", "")


def test_what_the_message_tells_to_allow_is_enough(server: Any, client: Any) -> None:
    client.execute_command(
        "ACL", "SETUSER", "min", "reset", "on", ">pw", "~lock:*", "~fence:*", "-@all", "+eval", "+evalsha", "+get",
        "+set", "+del", "+pexpire", "+hmget", "+hget", "+hset", "+time", "+hello", "+client",
    )  # fmt: skip
    with (
        contextlib.closing(RedisLocks(server.url.replace("redis://", "redis://min:pw@"))) as locks,
        lock("n", at=locks) as held,
    ):
        held.renew()


def test_a_full_server_refuses_new_locks_but_renews_and_frees(client: Any, locks: RedisLocks) -> None:
    assert locks.acquire("mine", TTL, "t") is not None
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(LockUnusable, match="maxmemory"):
            locks.acquire("n", TTL, "t")
        assert locks.renew("mine", TTL, "t") is not None
        assert locks.release("mine", "t") is True
    finally:
        client.config_set("maxmemory", 0)
    assert client.exists("lock:n", "fence:{lock:n}") == 0, "a refused acquire has written nothing"


def test_a_key_that_is_no_lock_is_said_to_be_none(client: Any, locks: RedisLocks) -> None:
    client.lpush("lock:n", "an item")
    for call in (lambda: locks.acquire("n", TTL, "t"), lambda: locks.release("n", "t")):
        with pytest.raises(LockUnusable, match="another name"):
            call()
    assert client.llen("lock:n") == 1


def test_a_replica_is_an_unknown_outcome_and_may_pass(client: Any, locks: RedisLocks) -> None:
    client.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(LockError, match="read only") as refused:
            locks.acquire("n", TTL, "t")
        assert not isinstance(refused.value, LockUnusable)
    finally:
        client.replicaof("NO", "ONE")
    assert locks.acquire("n", TTL, "t") is not None


def test_nobody_listening_is_an_unknown_outcome() -> None:
    with contextlib.closing(RedisLocks("redis://127.0.0.1:1/0")) as locks, pytest.raises(LockError, match="refused"):
        locks.acquire("n", TTL, "t")


@pytest.mark.timeout(90)
def test_a_held_lock_lives_through_a_sentinel_failover() -> None:
    """The replica has it already here; what had not arrived would be lost, and only the fence would tell."""
    with start_sentinel() as pair, contextlib.closing(open_locks(pair.url)) as locks:
        lost = threading.Event()
        with lock("n", ttl="20s", at=locks, on_lost=lost.set) as held:
            with redis.Redis.from_url(pair.primary.url) as primary:
                assert primary.wait(1, 5000) == 1
            pair.fail_over()
            assert locks.acquire("n", TTL, "stranger") is None
            held.renew()
        assert not lost.is_set()
        with lock("n", at=locks) as later:
            assert later.fence > held.fence
