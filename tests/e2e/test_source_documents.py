"""What the two texts behind noonmark show by hand, end to end on a SQLite file.

The first text has two workers that contend for a periodic job, a delayed digest, and a list of five points to accept;
the second has a digest at 09:00 with a dependency, a window, retries and a person at the end.  Its points about a lock
and a token read here: lease and fence.  What takes hours happens in virtual time, what is about processes in real time.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import noonmark as noonmark_package
from noonmark.core.model import (
    HOUR,
    LOOK_LEASE,
    MINUTE,
    SECOND,
    CatchUp,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    Micros,
    Occurrence,
    OnEvent,
    Origin,
    Query,
    Renewal,
    Retry,
    State,
    Window,
)
from noonmark.core.series import row_for_call, row_for_event
from noonmark.core.times import parse_instant
from noonmark.engine.activate import declare
from noonmark.rules.taskrules import loads_literal
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_end, make_job
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]
SHANGHAI = "Asia/Shanghai"


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    """Make worlds on a SQLite file."""
    worlds: list[World] = []

    def make(**options: Any) -> World:
        path = tmp_path / f"{len(worlds)}.db"
        store = lambda clock: SqliteStore(path, clock=clock, synchronous="OFF")  # noqa: E731
        worlds.append(World(store=store, **options))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def shanghai(text: str) -> Micros:
    return parse_instant(text, SHANGHAI)


def to(world: World, when: str) -> None:
    world.advance(shanghai(when) - world.now)


def row_of(world: World, job: str, when: str) -> Occurrence:
    (row,) = [row for row in world.rows(job) if row.scheduled_for == shanghai(when)]
    return row


# --- the first text: two kinds of jobs that nobody asks for ------------------------------------------

TWO_WORKERS = """
import os, time
from noonmark import ContextSync, Scheduler, every

sched = Scheduler(rules=False)

@sched.job(every("1s"), key="digest:{scheduled_for}", reason="The index must be fresh.")
def digest(ctx: ContextSync) -> None:
    with open("rounds.log", "a") as log:
        log.write(f"begin {ctx.key} {ctx.fence} {os.getpid()}\\n")
    time.sleep(0.2)
    with open("rounds.log", "a") as log:
        log.write(f"end {ctx.key} {ctx.fence} {os.getpid()}\\n")
