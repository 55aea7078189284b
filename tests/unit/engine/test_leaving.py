"""A rule that is changed or ended before anybody looked at what it had missed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.durations import parse_duration
from noonmark.core.model import DAY, HOUR, MINUTE, CatchUp, Every, Guardrails, Job, Micros, Occurrence, Query, State
from noonmark.engine import activate, leaving, passing
from noonmark.engine.activate import declare
from noonmark.explain.verify import verify
from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import World

MakeWorld = Callable[..., World]


def tick(missed: str = "latest", **fields: Any) -> Job:
    return make_job(
        "tick", trigger=Every(period=MINUTE), catch_up=CatchUp(missed=missed, max_delay=DAY), overlap="allow", **fields
    )


def back_after(make_world: MakeWorld, job: Job, edited: Job, away: str, **options: Any) -> World:
    """A world whose only replica was killed, and comes back with another rule."""
    world = make_world(replicas=1, **options)
    world.job(job, lambda: world.effect("old"))
    world.advance("90s")
    world.kill(0)
    world.advance(away)
    world.job(edited, lambda: world.effect("new"))
    world.restart(0)
    return world


def missing(world: World) -> list[str]:
    report = verify(world.store, 0)
    return [f"{problem.kind} {problem.at}" for problem in report.problems]


def by_code(rows: list[Occurrence]) -> list[tuple[str, State, int]]:
    return [(row.code, row.state, row.range_count) for row in rows]


@pytest.mark.parametrize("missed", ["latest", "skip", "all"])
def test_a_new_rule_after_an_absence_leaves_no_moment_of_the_old_one_unaccounted(
    any_world: MakeWorld, missed: str
) -> None:
    job = tick(missed)
    world = back_after(any_world, job, replace(job, trigger=Every(period=7 * MINUTE)), "10m20s")
    world.advance("30s")
    assert missing(world) == []
    frontiers = world.store.occurrences(Query(frontier_only=True, open_only=True))
    assert len(frontiers) == 1
    assert frontiers[0].scheduled_for % (7 * MINUTE) == 0


def test_with_latest_the_newest_missed_moment_runs_once_and_the_others_are_one_record(any_world: MakeWorld) -> None:
    job = tick()
    world = back_after(any_world, job, replace(job, reason="another one"), "10m")
    world.advance("5s")
    rows = [row for row in world.rows("tick") if not row.frontier]
    assert by_code(rows) == [
        ("succeeded", State.SUCCESS, 0),
        ("superseded", State.SKIPPED, 0),
        ("range_superseded", State.SKIPPED, 8),
        ("succeeded", State.SUCCESS, 0),
    ]
    assert world.effect_names() == ["old", "new"]
    assert rows[-1].revision == 2, "the attempt that starts now uses the newest rule"


def test_with_all_every_missed_moment_has_its_row_and_runs(any_world: MakeWorld) -> None:
    job = tick("all")
    world = back_after(any_world, job, replace(job, reason="another one"), "10m")
    world.advance("20s")
    assert world.effect_names() == ["old", *["new"] * 10]


def test_with_skip_what_was_missed_stays_missed_and_what_is_in_time_runs(any_world: MakeWorld) -> None:
    job = tick("skip")
    world = back_after(any_world, job, replace(job, reason="another one"), "10m")
    world.advance("5s")
    rows = [row for row in world.rows("tick") if not row.frontier]
    assert by_code(rows[1:]) == [
        ("missed_skipped", State.SKIPPED, 0),
        ("missed_skipped", State.SKIPPED, 8),
        ("succeeded", State.SUCCESS, 0),
    ]


def test_each_subject_is_accounted_for(any_world: MakeWorld) -> None:
    job = tick(each={"channel": ("ops", "sales")})
    world = back_after(any_world, job, replace(job, each={"channel": ("ops",)}), "10m")
    world.advance("5s")
    assert missing(world) == []
    ranges = [row.subject for row in world.rows("tick") if row.range_until]
    assert sorted(ranges) == ["channel=ops", "channel=sales"]


def test_a_very_long_absence_is_worked_off_in_steps(monkeypatch: pytest.MonkeyPatch, make_world: MakeWorld) -> None:
    world = make_world(replicas=0)
    declare(world.store, [tick("all")], actor="ada")
    world.clock.advance(10 * MINUTE)
    sizes: list[int] = []
    original = world.store.activate

    def counted(request_id: str, changes: Any, **words: Any) -> Any:
        sizes.extend(len(change.adds) for change in changes)
        return original(request_id, changes, **words)

    monkeypatch.setattr(world.store, "activate", counted)
    monkeypatch.setattr(leaving.catchup, "RANGE_COUNT_LIMIT", 3)
    rows = declare(world.store, [tick("all", each={"n": ("1", "2")})], actor="ada")
    assert rows[0].revision == 2
    assert sizes == [3, 3, 3]
    assert missing(world) == []
    assert [row.state for row in world.rows("tick")] == [State.PENDING] * 12


def test_a_look_in_between_makes_the_change_try_again() -> None:
    clock = VirtualClock()
    store = Meddled(clock)
    declare(store, [tick()], actor="ada")
    clock.advance(10 * MINUTE)
    store.meddle_once = True
    rows = declare(store, [replace(tick(), reason="another one")], actor="ada")
    assert rows[0].revision == 2
    assert store.tries == [1, 2], "the first try was out of date, and changed nothing"
    assert verify(store, 0).problems == ()


class Meddled(MemoryStore):
    """A store in which a worker takes the frontier between the reading and the change."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.meddle_once = False
        self.tries: list[int] = []

    def activate(self, request_id: str, changes: Any, *, actor: str, at: Micros | None = None) -> Any:
        if self.meddle_once:
            self.meddle_once = False
            self.take("t", "w", limit=10, runnable={}, look_lease=MINUTE)
        answer = super().activate(request_id, changes, actor=actor, at=at)
        self.tries += [row.revision for row in answer] if self.now() > 0 and changes[0].expected_revision else []
        return answer


