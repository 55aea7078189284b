"""The way to the store, and the lease keeper's thread."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from noonmark.core.model import SECOND, Micros, WorkerInfo
from noonmark.engine import host
from noonmark.engine.errors import GateClosed
from noonmark.engine.gate import RETRY_LONGEST, StoreGate, backoff
from noonmark.engine.host import is_alive, lives_here
from noonmark.engine.leases import HEARTBEAT_TTL, Book, Duty, Keeper
from noonmark.engine.runs import trust_end
from noonmark.engine.signals import Happening, StoreAway, StoreBack
from noonmark.ports.clock import SystemClock
from noonmark.ports.store import StoreUnreachable, StoreUnusable
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_worker
from noonmark.testing.clock import VirtualClock


@pytest.fixture
def told() -> list[Happening]:
    """What the gate told."""
    return []


@pytest.fixture
def gate(told: list[Happening]) -> Iterator[StoreGate]:
    """A gate with its thread."""
    made = StoreGate(SystemClock(), lambda: 0.0, told.append)
    yield made
    made.give_up()
    made.close()


def test_a_verb_is_repeated_until_the_store_answers(gate: StoreGate, told: list[Happening]) -> None:
    tries: list[str] = []

    def verb(request_id: str) -> int:
        tries.append(request_id)
        if len(tries) < 3:
            raise StoreUnreachable("locked")
        return 42

    assert gate.submit(verb, "r1").result(10) == 42
    assert tries == ["r1"] * 3, "the same request id each time"
    assert [type(happening) for happening in told] == [StoreAway, StoreBack]


def test_verbs_are_carried_out_one_after_the_other_in_their_order(gate: StoreGate) -> None:
    seen: list[int] = []
    futures = [gate.submit(seen.append, number) for number in range(100)]
    for future in futures:
        future.result(10)
    assert seen == list(range(100))


def test_a_store_that_cannot_serve_is_not_tried_again(gate: StoreGate) -> None:
    tries: list[int] = []

    def verb() -> None:
        tries.append(1)
        raise StoreUnusable("the file is from a newer version")

    with pytest.raises(StoreUnusable):
        gate.submit(verb).result(10)
    assert len(tries) == 1


def test_giving_up_ends_the_wait_for_a_store_that_stays_away(gate: StoreGate) -> None:
    began = threading.Event()

    def verb() -> None:
        began.set()
        raise StoreUnreachable("gone")

    future = gate.submit(verb)
    assert began.wait(10)
    gate.give_up()
    with pytest.raises(GateClosed):
        future.result(10)
    with pytest.raises(GateClosed):
        gate.submit(verb).result(10)


def test_the_first_try_after_the_store_s_return_comes_within_a_second() -> None:
    assert all(0 < backoff(failures, dice) < 0.75 for failures in (0, 1, 5, 50, 5000) for dice in (0.0, 0.999))


def test_trust_ends_before_the_lease_and_counts_from_the_asking() -> None:
    assert trust_end(100 * SECOND, 30 * SECOND) == 100 * SECOND + 29_500_000
    assert trust_end(0, SECOND) < SECOND


def test_a_hint_of_an_earlier_renewal_wakes_the_keeper() -> None:
    rounds = threading.Semaphore(0)
    store, clock = MemoryStore(), SystemClock()
    info = host.this_worker(clock, name="w", jobs=())

    class Counted(Duty):
        def keep_once(self) -> int:
            upcoming = super().keep_once()
            rounds.release()
            return upcoming

    keeper = Keeper(Counted(store, clock, info, Book(), on_lost=lambda _: None, on_cancel=lambda _: None), clock)
    keeper.start()
    assert rounds.acquire(timeout=10)
    for _ in range(200):  # the first hint may come while the round still ends, and is kept then
        keeper.expect(clock.boot())
        if rounds.acquire(timeout=0.05):
            break
    else:
        pytest.fail("the keeper slept on")
    keeper.end()
    assert not keeper.is_alive()


def test_the_kernel_answers_for_workers_of_this_machine_and_the_heartbeat_for_others() -> None:
    us = host.this_worker(SystemClock(), name="w", jobs=())
    here = {"host": us.host, "boot_id": us.boot_id, "pid": us.pid, "process_started": us.process_started, "until": 0}
    assert is_alive(here, us, 10) is True
    assert is_alive({**here, "process_started": "1"}, us, 10) is False, "the pid was reused"
    assert is_alive({**here, "ended_at": 5}, us, 10) is False
    assert is_alive({**here, "host": "elsewhere", "until": 11}, us, 10) is True
    assert is_alive({**here, "host": "elsewhere", "until": 10}, us, 10) is False
    assert is_alive(None, us, 10) is None


def test_a_reader_of_the_same_machine_knows_whether_a_worker_lives_and_any_other_does_not() -> None:
    boot = SystemClock().boot_id()
    us = host.this_worker(SystemClock(), name="w", jobs=())
    assert lives_here(us, boot) is True
    assert lives_here(replace(us, process_started="1"), boot) is False, "the pid was reused"
    assert lives_here(replace(us, pid=2**22 + 1), boot) is False
    assert lives_here(replace(us, host="elsewhere"), boot) is None
    assert lives_here(us, "another boot") is None


def test_workers_whose_store_went_away_together_do_not_come_back_together() -> None:
    dice = random.Random(7)
    tries = [backoff(9, dice.random()) for _ in range(1000)]
    span = RETRY_LONGEST / 2  # the other half everybody waits
    busiest = max(sum(begin <= moment < begin + span / 10 for moment in tries) for begin in tries)
    assert min(tries) >= span
    assert busiest < 150, "of a thousand workers a tenth asks in each tenth of the time, and little more"


def test_a_store_that_stays_away_is_asked_less_and_less_often(gate: StoreGate, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(gate._closing, "wait", waits.append)
    tries = itertools.count()

    def verb() -> int:
        if next(tries) < 5:
            raise StoreUnreachable("gone")
        return 42

    assert gate.submit(verb).result(10) == 42
    assert waits == [backoff(failures, 0.0) for failures in range(5)]
    assert waits == sorted(set(waits)), "each wait is longer than the one before"


def test_a_wrong_clock_is_told_at_once_and_the_heartbeats_after_that_come_when_they_are_due() -> None:
    clock = VirtualClock()
    ahead = 5 * SECOND

    class Behind(MemoryStore):
        def heartbeat(self, worker: WorkerInfo, ttl: Micros, *, at: Micros | None = None) -> Micros:
            return super().heartbeat(worker, ttl, at=at) - ahead

    store = Behind(clock)
    duty = Duty(store, clock, make_worker("w1"), Book(), on_lost=lambda _: None, on_cancel=lambda _: None)
    duty.beat()
    assert duty.beat_at == clock.boot(), "the store does not know it yet"
    duty.beat()
    assert store.workers()[0].wall_offset == ahead
    assert duty.beat_at == clock.boot() + HEARTBEAT_TTL // 3


def test_who_was_silent_for_as_long_as_a_heartbeat_counts_is_told_so_once_when_it_is_heard_again() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    duty = Duty(store, clock, make_worker("w1"), Book(), on_lost=lambda _: None, on_cancel=lambda _: None)
    duty.beat()
    clock.advance(HEARTBEAT_TTL - 1)
    duty.beat()
    assert not duty.came_back(), "nobody can have taken it for gone"
    clock.advance(HEARTBEAT_TTL)
    assert duty.is_silent
    duty.beat()
    clock.advance(SECOND)
    duty.beat()
    assert [duty.came_back(), duty.came_back()] == [True, False]