"""


def test_two_workers_contend_over_three_rounds_and_each_round_has_one_holder(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(TWO_WORKERS, encoding="utf-8")
    log = tmp_path / "rounds.log"
    log.touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")}
    env = {**kept, "PYTHONPATH": str(Path(noonmark_package.__file__ or "").parents[1])}
    said = tmp_path / "workers.err"
    with said.open("wb") as errors:
        workers = [
            subprocess.Popen(
                [sys.executable, "-m", "noonmark.faces.cli", "worker", "jobs.py", "--name", name],
                cwd=tmp_path,
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            for name in ("A", "B")
        ]
    try:
        deadline = time.monotonic() + 30
        while log.read_text().count("end") < 4:
            assert all(worker.poll() is None for worker in workers), said.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        codes = [worker.wait(timeout=30) for worker in workers]

    assert codes == [0, 0]
    lines = [line.split() for line in log.read_text().splitlines()]
    assert [line[0] for line in lines] == ["begin", "end"] * (len(lines) // 2), "two held the job at one time"
    rounds = [line[1] for line in lines if line[0] == "begin"]
    assert len(set(rounds)) == len(rounds) >= 3, "a round was run twice"
    fences = [int(line[2]) for line in lines if line[0] == "begin"]
    assert fences == sorted(set(fences)), "who holds a round has a greater number than whoever held the one before"
    with_store = SqliteStore(tmp_path / ".noonmark/noonmark.db")
    try:
        rows = [row for row in with_store.occurrences(Query(job="digest")) if row.state is not State.PENDING]
    finally:
        with_store.close()
    assert {row.key for row in rows if row.state is State.SUCCESS} == set(rounds)
    # A round that came while the one before still ran is on record as skipped; nothing is silent.
    assert {row.verdict for row in rows if row.state is State.SKIPPED} <= {"skip_overlap", "skip_superseded"}


DIGEST_OF_RUN = make_job(
    "digest",
    trigger=OnEvent(name="run.done", delay=5 * MINUTE),
    key="digest:{event.run}",
    reason="A digest is read after the answer, not with it.",
)


def test_a_delayed_digest_fires_once_and_leaves_an_empty_queue(make_world: MakeWorld) -> None:
    world = make_world(replicas=2, start=shanghai("2026-10-10T19:00:00"))
    world.job(DIGEST_OF_RUN, lambda run: world.effect(f"digest of {run}"))
    world.advance("1s")
    emitted_at = world.now
    rows = [
        row_for_event(
            DIGEST_OF_RUN, event_id="run-abc", emitted_at=emitted_at, payload={"run": "run-abc"}, revision=1, subject=""
        )
    ]
    answers = [world.store.add(f"delivery-{n}", rows)[0] for n in range(3)]
    assert [answer.outcome for answer in answers] == ["added", "duplicate_identity", "duplicate_identity"]

    tallies = world.store.tallies()
    waiting = world.store.occurrences(Query(job="digest", open_only=True))
    assert [row.due_at for row in waiting] == [emitted_at + 5 * MINUTE], "the queue says what waits and since when"
    assert tallies.by_state[State.PENDING] == 1

    world.advance("4m59s")
    assert world.effects == [], "nothing fires early"
    world.advance("2s")
    (fired,) = world.effects
    assert fired.name == "digest of run-abc"
    assert 0 <= fired.at - (emitted_at + 5 * MINUTE) < SECOND
    assert world.store.occurrences(Query(job="digest", open_only=True)) == [], "queue: 0 left"


# --- the first text: the five points to accept -------------------------------------------------------


def test_point_1_of_many_replicas_one_runs_each_round(make_world: MakeWorld) -> None:
    world = make_world(replicas=3, start=shanghai("2026-10-10T19:00:00"))
    world.job(make_job("index", trigger=Every(period=5 * MINUTE)), lambda: world.effect("index"))
    world.advance("31m")
    rows = [row for row in world.rows("index") if row.state is State.SUCCESS]
    assert len(world.effects) == len(rows) == 6
    assert all(row.attempt == 1 for row in rows)


def test_point_2_ending_and_renewing_need_the_right_fence(make_world: MakeWorld) -> None:
    world = make_world(replicas=0)
    store = world.store
    job = make_job("work")
    now = store.now()
    row = row_for_call(job, request_id="r", due_at=now, params={}, key=None, revision=1, now=now, origin=Origin.LATER)
    declare(store, [job], actor="test")
    store.add("r", [row])
    held = store.take("t", "A", limit=1, runnable={"work": 30 * SECOND}, look_lease=LOOK_LEASE).rows[0]
    assert held.state is State.RUNNING

    wrong = replace(held, fence=held.fence - 1)
    before = held.due_at
    (answer,) = store.settle("s1", "B", [make_end(wrong)])
    assert answer.outcome == "stale"
    renewed = store.renew("B", [Renewal(occurrence_id=held.id, fence=wrong.fence, lease=HOUR)])
    assert renewed.lost == {held.id}
    assert world.row(held.id).due_at == before, "a wrong fence neither ends nor lengthens anything"
    assert world.row(held.id).state is State.RUNNING

    world.clock.advance(10 * SECOND)
    good = store.renew("A", [Renewal(occurrence_id=held.id, fence=held.fence, lease=30 * SECOND)])
    assert not good.lost
    assert world.row(held.id).due_at == store.now() + 30 * SECOND
    (answer,) = store.settle("s2", "A", [make_end(held)])
    assert answer.outcome == "applied"
    assert world.row(held.id).state is State.SUCCESS


def test_point_3_a_lease_ends_by_itself_when_its_holder_dies(make_world: MakeWorld) -> None:
    world = make_world(replicas=2, start=shanghai("2026-10-10T19:00:00"))
    job = make_job("index", trigger=Every(period=HOUR), lease=30 * SECOND)
    world.job(job, sleeping(world, "index", "5m"))
    world.until(lambda: bool(world.effects), at_most="2h")
    first = world.effects[0]
    world.kill(first.replica)
    world.until(lambda: len(world.effects) == 2, at_most="2m")
    second = world.effects[1]
    assert second.replica != first.replica
    assert second.at - first.at <= 31_500_000, "lease plus a second and a half"


def test_point_4_a_long_job_keeps_its_lease_by_renewing_it(make_world: MakeWorld) -> None:
    world = make_world(replicas=3, start=shanghai("2026-10-10T19:00:00"))
    job = make_job("index", trigger=Every(period=HOUR), lease=6 * SECOND)
    world.job(job, sleeping(world, "index", "10m"))
    world.until(lambda: "index done" in world.effect_names(), at_most="2h")
    world.advance("1s")
    (row,) = [row for row in world.rows("index") if row.state is State.SUCCESS]
    assert (row.attempt, row.takeovers, row.lost) == (1, 0, 0), "a run a hundred leases long stays with its holder"
    assert world.effect_names() == ["index", "index done"]


def test_point_5_a_delayed_job_is_found_by_its_due_time_and_claimed_by_one(make_world: MakeWorld) -> None:
    world = make_world(replicas=0, start=shanghai("2026-10-10T19:00:00"))
    store, job = world.store, make_job("digest")
    declare(store, [job], actor="test")
    late = world.later(job, "1s", run="later")
    soon = world.later(job, "500ms", run="sooner")
    runnable = {"digest": 30 * SECOND}

    def take(who: str) -> list[int]:
        taken = store.take(f"{who}-{store.now()}", who, limit=5, runnable=runnable, look_lease=LOOK_LEASE)
        return [row.id for row in taken.rows]

    assert take("A") == [], "not due yet"
    world.clock.advance(1100 * 1000)
    assert (take("A"), take("B")) == ([soon, late], []), "oldest due first, and to one of them only"


# --- the second text: the digest at nine ---------------------------------------------------------------

DIGEST = make_job(
    "digest",
    trigger=Cron(expression="0 9 * * *", tz=SHANGHAI),
    key="digest:{business_date}:{params.channel}",
    params={"channel": "ops"},
    business_date="previous_day",
    window=Window(start="09:00", end="12:00", reason="after noon nobody reads it"),
    depends_on=(FlagSet(flag="daily_etl.finished_{business_date}", reason="or the digest is empty"),),
    catch_up=CatchUp(recheck=5 * MINUTE),
    guardrails=Guardrails(allow_weekend=True),
    reason="Sent to the channel before work begins.",
)
MORNING = "2026-11-30T08:59:00"
NINE = "2026-11-30T09:00:00"
FLAG = "daily_etl.finished_2026-11-29"


def person_runs(world: World, job: Job) -> Any:
    """A person asks for a run now; the store's answer."""
    now = world.now
    row = row_for_call(
        job,
        request_id=f"person-{now}",
        due_at=now,
        params=dict(job.params),
        key=None,
        revision=1,
        now=now,
        origin=Origin.MANUAL,
        actor="ann",
    )
    return world.store.add(f"person-{now}", [row])[0]


