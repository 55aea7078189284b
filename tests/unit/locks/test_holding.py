"""``lock()`` in threads: who holds, who is told what, and what is left behind when something goes wrong."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from noonmark.core.model import SECOND, Micros
from noonmark.locks import Grant, LockError, LockLost, LockTaken, LockUnusable
from noonmark.locks.holding import Lock
from noonmark.locks.keeper import Keeper
from noonmark.locks.memory import MemoryLocks
from noonmark.locks.service import Service
from noonmark.testing.clock import VirtualClock

TTL = 60 * SECOND


class Scripted:
    """A memory service whose next calls can be made to misbehave: before or after their effect."""

    kind, url = "memory", "memory://"

    def __init__(self, clock: VirtualClock) -> None:
        self.real = MemoryLocks(clock=clock)
        self.before: dict[str, list[Callable[[], Any]]] = {"acquire": [], "renew": [], "release": []}
        self.after: dict[str, list[Callable[[], Any]]] = {"acquire": [], "renew": [], "release": []}
        self.calls: list[tuple[str, str]] = []

    def _do(self, verb: str, token: str, call: Callable[[], Any]) -> Any:
        self.calls.append((verb, token))
        if self.before[verb]:
            self.before[verb].pop(0)()
        answer = call()
        if self.after[verb]:
            self.after[verb].pop(0)()
        return answer

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        return self._do("acquire", token, lambda: self.real.acquire(name, ttl, token))  # type: ignore[no-any-return]

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        return self._do("renew", token, lambda: self.real.renew(name, ttl, token))  # type: ignore[no-any-return]

    def release(self, name: str, token: str) -> bool:
        return self._do("release", token, lambda: self.real.release(name, token))  # type: ignore[no-any-return]

    def close(self) -> None:
        self.real.close()


def fail(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


AWAY = LockError("the service is away")


class Bench:
    """A clock, a scripted service, and locks over it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.locks = Scripted(self.clock)
        self.service = Service(
            self.locks,
            keeper=Keeper(self.clock, by_hand=True),
            pause=lambda _bell, length: self.clock.advance(max(1, length)),
        )

    def lock(self, name: str = "a", ttl: str = "60s", **options: Any) -> Lock:
        return Lock(name, ttl, find=lambda: self.service, **options)

    def is_free(self, name: str = "a") -> bool:
        granted = self.locks.real.acquire(name, TTL, "stranger") is not None
        self.locks.real.release(name, "stranger")
        return granted

    def pass_time(self, length: Micros) -> None:
        self.clock.advance(length)
        self.service.keeper.turn()


@pytest.fixture
def bench() -> Bench:
    return Bench()


# -- one object, one holder --------------------------------------------------------------------------


def test_a_lock_object_is_not_re_entrant_and_says_what_to_do(bench: Bench) -> None:
    lock = bench.lock()
    with lock as held:
        with pytest.raises(RuntimeError, match="not re-entrant"):
            lock.acquire()
        held.check()


def test_a_second_object_in_the_same_thread_is_refused_like_a_stranger(bench: Bench) -> None:
    with bench.lock(), pytest.raises(LockTaken):
        bench.lock().acquire()


def test_a_lock_object_can_be_held_again_with_a_new_token_and_a_greater_fence(bench: Bench) -> None:
    lock = bench.lock()
    with lock as first:
        pass
    with lock as second:
        pass
    assert first.token != second.token
    assert first.fence < second.fence


def test_a_failed_acquire_leaves_the_object_usable(bench: Bench) -> None:
    lock = bench.lock()
    with bench.lock(), pytest.raises(LockTaken):
        lock.acquire()
    with lock as held:
        held.check()


def test_releasing_twice_answers_false_and_frees_nobody_elses_lock(bench: Bench) -> None:
    lock = bench.lock()
    held = lock.acquire()
    assert lock.release() is True
    with bench.lock() as other:
        assert lock.release() is False
        assert held.release() is False
        other.check()
        assert not bench.is_free()


def test_a_body_may_release_early_and_is_not_told_that_it_lost(bench: Bench) -> None:
    with bench.lock() as held:
        assert held.release()
        assert bench.is_free()
        with pytest.raises(LockLost, match="it was released"):
            held.check()
    lock = bench.lock()
    with lock:
        lock.release()


