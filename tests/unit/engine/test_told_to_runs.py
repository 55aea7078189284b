"""What a run is told of itself: how late it is, and that nothing it writes counts any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from noonmark.core.model import MINUTE, SECOND, Event, Retry, State
from noonmark.engine.context import LATE_AFTER, Context, ContextSync, RunFacts
from noonmark.engine.errors import LeaseLost
from noonmark.engine.outcomes import plain_outcome
from noonmark.engine.runs import Finish
from noonmark.engine.signals import Idle, tell
from noonmark.testing.builders import make_job, make_row
from noonmark.testing.world import World

MakeWorld = Callable[..., World]


def facts(**fields: Any) -> RunFacts:
    known: dict[str, Any] = {
        "key": "k", "fence": 7, "attempt": 1, "run_id": "r1", "job": "job", "subject": "", "business_date": "",
        "scheduled_for": 0, "late": 0, "first_late": 0, "params": {},
    }  # fmt: skip
    return RunFacts(**(known | fields))


def test_a_run_knows_how_late_this_attempt_is_and_whether_the_first_start_was(make_world: MakeWorld) -> None:
    world = make_world(replicas=1, latency=0)
    told: list[tuple[int, int, bool]] = []

    def work(ctx: ContextSync) -> None:
        told.append((ctx.attempt, round(ctx.late_by / timedelta(minutes=1)), ctx.is_catch_up))
        if ctx.attempt == 1:
            raise OSError("upstream is down")

    job = make_job("work", retry=Retry(max=1, base=10 * MINUTE, cap=10 * MINUTE))
    world.job(job, work)
    world.advance("1s")
    in_time = world.later(job, "1s")
    world.until(lambda: world.row(in_time).state is State.SUCCESS)
    assert told == [(1, 0, False), (2, 10, False)], "a retry after a long wait is no catch-up"
    told.clear()
    world.pause(0)
    missed = world.later(job, "1s")
    world.advance("5m")
    world.resume(0)
    world.until(lambda: world.row(missed).state is State.SUCCESS)
    assert told == [(1, 5, True), (2, 15, True)]


def test_a_start_a_minute_late_is_in_time_and_one_a_microsecond_later_is_a_catch_up() -> None:
    def is_catch_up(first_late: int) -> bool:
        known = facts(first_late=first_late)
        return ContextSync(known, ask=lambda *_: None, is_lost=lambda: False, boot=lambda: 0).is_catch_up

    assert LATE_AFTER == 60 * SECOND
    assert [is_catch_up(LATE_AFTER), is_catch_up(LATE_AFTER + 1)] == [False, True]


def test_what_a_step_did_after_the_run_was_lost_is_not_written_down_whatever_the_store_would_say() -> None:
    """A lock that is lost is unknown to the store, which would still take the note."""
    asked: list[str] = []
    lost: list[bool] = []

    def ask(op: str, _args: tuple[Any, ...]) -> Any:
        asked.append(op)
        return {"step": {}, "done": {}, "intent": {}, "answered": {}} if op == "recall" else True

    ctx = ContextSync(facts(), ask=ask, is_lost=lambda: bool(lost), boot=lambda: 0)
    assert ctx.step("first", lambda: 1) == 1
    with pytest.raises(LeaseLost):
        ctx.step("second", lambda: lost.append(True))
    assert asked == ["recall", "note"]
    with pytest.raises(LeaseLost):
        ctx.step("first", lambda: 1)
    for write in (ctx.effects_started, lambda: ctx.progress(1), lambda: ctx.once("mail", lambda: "sent")):
        with pytest.raises(LeaseLost):
            write()
    assert asked == ["recall", "note"], "nothing was written"


def test_nobody_listening_is_no_failure_of_an_observer(caplog: pytest.LogCaptureFixture) -> None:
    tell(None, Idle(until=0))
    assert caplog.records == []


def test_a_run_says_the_same_whether_it_may_block_or_not() -> None:
    asked: list[tuple[str, tuple[Any, ...]]] = []

    def note(op: str, args: tuple[Any, ...]) -> bool:
        asked.append((op, args))
        return True

    async def note_later(op: str, args: tuple[Any, ...]) -> bool:
        return note(op, args)

    blocking = ContextSync(facts(), ask=note, is_lost=lambda: False, boot=lambda: 0)
    blocking.signal("corpus")
    blocking.clear("corpus")
    blocking.progress(1, 2, "half")

    async def both() -> None:
        ctx = Context(facts(), ask=note_later, is_lost=lambda: False, boot=lambda: 0)
        await ctx.signal("corpus")
        await ctx.clear("corpus")
        await ctx.progress(1, 2, "half")

    asyncio.run(both())
    half = ("progress", "progress", '{"done": 1, "total": 2, "note": "half"}')
    assert asked == [("flag", ("corpus", True)), ("flag", ("corpus", False)), ("note", half)] * 2


def test_a_step_that_is_called_twice_in_one_attempt_is_done_once() -> None:
    asked: list[str] = []
    done: list[int] = []

    def ask(op: str, _args: tuple[Any, ...]) -> Any:
        asked.append(op)
        return {"step": {}, "done": {}, "intent": {}, "answered": {}} if op == "recall" else True

    ctx = ContextSync(facts(), ask=ask, is_lost=lambda: False, boot=lambda: 0)
    for call in (ctx.step, lambda name, fn: ctx.once(name, fn)):
        assert [call("pay", lambda: done.append(1) or len(done)) for _ in range(2)] == [len(done)] * 2
    assert len(done) == 2, "one by the step, one by the effect"
    assert asked == ["recall", "note", "note", "note"]


def test_the_last_resort_calls_nothing_a_success_that_was_told_to_stop() -> None:
    def ended(*, ok: bool, saw_stop: bool) -> tuple[Event, str]:
        run: Any = SimpleNamespace(row=make_row(7), fence=9, saw_stop=saw_stop)
        end = plain_outcome(Finish(run, ok=ok, code=""))
        return end.event, end.code

    assert ended(ok=True, saw_stop=False) == (Event.SUCCEED, "succeeded")
    manual = (Event.FAIL_MANUAL, "failed_final")
    assert [ended(ok=True, saw_stop=True), ended(ok=False, saw_stop=False)] == [manual] * 2
