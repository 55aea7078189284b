"""A cluster that moves slots, a pair that fails over, a server that is killed: nothing half done, nothing lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from redis.crc import key_slot

from noonmark.core.model import LOOK_LEASE, SECOND, Query, State
from noonmark.ports.store import Capability, StoreError, StoreUnreachable, StoreUnusable
from noonmark.stores.redis import RedisStore, open_redis
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_end, make_start
from noonmark.testing.servers import (
    Redis,
    RedisCluster,
    free_port,
    start_cluster,
    start_redis,
    start_sentinel,
    wait_until,
)


@pytest.fixture(scope="module", params=["valkey", "redis"])
def cluster(request: pytest.FixtureRequest) -> Iterator[RedisCluster]:
    with start_cluster(kind=request.param) as started:
        yield started


def _owner(cluster: RedisCluster, slot: int) -> Redis:
    for first, last, primary, *_ in cluster.nodes[0].command("CLUSTER", "SLOTS"):
        if first <= slot <= last:
            return next(node for node in cluster.nodes if node.port == primary[1])
    raise AssertionError(f"nobody has slot {slot}")


def _persist(verb: object, *args: object) -> object:
    while True:
        try:
            return verb(*args)  # type: ignore[operator]
        except StoreUnreachable:
            threading.Event().wait(0.05)


def test_a_node_of_a_cluster_is_refused_as_a_single_server(cluster: RedisCluster) -> None:
    for node in cluster.nodes:
        with pytest.raises(StoreUnusable, match=r"redis\+cluster://"):
            open_redis(node.url)


def test_all_keys_of_a_namespace_are_in_one_slot(cluster: RedisCluster) -> None:
    store = open_redis(cluster.url_with(namespace="oneslot"))
    now = store.now()
    store.activate("r", [make_activation("中{x}", effective_at=now)], actor="ada")
    store.add("a", [make_caller_row("a{b}", at=now, job="中{x}", key="{k}")])
    store.close()
    names = [name for node in cluster.nodes for name in node.command("KEYS", "noonmark:{oneslot}:*")]
    assert len(names) > 5
    assert {key_slot(name.encode()) for name in names} == {key_slot(b"noonmark:{oneslot}:meta")}


def test_while_a_slot_moves_nothing_is_half_done_and_afterwards_all_goes_on(cluster: RedisCluster) -> None:
    """Key by key, as cluster tools move a slot: from the first moment on every verb is refused as a whole."""
    store, heard = open_redis(cluster.url_with(namespace="moves")), threading.Event()
    now = store.now()
    store.listen(heard.set)
    store.activate("r", [make_activation(effective_at=now)], actor="ada")
    store.add("a", [make_caller_row(str(n), at=now) for n in range(20)])
    slot = key_slot(b"noonmark:{moves}:meta")
    source = _owner(cluster, slot)
    target = next(node for node in cluster.nodes if node is not source)
    target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", source.command("CLUSTER", "MYID"))
    source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", target.command("CLUSTER", "MYID"))
    names = source.command("CLUSTER", "GETKEYSINSLOT", slot, 1_000)
    refused = 0
    for moved, name in enumerate(names):
        try:
            store.add(f"during-{moved}", [make_caller_row(f"during-{moved}", at=now)])
        except StoreUnreachable:
            refused += 1
        source.command("MIGRATE", "127.0.0.1", target.port, name, 0, 5_000)
    assert refused == len(names)
    for node in (target, source):
        node.command("CLUSTER", "SETSLOT", slot, "NODE", target.command("CLUSTER", "MYID"))
    added = _persist(store.add, "during-0", [make_caller_row("during-0", at=now)])
    assert [answer.outcome for answer in added] == ["added"]  # type: ignore[attr-defined]
    rows = store.occurrences(Query(limit=100))
    assert {row.identity for row in rows} == {f"l:{n}" for n in range(20)} | {"l:during-0"}
    taken = store.take("t", "w", limit=100, runnable={"job": LEASE}, look_lease=LOOK_LEASE).rows
    assert len(taken) == 21
    wait_until(lambda: Capability.NOTIFY in store.capabilities, 20, "the listener to follow")
    other = open_redis(cluster.url_with(namespace="moves"))
    heard.clear()
    other.add("due", [make_caller_row("due", at=now - SECOND)])
    assert heard.wait(10), "the listener has followed the slot"
    other.close()
    store.close()


def test_a_listener_in_a_cluster_hears(cluster: RedisCluster) -> None:
    here, there = (open_redis(cluster.url_with(namespace="hears")) for _ in range(2))
    heard = threading.Event()
    there.listen(heard.set)
    here.add("a", [make_caller_row("a", at=here.now() - 1)])
    assert heard.wait(10)
    here.close()
    there.close()


def test_one_reachable_node_is_enough_to_find_the_others(cluster: RedisCluster) -> None:
    store = open_redis(f"redis+cluster://127.0.0.1:1,127.0.0.1:{cluster.nodes[2].port}/?namespace=found")
    assert store.now() > 0
    store.close()


def test_in_a_cluster_verbs_and_listeners_follow_the_replica_that_took_over() -> None:
    options = {"cluster-node-timeout": "1000", "cluster-replica-validity-factor": "0"}
    with start_cluster(options=options) as cluster:
        primary = _owner(cluster, key_slot(b"noonmark:{noonmark}:meta"))
        more = {**primary.options, "cluster-port": str(free_port()), "repl-diskless-sync-delay": "0"}
        with Redis(kind=primary.installation.kind, options=more) as replica:
            replica.command("CLUSTER", "MEET", "127.0.0.1", primary.port, primary.options["cluster-port"])
            myid = primary.command("CLUSTER", "MYID")
            wait_until(lambda: myid in replica.command("CLUSTER", "NODES"), 20, "the replica to know its primary")
            replica.command("CLUSTER", "REPLICATE", myid)
            wait_until(lambda: "master_link_status:up" in replica.command("INFO", "replication"), 20, "the link")
            known = next(node for node in cluster.nodes if node is not primary)
            wait_until(lambda: f"slave {myid}" in known.command("CLUSTER", "NODES"), 20, "all to know the replica")
            store, heard = open_redis(cluster.url), threading.Event()
            store.listen(heard.set)
            store.add("a", [make_caller_row("a", at=store.now() + SECOND)])
            primary.kill()
            assert _persist(store.add, "b", [make_caller_row("b", at=0)])
            wait_until(lambda: Capability.NOTIFY in store.capabilities, 20, "the listener to find the new primary")
            heard.clear()
            other = open_redis(cluster.url)
            other.add("c", [make_caller_row("c", at=-1)])
            assert heard.wait(10)
            assert {row.identity for row in store.occurrences(Query())} == {"l:a", "l:b", "l:c"}
            other.close()
            store.close()


def test_after_a_failover_the_store_goes_on_with_the_new_primary() -> None:
    with start_sentinel(options={"appendonly": "yes", "appendfsync": "always"}) as pair:
        store = open_redis(pair.url_with(durability="failover", timeout="5"))
        now = store.now()
        acknowledged = []
        for n in range(3):
            store.add(f"a{n}", [make_caller_row(str(n), at=now)])
            acknowledged.append(f"l:{n}")
        pair.fail_over()
        store.close()
        store = open_redis(pair.url)  # without waiting: the only replica is the primary now
        assert _persist(store.add, "after", [make_caller_row("after", at=now)])
        assert {row.identity for row in store.occurrences(Query(limit=100))} == {*acknowledged, "l:after"}
        store.close()


def test_a_killed_server_has_lost_nothing_that_was_acknowledged() -> None:
    """Kill it in the middle of a stream of verbs, again and again; what was answered is there, and nothing twice."""
    with start_redis(options={"appendonly": "yes", "appendfsync": "everysec"}) as server:
        store = open_redis(f"{server.url}?timeout=5")
        store.activate("r", [make_activation(effective_at=store.now() - SECOND)], actor="ada")
        done: list[str] = []
        stop = threading.Event()
        worker = threading.Thread(target=_work_until, args=(store, stop, done))
        worker.start()
        for _ in range(3):
            _wait_for_more(done)
            server.kill()
            server.start()
        _wait_for_more(done)
        stop.set()
        worker.join()
        rows = {row.identity: row for row in store.occurrences(Query(limit=100_000))}
        assert {rows[identity].state for identity in done} == {State.SUCCESS}
        assert len(done) == len(set(done))
        counts = store.tallies().by_state
        assert sum(counts.values()) == len(rows)
        assert counts[State.SUCCESS] == sum(1 for row in rows.values() if row.state is State.SUCCESS)
        store.close()


def _work_until(store: RedisStore, stop: threading.Event, done: list[str]) -> None:
    """Add, take and end rows, repeating each verb under its request id until it is answered."""
    number = 0
    while not stop.is_set():
        number += 1
        rows = [make_caller_row(f"{number}-{n}", at=0) for n in range(5)]
        _persist(lambda rows=rows, number=number: store.add(f"a{number}", rows))
        taken = _persist(
            lambda number=number: store.take(
                f"t{number}", "w", limit=50, runnable={"job": LEASE}, look_lease=LOOK_LEASE
            )
        )
        ends = [make_end(row) for row in taken.rows]  # type: ignore[attr-defined]
        answers = _persist(lambda ends=ends, number=number: store.settle(f"s{number}", "w", ends))
        assert {answer.outcome for answer in answers} <= {"applied"}  # type: ignore[attr-defined]
        done += [row.identity for row in taken.rows]  # type: ignore[attr-defined]


def _wait_for_more(done: list[str]) -> None:
    wanted = len(done) + 50
    while len(done) < wanted:
        threading.Event().wait(0.01)


def test_a_failure_is_a_store_error_whatever_the_moment() -> None:
    """No driver's exception comes through while a server goes down and up."""
    with start_redis() as server:
        store = open_redis(f"{server.url}?timeout=1")
        stop, strange = threading.Event(), []

        def ask() -> None:
            while not stop.is_set():
                try:
                    store.occurrences(Query(limit=5))
                    store.now()
                except StoreError:
                    pass
                except BaseException as error:
                    strange.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            server.kill()
            server.start()
        stop.set()
        for thread in threads:
            thread.join()
        assert strange == []
        store.close()


