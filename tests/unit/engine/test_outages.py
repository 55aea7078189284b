"""Workers write down when the store was away, and ``why`` names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND, CatchUp, Cron, Fact, Job, Micros, State, Window
from noonmark.core.outages import fact_name, spans
from noonmark.engine.gate import REMEMBERED, Away, Outage
from noonmark.engine.leases import Book, Duty
from noonmark.engine.outages import merged
from noonmark.explain.outages import WORKERS_ASKED, away_between, outages
from noonmark.explain.why import why
from noonmark.ports.store import StoreUnreachable
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job, make_worker
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import World, sleeping

VERBS = ("prove", "take", "settle", "renew", "heartbeat", "signal", "jobs", "facts", "occurrences", "story", "workers")


class Leaving(MemoryStore):
    """A memory store that may go away: none of its verbs answers then."""

    away = False
    signals = 0

    def __getattribute__(self, name: str) -> Any:
        if name in VERBS and object.__getattribute__(self, "away"):
            return _unreachable
        return super().__getattribute__(name)

    def signal(self, request_id: str, facts: Any, *, at: Micros | None = None) -> list[int]:
        self.signals += 1
        return super().signal(request_id, facts, at=at)


def _unreachable(*_: object, **__: object) -> Any:
    raise StoreUnreachable("connection refused")


def at_half_past(name: str, **fields: Any) -> Job:
    return make_job(name, trigger=Cron(expression="30 * * * *", tz="UTC"), key=f"{name}:{{scheduled_for}}", **fields)


MakeWorld = Callable[..., World]


@pytest.fixture
def world() -> Iterator[MakeWorld]:
    made: list[World] = []

    def make(**options: Any) -> World:
        made.append(World(store=Leaving, start=1_800_000_000 * SECOND // HOUR * HOUR, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def away_for(world: World, length: str) -> None:
    """Let the store go away for a while, and let it be found again."""
    world.store.away = True  # type: ignore[attr-defined]
    world.advance(length)
    world.store.away = False  # type: ignore[attr-defined]
    world.advance("2s")


def test_a_run_that_the_absent_store_made_late_says_from_when_to_when(world: MakeWorld) -> None:
    here = world(replicas=2)
    job = at_half_past("report", catch_up=CatchUp(max_delay=HOUR))
    here.job(job, sleeping(here, "report", "1s"))
    here.advance("29m50s")
    away_for(here, "5m")
    told = why(here.store, "report", tz="UTC")
    assert told.outcome == "caught_up"
    assert told.sentence.startswith("It ran 4 min 50 s late, at ")
    assert "the store was away from " in told.sentence
    assert ", as w" in told.sentence
    away = away_between(outages(here.store, here.store.workers(), 0), 0, here.now)
    assert away is not None
    assert abs(away.end - away.start - 5 * MINUTE) < 10 * SECOND
    assert "无法访问" in why(here.store, "report", tz="UTC", lang="zh").sentence


def test_a_moment_that_passed_while_the_store_was_away_says_so(world: MakeWorld) -> None:
    here = world(replicas=1)
    here.job(at_half_past("report", window=Window(start="00:00", end="23:59:59"), catch_up=CatchUp(max_delay=MINUTE)),
             sleeping(here, "report", "1s"))  # fmt: skip
    here.advance("29m50s")
    away_for(here, "5m")
    told = why(here.store, "report", tz="UTC")
    assert told.outcome == "missed"
    assert told.sentence.startswith("It did not run: the store was away from ")
    assert "as w0 saw it, and its catch-up limit ended at " in told.sentence


def test_a_run_that_was_taken_over_because_its_worker_could_not_renew_names_the_absent_store(world: MakeWorld) -> None:
    here = world(replicas=2)
    here.job(at_half_past("report", lease=10 * SECOND), sleeping(here, "report", "100s"))
    here.advance("30m1s")
    holder = here.rows("report")[0].holder
    away_for(here, "60s")
    here.until(lambda: here.rows("report")[0].state is State.SUCCESS)
    lost = next(attempt for attempt in here.store.story(here.rows("report")[0].id).attempts)  # type: ignore[union-attr]
    assert (lost.worker, lost.outcome) == (holder, "lost")
    told = why(here.store, occurrence_id=here.rows("report")[0].id, tz="UTC")
    assert told.outcome == "taken_over"
    assert f"{holder.partition('.')[0]} could not renew its lease while the store was away from 0" in told.sentence


def test_one_time_away_is_one_small_write_of_each_worker(world: MakeWorld) -> None:
    here = world(replicas=2)
    here.job(at_half_past("report"), sleeping(here, "report", "1s"))
    here.advance("1m")
    before = here.store.signals  # type: ignore[attr-defined]
    away_for(here, "90s")
    here.advance("2m")
    assert here.store.signals - before == 2  # type: ignore[attr-defined]
    away_for(here, "30s")
    here.advance("2m")
    assert here.store.signals - before == 4  # type: ignore[attr-defined]
    facts = here.store.facts([fact_name(replica.info.id) for replica in here.replicas])
    assert [len(spans(fact.value)) for fact in facts.values()] == [2, 2]


def test_a_hiccup_of_the_store_is_not_written_down(world: MakeWorld) -> None:
    here = world(replicas=1)
    here.job(at_half_past("report"), sleeping(here, "report", "1s"))
    here.advance("1m")
    here.replicas[0].gate.fail(2)
    here.advance("2m")
    assert here.store.facts(["away:w0.1"])["away:w0.1"].version == 0


def test_a_worker_remembers_its_last_times_away_and_no_more() -> None:
    clock = VirtualClock()
    outage = Outage(clock, None)
    for _ in range(REMEMBERED + 5):
        outage.asks()
        clock.advance(SECOND)
        outage.failed(StoreUnreachable("gone"))
        clock.advance(SECOND)
        outage.answered()
    found = outage.over()
    assert len(found) == REMEMBERED
    assert {away.end - away.start for away in found} == {2 * SECOND}, "from the first call that got no answer"
    assert outage.over() == []


def test_the_lease_keeper_misses_the_store_while_the_loop_sleeps() -> None:
    clock = VirtualClock()
    store = Leaving(clock)
    duty = Duty(store, clock, make_worker("w1"), Book(), on_lost=lambda _: None, on_cancel=lambda _: None)
    duty.beat()
    clock.advance(10 * SECOND)
    store.away = True
    began = clock.boot()
    for _ in range(5):
        duty.keep_once()
        clock.advance(SECOND)
    store.away = False
    duty.keep_once()
    assert duty.over() == [Away(start=began, end=began + 5 * SECOND)]
    assert duty.over() == []


def test_times_away_that_touch_are_one() -> None:
    assert merged([(5, 9), (1, 3), (3, 4), (8, 12)]) == [(1, 4), (5, 12)]


def test_what_is_no_list_of_times_away_is_none() -> None:
    assert spans(None) == spans("x") == spans([1, [2], [3, "4"], [6, 5]]) == []
    assert spans([[1, 2], [3, 4]]) == [(1, 2), (3, 4)]


def test_the_worst_of_several_times_away_is_named_and_only_so_many_workers_are_asked() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    names = [f"w{number}" for number in range(WORKERS_ASKED + 1)]
    for name in names:
        store.heartbeat(make_worker(name), 30 * SECOND)
        clock.advance(1)
    long_ago, now = fact_name(names[0]), store.now()
    store.signal("a", [Fact(name=long_ago, value=[[now - 90, now - 10]])])
    store.signal("b", [Fact(name=fact_name("w7"), value=[[now - 50, now - 40]])])
    store.signal("c", [Fact(name=fact_name("w8"), value=[[now - 50, now - 20], [now - 8, now - 6]])])
    found = outages(store, store.workers(), 0)
    assert [(outage.worker, outage.start - now) for outage in found] == [("w7", -50), ("w8", -50), ("w8", -8)]
    worst = away_between(found, now - 60, now)
    assert worst is not None
    assert (worst.worker, worst.end - now) == ("w8", -20)
    assert away_between(found, now - 5, now) is None
