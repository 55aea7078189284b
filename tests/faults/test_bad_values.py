"""Values that cannot be kept, are too large, come ten times or too early: each has one clear outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noonmark import Context, Scheduler, manual, on_event
from noonmark.core.model import MINUTE, SECOND, Cron, Job, Retry, State
from noonmark.door.words import cron
from noonmark.rules.problems import ProblemList
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

MakeWorld = Callable[..., World]
HALF = "\udcff"
"""Half of a surrogate pair: what Python makes of a file name that is not UTF-8."""
BIG = "x" * 300_000


@pytest.fixture(params=["memory", "sqlite"])
def sched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scheduler]:
    """A scheduler on each store in turn."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'v.db'}"
    with Scheduler(url, rules=False) as made:
        yield made


def run_once(world: World, fn: Callable[..., Any], **fields: Any) -> Any:
    job = make_job("work", retry=Retry(max=0), **fields)
    world.job(job, fn)
    world.advance("1s")
    id_ = world.later(job)
    world.advance("10s")
    return world.row(id_)


# --- text that UTF-8 cannot carry ---------------------------------------------------------------------


def test_an_error_whose_text_no_store_can_carry_is_recorded_escaped_and_the_run_ends(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)

    def fails() -> None:
        world.effect("try")
        raise FileNotFoundError(f"no file caf{HALF}.txt")

    row = run_once(world, fails)
    assert (row.state, row.code) == (State.FAILED_MANUAL, "failed_final")
    assert "no file caf\\udcff.txt" in (row.error or "")
    assert world.effect_names() == ["try"], "an outcome that cannot be stored would be tried again for ever"


def test_a_result_and_a_step_with_such_text_come_back_as_they_were(any_world: MakeWorld) -> None:
    import json

    world = any_world(replicas=1)
    seen: list[str] = []

    async def work(ctx: Context) -> dict[str, str]:
        await ctx.progress(1, 2, f"at {HALF}")
        await ctx.step("name", lambda: f"caf{HALF}")
        seen.append(await ctx.step("name", lambda: "not again"))
        return {"name": seen[0]}

    row = run_once(world, work)
    assert (row.state, row.code) == (State.SUCCESS, "succeeded")
    assert seen == [f"caf{HALF}"]
    assert json.loads(row.result) == {"name": f"caf{HALF}"}


def test_such_text_is_refused_where_somebody_asks(sched: Scheduler) -> None:
    @sched.job(manual(), reason="x")
    def work(name: str) -> None: ...

    with pytest.raises(TypeError, match="work: the argument 'name' cannot be stored"):
        work.later("0s")(name=HALF)
    with pytest.raises(TypeError, match="cannot be stored"):
        sched.emit("happened", id="1", name=HALF)
    with pytest.raises(TypeError, match="the value of the flag 'ready' cannot be stored"):
        sched.signal("ready", HALF)
    assert sched.occurrences() == []


# --- too large, or no JSON --------------------------------------------------------------------------------


def test_what_is_larger_than_the_limit_is_refused_at_every_door(sched: Scheduler) -> None:
    @sched.job(manual(), reason="x")
    def work(text: str) -> None: ...

    for ask in (
        lambda: work.later("0s")(text=BIG),
        lambda: sched.emit("happened", id="1", text=BIG),
        lambda: sched.signal("ready", BIG),
    ):
        with pytest.raises(ValueError, match="more than 262144"):
            ask()
    with pytest.raises(ProblemList, match="more than 262144"):

        @sched.job(manual(), params={"text": BIG}, name="other", reason="x")
        def other(text: str) -> None: ...

    assert sched.occurrences() == []


def test_a_step_or_progress_that_is_too_large_asks_a_person_and_a_result_is_left_out(make_world: MakeWorld) -> None:
    async def step(ctx: Context) -> None:
        await ctx.step("big", lambda: BIG)

    async def progress(ctx: Context) -> None:
        await ctx.progress(1, 2, BIG)

    for fn in (step, progress):
        row = run_once(make_world(replicas=1), fn)
        assert (row.state, row.code) == (State.FAILED_MANUAL, "not_retryable")
        assert "more than 262144" in (row.error or "")
    row = run_once(make_world(replicas=1), lambda: BIG)
    assert (row.state, row.code) == (State.SUCCESS, "result_not_stored")


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), b"bytes"])
def test_a_flag_holds_only_what_can_be_stored(sched: Scheduler, value: object) -> None:
    with pytest.raises(TypeError, match="cannot be stored as JSON"):
        sched.signal("ready", value)


@pytest.mark.parametrize("name", ["", "  ", "x" * 513, "a\nb", HALF])
def test_a_flag_has_a_name_by_which_it_can_be_found(sched: Scheduler, name: str) -> None:
    with pytest.raises(ValueError, match="flag"):
        sched.signal(name)


# --- once too often, too early, for ever ------------------------------------------------------------------


def test_an_event_delivered_ten_times_by_ten_callers_runs_once(any_world: MakeWorld) -> None:
    from noonmark.core.model import OnEvent
    from noonmark.core.series import row_for_event

    world = any_world(replicas=2)
    job = make_job("digest", trigger=OnEvent(name="run.done", delay=MINUTE), key="digest:{event.run}")
    world.job(job, lambda run: world.effect(run))
    world.advance("1s")
    for delivery in range(10):
        row = row_for_event(job, event_id="e1", emitted_at=world.now, payload={"run": "r"}, revision=1, subject="")
        world.store.add(f"delivery-{delivery}", [row])
        world.advance("7s")
    world.advance("2m")
    assert world.effect_names() == ["r"]
    assert [row.state for row in world.rows("digest")] == [State.SUCCESS]


def test_a_cancel_before_its_create_wins_at_the_public_door(sched: Scheduler) -> None:
    @sched.job(on_event("order.created", delay="30m"), key="unpaid:{order}", reason="Free the stock.")
    def close(order: int) -> None: ...

    sched.declare()
    assert sched.cancel(job="close", key="unpaid:42", reason="paid").outcome in ("held", "done")
    created = sched.emit("order.created", id="o-42", order=42)
    assert created.duplicate or created.enqueued[0].duplicate
    assert sched.occurrences("close", states=["PENDING"]) == []


def test_a_key_whose_template_has_no_time_part_is_refused_for_a_series_and_allowed_for_an_event() -> None:
    with Scheduler("memory://", rules=False) as sched:
        with pytest.raises(ProblemList, match="key") as refused:

            @sched.job(cron("0 9 * * *", tz="Asia/Shanghai"), key="report:{job}", reason="x")
            def report() -> None: ...

        assert "business_date" in str(refused.value), "the remedy names a part that would do"

        @sched.job(on_event("order.created"), key="mail:{order}", reason="x")
        def mail(order: int) -> None: ...


def test_stored_rows_of_a_handler_that_is_gone_wait_with_a_reason_and_stay(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    gone: Job = make_job("gone", trigger=Cron(expression="*/1 * * * *", tz="UTC"))
    world.job(gone, lambda: world.effect("gone"))
    world.job(make_job("other"), lambda: world.effect("other"))
    world.advance("1s")
    asked = world.later(gone)
    world.advance("1s")
    assert world.effect_names() == ["gone"]
    late = world.later(gone, "30s")
    del world.jobs["gone"]
    world.restart(0)
    world.advance(40 * SECOND)
    row = world.row(late)
    assert (row.state, row.code) == (State.PENDING, "handler_missing")
    assert row.due_at is not None
    assert world.row(asked).state is State.SUCCESS
