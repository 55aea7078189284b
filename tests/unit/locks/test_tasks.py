"""``lock()`` in tasks: the loop is never blocked, cancelling leaves nothing behind, a loss can cancel."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest
from test_holding import AWAY, TTL, Bench, fail

from noonmark.locks import LockLost, LockTaken
from noonmark.locks.holding import _TaskWatch


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_loop_goes_on_while_the_service_is_slow(bench: Bench) -> None:
    slow, turns = threading.Event(), [0]

    async def tick() -> None:
        while turns[0] < 50:
            turns[0] += 1
            await asyncio.sleep(0)
        slow.set()

    async def hold() -> None:
        async with bench.lock() as held:
            held.check()

    async def both() -> None:
        await asyncio.gather(hold(), tick())

    bench.locks.before["acquire"] = [lambda: slow.wait(10)]
    asyncio.run(both())
    assert turns == [50]
    assert bench.is_free()


def test_a_task_that_is_cancelled_while_it_asks_leaves_no_lock_behind(bench: Bench) -> None:
    asking, go_on, freed = threading.Event(), threading.Event(), threading.Event()
    bench.locks.before["acquire"] = [lambda: (asking.set(), go_on.wait(10))]
    bench.locks.after["release"] = [freed.set]

    async def cancel_it() -> None:
        task = asyncio.create_task(bench.lock().acquire_async())
        await asyncio.to_thread(asking.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    asyncio.run(cancel_it())
    assert freed.wait(10)
    assert bench.is_free()


def test_a_task_that_is_cancelled_while_it_waits_leaves_the_holder_alone(bench: Bench) -> None:
    refused = threading.Event()

    async def cancel_it() -> None:
        async with bench.lock() as held:
            bench.locks.after["acquire"] = [lambda: None, refused.set]
            task = asyncio.create_task(bench.lock(wait="1h").acquire_async())
            await asyncio.to_thread(refused.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            held.check()

    asyncio.run(cancel_it())
    assert bench.is_free()


def test_a_cancelled_body_frees_the_lock(bench: Bench) -> None:
    inside = threading.Event()

    async def body() -> None:
        async with bench.lock():
            inside.set()
            await asyncio.sleep(3600)

    async def cancel_it() -> None:
        task = asyncio.create_task(body())
        await asyncio.to_thread(inside.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_it())
    assert bench.is_free()


def test_a_loss_is_told_in_the_loop(bench: Bench) -> None:
    seen: list[Any] = []

    async def hold() -> None:
        told = asyncio.Event()

        def on_lost() -> None:
            seen.append(threading.current_thread())
            told.set()

        async with bench.lock(on_lost=on_lost) as held:
            await asyncio.to_thread(bench.pass_time, TTL)
            await asyncio.wait_for(told.wait(), 10)
            assert held.lost

    with pytest.raises(LockLost):
        asyncio.run(hold())
    assert seen == [threading.current_thread()]


def test_a_coroutine_function_becomes_a_task(bench: Bench) -> None:
    async def hold() -> None:
        told = asyncio.Event()

        async def on_lost() -> None:
            await asyncio.sleep(0)
            told.set()

        async with bench.lock(on_lost=on_lost):
            await asyncio.to_thread(bench.pass_time, TTL)
            await asyncio.wait_for(told.wait(), 10)

    with pytest.raises(LockLost):
        asyncio.run(hold())


def test_a_loss_cancels_the_task_if_asked_to_and_only_that(bench: Bench) -> None:
    reached: list[str] = []

    async def hold() -> None:
        try:
            async with bench.lock(on_lost="cancel"):
                await asyncio.to_thread(bench.pass_time, TTL)
                await asyncio.sleep(3600)
                reached.append("too far")
        except LockLost as lost:
            reached.append(str(lost))
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0
        await asyncio.sleep(0)  # a task that was not cancelled may go on
        reached.append("on")

    asyncio.run(hold())
    assert len(reached) == 2
    assert "not renewed in time" in reached[0]
    assert reached[1] == "on"


def test_somebody_else_s_cancellation_is_not_taken_for_a_loss(bench: Bench) -> None:
    inside = threading.Event()

    async def hold() -> None:
        async with bench.lock(on_lost="cancel"):
            inside.set()
            await asyncio.sleep(3600)

    async def cancel_it() -> None:
        task = asyncio.create_task(hold())
        await asyncio.to_thread(inside.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_it())
    assert bench.is_free()


def test_a_taken_lock_is_refused_in_a_task_too(bench: Bench) -> None:
    async def ask() -> None:
        async with bench.lock():
            with pytest.raises(LockTaken):
                await bench.lock().acquire_async()

    asyncio.run(ask())


def test_the_explicit_verbs_exist_for_tasks(bench: Bench) -> None:
    async def verbs() -> None:
        lock = bench.lock()
        held = await lock.acquire_async()
        bench.clock.advance(TTL // 2)
        await lock.renew_async()
        assert held.remaining().total_seconds() == 60
        assert await lock.release_async() is True
        assert await lock.release_async() is False

    asyncio.run(verbs())
    assert bench.is_free()


def test_a_failed_acquire_in_a_task_frees_what_it_may_have_got(bench: Bench) -> None:
    freed = threading.Event()
    bench.locks.after["acquire"] = [fail(AWAY)]
    bench.locks.after["release"] = [freed.set]

    async def ask() -> None:
        with pytest.raises(type(AWAY)):
            await bench.lock().acquire_async()

    asyncio.run(ask())
    assert freed.wait(10)
    assert bench.is_free()


def test_a_loss_that_is_told_after_the_block_has_ended_cancels_nobody() -> None:
    async def leave() -> int:
        watch = _TaskWatch("a", "cancel")
        watch.leave()
        watch.tell(cast(Any, None))
        await asyncio.sleep(0)
        current = asyncio.current_task()
        assert current is not None
        return current.cancelling()

    assert asyncio.run(leave()) == 0