def test_two_hundred_threads_of_one_store_get_each_their_own_answer() -> None:
    with start_redis() as server:
        store = open_redis(server.url)
        now = store.now()
        answers: dict[int, str] = {}

        def add(n: int) -> None:
            answers[n] = store.occurrences(Query(ids=(store.add(f"a{n}", [make_caller_row(str(n), at=now)])[0].id,)))[
                0
            ].identity

        threads = [threading.Thread(target=add, args=(n,)) for n in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == {n: f"l:{n}" for n in range(200)}
        assert int(server.command("INFO", "clients").split("connected_clients:")[1].split()[0]) < 40
        store.close()


def test_events_of_a_lapsed_run_are_exact_among_threads() -> None:
    """Threads of many workers take and settle the same rows: every row succeeds once."""
    with start_redis() as server:
        stores = [open_redis(server.url) for _ in range(4)]
        now = stores[0].now()
        stores[0].activate("r", [make_activation(effective_at=now)], actor="ada")
        stores[0].add("a", [make_caller_row(str(n), at=now, gated=n % 5 == 0) for n in range(400)])
        won: list[int] = []

        def work(store: RedisStore, name: str) -> None:
            number = 0
            while store.tallies().by_state.get(State.SUCCESS, 0) < 400:
                number += 1
                taken = store.take(f"{name}-{number}", name, limit=7, runnable={"job": SECOND}, look_lease=SECOND).rows
                ends = [make_end(row) for row in taken if not row.looking]
                looks = [row for row in taken if row.looking]
                for look in looks:
                    answer = store.settle(f"{name}-{number}-{look.id}", name, [make_start(look, lease=SECOND)])[0]
                    if answer.outcome == "applied":
                        ends.append(make_end(look))
                for answer, end in zip(store.settle(f"{name}-{number}-end", name, ends), ends, strict=True):
                    if answer.outcome == "applied":
                        won.append(end.occurrence_id)

        threads = [threading.Thread(target=work, args=(store, f"w{n}")) for n, store in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == len(set(won)) == 400
        for store in stores:
            store.close()
