"""Imports into a series: no moment that nobody knows of is lost, and what ran is a success whichever row stands for it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noonmark.core import series
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, CatchUp, Every, Job, Micros, Occurrence, Origin, Query, State
from noonmark.engine import passing, testimony
from noonmark.engine.activate import declare
from noonmark.engine.exports import Outcome
from noonmark.engine.importing import Importer
from noonmark.engine.statefolder import StateFolder
from noonmark.explain.render import explanation_text
from noonmark.explain.verify import verify
from noonmark.explain.why import why
from noonmark.stores.memory import MemoryStore, proving
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import World


def hourly(policy: str) -> Job:
    catch_up = CatchUp(missed=policy, max_delay=2 * DAY)
    return Job(
        name="mail", trigger=Every(period=HOUR), reason="t", catch_up=catch_up, overlap="queue_all", timeout=9 * SECOND
    )


class Place:
    """A world whose only worker died with the first moment ahead; what came then is known from journals only."""

    def __init__(self, world: World, job: Job) -> None:
        self.world, self.job = world, job
        self.ran: list[Micros] = []
        world.job(job, lambda: self.ran.append(world.now))
        world.advance("1s")
        (frontier,) = self.frontiers()
        self.moments = series.moments_between(job, frontier.scheduled_for - 1, frontier.scheduled_for + DAY, limit=9)
        world.kill(0)
        world.clock.advance(self.moments[3].at + HOUR // 2 - world.now)
        self.numbers = itertools.count()

    def frontiers(self) -> list[Occurrence]:
        return self.world.store.occurrences(Query(job="mail", frontier_only=True, open_only=True))

    def outcome(self, number: int) -> Outcome:
        moment = self.moments[number]
        row = series.row_for_moment(self.job, moment, revision=1)
        return Outcome(
            occurrence=90 + number, job="mail", subject="", identity=row.identity, key=row.key,
            scheduled_for=moment.at, business_date=row.business_date, origin=Origin.SCHEDULE, outcome="success",
            fence=moment.at, writer="w-x",
        )  # fmt: skip

    def take_in(self, *numbers: int) -> dict[str, int]:
        outcomes = [self.outcome(number) for number in numbers]
        plan = Importer(self.world.store, "s").plan(outcomes)
        done = Importer(self.world.store, "s").carry_out(outcomes, self.request, actor="ann")
        assert plan == done, "a trial run says what is done"
        return dict(done)

    def request(self) -> str:
        return f"i{next(self.numbers)}"

    def by_number(self) -> dict[int, State]:
        at = {moment.identity: number for number, moment in enumerate(self.moments)}
        return {at[row.identity]: row.state for row in self.world.rows() if row.identity in at}

    def problems(self) -> list[tuple[str, str]]:
        report = verify(self.world.store, self.moments[0].at - SECOND)
        return [(problem.kind, problem.seen) for problem in report.problems]


@pytest.mark.parametrize("known", [(1, 3), (3, 1), (0, 1, 3), (3, 0, 1), (0, 3)])
def test_a_moment_that_no_journal_knows_runs_after_an_import_before_the_workers_start(known: tuple[int, ...]) -> None:
    with World(replicas=1) as world:
        place = Place(world, hourly("all"))
        place.take_in(*known)
        assert len(place.frontiers()) == 1, "I13: at once, not at the watchdog's next pass"
        world.restart(0)
        world.advance("10m")
        states = place.by_number()
        assert [states[number] for number in range(4)] == [State.SUCCESS] * 4
        assert len(place.ran) == 4 - len(known)
        assert place.problems() == []


@pytest.mark.parametrize("policy", ["all", "latest", "skip"])
@pytest.mark.parametrize("known", [(0,), (0, 1, 2, 3), (3, 2, 1, 0), (1,), (2, 0), (0, 2)])
def test_every_journaled_moment_is_a_success_and_the_series_goes_on(known: tuple[int, ...], policy: str) -> None:
    with World(replicas=1) as world:
        place = Place(world, hourly(policy))
        place.take_in(*known)
        assert len(place.frontiers()) == 1
        assert {number for number, state in place.by_number().items() if state is State.SUCCESS} == set(known)
        assert sum(place.take_in(*known).values()) == len(known), "it may be repeated"
        world.restart(0)
        world.advance("70m")
        assert all(place.by_number()[number] is State.SUCCESS for number in known)
        assert place.by_number()[4] is State.SUCCESS, "the next moment ran"
        assert place.problems() == []


@pytest.mark.parametrize("number", [passing.AT_ONCE, passing.AT_ONCE + 1, 2 * passing.AT_ONCE + 7])
def test_a_long_way_is_gone_in_parts_and_none_of_its_moments_is_lost(number: int) -> None:
    job = Job(name="mail", trigger=Every(period=MINUTE), reason="t", catch_up=CatchUp(missed="all", max_delay=9 * DAY))
    clock = VirtualClock()
    store: Any = MemoryStore(clock)
    declare(store, [job], actor="t")
    (first,) = store.occurrences(Query())
    clock.advance(2 * DAY)
    at = first.scheduled_for + number * MINUTE
    new = series.row_for_moment(job, series.moments_between(job, at - 1, at, limit=1)[0], revision=1)
    one = Outcome(
        occurrence=9, job="mail", subject="", identity=new.identity, key=new.key, scheduled_for=at,
        business_date=new.business_date, origin=Origin.SCHEDULE, outcome="success", fence=9, writer="w",
    )  # fmt: skip
    numbers = itertools.count()
    Importer(store, "s").carry_out([one], lambda: f"i{next(numbers)}", actor="ann")
    rows = store.occurrences(Query(limit=5000, oldest_first=True))
    assert [row.scheduled_for for row in rows] == [first.scheduled_for + n * MINUTE for n in range(number + 2)]
    assert [row.scheduled_for for row in rows if row.frontier] == [at + MINUTE]
    assert [row.scheduled_for for row in rows if row.state is State.SUCCESS] == [at]


class Stopped(Exception):
    """Stands for Ctrl-C."""


@pytest.mark.parametrize("number", [0, 2], ids=["the next of its series", "one that is made"])
def test_an_import_that_was_stopped_says_so_and_is_ended_by_another_one(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> Any:
        raise Stopped

    with World(replicas=1) as world:
        place = Place(world, hourly("all"))
        with monkeypatch.context() as patch:
            patch.setattr(world.store, "act", stopped)
            with pytest.raises(Stopped):
                place.take_in(number)
        (row,) = world.store.occurrences(Query(identity=place.outcome(number).identity))
        assert ("importing", place.outcome(number).identity) in [
            (kind, place.moments[number].identity) for kind, _ in place.problems()
        ]
        told = explanation_text(why(world.store, occurrence_id=row.id))
        assert "stopped before it was marked as done" in told
        assert "noonmark ledger import FILE --go" in told
        assert "2036" not in told, "no moment in ten years is promised"
        assert "导入" in explanation_text(why(world.store, occurrence_id=row.id, lang="zh"))
        world.restart(0)
        world.advance("2m")
        assert world.row(row.id).state is not State.SUCCESS, "nobody runs it"
        assert sum(place.take_in(number).values()) == 1
        assert world.row(row.id).state is State.SUCCESS
        assert place.moments[number].at not in place.ran
        world.advance("3h")
        assert place.problems() == []


def test_the_next_row_of_a_series_that_a_worker_looks_at_is_kept() -> None:
    with World(replicas=1) as world:
        place = Place(world, hourly("all"))
        world.store.take("t", "w9", limit=9, runnable={}, look_lease=5 * SECOND)
        assert place.take_in(0) == {"kept": 1}
        assert [row.scheduled_for for row in place.frontiers()] == [place.moments[0].at]


def test_a_series_whose_next_moment_somebody_asked_for_goes_on_behind_it() -> None:
    """A backfill has the identity of its moment: the look at the row before it finds its successor ended."""
    with World(replicas=1) as world:
        place = Place(world, hourly("all"))
        place.take_in(1)  # ended, ahead of the frontier
        store: Any = world.store
        (frontier,) = place.frontiers()
        assert frontier.scheduled_for == place.moments[2].at
        row = series.row_for_call(
            place.job, request_id="b", due_at=place.moments[3].at, params={}, key=None, revision=1, now=world.now,
            origin=Origin.BACKFILL, actor="ann",
        )  # fmt: skip
        (added,) = store.add("b", [row])
        world.restart(0)
        world.advance("3h")
        assert world.row(added.id).state is State.SUCCESS
        assert len(place.frontiers()) == 1
        assert {place.by_number()[number] for number in range(6)} == {State.SUCCESS}


class Remembering(World):
    """A world whose workers keep a state folder."""

    folder: StateFolder | None = None

    def state_of(self, number: int) -> StateFolder | None:  # noqa: ARG002
        return self.folder


@pytest.mark.parametrize("policy", ["latest", "skip"])
def test_what_a_look_superseded_after_a_rollback_is_a_success_again_by_an_import(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Remembering, "folder", StateFolder(tmp_path))
    with Remembering(replicas=1) as world:
        ran: list[Micros] = []
        world.job(hourly(policy), lambda: ran.append(world.now))
        world.advance("1s")
        kept = copy.deepcopy(world.store._tables)
        world.advance("3h30m")
        before = len(ran)
        assert before >= 3
        world.kill(0)
        world.store._tables = kept
        world.store._answers.clear()
        monkeypatch.setattr(proving, "SERVING", "other")
        chain: Any = world.replicas[0].engine.chain
        chain.close_memory()
        world.restart(0)
        world.advance("10m")
        names = Outcome.__dataclass_fields__
        lost = [
            Outcome(
                **{name: Origin(value) if name == "origin" else value for name, value in told.items() if name in names}
            )
            for told in testimony.outcomes(tmp_path, world.store.store_id())
        ]
        request: Callable[[], str] = map(str, itertools.count()).__next__
        Importer(world.store, "s").carry_out(lost, request, actor="ann")
        states = {row.identity: row.state for row in world.rows()}
        assert [states[each.identity] for each in lost] == [State.SUCCESS] * len(lost)
        dates = {f"success:mail::{each.business_date}" for each in lost}
        assert all(fact.is_set for fact in world.store.facts(dates).values()), "others may depend on it"
