"""What fails, hangs, dies or misbehaves: each ends in a recorded outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from noonmark.core import codec, reasons
from noonmark.core.model import HOUR, MINUTE, SECOND, Act, CatchUp, Every, Job, Origin, Retry, State
from noonmark.core.series import row_for_call
from noonmark.engine.context import Context
from noonmark.engine.errors import DoNotRetry
from noonmark.engine.errors import Retry as RetryLater
from noonmark.engine.registry import Registry
from noonmark.engine.signals import Lost, Refused
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]


def later(world: World, fn: Callable[..., Any], delay: str = "1s", **fields: Any) -> int:
    """Declare a manual job of this function and ask for one run."""
    job: Job = make_job("work", **fields)
    world.job(job, fn)
    world.advance("100ms")
    return world.later(job, delay)


def test_retries_wait_1_2_4_8_seconds_and_jitter_then_a_person_is_asked_with_three_alerts(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)

    def fail() -> None:
        world.effect("try")
        raise OSError("upstream is down")

    id_ = later(world, fail)
    world.until(lambda: world.row(id_).state is State.FAILED_MANUAL, at_most="30s")

    moments = [effect.at for effect in world.effects]
    waits = [after - before for before, after in pairwise(moments)]
    assert len(moments) == 5, "four retries are five attempts"
    for wait, base in zip(waits, (1, 2, 4, 8), strict=True):
        assert base * SECOND <= wait <= base * SECOND + 600_000
    alerts = world.store.story(id_).alerts  # type: ignore[union-attr]
    assert max(alert.level for alert in alerts) == 3
    row = world.row(id_)
    assert (row.code, row.attempt) == ("failed_final", 5)
    assert "upstream is down" in (row.error or "")


def test_the_error_says_do_not_retry_or_when_to_retry(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)

    def refuse() -> None:
        raise DoNotRetry("the address is wrong")

    id_ = later(world, refuse)
    world.advance("2s")
    assert (world.row(id_).state, world.row(id_).code) == (State.FAILED_MANUAL, "not_retryable")

    def busy() -> None:
        world.effect("try")
        if len(world.effects) == 1:
            raise RetryLater("429", after=timedelta(seconds=40))

    other = make_world(replicas=1)
    world = other
    id_ = later(world, busy)
    world.advance("60s")
    assert world.row(id_).state is State.SUCCESS
    assert world.effects[1].at - world.effects[0].at >= 40 * SECOND


def test_a_killed_worker_s_run_is_taken_over_with_its_steps_kept(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)

    def fetch() -> int:
        world.effect("fetch")
        return 42

    async def work(ctx: Context) -> Any:
        first = await ctx.step("fetch", fetch)
        await asyncio.sleep(5)
        world.effect("send")
        return first

    id_ = later(world, work)
    world.until(lambda: "fetch" in world.effect_names())
    killed_at, victim = world.now, world.effects[0].replica
    world.kill(victim)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="60s")

    assert world.effect_names() == ["fetch", "send"], "the step was paid for twice"
    row = world.row(id_)
    assert row.result == "42"
    assert row.takeovers == 1
    assert row.started_at is not None
    assert row.started_at - killed_at <= 31.5 * SECOND, "takeover within ttl + 1.5 s"


def test_a_stopped_copy_that_wakes_up_is_refused_and_counted(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)

    async def work(ctx: Context) -> str:
        await asyncio.sleep(3)
        await ctx.step("late", lambda: "written")
        world.effect(f"attempt {ctx.attempt}")
        return "done"

    id_ = later(world, work)
    world.until(lambda: world.row(id_).state is State.RUNNING)
    victim = int(world.row(id_).holder[1])
    world.pause(victim)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="2m")
    world.resume(victim)
    world.advance("5s")

    assert world.effect_names() == ["attempt 2"], "the stale copy went on"
    assert world.row(id_).attempt == 2
    replica = world.replicas[victim]
    assert [*replica.happened(Lost), *replica.happened(Refused)]


def test_a_stale_outcome_is_refused_by_its_fence(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)

    async def work() -> str:
        await asyncio.sleep(3)
        return "done"

    id_ = later(world, work)
    world.until(lambda: world.row(id_).state is State.RUNNING)
    victim = int(world.row(id_).holder[1])
    world.pause(victim)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="2m")
    refused = world.store.tallies().stale_refused
    world.resume(victim)
    world.advance("5s")

    assert world.store.tallies().stale_refused == refused + 1
    assert world.replicas[victim].happened(Refused)


def test_a_hanging_job_is_cancelled_at_its_timeout_and_retried(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)

    async def hang() -> None:
        world.effect("try")
        if len(world.effects) == 1:
            await asyncio.Event().wait()

    id_ = later(world, hang, timeout=10 * SECOND)
    world.advance("20s")

    row = world.row(id_)
    assert (row.state, row.attempt) == (State.SUCCESS, 2)
    attempts = world.store.story(id_).attempts  # type: ignore[union-attr]
    assert [attempt.outcome for attempt in attempts] == ["failed", "success"]


def test_a_job_that_ignores_its_timeout_is_given_up_and_its_late_end_changes_nothing(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)

    async def stubborn() -> str:
        world.effect("try")
        until = asyncio.get_running_loop().time() + 60
        while (left := until - asyncio.get_running_loop().time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                world.effect("ignored")
        return "late"

    id_ = later(world, stubborn, timeout=10 * SECOND, retry=Retry(max=0))
    world.advance("30s")
    assert (world.row(id_).state, world.row(id_).code) == (State.FAILED_MANUAL, "timed_out_running")

    world.advance("60s")
    assert world.row(id_).state is State.FAILED_MANUAL
    assert world.row(id_).result is None


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_a_job_that_tries_to_end_the_interpreter_ends_its_run_only(make_world: MakeWorld, error: BaseException) -> None:
    world = make_world(replicas=1)

    async def leave() -> None:
        raise error

    id_ = later(world, leave, retry=Retry(max=0))
    world.advance("2s")

    assert world.row(id_).state is State.FAILED_MANUAL
    assert not world.replicas[0].main.done(), "the worker lives on"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (AssertionError(), "AssertionError"),
        (ValueError("so: "), "ValueError: so: "),
    ],
)
def test_an_error_that_says_nothing_is_told_by_its_kind_alone(
    make_world: MakeWorld, error: BaseException, told: str
) -> None:
    world = make_world(replicas=1)

    def fail() -> None:
        raise error

    id_ = later(world, fail, retry=Retry(max=0))
    world.advance("2s")

    assert json.loads(world.row(id_).detail)["error"] == told


@pytest.mark.parametrize("result", [object(), {1, 2}, float("nan"), "x" * 300_000])
def test_a_result_that_cannot_be_stored_is_still_a_success_and_says_so(make_world: MakeWorld, result: object) -> None:
    world = make_world(replicas=1)
    id_ = later(world, lambda: result)
    world.advance("2s")

    row = world.row(id_)
    assert (row.state, row.code, row.result) == (State.SUCCESS, "result_not_stored", None)


def test_a_function_that_cannot_be_had_is_named_once_in_the_log_and_in_the_reason(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Registry.add
    monkeypatch.setattr(Registry, "add", lambda self, job, fn: self.declare(job) if job.run else real(self, job, fn))
    world = make_world(replicas=1)
    id_ = later(world, lambda: None, run="no_such_module:work")
    world.advance("2m")

    row = world.row(id_)
    assert (row.state, row.code) == (State.PENDING, "handler_missing")
    cause = "ModuleNotFoundError: No module named 'no_such_module'"
    assert json.loads(row.detail)["error"] == cause
    assert f"has the code for job work: {cause}; it waits for one" in reasons.sentence(row.code, json.loads(row.detail))
    assert caplog.text.count("job work cannot be run here") == 1, "each look says it again"


def test_an_effect_whose_outcome_is_unknown_is_never_repeated(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)

    async def pay(ctx: Context) -> None:
        async def charge() -> str:
            world.effect("charge")
            await asyncio.sleep(60)
            return "receipt"

        await ctx.once("charge", charge)

    id_ = later(world, pay)
    world.until(lambda: "charge" in world.effect_names())
    world.kill(world.effects[0].replica)
    world.until(lambda: world.row(id_).state is State.FAILED_MANUAL, at_most="2m")

    assert world.effect_names() == ["charge"]
    assert world.row(id_).code == "effect_unknown"


def test_check_decides_about_an_effect_whose_outcome_is_unknown(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)

    async def pay(ctx: Context) -> Any:
        async def charge() -> str:
            world.effect("charge")
            await asyncio.sleep(60)
            return "receipt"

        return await ctx.once("charge", charge, check=lambda: {"found": "receipt"})

    id_ = later(world, pay)
    world.until(lambda: "charge" in world.effect_names())
    world.kill(world.effects[0].replica)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="2m")

    assert world.effect_names() == ["charge"]
    assert world.row(id_).result == '{"found": "receipt"}'


@pytest.mark.parametrize("how", ["fails", "is killed"])
def test_once_effects_have_started_a_person_is_asked_instead_of_a_retry(make_world: MakeWorld, how: str) -> None:
    world = make_world(replicas=2)

    async def work(ctx: Context) -> None:
        await ctx.effects_started()
        world.effect("sent half")
        if how == "fails":
            raise OSError("gone")
        await asyncio.sleep(60)

    id_ = later(world, work)
    world.until(lambda: bool(world.effects))
    if how == "is killed":
        world.kill(world.effects[0].replica)
    world.until(lambda: world.row(id_).state is State.FAILED_MANUAL, at_most="2m")

    assert world.effect_names() == ["sent half"]
    assert world.row(id_).code == "effects_started"


def test_a_job_that_kills_its_workers_ends_as_poison(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    id_ = later(world, sleeping(world, "boom", "60s"), max_takeovers=2)
    for _ in range(3):
        count = len(world.effects)
        world.until(lambda count=count: len(world.effects) > count, at_most="2m")  # type: ignore[misc]
        world.restart(0)
    world.until(lambda: world.row(id_).state is State.FAILED_MANUAL, at_most="2m")

    assert world.row(id_).code == "poison"
    assert len(world.effects) == 3


def test_no_outcome_is_lost_while_the_store_is_away(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    id_ = later(world, sleeping(world, "work", "2s"))
    world.until(lambda: bool(world.effects))
    world.replicas[0].gate.fail(10)
    world.advance("10s")

    assert world.row(id_).state is State.SUCCESS
    assert world.row(id_).attempt == 1


def test_an_answer_that_was_lost_does_no_harm(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    job = make_job("work")
    world.job(job, sleeping(world, "work", "500ms"))
    world.advance("1s")
    ids = []
    for _ in range(10):
        world.replicas[0].gate.lose_replies(1)
        ids.append(world.later(job))
        world.advance("350ms")
    world.advance("20s")

    assert [world.row(id_).state for id_ in ids] == [State.SUCCESS] * 10
    assert world.effect_names().count("work done") == 10


def test_a_stopping_worker_hands_back_what_does_not_end_and_the_attempt_is_not_counted(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    id_ = later(world, sleeping(world, "work", "20s"))
    world.until(lambda: bool(world.effects))
    victim = world.effects[0].replica
    stopped_at = world.now
    world.stop(victim, grace="5s")
    world.until(lambda: world.replicas[victim].main.done(), at_most="10s")

    row = world.row(id_)
    assert row.started_at is not None
    assert row.started_at - stopped_at < 6 * SECOND, "it need not wait for a lease to lapse"
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="60s")
    assert (world.row(id_).attempt, world.row(id_).takeovers) == (1, 0)


def test_a_stopping_worker_lets_short_runs_end(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    id_ = later(world, sleeping(world, "work", "3s"))
    world.until(lambda: bool(world.effects))
    world.stop(0)
    world.until(lambda: world.replicas[0].main.done(), at_most="10s")

    assert world.effect_names() == ["work", "work done"]
    assert world.row(id_).state is State.SUCCESS


def test_a_cancel_reaches_the_running_job(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    id_ = later(world, sleeping(world, "work", "5m"))
    world.until(lambda: bool(world.effects))
    acted = world.store.act("c", Act(kind="cancel", actor="mia", reason="not needed", occurrence_id=id_))
    assert acted.outcome == "requested"
    world.advance("11s")

    assert world.row(id_).state is State.CANCELLED
    assert world.effect_names() == ["work"]


def test_trust_ends_before_the_lease_when_renewals_do_not_come_through(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    id_ = later(world, sleeping(world, "work", "5m"))
    world.until(lambda: bool(world.effects))
    world.replicas[0].keeper.cancel()
    row = world.row(id_)
    world.until(lambda: bool(world.replicas[0].happened(Lost)), at_most="60s")

    assert row.due_at is not None
    assert world.now <= row.due_at, "the run went on after its lease could be taken"
    assert row.due_at - world.now < 2 * SECOND


def test_timeouts_are_not_reached_by_waiting_rows(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    id_ = later(world, lambda: world.effect("work"), delay="2h", timeout=MINUTE)
    world.advance("1h59m")
    assert world.effects == []
    world.advance("61s")
    assert world.row(id_).state is State.SUCCESS


@pytest.mark.parametrize("reason", ["timed out", "cancelled", "handed back"])
def test_what_a_job_returns_after_it_was_told_to_stop_is_no_success(make_world: MakeWorld, reason: str) -> None:
    world = make_world(replicas=1)

    async def gives_way() -> str:
        world.effect("work")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "half done"
        return "done"

    id_ = later(world, gives_way, timeout=20 * SECOND, retry=Retry(max=0))
    world.until(lambda: bool(world.effects))
    if reason == "cancelled":
        world.store.act("c", Act(kind="cancel", actor="mia", reason="not needed", occurrence_id=id_))
    if reason == "handed back":
        world.stop(0, grace="1s")
    world.advance("30s")

    expected = {"timed out": State.FAILED_MANUAL, "cancelled": State.CANCELLED, "handed back": State.PENDING}
    assert world.row(id_).state is expected[reason]


def test_a_store_that_cannot_serve_stops_the_worker_with_its_message(make_world: MakeWorld) -> None:
    from noonmark.ports.store import StoreUnusable

    world = make_world(replicas=1)
    world.job(make_job("work"), lambda: None)
    world.advance("1s")

    def refuse() -> None:
        raise StoreUnusable("the disk is full: free some space and start again")

    world.replicas[0].gate.before("take", refuse)
    with pytest.raises(StoreUnusable, match="free some space"):
        world.advance("30s")
    assert world.replicas[0].main.done()


def test_a_fault_in_one_round_costs_that_round_only(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    job = make_job("work")
    world.job(job, lambda: world.effect("work"))
    world.advance("1s")

    def trip() -> None:
        raise RuntimeError("a fault of ours")

    world.replicas[0].gate.before("take", trip)
    id_ = world.later(job)
    world.advance("15s")
    assert world.row(id_).state is State.SUCCESS


def test_an_outcome_that_cannot_be_worked_out_is_recorded_plainly(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from noonmark.engine import outcomes

    def trip(*_: object, **__: object) -> None:
        raise KeyError("a template that binds nothing")

    monkeypatch.setattr(outcomes, "after_failure", trip)
    world = make_world(replicas=1)

    def fail() -> None:
        raise OSError("down")

    id_ = later(world, fail)
    world.advance("3s")
    assert world.row(id_).state is State.FAILED_MANUAL
    assert "down" in (world.row(id_).error or "")


def test_a_retry_after_a_long_wait_is_no_catch_up_but_a_late_first_start_is(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    seen: list[tuple[int, bool]] = []

    async def job(ctx: Context) -> None:
        seen.append((ctx.attempt, ctx.is_catch_up))
        if ctx.attempt == 1:
            raise ValueError("once")

    patient = Retry(max=1, base=5 * MINUTE, jitter=0)
    ticking = make_job("job", trigger=Every(period=HOUR), retry=patient, catch_up=CatchUp(max_delay=HOUR))
    world.job(ticking, job)
    world.advance("1h10m")
    assert seen == [(1, False), (2, False)]
    world.kill(0)
    world.advance("55m")
    world.restart(0)
    world.advance("1m")
    assert seen[2:] == [(1, True)], "it was due five minutes ago, while nobody was awake"


def asked_by(world: World, origin: Origin) -> int:
    """Ask for a run of ``work`` now, by name."""
    job, now = codec.job_from_text(world.store.jobs(["work"])[0].rule), world.store.now()
    row = row_for_call(
        job, request_id=f"by-ann-{origin}", due_at=now, params={}, key=f"by {origin}", revision=1, now=now, origin=origin,
        actor="ann",
    )  # fmt: skip
    return world.store.add(f"by-ann-{origin}", [row])[0].id


def all_clears(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "all clear" in record.getMessage()]


def test_a_success_after_no_alert_is_no_all_clear(make_world: MakeWorld, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "noonmark.alert")
    world = make_world(replicas=1)
    world.job(make_job("work", overlap="allow"), lambda: None)
    world.advance("100ms")
    asked = [asked_by(world, Origin.LATER), asked_by(world, Origin.MANUAL)]
    world.until(lambda: {world.row(id_).state for id_ in asked} == {State.SUCCESS}, at_most="10s")
    assert all_clears(caplog) == []


def test_a_failure_that_ends_well_is_one_all_clear_of_its_kind(
    make_world: MakeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "noonmark.alert")
    world = make_world(replicas=1)

    def fail_once() -> None:
        world.effect("try")
        if len(world.effects) < 2:
            raise OSError("upstream is down")

    id_ = later(world, fail_once)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="30s")
    assert all_clears(caplog) == [f"all clear: work r{id_} (failing)"]


def test_only_the_occurrence_that_needs_a_person_or_a_person_ends_its_urgent_alert(
    make_world: MakeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "noonmark.alert")
    world = make_world(replicas=1)

    def refuse_once() -> None:
        world.effect("try")
        if len(world.effects) < 2:
            raise DoNotRetry("the address is wrong")

    id_ = later(world, refuse_once)
    world.until(lambda: world.row(id_).state is State.FAILED_MANUAL, at_most="10s")
    assert all_clears(caplog) == []
    asked = asked_by(world, Origin.MANUAL)
    world.until(lambda: world.row(asked).state is State.SUCCESS, at_most="10s")
    assert all_clears(caplog) == [], "another one went well, and this one still needs a person"
    assert [alert.occurrence_id for alert in world.store.tallies().open_alerts] == [id_]
    world.store.act("again", Act(kind="retry", actor="ann", reason="corrected", occurrence_id=id_))
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="10s")
    assert world.store.tallies().open_alerts == ()
    assert all_clears(caplog) == [f"all clear: work r{id_} (failing)"]
