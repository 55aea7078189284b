"""``lock()`` over this kind: the body is covered, the loss is told, nothing is left behind."""

from __future__ import annotations

import asyncio
import threading

from noonmark.core.model import SECOND, Micros
from noonmark.locks.errors import LockLost, LockTaken
from noonmark.testing.clock import VirtualClock
from noonmark.testing.locking.harness import TTL, LockHarness, raised


def the_body_runs_with_the_lock_held_and_leaves_it_free(harness: LockHarness) -> None:
    with harness.lock() as held:
        assert held.fence > 0
        assert not held.lost
        held.check()
        assert not harness.is_free()
    assert harness.is_free()
    assert not held.lost


def what_the_body_raises_is_passed_on_and_the_lock_is_free(harness: LockHarness) -> None:
    try:
        with harness.lock():
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert harness.is_free()


def somebody_elses_lock_is_refused_at_once(harness: LockHarness) -> None:
    token = harness.token()
    granted = harness.acquire(token)
    said = raised(LockTaken, harness.lock().acquire)
    assert harness.name() in said
    assert "wait=" in said
    assert harness.renew(token) == granted


def waiting_ends_when_the_holder_lets_go(harness: LockHarness) -> None:
    asked, got = threading.Event(), []

    def pause(bell: threading.Event, _length: Micros) -> None:
        asked.set()
        assert bell.wait(10), "a release in the same process rings"

    service = harness.service(pause=pause)
    first = harness.lock(service=service)
    first.acquire()

    def wait() -> None:
        with harness.lock(service=service, wait="1m") as held:
            got.append(held.fence)

    thread = threading.Thread(target=wait)
    thread.start()
    assert asked.wait(10)
    assert not got
    first.release()
    thread.join(10)
    assert len(got) == 1
    assert harness.is_free()


def waiting_ends_with_its_time(harness: LockHarness) -> None:
    clock = VirtualClock()
    service = harness.service(clock, pause=lambda _bell, length: clock.advance(max(1, length)))
    harness.acquire(harness.token())
    before = clock.boot()
    assert "2s" in raised(LockTaken, harness.lock(service=service, wait="2s").acquire)
    assert clock.boot() - before == 2 * SECOND


def the_keeper_renews_at_a_third_of_the_ttl(harness: LockHarness) -> None:
    clock = VirtualClock()
    service = harness.service(clock)
    with harness.lock(service=service) as held:
        first = held.trusted_until
        clock.advance(TTL // 3 - 1)
        service.keeper.turn()
        assert held.trusted_until == first
        clock.advance(1)
        service.keeper.turn()
        assert held.trusted_until == first + TTL // 3
        held.check()


def a_loss_is_told_once_and_the_end_of_the_body_says_so(harness: LockHarness) -> None:
    clock, successor = VirtualClock(), harness.token()
    told: list[int] = []
    service = harness.service(clock)

    def body() -> None:
        with harness.lock(service=service, on_lost=lambda: told.append(1)) as held:
            harness.expire()
            granted = harness.other.acquire(harness.name(), TTL, successor)
            assert granted is not None
            assert granted.fence > held.fence
            clock.advance(TTL // 3)
            service.keeper.turn()
            assert held.lost
            assert told == [1]
            clock.advance(TTL)
            service.keeper.turn()

    assert harness.name() in raised(LockLost, body)
    assert told == [1]
    assert harness.other.renew(harness.name(), TTL, successor) is not None


def a_holder_that_slept_too_long_knows_before_anybody_tells_it(harness: LockHarness) -> None:
    clock = VirtualClock()
    held = harness.lock(service=harness.service(clock)).acquire()
    clock.advance(TTL)
    assert held.lost
    assert "not renewed in time" in raised(LockLost, held.check)
    assert held.release() is False


def a_task_holds_it_as_a_thread_does(harness: LockHarness) -> None:
    async def hold() -> None:
        async with harness.lock() as held:
            held.check()
            assert not await asyncio.to_thread(harness.is_free)

    asyncio.run(hold())
    assert harness.is_free()


def tasks_take_turns(harness: LockHarness) -> None:
    inside, most = [0], [0]
    service = harness.service()

    async def hold() -> None:
        async with harness.lock(service=service, wait="1m"):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            await asyncio.sleep(0)
            inside[0] -= 1

    async def all_of_them() -> None:
        await asyncio.gather(*(hold() for _ in range(4)))

    asyncio.run(all_of_them())
    assert most == [1]
    assert harness.is_free()