def digest_world(make_world: MakeWorld, job: Job = DIGEST, fn: Callable[..., Any] | None = None) -> World:
    world = make_world(replicas=2, start=shanghai(MORNING))
    world.job(job, fn or (lambda channel: world.effect(f"sent to {channel}")))
    return world


def test_the_digest_waits_for_yesterdays_data_looking_every_five_minutes(make_world: MakeWorld) -> None:
    world = digest_world(make_world)
    to(world, "2026-11-30T09:22:00")
    row = row_of(world, "digest", NINE)
    assert (row.state, row.verdict, row.code) == (State.PENDING, "skip_dep", "flag_missing")
    assert row.business_date == "2026-11-29", "the digest of yesterday"
    story = world.store.story(row.id)
    assert story is not None
    assert sum(line.count for line in story.ledger if line.event == "park") == 5, "09:00, 09:05, 09:10, 09:15, 09:20"
    assert row.due_at is not None
    assert abs(row.due_at - shanghai("2026-11-30T09:25:00")) < SECOND

    world.signal(FLAG)
    to(world, "2026-11-30T09:26:00")
    assert world.effect_names() == ["sent to ops"]
    assert row_of(world, "digest", NINE).state is State.SUCCESS


def test_the_digest_that_sees_no_data_before_noon_is_handed_to_a_person(make_world: MakeWorld) -> None:
    world = digest_world(make_world)
    to(world, "2026-11-30T12:00:05")
    row = row_of(world, "digest", NINE)
    assert (row.state, row.code) == (State.FAILED_MANUAL, "window_closed")
    assert [(alert.kind, alert.level) for alert in world.store.tallies().open_alerts] == [("missed", 3)]
    world.signal(FLAG)
    to(world, "2026-11-30T12:10:00")
    assert world.effects == [], "after twelve nothing is sent by itself"