def test_an_old_rule_that_cannot_be_read_does_not_hinder_the_new_one(make_world: MakeWorld) -> None:
    world = make_world(replicas=0)
    declare(world.store, [tick()], actor="ada")
    (known,) = world.store.jobs(["tick"])
    broken = replace(known, rule=json.dumps({"v": 99}))
    assert leaving.left_behind(world.store, [broken], world.now + HOUR) == {}


# --- ending a job ----------------------------------------------------------------------------------------


def test_ending_a_job_after_an_absence_accounts_for_what_it_missed(any_world: MakeWorld) -> None:
    world = any_world(replicas=0)
    declare(world.store, [tick()], actor="ada")
    world.clock.advance(10 * MINUTE + 30_000_000)
    acted = activate.end(world.store, "tick", actor="ada", reason="nobody reads it")
    assert acted.outcome == "done"
    world.clock.advance(HOUR)
    assert missing(world) == []
    assert activate.end(world.store, "tick", actor="ada", reason="again").outcome == "already_done"
    assert activate.end(world.store, "tock", actor="ada", reason="again").outcome == "not_found"


def test_what_is_queued_for_an_ended_job_waits_with_a_reason_until_the_job_is_back(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    job = make_job("mail")
    world.job(job, lambda: world.effect("mail"))
    world.advance("1s")
    id_ = world.later(job, "5s")
    activate.end(world.store, "mail", actor="ada", reason="no more mail")
    world.advance("1m")
    row = world.row(id_)
    assert (row.state, row.code) == (State.PENDING, "job_ended")
    story = world.store.story(id_)
    assert story is not None
    assert story.ledger[-1].code == "job_ended"

    declare(world.store, [job], actor="ada")
    world.advance("70s")
    assert world.row(id_).state is State.SUCCESS


def test_a_store_is_asked_page_by_page_when_many_rules_change(make_world: MakeWorld) -> None:
    world = make_world(replicas=0)
    jobs = [replace(tick(), name=f"tick-{n}") for n in range(leaving.FEW + 5)]
    declare(world.store, jobs, actor="ada")
    world.clock.advance(10 * MINUTE)
    declare(world.store, [replace(job, reason="another one") for job in jobs], actor="ada")
    assert missing(world) == []
    assert _revisions(world.store) == {2}


def _revisions(store: Store) -> set[int]:
    return {row.revision for row in store.jobs()}


# --- a long way -------------------------------------------------------------------------------------------


class Slow(MemoryStore):
    """A store in which each change of rules takes its time."""

    def __init__(self, clock: VirtualClock, takes: Micros) -> None:
        super().__init__(clock)
        self._ticking, self._takes = clock, takes
        self.lacking: list[set[str]] = []

    def activate(self, request_id: str, changes: Any, *, actor: str, at: Micros | None = None) -> Any:
        answer = super().activate(request_id, changes, actor=actor, at=at)
        self._ticking.advance(self._takes)
        frontiers = self.occurrences(Query(frontier_only=True, open_only=True))
        self.lacking.append({"n=1", "n=2"} - {row.subject for row in frontiers})
        return answer


@pytest.mark.parametrize("is_ended", [False, True], ids=["changed", "ended"])
def test_what_comes_due_while_a_long_way_is_gone_in_steps_is_lost_for_no_subject(
    monkeypatch: pytest.MonkeyPatch, is_ended: bool
) -> None:
    clock = VirtualClock()
    store = Slow(clock, 50_000_000)
    job = tick("all", each={"n": ("1", "2")})
    declare(store, [job], actor="ada")
    clock.advance(10 * MINUTE)
    monkeypatch.setattr(leaving.catchup, "RANGE_COUNT_LIMIT", 12)
    store.lacking.clear()
    if is_ended:
        assert activate.end(store, "tick", actor="ada", reason="nobody reads it").outcome == "done"
    else:
        declare(store, [replace(job, reason="another one")], actor="ada")
    assert [f"{problem.kind} {problem.subject} {problem.at}" for problem in verify(store, 0).problems] == []
    assert store.lacking
    assert not any(store.lacking), "a series that is far behind keeps no other one waiting without a next moment"


def test_a_subject_that_lost_its_frontier_goes_on_where_it_was_and_not_where_the_others_are(
    make_world: MakeWorld,
) -> None:
    world = make_world(replicas=1)
    world.job(tick("all", each={"n": ("1", "2")}), lambda: world.effect("ran"))
    world.advance("90s")
    assert isinstance(world.store, MemoryStore)
    world.store._tables.change(next(row.id for row in world.rows() if row.frontier), frontier=False)
    world.advance("5m")
    assert missing(world) == []


@pytest.mark.parametrize("missed", ["latest", "skip", "all"])
@pytest.mark.parametrize("away", ["60h30m", "40h", "20h", "100h", "9h"])
@pytest.mark.parametrize("is_imported", [False, True], ids=["a new rule", "an import"])
def test_no_moment_of_a_weekend_that_the_rule_excludes_is_unaccounted(
    make_world: MakeWorld, missed: str, away: str, is_imported: bool
) -> None:
    job = make_job(
        "hourly",
        trigger=Every(period=HOUR),
        catch_up=CatchUp(missed=missed, max_delay=DAY),
        guardrails=Guardrails(allow_weekend=False),
        overlap="allow",
    )
    world = make_world(replicas=0)
    world.clock.advance(-world.now % (7 * DAY) + DAY + 20 * HOUR + 5 * MINUTE)  # a Friday evening
    declare(world.store, [job], actor="ada")
    world.clock.advance(parse_duration(away))
    if is_imported:
        requests = map(str, itertools.count())
        passing.pass_by(world.store, "hourly", "", world.now, lambda: next(requests), actor="ada")
    else:
        declare(world.store, [replace(job, reason="another one")], actor="ada")
    assert missing(world) == []