def test_an_object_whose_lock_was_freed_by_its_holder_or_lost_can_be_held_again(bench: Bench) -> None:
    lock = bench.lock()
    lock.acquire().release()
    second = lock.acquire()
    bench.pass_time(2 * TTL)
    assert second.lost
    third = lock.acquire()
    third.check()
    assert second.release() is False
    third.check()
    assert lock.release() is True


def test_renewing_or_looking_at_what_is_not_held_says_so(bench: Bench) -> None:
    lock = bench.lock()
    assert lock.held is None
    assert lock.release() is False
    with pytest.raises(RuntimeError, match="does not hold"):
        lock.renew()


# -- trust -------------------------------------------------------------------------------------------


def test_trust_counts_from_when_the_service_was_asked_not_from_its_answer(bench: Bench) -> None:
    asked = bench.clock.boot()
    bench.locks.after["acquire"] = [lambda: bench.clock.advance(10 * SECOND)]
    with bench.lock() as held:
        assert held.trusted_until == asked + TTL
        assert held.remaining().total_seconds() == 50


def test_a_slow_renewal_shortens_trust_too(bench: Bench) -> None:
    with bench.lock() as held:
        bench.locks.after["renew"] = [lambda: bench.clock.advance(15 * SECOND)]
        asked = bench.clock.boot() + 20 * SECOND
        bench.pass_time(20 * SECOND)
        assert held.trusted_until == asked + TTL


def test_a_grant_that_comes_after_its_ttl_is_no_grant_and_is_freed(bench: Bench) -> None:
    bench.locks.after["acquire"] = [lambda: bench.clock.advance(TTL)]
    with pytest.raises(LockError, match="so late"):
        bench.lock().acquire()
    assert [verb for verb, _ in bench.locks.calls] == ["acquire", "release"]
    assert bench.is_free()


def test_trust_ends_on_the_boot_clock_whatever_the_wall_clock_does(bench: Bench) -> None:
    with bench.lock() as held:
        bench.clock.step_wall(86_400 * SECOND)
        assert not held.lost
        bench.clock.step_wall(-3 * 86_400 * SECOND)
        held.check()


def test_explicit_renewal_prolongs_trust(bench: Bench) -> None:
    with bench.lock(renew=False) as held:
        bench.pass_time(50 * SECOND)
        assert held.remaining().total_seconds() == 10
        held.renew()
        assert held.remaining().total_seconds() == 60


def test_without_renewal_a_lock_is_lost_when_its_ttl_ends(bench: Bench) -> None:
    told: list[int] = []
    lock = bench.lock(renew=False, on_lost=lambda: told.append(1))
    held = lock.acquire()
    bench.pass_time(TTL - 1)
    assert not held.lost
    bench.pass_time(1)
    assert held.lost
    with pytest.raises(LockLost):
        held.renew()
    assert told == [1]
    assert lock.release() is False


# -- renewals that fail ------------------------------------------------------------------------------


def test_an_unanswered_renewal_is_asked_again_soon_and_costs_nothing(bench: Bench) -> None:
    with bench.lock() as held:
        bench.locks.before["renew"] = [fail(AWAY)] * 3
        bench.pass_time(20 * SECOND)
        for _ in range(3):
            bench.pass_time(1 * SECOND)
        assert [verb for verb, _ in bench.locks.calls].count("renew") == 4
        held.check()
        assert held.trusted_until == bench.clock.boot() + TTL


def test_a_service_that_stays_away_ends_trust_on_time_and_is_named_as_the_cause(bench: Bench) -> None:
    told: list[int] = []
    bench.locks.before["renew"] = [fail(AWAY)] * 1000
    bench.locks.before["release"] = [fail(AWAY)]

    def body() -> None:
        with bench.lock(on_lost=lambda: told.append(1)) as held:
            for _ in range(60):
                assert not held.lost
                bench.pass_time(SECOND)
            assert held.lost

    with pytest.raises(LockLost, match="the service is away"):
        body()
    assert told == [1]


def test_a_lock_that_was_lost_stays_lost_even_if_the_renewal_was_carried_out_after_all(bench: Bench) -> None:
    lock = bench.lock()
    held = lock.acquire()
    bench.locks.after["renew"] = [lambda: (bench.clock.advance(TTL), held.lost)]
    bench.pass_time(20 * SECOND)
    assert held.lost
    assert held.release() is False