def test_the_digest_is_caught_up_within_the_morning_after_an_absence_at_nine(make_world: MakeWorld) -> None:
    world = digest_world(make_world)
    world.advance("1s")
    world.signal(FLAG)
    world.kill(0)
    world.kill(1)
    to(world, "2026-11-30T10:40:00")
    world.restart(0)
    world.advance("10s")
    assert row_of(world, "digest", NINE).state is State.SUCCESS
    assert world.effect_names() == ["sent to ops"]


def test_a_failing_digest_waits_1_2_4_8_seconds_and_jitter_and_then_a_person_is_asked(make_world: MakeWorld) -> None:
    world = digest_world(make_world, fn=lambda channel: _refuse(world, channel))
    world.signal(FLAG)
    to(world, "2026-11-30T09:01:00")
    row = row_of(world, "digest", NINE)
    tries = [effect.at for effect in world.effects]
    waits = [after - before for before, after in pairwise(tries)]
    assert len(tries) == 5, "four retries are five attempts"
    for wait, base in zip(waits, (1, 2, 4, 8), strict=True):
        assert base * SECOND <= wait <= base * SECOND + 500_000 + 100_000, "at most half a second is added"
    assert len({wait % SECOND for wait in waits}) > 1, "the jitter differs from wait to wait"
    assert (row.state, row.code) == (State.FAILED_MANUAL, "failed_final")
    story = world.store.story(row.id)
    assert story is not None
    (alert,) = [alert for alert in story.alerts if alert.kind == "failing"]
    assert alert.level == 3
    told = json.dumps(alert.detail)
    assert row.key in told
    assert "the channel answers 503" in told


def _refuse(world: World, channel: str) -> None:
    world.effect(f"try {channel}")
    raise ConnectionError("the channel answers 503")


def test_a_manual_run_never_sends_the_digest_a_second_time(make_world: MakeWorld) -> None:
    world = digest_world(make_world)
    world.advance("1s")
    world.signal(FLAG)
    to(world, "2026-11-30T09:05:00")
    asked = person_runs(world, DIGEST)
    assert (asked.outcome, asked.duplicate_of) == ("duplicate_key", row_of(world, "digest", NINE).id)
    world.advance("1m")
    assert world.effect_names() == ["sent to ops"]


def test_a_digest_sent_by_hand_is_not_sent_again_by_the_schedule(make_world: MakeWorld) -> None:
    early = replace(DIGEST, window=Window(start="08:30", end="12:00"))
    world = digest_world(make_world, job=early)
    world.advance("1s")
    world.signal(FLAG)
    assert person_runs(world, early).outcome == "added"
    to(world, "2026-11-30T09:10:00")
    assert world.effect_names() == ["sent to ops"]
    assert row_of(world, "digest", NINE).verdict == "skip_duplicated"


