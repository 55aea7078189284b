"""When a worker looks again: at due moments, at hints, and not more often than helps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from noonmark.core.model import SECOND, Retry, Taken
from noonmark.engine.context import ContextSync
from noonmark.engine.pace import LONGEST_SLEEP, POLL, SLOW, SPACING, Pace
from noonmark.engine.roster import FAR
from noonmark.ports.clock import SystemClock
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job, make_row
from noonmark.testing.world import World


class Still(SystemClock):
    """A boot clock that stands where it is put."""

    at = 100 * SECOND

    def boot(self) -> int:
        return self.at


def pace(*, dice: float = 0.0, hears: bool = True) -> tuple[Pace, list[int]]:
    told: list[int] = []
    return Pace(Still(), lambda: dice, lambda: hears, lambda idle: told.append(idle.until)), told  # type: ignore[union-attr]


def taken(next_due: int | None, rows: int = 0) -> Taken:
    return Taken(rows=tuple(make_row(n) for n in range(rows)), now=1000, next_due=next_due, rules_version=1)


def test_more_that_is_due_is_taken_at_once_and_what_comes_later_at_its_moment() -> None:
    made, _ = pace()
    assert made.next_round(taken(1000, rows=3), 7) == 7
    assert made.next_round(taken(1500), 7) == 507
    assert made.next_round(taken(None), 7) == FAR


def test_an_answer_that_was_lost_and_repeated_makes_nobody_late() -> None:
    made, _ = pace()
    asked = made.takes()  # the store's time is 1000 then, and its answer of then comes three seconds later
    meanwhile, then = taken(1000 + 2 * SECOND), taken(1000 + 5 * SECOND)
    assert made.next_round(meanwhile, asked + 3 * SECOND) == asked + 2 * SECOND, "due already: asked again at once"
    assert made.next_round(then, asked + 3 * SECOND) == asked + 5 * SECOND
    assert made.next_round(then, asked + SLOW) == asked + SLOW + 5 * SECOND, "one take is enough where nothing was slow"


@pytest.mark.parametrize("dice", [0.0, 0.999])
def test_rows_that_somebody_else_is_taking_are_asked_for_again_less_and_less_often(dice: float) -> None:
    made, _ = pace(dice=dice)
    waits = [made.next_round(taken(900), 0) for _ in range(12)]
    assert waits == sorted(waits)
    assert 0 < waits[0] <= 5_000
    assert POLL * 3 // 4 <= waits[-1] <= POLL
    made.next_round(taken(2000), 0)
    assert made.next_round(taken(900), 0) == waits[0], "an answer that makes sense begins anew"


@pytest.mark.parametrize(("hears", "bound"), [(True, LONGEST_SLEEP), (False, POLL)])
def test_no_sleep_is_very_long_and_a_store_that_cannot_tell_is_asked_often(hears: bool, bound: int) -> None:
    for dice in (0.0, 0.999):
        made, told = pace(dice=dice, hears=hears)

        async def rest(made: Pace = made) -> None:
            asyncio.get_running_loop().call_soon(made.wake)
            await made.rest(FAR)

        asyncio.run(rest())
        assert bound * 3 // 4 <= told[0] - Still.at <= bound


def woken_by(act: Callable[[Pace], None]) -> bool:
    """Rest right after a take, let something happen, and say whether the rest was over at once."""

    async def rest() -> bool:
        made, _ = pace()
        made.takes()
        task = asyncio.create_task(made.rest(FAR))
        await asyncio.sleep(0)
        act(made)
        for _ in range(5):
            await asyncio.sleep(0)
        at_once = task.done()
        await asyncio.wait_for(task, 5)
        return at_once

    return asyncio.run(rest())


def test_a_free_slot_is_filled_at_once_and_a_hint_waits_a_few_milliseconds_after_a_take() -> None:
    assert SPACING < SECOND // 100
    assert woken_by(lambda made: made.wake())
    assert not woken_by(lambda made: made.hint())
    assert woken_by(lambda made: [made.hint(), made.wake()][0])


class Mute(MemoryStore):
    """A memory store that tells no listener of anything."""

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002
        return lambda: None


def test_of_outcomes_that_are_recorded_together_one_that_is_due_again_is_enough_to_look_again_in_time(
    make_world: Callable[..., World],
) -> None:
    world = make_world(replicas=1, store=Mute, latency=0)
    tries: list[tuple[str, int]] = []

    def work(ctx: ContextSync) -> None:
        tries.append((ctx.params["name"], world.store.now()))
        if ctx.params["name"] == "fails" and ctx.attempt == 1:
            raise OSError("upstream is down")

    job = make_job("work", retry=Retry(max=1))
    world.job(job, work)
    world.advance("1s")
    for name in ("fails", "succeeds"):
        world.later(job, "10s", name=name)
    world.advance("40s")
    assert [name for name, _ in tries] == ["fails", "succeeds", "fails"]
    assert tries[2][1] - tries[0][1] <= SECOND * 8 // 5, "a second of backoff and at most half a second of jitter"


def test_a_worker_that_is_woken_looks_at_once_although_nobody_told_it_of_anything(
    make_world: Callable[..., World],
) -> None:
    world = make_world(replicas=1, store=Mute, latency=0)
    job = make_job("work")
    world.job(job, lambda: world.effect("work"))
    world.advance("1s")
    world.later(job)
    world.advance("100ms")
    assert world.effect_names() == [], "it sleeps: nothing was due when it looked"
    world.replicas[0].engine.wake()
    world.advance("100ms")
    assert world.effect_names() == ["work"]
