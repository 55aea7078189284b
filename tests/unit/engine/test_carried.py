"""A function that hands out its work instead of doing it is no success until that is done."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from noonmark import ProblemList, Scheduler, every
from noonmark.core.model import SECOND
from noonmark.engine import child
from noonmark.engine.carried import through
from noonmark.engine.executor import execute_async, execute_sync
from noonmark.engine.registry import handler_for
from noonmark.engine.runs import Finish, Run
from noonmark.testing.builders import make_job, make_row

DONE: list[str] = []
FACTS = {
    "key": "k", "fence": 1, "attempt": 1, "run_id": "r1", "job": "job", "subject": "", "business_date": "2027-02-03",
    "scheduled_for": 0, "late": 0, "first_late": 0, "params": {},
}  # fmt: skip


async def work() -> str:
    await asyncio.sleep(0)
    DONE.append("work")
    return "worked"


class Promise:
    def __await__(self) -> Generator[Any, None, str]:
        return work().__await__()


@functools.wraps(work)
def wrapped() -> Awaitable[str]:
    return work()


def promised() -> Promise:
    return Promise()


def threaded() -> Future[str]:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: DONE.append("work") or "worked")


async def forgotten() -> Awaitable[str]:
    return work()


async def threaded_in_a_loop() -> Future[str]:
    return threaded()


def yields() -> Iterator[int]:
    DONE.append("work")
    yield 1


async def yields_in_a_loop() -> AsyncIterator[int]:
    DONE.append("work")
    yield 1


async def hands_out_a_generator() -> Iterator[int]:
    return yields()


def ended(fn: Callable[..., Any]) -> Finish:
    DONE.clear()
    job = make_job("job")
    run = Run(row=make_row(), job=job, handler=handler_for(job, fn), fence=1, lease=30 * SECOND, asked=0)
    if run.handler.kind == "async":
        return asyncio.run(execute_async(run, None))  # type: ignore[arg-type]  # nothing here asks for a context
    return execute_sync(run, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("fn", [work, wrapped, promised, threaded, forgotten, threaded_in_a_loop])
def test_what_was_only_begun_is_waited_for(fn: Callable[..., Any]) -> None:
    finish = ended(fn)
    assert (finish.ok, finish.result, DONE) == (True, '"worked"', ["work"])


@pytest.mark.parametrize("fn", [yields, yields_in_a_loop, hands_out_a_generator, functools.partial(yields)])
def test_a_generator_of_which_no_line_has_run_is_no_success_and_is_not_tried_again(fn: Callable[..., Any]) -> None:
    finish = ended(fn)
    assert (finish.ok, finish.retryable, DONE) == (False, False, [])
    assert "is a generator, so calling it ran no line of it" in (finish.error or "")


def test_a_generator_that_was_begun_and_an_expression_are_results() -> None:
    begun = yields()
    next(begun)
    assert through(begun) is begun
    expression = (number for number in range(3))
    assert through(expression) is expression
    assert ended(lambda: (number for number in range(3))).code == "result_not_stored"


def test_what_fails_after_it_was_handed_out_is_a_failure() -> None:
    def fails() -> Future[None]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: [][1])

    finish = ended(fails)
    assert not finish.ok
    assert "IndexError" in (finish.error or "")


@pytest.mark.parametrize("fn", [wrapped, promised, forgotten])
def test_a_process_of_its_own_waits_alike(fn: Callable[..., Any]) -> None:
    DONE.clear()
    greeting = {"facts": FACTS, "accepts": [], "context_param": None}
    finish = child.ending(lambda: child.call(fn, greeting, None))  # type: ignore[arg-type]  # it asks for nothing
    assert (finish["kind"], finish["value"], DONE) == ("ok", '"worked"', ["work"])


@pytest.mark.parametrize("fn", [yields, yields_in_a_loop, functools.partial(yields)])
def test_a_function_that_yields_is_refused_where_it_is_declared(fn: Callable[..., Any]) -> None:
    sched = Scheduler("memory://", rules=False)
    with pytest.raises(ProblemList) as refused:
        sched.job(every("1h"), reason="a test", name="report")(fn)
    (problem,) = refused.value.problems
    assert "is a generator" in problem.text()
    assert "生成器" in problem.text("zh")