def test_an_explicit_renewal_without_an_answer_leaves_trust_as_it_was(bench: Bench) -> None:
    with bench.lock() as held:
        until = held.trusted_until
        bench.locks.before["renew"] = [fail(AWAY)]
        bench.clock.advance(SECOND)
        with pytest.raises(LockError, match="away"):
            held.renew()
        assert held.trusted_until == until
        held.check()


def test_the_user_s_callback_may_fail_without_harm(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    service = Service(bench.locks, keeper=Keeper(bench.clock))
    gone = threading.Event()

    def explode() -> None:
        gone.set()
        raise ZeroDivisionError("in the callback")

    lock = Lock("a", "60s", find=lambda: service, on_lost=explode)
    held = lock.acquire()
    with caplog.at_level(logging.ERROR, "noonmark.locks"):
        held.lose("for this test")
        assert gone.wait(10)
        for thread in threading.enumerate():
            if thread.name == "noonmark-lock-lost":
                thread.join(10)
    assert "on_lost of the lock a failed" in caplog.text
    assert held.lost


# -- leaving -----------------------------------------------------------------------------------------


def test_what_the_body_raises_outranks_the_loss_of_the_lock(bench: Bench) -> None:
    def body() -> None:
        with bench.lock():
            bench.pass_time(2 * TTL)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()


def test_an_unanswered_release_is_logged_and_the_body_counts_as_covered(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.locks.before["release"] = [fail(AWAY)]
    with caplog.at_level(logging.WARNING, "noonmark.locks"), bench.lock() as held:
        pass
    assert "the lock a could not be freed: " in caplog.text
    assert not held.lost
    assert not bench.is_free()
    bench.clock.advance(TTL)
    assert bench.is_free()


def test_an_explicit_release_without_an_answer_raises_and_is_not_renewed_any_more(bench: Bench) -> None:
    lock = bench.lock()
    lock.acquire()
    bench.locks.before["release"] = [fail(AWAY)]
    with pytest.raises(LockError):
        lock.release()
    bench.pass_time(TTL)
    assert "renew" not in [verb for verb, _ in bench.locks.calls]
    assert bench.is_free()


def test_somebody_else_s_lock_at_the_end_of_the_body_is_left_alone(bench: Bench) -> None:
    def body() -> None:
        with bench.lock():
            bench.locks.real.expire("a")
            assert bench.locks.real.acquire("a", TTL, "successor") is not None

    with pytest.raises(LockLost, match="overlap"):
        body()
    assert not bench.is_free()
    assert bench.locks.real.release("a", "successor")


# -- taking ------------------------------------------------------------------------------------------


def test_a_grant_whose_answer_was_lost_is_freed_and_the_error_passed_on(bench: Bench) -> None:
    bench.locks.after["acquire"] = [fail(AWAY)]
    with pytest.raises(LockError, match="away"):
        bench.lock().acquire()
    assert bench.is_free()


def test_whoever_waits_asks_again_with_the_same_token_and_finds_its_lost_answer(bench: Bench) -> None:
    bench.locks.after["acquire"] = [fail(AWAY), fail(AWAY)]
    with bench.lock(wait="10s") as held:
        pass
    tokens = {token for verb, token in bench.locks.calls if verb == "acquire"}
    assert tokens == {held.token}
    assert bench.is_free()


def test_whoever_waits_gets_the_lock_when_the_service_comes_back(bench: Bench) -> None:
    bench.locks.before["acquire"] = [fail(AWAY)] * 5
    with bench.lock(wait="30s") as held:
        held.check()


def test_a_service_that_stays_away_while_one_waits_is_the_error_at_the_end(bench: Bench) -> None:
    bench.locks.before["acquire"] = [fail(AWAY)] * 10_000
    began = bench.clock.boot()
    with pytest.raises(LockError, match="away"):
        bench.lock(wait="3s").acquire()
    assert 3 * SECOND <= bench.clock.boot() - began < 4 * SECOND + 2 * SECOND  # the freeing afterwards naps as well


def test_a_service_that_needs_a_person_is_not_waited_for(bench: Bench) -> None:
    bench.locks.before["acquire"] = [fail(LockUnusable("wrong password"))]
    began = bench.clock.boot()
    with pytest.raises(LockUnusable, match="wrong password"):
        bench.lock(wait="1h").acquire()
    assert bench.clock.boot() == began


def test_an_interrupted_acquire_frees_what_it_may_have_got(bench: Bench) -> None:
    holder = bench.lock()
    holder.acquire()
    bench.locks.after["acquire"] = [fail(AWAY), fail(KeyboardInterrupt())]
    with pytest.raises(KeyboardInterrupt):
        bench.lock(wait="1h").acquire()
    assert bench.locks.calls[-1][0] == "release"
    assert not bench.is_free(), "the holder keeps its lock"
    holder.release()
    assert bench.is_free()


def test_naps_grow_are_bounded_and_differ(bench: Bench) -> None:
    naps: list[Micros] = []
    bench.service.pause = lambda _bell, length: (naps.append(length), bench.clock.advance(max(1, length)))[-1]
    with bench.lock(), pytest.raises(LockTaken):
        bench.lock(wait="20s").acquire()
    assert naps[0] <= 10_000
    assert max(naps) <= 375_000
    assert len(set(naps[10:40])) > 20
    assert sum(naps) == pytest.approx(20 * SECOND, abs=1000)


def test_what_cannot_be_is_refused_before_anything_is_asked(bench: Bench) -> None:
    for options in ({"ttl": "30"}, {"ttl": "1ms"}, {"ttl": "-1s"}, {"wait": "soon"}, {"name": ""}, {"name": "a\0"}):
        with pytest.raises(ValueError, match=r"\w"):
            bench.lock(**options)
    with pytest.raises(TypeError, match='function or "cancel"'):
        bench.lock(on_lost="canel")
    with pytest.raises(TypeError, match="async with"):
        bench.lock(on_lost="cancel").acquire()
    assert bench.locks.calls == []


def test_a_bell_that_rang_is_heard_once_and_the_waiter_naps_again(bench: Bench) -> None:
    """Else who was woken in vain would ask as fast as it can until the lock is free."""
    heard: list[bool] = []

    def pause(bell: threading.Event, length: Micros) -> None:
        heard.append(bell.is_set())
        bell.set()
        bench.clock.advance(max(1, length))

    service = Service(bench.locks, keeper=Keeper(bench.clock, by_hand=True), pause=pause)
    assert bench.locks.real.acquire("a", 10 * SECOND, "stranger") is not None
    Lock("a", "60s", find=lambda: service, wait="1h").acquire()
    assert len(heard) > 2
    assert not any(heard)


def test_one_thread_keeps_all_locks_of_a_process(bench: Bench) -> None:
    before = set(threading.enumerate())
    service = Service(bench.locks, keeper=Keeper(bench.clock))
    held = [Lock(name, ttl, find=lambda: service).acquire() for name, ttl in (("a", "60s"), ("b", "30s"), ("c", "9s"))]
    mine = [thread for thread in set(threading.enumerate()) - before if thread.name == "noonmark-lock-keeper"]
    assert len(mine) == 1, "each is due sooner than those before it, and wakes the one that is there"
    assert all(each.release() for each in held)


def test_of_many_waiters_in_a_process_only_the_first_asks_the_service_and_all_get_their_turn() -> None:
    clock = VirtualClock()
    locks = Scripted(clock)
    asleep = threading.Semaphore(0)

    def pause(bell: threading.Event, _length: Micros) -> None:
        asleep.release()
        assert bell.wait(10)

    service = Service(locks, keeper=Keeper(clock, by_hand=True), pause=pause)
    first = Lock("a", "60s", find=lambda: service)
    first.acquire()
    order: list[int] = []

    def wait(number: int) -> None:
        with Lock("a", "60s", find=lambda: service, wait="1h") as held:
            order.append(held.fence)
            assert number >= 0

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
        assert asleep.acquire(timeout=10)
    assert len(locks.calls) == 1 + 8, "each asked once, and then only the first would"
    first.release()
    for thread in threads:
        thread.join(10)
    assert len(order) == 8
    assert order == sorted(order)
    asked = [verb for verb, _ in locks.calls].count("acquire")
    assert asked <= 1 + 8 + 8 + 8, f"{asked} askings for 9 grants"


def test_a_waiter_behind_another_gives_up_on_time(bench: Bench) -> None:
    service = bench.service
    with bench.lock(), service.bell("a", lambda: None):  # somebody waits in front
        began = bench.clock.boot()
        with pytest.raises(LockTaken, match="within 2s"):
            bench.lock(wait="2s").acquire()
        assert bench.clock.boot() - began == 2 * SECOND
    assert [verb for verb, _ in bench.locks.calls].count("acquire") == 1 + 2
