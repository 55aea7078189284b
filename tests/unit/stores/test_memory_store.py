"""What the memory store promises beyond the port: its clock, its lock, its listeners."""

from __future__ import annotations

import threading

from noonmark.core.model import HOUR, LOOK_LEASE, SECOND, Fact, Query
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import LEASE, make_activation, make_caller_row
from noonmark.testing.clock import START, VirtualClock


def test_its_time_follows_the_boot_time_not_the_wall() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    clock.step_wall(-HOUR)
    assert store.now() == START
    clock.advance(SECOND)
    assert store.now() == START + SECOND


def test_its_time_is_anchored_anew_after_a_boot() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    clock.reboot(down_for=HOUR)
    assert store.now() == START + HOUR


def test_without_an_instant_the_clock_decides_what_is_due() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    store.add("a", [make_caller_row("a", at=START + SECOND)])

    def take(request: str) -> int:
        return len(store.take(request, "w1", limit=9, runnable={}, look_lease=LOOK_LEASE).rows)

    assert take("early") == 0
    clock.advance(SECOND)
    assert take("in time") == 1


def test_a_request_is_forgotten_after_an_hour() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    assert store.signal("same", [Fact(name="flag:x", value=1)]) == [1]
    clock.advance(HOUR)
    assert store.signal("same", [Fact(name="flag:x", value=2)]) == [2]


def test_threads_that_take_at_once_never_share_a_row() -> None:
    store = MemoryStore()
    now = store.now()
    store.activate("job", [make_activation(effective_at=now)], actor="ada")
    store.add("rows", [make_caller_row(str(n), at=now) for n in range(200)])
    taken: list[list[int]] = [[] for _ in range(4)]
    begin = threading.Barrier(len(taken))

    def drain(worker: int) -> None:
        begin.wait(5)
        for round_number in range(200):
            rows = store.take(
                f"{worker}-{round_number}", f"w{worker}", limit=3, runnable={"job": LEASE}, look_lease=LOOK_LEASE
            ).rows
            if not rows:
                return
            taken[worker] += [row.id for row in rows]

    threads = [threading.Thread(target=drain, args=(worker,)) for worker in range(len(taken))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    ids = [row_id for part in taken for row_id in part]
    assert sorted(ids) == sorted(row.id for row in store.occurrences(Query()))


def test_a_listener_may_use_the_store_and_hears_nothing_after_it_stopped() -> None:
    store = MemoryStore()
    heard: list[int] = []
    stop = store.listen(lambda: heard.append(len(store.occurrences(Query()))))
    store.add("a", [make_caller_row("a", at=store.now())])
    stop()
    stop()
    store.add("b", [make_caller_row("b", at=store.now() - HOUR)])
    assert heard == [1]


def test_a_listener_is_not_told_of_what_is_due_later_than_known() -> None:
    store = MemoryStore()
    store.add("a", [make_caller_row("a", at=store.now() + HOUR)])
    heard: list[None] = []
    store.listen(lambda: heard.append(None))
    store.add("b", [make_caller_row("b", at=store.now() + 2 * HOUR)])
    assert heard == []
