"""Rules, pauses, handlers and dependencies as the loop meets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core import rollback
from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    Act,
    CatchUp,
    Cron,
    Every,
    Fact,
    FlagSet,
    Guardrails,
    Job,
    Query,
    State,
    Succeeded,
    Window,
)
from noonmark.core.model.rollback import Claim, Epoch
from noonmark.core.times import parse_instant
from noonmark.engine import rules
from noonmark.engine.activate import declare, raise_frontiers
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import World

MakeWorld = Callable[..., World]

MORNING = parse_instant("2026-11-30T08:55:00", "Asia/Shanghai")  # a Monday

DIGEST = make_job(
    "digest",
    trigger=Cron(expression="0 9 * * *", tz="Asia/Shanghai"),
    key="digest:{business_date}",
    window=Window(start="09:00", end="12:00", reason="nobody reads it later"),
    depends_on=(FlagSet(flag="etl.finished:{business_date}", reason="it counts yesterday's rows"),),
    catch_up=CatchUp(recheck=5 * MINUTE),
    guardrails=Guardrails(allow_weekend=False),
)


def looks(world: World, row_id: int) -> int:
    """Return how often a row was looked at."""
    story = world.store.story(row_id)
    assert story is not None
    return sum(line.count for line in story.ledger if line.event == "park")


def test_the_nine_o_clock_digest_waits_for_its_data_every_five_minutes_and_runs_when_it_is_there(
    any_world: MakeWorld,
) -> None:
    world = any_world(replicas=2, start=MORNING)
    world.job(DIGEST, lambda: world.effect("digest"))
    world.advance("21m")
    row = world.rows("digest")[0]
    assert (row.state, row.verdict, row.code) == (State.PENDING, "skip_dep", "flag_missing")
    assert looks(world, row.id) == 4, "09:00, 09:05, 09:10, 09:15"

    world.signal("etl.finished:2026-11-30")
    world.advance("11s")

    assert world.row(row.id).state is State.SUCCESS
    assert world.effect_names() == ["digest"]
    assert len([row for row in world.rows("digest") if row.frontier]) == 1


def test_a_digest_whose_data_never_came_ends_with_a_person_when_its_window_closes(any_world: MakeWorld) -> None:
    world = any_world(replicas=2, start=MORNING)
    world.job(replace(DIGEST, window=Window(start="09:00", end="09:30")), lambda: world.effect("digest"))

    world.advance("36m")

    row = world.rows("digest")[0]
    assert (row.state, row.code) == (State.FAILED_MANUAL, "window_closed")
    (alert,) = world.store.story(row.id).alerts  # type: ignore[union-attr]
    assert (alert.kind, alert.level) == ("missed", 3)
    world.signal("etl.finished:2026-11-30")
    world.advance("6m")
    assert world.effects == [], "nothing starts after its window"


def test_a_dependency_on_another_job_is_met_by_its_success_for_the_same_date(make_world: MakeWorld) -> None:
    world = make_world(replicas=2, start=MORNING)
    world.job(
        make_job("index", trigger=Cron(expression="30 9 * * *", tz="Asia/Shanghai")), lambda: world.effect("index")
    )
    world.job(replace(DIGEST, depends_on=(Succeeded(job="index"),)), lambda: world.effect("digest"))

    world.advance("34m")

    assert world.effect_names() == []
    world.advance("2m")
    assert world.effect_names() == ["index", "digest"]
    assert world.effects[1].at - world.effects[0].at < 2 * SECOND, "the success itself wakes what waits for it"


def test_a_cancel_that_overtakes_its_create_holds_the_key(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    job = make_job("mail", key="mail:{params.order}")
    world.job(job, lambda: world.effect("mail"))
    world.advance("1s")
    world.store.act("c", Act(kind="cancel", actor="shop", reason="order.paid", key="mail:7"))
    id_ = world.later(job, "1s", order=7)
    other = world.later(job, "1s", order=8)
    world.advance("5s")

    assert world.row(id_).verdict == "skip_duplicated"
    assert world.row(other).state is State.SUCCESS
    assert len(world.effects) == 1


def test_a_row_without_a_handler_waits_with_a_reason_and_runs_when_one_appears(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    job = make_job("gone")
    declare(world.store, [job], actor="test")
    id_ = world.later(job)
    world.advance("1m")
    assert (world.row(id_).state, world.row(id_).code) == (State.PENDING, "handler_missing")

    world.job(job, lambda: world.effect("gone"))
    world.restart(0)
    world.advance("20s")
    assert world.row(id_).state is State.SUCCESS


def test_a_moment_of_a_lost_range_that_waited_for_its_handler_says_that_it_may_be_a_repeat(
    make_world: MakeWorld,
) -> None:
    """It was yielded after the proof, so no proof has gated it."""
    world = make_world(replicas=1)
    catch_up = CatchUp(missed="all", max_delay=HOUR)
    job = make_job(
        "meter", trigger=Every(period=MINUTE), catch_up=catch_up, overlap="allow", on_rollback="run", reason="counts"
    )
    declare(world.store, [job], actor="test")
    store: Any = world.store
    claim = Claim(writer="p", worker="w", receipt=None)
    receipt = store.prove(claim).receipt
    lost = replace(receipt, seq=1, hash="f" * 64, at=store.now() + 10 * MINUTE)  # that server's clock was ahead
    assert store.prove(replace(claim, receipt=lost)).outcome == "lost"
    world.advance("3m5s")
    waiting = world.rows("meter")[:3]
    assert {row.code for row in waiting} == {"handler_missing"}

    world.job(job, lambda: world.effect("meter"))
    world.restart(0)
    world.advance("20s")
    assert {world.row(row.id).state for row in waiting} == {State.SUCCESS}
    for row in waiting:
        story = world.store.story(row.id)
        assert story is not None
        assert [line.code for line in story.ledger if line.event == "start"] == ["restored_epoch"]


def test_a_moment_of_a_lost_range_that_waited_for_a_readable_rule_is_looked_at_before_it_starts(
    make_world: MakeWorld,
) -> None:
    world = make_world(replicas=1)
    job = make_job("mail", on_rollback="run", reason="counts")
    declare(world.store, [job], actor="test")
    id_ = world.later(job, "1m")
    store: Any = world.store
    receipt = store.prove(Claim(writer="p", worker="w", receipt=None)).receipt
    store._tables.facts[rollback.FACT] = Fact(
        name=rollback.FACT,
        version=1,
        value=rollback.to_plain(
            [Epoch(number=1, lost_from=receipt.at, lost_until=store.now() + HOUR, detected_at=store.now() + HOUR)]
        ),
    )
    assert not world.row(id_).gated, "no proof has gated it"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "job_from_text", lambda _: None)
        world.advance("70s")
    assert (world.row(id_).code, world.row(id_).gated) == ("rule_unreadable", True)


def test_a_series_without_a_handler_here_goes_on_and_loses_no_moment(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)
    catch_up = CatchUp(missed="all", max_delay=HOUR)
    job = make_job("meter", trigger=Every(period=MINUTE), catch_up=catch_up, overlap="allow")
    declare(world.store, [job], actor="test")
    world.advance("3m5s")
    assert [row.code for row in world.rows("meter")] == ["handler_missing"] * 3 + [""]

    world.job(job, lambda: world.effect("meter"))
    world.restart(0)
    world.advance("20s")
    assert len(world.effects) == 3


def test_a_rule_that_cannot_be_read_makes_its_rows_wait_with_a_reason(make_world: MakeWorld) -> None:
    from noonmark.core.model import Activation

    world = make_world(replicas=1)
    job = make_job("new")
    declare(world.store, [job], actor="test")
    id_ = world.later(job, "5s")
    change = Activation(name="new", rule='{"v": 99}', digest="x", expected_revision=1, effective_at=world.now)
    world.store.activate("a", [change], actor="a newer version")
    world.advance("10s")

    assert (world.row(id_).state, world.row(id_).code) == (State.PENDING, "rule_unreadable")


def test_a_rule_edited_elsewhere_is_adopted_while_running(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    job = make_job("tick", trigger=Every(period=MINUTE))
    world.job(job, lambda: world.effect("tick"))
    world.advance("61s")
    declare(world.store, [replace(job, trigger=Every(period=10 * SECOND))], actor="mia")
    world.advance("60s")

    assert len(world.effects) == 1 + 6
    assert len([row for row in world.rows("tick") if row.frontier]) == 1


def test_an_unchanged_rule_changes_nothing_however_often_it_is_declared(any_world: MakeWorld) -> None:
    world = any_world(replicas=2)
    job = make_job("tick", trigger=Every(period=MINUTE))
    world.job(job, lambda: world.effect("tick"))
    world.advance("10s")
    before = (world.store.jobs(), world.rows("tick"))
    world.restart(1)
    world.advance("10s")

    assert (world.store.jobs(), world.rows("tick")) == before


def test_moments_of_a_pause_are_over_and_rows_asked_for_wait_for_its_end(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    job = make_job("tick", trigger=Every(period=MINUTE))
    call = make_job("call")
    world.job(job, lambda: world.effect("tick"))
    world.job(call, lambda: world.effect("call"))
    world.advance("61s")
    for name in ("tick", "call"):
        world.store.act(f"p{name}", Act(kind="pause", actor="mia", reason="repairs", job=name))
    id_ = world.later(call, "1s")
    world.advance("3m")
    assert world.effect_names() == ["tick"]
    assert world.row(id_).code == "waiting_for_resume"

    for name in ("tick", "call"):
        world.store.act(f"r{name}", Act(kind="resume", actor="mia", reason="done", job=name))
    world.advance("15s")
    assert world.effect_names() == ["tick", "call"]
    skipped = [row for row in world.rows("tick") if row.verdict == "skip_paused"]
    assert [row.code for row in skipped] == ["job_paused"] * 3
    world.advance("60s")
    assert world.effect_names() == ["tick", "call", "tick"]


def test_a_key_that_a_manual_run_fulfilled_makes_the_scheduled_row_a_duplicate(make_world: MakeWorld) -> None:
    from noonmark.core.model import Origin
    from noonmark.core.series import row_for_call

    world = make_world(replicas=2, start=MORNING)
    job = replace(DIGEST, depends_on=(), window=None)
    world.job(job, lambda: world.effect("digest"))
    world.advance("1m")
    row = row_for_call(
        job,
        request_id="m",
        due_at=world.now,
        params={},
        key="digest:2026-11-30",
        revision=1,
        now=world.now,
        origin=Origin.MANUAL,
        actor="mia",
    )
    manual = world.store.add("m", [row])[0].id
    world.advance("10m")

    assert world.row(manual).state is State.SUCCESS
    scheduled = next(row for row in world.rows("digest") if row.origin is Origin.SCHEDULE)
    assert (scheduled.state, scheduled.verdict, scheduled.duplicate_of) == (State.SKIPPED, "skip_duplicated", manual)
    assert len(world.effects) == 1


def test_two_replicas_that_declare_the_same_rules_agree_on_one_revision(make_world: MakeWorld) -> None:
    world = make_world(replicas=3)
    world.job(make_job("tick", trigger=Every(period=MINUTE)), lambda: world.effect("tick"))
    world.advance("10s")
    assert [row.revision for row in world.store.jobs()] == [1]
    assert len(world.store.occurrences(Query(job="tick"))) == 1


def test_each_subject_of_a_job_has_its_own_series(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)

    def report(channel: str) -> None:
        world.effect(channel)

    job = make_job("report", trigger=Every(period=MINUTE), each={"channel": ("ops", "sales")})
    world.job(job, report)
    world.advance("2m5s")
    assert sorted(world.effect_names()) == ["ops", "ops", "sales", "sales"]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_killed_and_stopped_every_tick_has_one_outcome(make_world: MakeWorld, seed: int) -> None:
    import asyncio
    import random

    dice = random.Random(seed)
    world = make_world(replicas=3, seed=seed, latency=20_000)

    async def work() -> None:
        world.effect("begin")
        await asyncio.sleep(dice.random() * 4)
        world.effect("end")

    job: Job = make_job(
        "tick",
        trigger=Every(period=2 * SECOND),
        lease=3 * SECOND,
        overlap="allow",
        max_takeovers=50,
        catch_up=CatchUp(missed="all", max_delay=HOUR),
    )
    world.job(job, work)
    for _ in range(20):
        world.advance(int(dice.random() * 5 * SECOND))
        _misfortune(world, dice)
    for number in range(3):
        world.resume(number)
        if not world.replicas[number].is_alive:
            world.restart(number)
    world.advance("30s")

    rows = world.rows("tick")
    due = [row for row in rows if row.scheduled_for <= world.now - 20 * SECOND]
    assert {row.state for row in due} == {State.SUCCESS}
    moments = [row.scheduled_for for row in rows]
    assert moments == list(range(moments[0], moments[-1] + 1, 2 * SECOND)), "a moment is missing or there twice"


def _misfortune(world: World, dice: Any) -> None:
    number = dice.randrange(3)
    replica = world.replicas[number]
    if not replica.is_alive:
        world.restart(number)
    elif replica.is_paused:
        world.resume(number)
    else:
        gate = replica.gate
        dice.choice([world.kill, world.pause, lambda _: gate.fail(5), lambda _: gate.lose_replies(3), lambda _: None])(
            number
        )


def test_a_row_goes_on_soon_to_the_worker_that_has_its_function(make_world: MakeWorld) -> None:
    world = make_world(replicas=2)
    world.job(make_job("other"), lambda: None)
    world.start()
    job = make_job("here")
    world.job(job, lambda: world.effect("here"))
    world.restart(1)  # only the second worker knows the second job
    world.advance("2s")
    asked = []
    for _ in range(10):
        asked.append((world.now, world.later(job)))
        world.advance("5s")

    for moment, id_ in asked:
        row = world.row(id_)
        assert row.state is State.SUCCESS
        assert row.started_at is not None
        assert row.started_at - moment < 3 * SECOND
    assert {effect.replica for effect in world.effects} == {1}


def test_of_a_job_with_very_many_subjects_no_frontier_is_taken_for_missing() -> None:
    store = MemoryStore(VirtualClock())
    many = {"tenant": tuple(f"t{number}" for number in range(10_020))}
    job = make_job("tick", trigger=Every(period=HOUR), key="tick:{subject}:{scheduled_for}", each=many)
    (row,) = declare(store, [job], actor="ada")
    assert raise_frontiers(store, [(job, row)], worker="w1", actor="w1") == 0