def test_two_deciders_that_both_say_yes_make_one_run(make_world: MakeWorld) -> None:
    world = make_world(replicas=5, start=shanghai(MORNING), latency=50_000)
    world.job(replace(DIGEST, retry=Retry(max=0)), lambda channel: world.effect(channel))
    world.signal(FLAG)
    to(world, "2026-11-30T09:02:00")
    assert world.effect_names() == ["ops"]
    assert row_of(world, "digest", NINE).attempt == 1


def test_a_copy_that_goes_on_after_its_timeout_changes_nothing(make_world: MakeWorld) -> None:
    async def slow(channel: str) -> str:
        world.effect(channel)
        for _ in range(8):
            try:
                await asyncio.sleep(15)
            except asyncio.CancelledError:
                world.effect("told to stop")
        return "too late"

    world = digest_world(make_world, job=replace(DIGEST, timeout=10 * SECOND, retry=Retry(max=0)), fn=slow)
    world.signal(FLAG)
    to(world, "2026-11-30T09:05:00")
    row = row_of(world, "digest", NINE)
    assert (row.state, row.result) == (State.FAILED_MANUAL, None)


# --- the second text: its rules as they are printed -----------------------------------------------------

NESTED = """
TASK_RULES = {
    "daily_report_agent": {
        "schedule": {"cron": "0 9 * * *", "timezone": "Asia/Shanghai"},
        "depends_on": ["pipeline.raw_data.ready", "model.llm_service.healthy"],
        "guardrails": {"execution_window": "2h", "allow_weekend": False},
        "dedupe_key": "report:{business_date}:{channel}",
    },
}
"""
FLAT = """
TASK_RULES = {
    "nightly": {
        "cron": "0 2 * * *",
        "timezone": "Asia/Shanghai",
        "depends_on": ["pipeline.ready"],
        "timeout": "1800s",
        "window_start": "02:00",
        "window_end": "05:00",
        "dedupe_key": "{task}:{date}:{account}",
        "catchup": {"enabled": True, "max_delay_min": 120, "only_if_data_ready": True},
    },
}
"""


def test_the_nested_rules_of_the_text_load_and_run_as_they_say(make_world: MakeWorld) -> None:
    loaded = loads_literal(NESTED, name="task_rules.py")
    (job,) = loaded.jobs
    assert job.trigger == Cron(expression="0 9 * * *", tz=SHANGHAI)
    assert [condition.flag for condition in job.depends_on] == ["pipeline.raw_data.ready", "model.llm_service.healthy"]  # type: ignore[union-attr]
    assert not job.guardrails.allow_weekend
    assert job.window is not None
    assert job.window.length == 2 * HOUR

    world = make_world(replicas=2, start=shanghai("2026-11-27T08:59:00"))  # a Friday
    world.job(job, lambda: world.effect("report"))
    world.advance("1s")
    world.signal("pipeline.raw_data.ready")
    world.advance("10m")
    assert world.effects == [], "both conditions have to hold"
    world.signal("model.llm_service.healthy")
    world.advance("1m")
    assert world.effect_names() == ["report"]
    friday = row_of(world, "daily_report_agent", "2026-11-27T09:00:00")
    assert friday.key == "report:2026-11-27:default"

    world = make_world(replicas=2, start=shanghai("2026-11-28T08:59:00"))
    world.job(job, lambda: world.effect("report"))
    world.signal("pipeline.raw_data.ready")
    world.signal("model.llm_service.healthy")
    world.advance("5m")
    saturday = row_of(world, "daily_report_agent", "2026-11-28T09:00:00")
    assert (saturday.state, saturday.verdict) == (State.SKIPPED, "skip_guard")
    assert world.effects == []


def test_the_flat_rules_of_the_text_load_as_they_say() -> None:
    (job,) = loads_literal(FLAT, name="task_rules.py").jobs
    assert job.trigger == Cron(expression="0 2 * * *", tz=SHANGHAI)
    assert job.timeout == 1800 * SECOND
    assert job.window is not None
    assert (job.window.start, job.window.end) == ("02:00", "05:00")
    assert job.catch_up.max_delay == 2 * HOUR
    assert job.catch_up.only_if_data_ready
    assert job.key == "{task}:{date}:{account}"
