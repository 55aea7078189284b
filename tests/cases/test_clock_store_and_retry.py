"""Faults that people reported about clocks, stores, keys at the change of the clocks, and retries in step.

Each test is one kind of fault from public trackers, in its smallest form; the name says what has to happen instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from noonmark.core import series
from noonmark.core.codec import canonical, job_to_plain
from noonmark.core.model import HOUR, MINUTE, SECOND, Activation, CatchUp, Cron, Every, Retry, State
from noonmark.core.times import parse_instant
from noonmark.engine.activate import declare
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping

MakeWorld = Callable[..., World]


def instant(text: str) -> int:
    return parse_instant(text, None)


# --- clocks ------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_an_hour_ahead_starts_no_burst(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T07:02:00Z"))
    world.job(make_job("job", trigger=Cron(expression="*/5 * * * *", tz="UTC")), lambda: world.effect("job"))
    world.advance("1s")
    world.clock.step_wall(HOUR)
    world.advance("1m")
    assert len(world.effects) <= 1
    covered = [row for row in world.rows("job") if row.state is State.SKIPPED]
    assert all(row.verdict == "skip_superseded" for row in covered), "what the jump passed over is on record"


@pytest.mark.parametrize("step", [-HOUR, -90 * SECOND, -5 * SECOND])
def test_a_clock_set_back_stops_no_heartbeat_and_takes_no_work_away(any_world: MakeWorld, step: int) -> None:
    world = any_world(replicas=2)
    job = make_job("long", lease=10 * SECOND)
    world.job(job, sleeping(world, "long", "3m"))
    world.advance("1s")
    id_ = world.later(job)
    world.advance("20s")
    world.clock.step_wall(step)
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="5m", step="5s")
    row = world.row(id_)
    assert (row.attempt, row.takeovers, row.lost) == (1, 0, 0)
    assert world.effect_names() == ["long", "long done"]
    now = world.now
    assert all(worker.until > now for worker in world.store.workers()), "nobody was taken for dead"


def test_a_machine_that_boots_in_1970_neither_runs_twenty_thousand_days_nor_waits_for_them(
    tmp_path: Path, make_world: MakeWorld
) -> None:
    path = tmp_path / "w.db"
    sqlite = lambda clock: SqliteStore(path, clock=clock, synchronous="OFF")  # noqa: E731
    job = make_job("job", trigger=Cron(expression="0 9 * * *", tz="UTC"), catch_up=CatchUp(max_delay=HOUR))
    before = make_world(replicas=1, store=sqlite, start=instant("2026-11-27T08:59:00Z"))
    before.job(job, lambda: before.effect("job"))
    before.advance("2m")
    assert len(before.effects) == 1
    before.kill(0)
    mark = before.now

    after = make_world(replicas=1, store=sqlite, start=10 * SECOND)
    after.clock.reboot()
    after.job(job, lambda: after.effect("job"))
    after.advance("30s")
    assert after.effects == [], "nothing is decided on a time before what was recorded already"
    assert after.now >= mark
    after.clock.step_wall(instant("2026-11-28T09:05:00Z") - after.clock.wall())
    after.advance("2m")
    assert len(after.effects) == 1
    (row,) = [row for row in after.rows("job") if row.scheduled_for == instant("2026-11-28T09:00:00Z")]
    assert row.state is State.SUCCESS
    assert row.first_started_at is not None
    assert 5 * MINUTE <= row.first_started_at - row.scheduled_for < 8 * MINUTE, "late by five minutes, once"


# --- stores --------------------------------------------------------------------------------------------


def test_a_write_that_is_cut_off_anywhere_leaves_the_old_or_the_new_rules(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    store = SqliteStore(path, synchronous="OFF")
    jobs = [make_job(f"job{n}", trigger=Every(period=HOUR)) for n in range(10)]
    declare(store, jobs, actor="test")
    store._file.main._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base = path.read_bytes()
    declare(store, [replace(job, reason="a better reason") for job in jobs], actor="test")
    journal = Path(f"{path}-wal").read_bytes()
    store.close()
    assert journal
    seen = set()
    for cut in sorted({*range(0, len(journal), max(1, len(journal) // 40)), len(journal)}):
        copy = tmp_path / f"cut-{cut}.db"
        copy.write_bytes(base)
        Path(f"{copy}-wal").write_bytes(journal[:cut])  # what a power cut leaves of the log
        survivor = SqliteStore(copy, synchronous="OFF")
        rows = survivor.jobs()
        survivor.close()
        assert len(rows) == 10, "never none"
        revisions = {row.revision for row in rows}
        assert len(revisions) == 1, "all in the old form or all in the new one"
        seen |= revisions
    assert seen == {1, 2}


def test_one_rule_that_cannot_be_read_is_kept_and_stops_no_other(any_world: MakeWorld) -> None:
    world = any_world(replicas=1, start=instant("2026-11-28T00:00:00Z"))
    broken = make_job("broken", trigger=Every(period=MINUTE))
    declare(world.store, [broken], actor="test")
    world.job(make_job("good", trigger=Every(period=MINUTE)), lambda: world.effect("good"))
    world.advance("1s")
    asked = [world.later(broken, f"{10 + n}s") for n in range(3)]
    change = Activation(name="broken", rule='{"v": 99}', digest="x", expected_revision=1, effective_at=world.now)
    world.store.activate("a", [change], actor="a faulty tool")
    world.advance("5m")
    assert world.effect_names() == ["good"] * 5
    assert {(world.row(id_).state, world.row(id_).code) for id_ in asked} == {(State.PENDING, "rule_unreadable")}

    mended = replace(
        change, rule=canonical(job_to_plain(broken)), digest="y", expected_revision=2, effective_at=world.now
    )
    world.store.activate("b", [mended], actor="ann")
    world.job(broken, lambda: world.effect("mended"))
    world.restart(0)
    world.advance("2m")
    assert {world.row(id_).state for id_ in asked} == {State.SUCCESS}, "nothing was deleted meanwhile"


# --- retries --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("jitter", "most"), [(SECOND // 2, 35), (3 * SECOND, 20)])
def test_a_hundred_jobs_that_fail_together_do_not_come_back_together(
    make_world: MakeWorld, jitter: int, most: int
) -> None:
    world = make_world(replicas=1, concurrency=200)
    tries: dict[int, list[int]] = {n: [] for n in range(100)}

    def fails(n: int) -> None:
        tries[n].append(world.now)
        raise OSError("429")

    job = make_job("agent", retry=Retry(max=4, jitter=jitter), key="agent:{params.n}")
    world.job(job, fails)
    world.advance("1s")
    ids = [world.later(job, n=n) for n in range(100)]
    world.advance("40s")
    assert {len(moments) for moments in tries.values()} == {5}
    second = [moments[1] - moments[0] for moments in tries.values()]
    # Within half a second, the jitter of the text, a hundred are twenty in each tenth on average; a rule may ask for more.
    assert max(Counter(wait // 100_000 for wait in second).values()) <= most
    assert max(second) - min(second) > jitter * 0.8
    assert {world.row(id_).state for id_ in ids} == {State.FAILED_MANUAL}
    open_alerts = [alert for alert in world.store.tallies().open_alerts if alert.kind == "failing"]
    assert [alert.level for alert in open_alerts] == [3], "one alert for the job, not a hundred"


# --- keys in the repeated hour ----------------------------------------------------------------------------


def test_the_repeated_hour_has_25_runs_with_25_keys(make_world: MakeWorld) -> None:
    job = make_job(
        "agg",
        trigger=Cron(expression="0 * * * *", tz="America/Chicago"),
        key="agg:{scheduled_for}:{tenant}",
        params={"tenant": "a"},
        catch_up=CatchUp(missed="all", max_delay=48 * HOUR),
        overlap="allow",
    )
    moments = series.moments_between(job, instant("2026-11-01T04:59:59Z"), instant("2026-11-02T05:59:59Z"), limit=100)
    rows = [series.row_for_moment(job, moment, revision=1) for moment in moments]
    assert len({row.key for row in rows}) == len({row.identity for row in rows}) == len(rows) == 25

    world = make_world(replicas=1, start=instant("2026-11-01T05:30:00Z"))
    world.job(job, lambda tenant: world.effect(tenant))
    world.advance("2h")
    assert len(world.effects) == 2, "06:00Z and 07:00Z are both one o'clock there"
