"""Workers that the door starts: the real engine on a memory store, stopped without a trace."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from noonmark import Context, ContextSync, RetryLater, Scheduler, manual, on_event
from noonmark.core import wellformed
from noonmark.core.times import to_datetime
from noonmark.core.wellformed import TooLarge
from noonmark.ports.clock import SystemClock


@pytest.fixture
def live() -> Iterator[Scheduler]:
    with Scheduler("memory://", rules=False) as scheduler:
        yield scheduler


def test_a_worker_runs_what_was_asked_for_and_emits_what_follows(live: Scheduler) -> None:
    done = threading.Event()
    seen: list[tuple[str, int]] = []

    @live.job(manual(), key="answer:{params.n}", reason="x")
    async def answer(ctx: Context, n: int) -> int:
        seen.append((ctx.key, n))
        live.emit("answered", id=str(n), n=n)
        return n * 2

    @live.job(on_event("answered"), key="digest:{n}", reason="x")
    def digest(ctx: ContextSync, n: int) -> None:
        seen.append((ctx.key, n))
        done.set()

    answer.later("0s")(n=21)
    worker = live.worker(concurrency=4, name="w1")
    worker.start()
    try:
        assert done.wait(20)
    finally:
        worker.stop()
    assert seen == [("answer:21", 21), ("digest:21", 21)]
    (row,) = live.occurrences("answer")
    assert (row.state, row.result, row.attempt) == ("SUCCESS", 42, 1)
    (view,) = live.workers()
    assert (view.name, view.is_alive) == ("w1", False)
    assert view.ended_at is not None
    assert live.workers(alive=True) == []


def test_a_worker_of_more_jobs_than_a_store_takes_says_so_instead_of_failing_every_round(
    live: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wellformed, "JOBS_LIMIT", 2)
    for number in range(3):
        live.job(manual(), name=f"job-{number}", reason="x")(lambda: None)
    with pytest.raises(TooLarge, match="3 jobs are more than 2 for one worker; let workers share them"):
        live.worker().run()


def test_a_lifespan_starts_a_worker_and_ends_it(live: Scheduler) -> None:
    before = set(threading.enumerate())  # tests of locks leave the threads that all locks of a process share
    ran = threading.Event()

    @live.job(manual(), reason="x")
    async def ask() -> None:
        ran.set()

    async def serve() -> bool:
        async with live.lifespan(object()):
            await ask.later("0s")()
            return await asyncio.to_thread(ran.wait, 20)

    assert asyncio.run(serve())
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("noonmark")]


def test_retry_later_reads_the_words_of_a_duration() -> None:
    assert RetryLater("busy", after="90s").after.total_seconds() == 90  # type: ignore[union-attr]
    assert RetryLater("busy", after=2).after.total_seconds() == 2  # type: ignore[union-attr]
    assert RetryLater("busy").after is None


@pytest.mark.parametrize(
    "after",
    ["7200", " 7200.0 ", 7200, "2h", "{:%a, %d %b %Y %H:%M:%S} GMT", "{:%Y-%m-%dT%H:%M:%S}Z", datetime],
    ids=["text of seconds", "with spaces", "seconds", "words", "date of a header", "ISO text", "aware datetime"],
)
def test_retry_later_reads_what_a_retry_after_header_says(after: Any) -> None:
    when = to_datetime(SystemClock().wall()) + timedelta(hours=2)
    given = when if after is datetime else after.format(when) if isinstance(after, str) else after
    wait = RetryLater("quota", after=given).after
    assert wait is not None
    assert abs(wait.total_seconds() - 7200) < 60
    assert RetryLater("quota", after=datetime(2020, 1, 1, tzinfo=UTC)).after == timedelta(0), "that moment is past"


@pytest.mark.parametrize(
    "after",
    ["soon", "2026-12-01T09:00:00", datetime(2026, 12, 1, 9), date(2026, 12, 1), b"90"],  # noqa: DTZ001
)
def test_retry_later_refuses_what_names_no_wait(after: Any) -> None:
    with pytest.raises(ValueError, match=r"length of time|no zone|no time zone|is no moment"):
        RetryLater("quota", after=after)


def test_a_job_named_in_a_file_may_be_a_decorated_async_function() -> None:
    from noonmark.engine.registry import resolve

    assert resolve(f"{__name__}:HANDLE") is HANDLE.function


_SCHED = Scheduler("memory://", rules=False)


@_SCHED.job(manual(), reason="x")
async def HANDLE() -> None:  # noqa: N802
    """Stand in for a decorated function of an application."""
