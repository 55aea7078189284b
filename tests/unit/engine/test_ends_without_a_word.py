"""However a run of one's own code ends, it ends: no odd error, value or cancel leaves it running."""

from __future__ import annotations

import asyncio
import json
import queue
from collections.abc import Callable
from typing import Any

import pytest

from noonmark.core.model import SECOND, Cron, Retry, State
from noonmark.core.times import parse_instant
from noonmark.engine import child, errors
from noonmark.engine.context import ContextSync
from noonmark.engine.executor import Inbox, JobLoop
from noonmark.engine.registry import handler_for
from noonmark.engine.runs import Finish, Run
from noonmark.testing.builders import make_job, make_row
from noonmark.testing.world import World

MakeWorld = Callable[..., World]


class NoTextError(Exception):
    def __str__(self) -> str:
        raise KeyError("the message was a template")


class NumberError(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class Detached(dict[str, Any]):
    """A value that can no longer be read, as one of a closed session."""

    def items(self) -> Any:
        raise LookupError("the session is closed")


def run_once(make_world: MakeWorld, fn: Callable[..., Any]) -> tuple[World, Any]:
    world = make_world(replicas=1, start=parse_instant("2027-02-03T11:59:59Z", None))
    world.job(make_job("job", trigger=Cron(expression="0 12 * * *", tz="UTC"), retry=Retry(max=0)), fn)
    world.advance(3 * SECOND)
    return world, world.rows("job")[0]


@pytest.mark.parametrize("error", [NoTextError, NumberError, GeneratorExit, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("kind", ["async", "sync"])
def test_an_error_of_any_kind_ends_the_run(make_world: MakeWorld, error: type[BaseException], kind: str) -> None:
    def plain() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    _, row = run_once(make_world, coroutine if kind == "async" else plain)
    assert (row.state, row.attempt) == (State.FAILED_MANUAL, 1)
    assert error.__name__ in (row.error or "")


@pytest.mark.parametrize("after", [90, "90", 1.5])
def test_a_wait_that_is_none_ends_the_run_all_the_same(make_world: MakeWorld, after: Any) -> None:
    async def agent() -> None:
        raise errors.Retry("quota", after=after)

    _, row = run_once(make_world, agent)
    assert row.state is State.FAILED_MANUAL


def test_work_is_not_repeated_because_its_result_cannot_be_read(make_world: MakeWorld) -> None:
    def work() -> Detached:
        done.append(1)
        return Detached(a=1)

    done: list[int] = []
    _, row = run_once(make_world, work)
    assert (row.state, row.code, row.result) == (State.SUCCESS, "result_not_stored", None)
    assert "the session is closed" in row.detail
    assert done == [1]


def test_a_step_is_not_repeated_because_its_value_cannot_be_read(make_world: MakeWorld) -> None:
    done: list[int] = []

    def step() -> Detached:
        done.append(1)
        return Detached(a=1)

    def agent(ctx: ContextSync) -> None:
        ctx.step("pay", step)

    world = make_world(replicas=1, start=parse_instant("2027-02-03T11:59:59Z", None))
    world.job(make_job("job", trigger=Cron(expression="0 12 * * *", tz="UTC"), retry=Retry(max=4)), agent)
    world.advance(3 * SECOND)
    row = world.rows("job")[0]
    assert (row.state, row.code, done) == (State.FAILED_MANUAL, "not_retryable", [1])
    assert "the value of step 'pay' is not JSON (the session is closed)" in (row.error or "")


def test_a_process_of_its_own_says_the_same_of_such_results_and_errors() -> None:
    def fails() -> None:
        raise errors.Retry("quota", after="90")  # type: ignore[arg-type]

    ended = child.ending(lambda: Detached(a=1))
    assert (ended["kind"], "closed" in ended["value"]) == ("not_stored", True)
    assert (child.ending(fails)["kind"], child.ending(fails)["after"]) == ("retry", None)
    assert json.dumps(ended)


def make_run(fn: Callable[..., Any]) -> Run:
    job = make_job("job")
    return Run(row=make_row(), job=job, handler=handler_for(job, fn), fence=1, lease=30 * SECOND, asked=0)


def test_the_loop_of_coroutines_reports_a_run_that_never_took_its_first_step_and_one_that_is_let_through() -> None:
    async def waits() -> None:
        await asyncio.sleep(3600)

    async def leaves() -> None:
        raise GeneratorExit

    woken: queue.SimpleQueue[None] = queue.SimpleQueue()
    inbox = Inbox(lambda: woken.put(None))
    loop = JobLoop(inbox, None)  # type: ignore[arg-type]  # nothing here asks for a context
    try:
        never, gone = make_run(waits), make_run(leaves)

        def begin_and_cancel() -> None:
            loop._begin([never, gone])
            loop._cancel(never)

        loop._loop.call_soon_threadsafe(begin_and_cancel)
        ends: list[Finish] = []
        while len(ends) < 2:
            woken.get(timeout=20)
            ends += inbox.drain(10)
    finally:
        loop.close()
    assert [finish.run for finish in ends] in ([never, gone], [gone, never])
    assert not any(finish.ok for finish in ends)
