"""Letting go what rollbacks hold: only what the person was shown, and nothing between two acts for a worker to start."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast
from uuid import uuid4

import pytest

from noonmark.core import rollback
from noonmark.core.model import HOUR, SECOND, Act, Acted, Event, Fact, FlagSet, Job, Occurrence, Query, Retry, State
from noonmark.core.model.rollback import Claim, Epoch
from noonmark.engine import mending
from noonmark.engine.exports import Outcome
from noonmark.engine.importing import Importer
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import (
    LEASE,
    make_activation,
    make_caller_row,
    make_end,
    make_frontier,
    make_job,
    make_series_row,
)
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import World

MakeWorld = Callable[..., World]


def told(answer: mending.Released | None) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return what a release says of rows and of what was added, without what became of the rollbacks."""
    assert answer is not None
    return answer.rows, answer.left, answer.added


class Place:
    """A memory store with one job; ``before`` is what happens at its store just before each act of a release."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore(self.clock)
        self.store.activate("a", [make_activation("job", effective_at=self.store.now())], actor="ada")
        self.acts: list[str] = []
        self.before: Callable[[], None] = lambda: None
        self.numbers = itertools.count()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def act(self, request_id: str, act: Act) -> Acted:
        self.before()
        self.acts.append(f"{act.kind} {'all' if act.occurrence_id is None else 'a row'}")
        return self.store.act(request_id, act)

    def request(self) -> str:
        return f"r{next(self.numbers)}"

    def prove_lost(self, writer: str = "p") -> None:
        claim = Claim(writer=writer, worker="w", receipt=None)
        receipt = self.store.prove(claim).receipt
        lost = replace(receipt, seq=receipt.seq + 1, hash="f" * 64, at=self.store.now() - SECOND)
        self.store.prove(replace(claim, receipt=lost))

    def held(self, name: str, *, runs: bool = False, job: str = "job") -> int:
        """Hold a row as a look after a rollback does: one that was never started, or a run that lapsed."""
        row = make_caller_row(name, job=job, at=self.store.now() - 1, gated=not runs)
        (added,) = self.store.add(self.request(), [row])
        if runs:
            self._take(added.id)
            self.clock.advance(2 * LEASE)
        park = make_end(
            self._take(added.id),
            Event.PARK,
            due_at=self.store.now() + 10**12,
            code="held_rollback",
            verdict="skip_lease",
        )
        assert self.store.settle(self.request(), "w", [park])[0].outcome == "applied"
        self.clock.advance(SECOND)
        return added.id

    def _take(self, row_id: int) -> Occurrence:
        taken = self.store.take(self.request(), "w", limit=9, runnable={"job": LEASE}, look_lease=SECOND)
        return next(row for row in taken.rows if row.id == row_id)

    def row(self, row_id: int) -> Occurrence:
        return self.store.occurrences(Query(ids=(row_id,)))[0]

    def epochs(self) -> tuple[Epoch, ...]:
        return rollback.epochs_of(self.store.facts([rollback.FACT])[rollback.FACT].value)

    def release(self, *, as_done: bool = False, job: str = "") -> mending.Released | None:
        store: Any = self
        return mending.release(store, self.request, actor="ada", reason="why", as_done=as_done, job=job)


def once(what: Callable[[], None]) -> Callable[[], None]:
    left = [what]
    return lambda: left.pop()() if left else None


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_rollback_that_is_proved_while_another_is_let_go_stays_held_and_told(place: Place) -> None:
    row_id = place.held("a")
    place.prove_lost()
    place.clock.advance(SECOND)

    def meanwhile() -> None:
        if "release a row" in place.acts:
            place.before = lambda: None
            place.prove_lost("other")

    place.before = meanwhile
    released = place.release()
    assert told(released) == (1, (), (2,))
    assert [epoch.released_at is None for epoch in place.epochs()] == [False, True]
    assert len(place.store.tallies().open_alerts) == 1
    assert place.row(row_id).code != "released", "it may have run since"


def test_a_row_that_another_rollback_holds_by_now_is_not_let_go(place: Place) -> None:
    row_id = place.held("a")
    place.prove_lost()
    place.clock.advance(SECOND)
    place.before = once(lambda: place.prove_lost("other"))
    assert told(place.release()) == (0, (), (2,))
    assert place.row(row_id).code == "held_rollback"
    assert told(place.release()) == (1, (), ())
    assert all(epoch.released_at is not None for epoch in place.epochs())
    assert place.store.tallies().open_alerts == ()
    assert place.release() is None


def test_a_lost_range_that_grew_meanwhile_is_not_let_go(place: Place) -> None:
    place.prove_lost()
    (epoch,) = place.epochs()
    wider = rollback.to_plain([replace(epoch, lost_until=epoch.lost_until + SECOND)])

    def grow() -> None:
        place.store.signal("grow", [replace(place.store.facts([rollback.FACT])[rollback.FACT], value=wider)])

    place.before = once(grow)
    assert told(place.release()) == (0, (), (1,))
    assert [each.released_at for each in place.epochs()] == [None]


def test_a_run_that_lapsed_is_marked_as_done_without_being_let_run_first(place: Place) -> None:
    row_id = place.held("a", runs=True)
    place.prove_lost()
    assert place.row(row_id).state is State.RUNNING
    assert told(place.release(as_done=True)) == (1, (), ())
    assert place.row(row_id).state is State.SUCCESS
    assert place.acts == ["mark_done a row", "release all"]


def success_of(row: Occurrence) -> Outcome:
    return Outcome(
        occurrence=1, job=row.job, subject=row.subject, identity=row.identity, key=row.key,
        scheduled_for=row.scheduled_for, business_date="", origin=row.origin, outcome="success", fence=1,
    )  # fmt: skip


def test_an_import_marks_a_run_that_lapsed_without_letting_it_run_first(place: Place) -> None:
    row_id = place.held("a", runs=True)
    outcome = success_of(place.row(row_id))
    store: Any = place
    assert Importer(store, "s").plan([outcome]) == {"mark": 1}
    assert Importer(store, "s").carry_out([outcome], place.request, actor="ada") == {"mark": 1}
    assert (place.row(row_id).state, place.acts) == (State.SUCCESS, ["mark_done a row"])


def test_what_a_worker_has_is_left(place: Place) -> None:
    row_id = place.held("a", runs=True)
    place.prove_lost()
    place.clock.advance(10**12 + SECOND)
    place.store.take("look", "w", limit=9, runnable={"job": LEASE}, look_lease=SECOND)
    assert place.row(row_id).holder == "w"
    assert told(place.release(as_done=True)) == (0, (row_id,), ())
    assert place.epochs()[0].released_at is None


def the_last(place: Place, *, job: str = "job") -> int:
    """Hold a row with nothing after it in its series: it keeps its frontier flag."""
    (added,) = place.store.add(place.request(), [make_frontier("last", job=job, at=place.store.now() - 1)])
    looked = place._take(added.id)
    park = make_end(looked, Event.PARK, due_at=place.store.now() + 10**12, code="held_rollback", verdict="skip_lease")
    assert place.store.settle(place.request(), "w", [park])[0].outcome == "applied"
    place.clock.advance(SECOND)
    return added.id


def test_a_row_whose_key_an_open_row_has_is_left_until_that_one_ended_and_skipped_when_it_is_done(place: Place) -> None:
    hour_on = place.store.now() + HOUR
    (other,) = place.store.add(place.request(), [make_caller_row("now", at=hour_on, key="key:a")])
    (added,) = place.store.add(place.request(), [make_series_row("a", at=place.store.now() - 1)])
    park = make_end(place._take(added.id), Event.PARK, due_at=place.store.now() + 10**12, code="held_rollback")
    assert place.store.settle(place.request(), "w", [park])[0].outcome == "applied"
    place.prove_lost()
    answer = place.release(as_done=True)
    assert told(answer) == (0, (added.id,), ())
    assert answer is not None
    assert (answer.behind, answer.skipped) == (((added.id, other.id),), ())
    assert place.row(added.id).state is State.PENDING, "the one that has its key may fail yet"
    place.clock.advance(HOUR)
    done = make_end(place._take(other.id), Event.SUCCEED)
    assert place.store.settle(place.request(), "w", [done])[0].outcome == "applied"
    answer = place.release(as_done=True)
    assert answer is not None
    assert (answer.rows, answer.behind, answer.skipped) == (1, (), (added.id,))
    assert place.row(added.id).state is State.SKIPPED


def test_the_last_of_a_series_is_marked_as_done_and_does_not_keep_the_alert_open(place: Place) -> None:
    row_id = the_last(place)
    place.prove_lost()
    assert place.row(row_id).frontier
    assert told(place.release(as_done=True)) == (1, (), ())
    assert (place.row(row_id).state, place.row(row_id).frontier) == (State.SUCCESS, False)
    assert place.store.tallies().open_alerts == ()


def test_an_import_marks_the_last_of_a_series_that_is_held(place: Place) -> None:
    row_id = the_last(place)
    outcome = success_of(place.row(row_id))
    store: Any = place
    assert Importer(store, "s").plan([outcome]) == {"mark": 1}
    assert Importer(store, "s").carry_out([outcome], place.request, actor="ada") == {"mark": 1}
    assert place.row(row_id).state is State.SUCCESS


def test_nothing_is_marked_as_done_over_a_rollback_that_was_proved_meanwhile(place: Place) -> None:
    row_id = place.held("a")
    place.prove_lost()
    place.clock.advance(SECOND)
    place.before = once(lambda: place.prove_lost("other"))
    assert told(place.release(as_done=True)) == (0, (), (2,))
    assert place.row(row_id).code == "held_rollback"
    assert told(place.release(as_done=True)) == (1, (), ())
    assert place.row(row_id).state is State.SUCCESS


@pytest.mark.parametrize("as_done", [False, True])
def test_the_last_job_that_is_let_go_takes_the_rollback_and_its_alert_along(place: Place, as_done: bool) -> None:
    place.store.activate("b", [make_activation("other", effective_at=place.store.now())], actor="ada")
    ours, other = place.held("a"), place.held("b", job="other")
    place.prove_lost()
    place.clock.advance(SECOND)
    first = place.release(job="job", as_done=as_done)
    assert told(first) == (1, (), ())
    assert first is not None
    assert (first.rollbacks, first.over, first.is_all_over) == ((1,), (), False)
    assert (place.row(ours).code, place.row(other).code) == ("marked_done" if as_done else "released", "held_rollback")
    assert place.epochs()[0].released_at is None, "the other job is held"
    assert len(place.store.tallies().open_alerts) == 1
    assert place.release(job="job") is None
    last = place.release(job="other", as_done=as_done)
    assert told(last) == (1, (), ())
    assert last is not None
    assert (last.rollbacks, last.over, last.is_all_over) == ((1,), (1,), True)
    assert place.epochs()[0].released_at is not None
    assert place.store.tallies().open_alerts == ()
    assert place.release(job="other") is None


def test_a_row_that_nobody_has_looked_at_keeps_the_rollback_of_every_job(place: Place) -> None:
    place.held("a")
    place.store.activate("b", [make_activation("other", effective_at=place.store.now())], actor="ada")
    place.store.add("c", [make_caller_row("c", job="other", at=place.store.now() - 1)])
    place.clock.advance(SECOND)
    place.prove_lost()
    assert told(place.release(job="job")) == (1, (), ())
    assert place.epochs()[0].released_at is None


def test_who_was_stopped_before_the_rollback_went_calls_again_and_goes_on(place: Place) -> None:
    place.held("a")
    place.prove_lost()
    place.clock.advance(SECOND)

    def stop() -> None:
        if place.acts == ["release a row", "release all"]:
            raise KeyboardInterrupt

    place.before = stop
    with pytest.raises(KeyboardInterrupt):
        place.release(job="job")
    place.before = lambda: None
    assert len(place.store.tallies().open_alerts) == 1
    goes_on = place.release(job="job")
    assert told(goes_on) == (0, (), ())
    assert goes_on is not None
    assert (goes_on.over, goes_on.is_all_over) == ((1,), True)
    assert place.store.tallies().open_alerts == ()
    assert place.release(job="job") is None


def test_what_a_person_retries_while_a_rollback_is_open_runs_and_says_that_it_may_be_a_repeat(
    make_world: MakeWorld,
) -> None:
    world = make_world(replicas=1)
    job, tries = make_job("mail", retry=Retry(max=0)), []

    def fail_once() -> None:
        tries.append(world.store.now())
        if len(tries) == 1:
            raise ValueError("no")

    world.job(job, fail_once)
    world.advance("1s")
    id_ = world.later(job)
    world.advance("5s")
    store: Any = world.store
    assert [row.state for row in world.rows()] == [State.FAILED_MANUAL]
    receipt = store.prove(Claim(writer="p", worker="w", receipt=None)).receipt
    world.advance("5s")
    lost = replace(receipt, seq=receipt.seq + 1, hash="f" * 64, at=store.now() - SECOND)
    assert store.prove(Claim(writer="p", worker="w", receipt=lost)).outcome == "lost"
    world.advance("5s")
    store.act("retry", Act(kind="retry", actor="ada", reason="looked", occurrence_id=id_))
    world.advance("5s")
    story = store.story(id_)
    assert (len(tries), story.occurrence.state) == (2, State.SUCCESS)
    assert [line.code for line in story.ledger if line.event == "start"][-1] == "restored_epoch"


class Lossy:
    """A world of one replica whose store lost something, found while a row of the job had come to its end in vain."""

    def __init__(self, world: World, job: Job, *, fails: int = 1, takes: float = 0) -> None:
        self.world, self.job, self.store = world, job, cast("Any", world.store)
        self.tries: list[int] = []
        world.job(job, partial(self._work, fails, takes))
        world.advance("1s")
        world.signal("ready")
        self.id = world.later(job)
        world.advance("5s")
        self.claim = Claim(writer="p", worker="w", receipt=None)

    async def _work(self, fails: int, takes: float) -> None:
        self.tries.append(self.store.now())
        if len(self.tries) <= fails:
            raise ValueError("no")
        await asyncio.sleep(takes)

    def lose(self) -> None:
        receipt = self.store.prove(self.claim).receipt
        self.world.advance("5s")
        lost = replace(receipt, seq=receipt.seq + 1, hash="f" * 64, at=self.store.now() - SECOND)
        assert self.store.prove(replace(self.claim, receipt=lost)).outcome == "lost"
        self.world.advance("5s")

    def retry(self) -> None:
        act = Act(kind="retry", actor="ada", reason="looked", occurrence_id=self.id)
        assert self.store.act(f"retry{self.store.now()}", act).outcome == "done"
        self.world.advance("5s")

    def row(self) -> Occurrence:
        return self.world.row(self.id)


WAITING = make_job("mail", retry=Retry(max=0), depends_on=(FlagSet(flag="ready"),))


@pytest.fixture
def waiting(make_world: MakeWorld) -> Lossy:
    """A row that a person let run while a rollback was open, and that waits for a flag."""
    lossy = Lossy(make_world(replicas=1), WAITING)
    assert lossy.row().state is State.FAILED_MANUAL
    lossy.lose()
    lossy.store.signal("clear", [Fact(name="flag:ready", value=None)])
    lossy.retry()
    assert (lossy.row().state, lossy.row().code) == (State.PENDING, "flag_missing")
    return lossy


def test_what_a_person_retries_is_not_held_when_it_had_to_wait_first(waiting: Lossy) -> None:
    waiting.world.advance("20m")
    waiting.world.signal("ready")
    waiting.world.advance("5s")
    assert (waiting.row().state, waiting.row().code) == (State.SUCCESS, "succeeded")
    starts = [line.code for line in waiting.store.story(waiting.id).ledger if line.event == "start"]
    assert starts[-1] == "restored_epoch", "it may be a repeat all the same"


def test_a_rollback_that_is_proved_later_takes_the_word_back_although_the_row_waits(waiting: Lossy) -> None:
    waiting.lose()
    waiting.world.signal("ready")
    waiting.world.advance("5s")
    assert (waiting.row().state, waiting.row().code) == (State.PENDING, "held_rollback")


def test_what_waits_by_a_persons_word_keeps_no_rollback_open(waiting: Lossy) -> None:
    released = mending.release(waiting.store, lambda: f"r{uuid4()}", actor="ada", reason="why")
    assert told(released) == (0, (), ())
    assert released is not None
    assert released.is_all_over


def test_what_a_person_let_run_is_not_held_before_it_is_tried_once_more_by_itself(make_world: MakeWorld) -> None:
    lossy = Lossy(make_world(replicas=1), make_job("mail", retry=Retry(max=1)), fails=3)
    lossy.world.advance("1m")
    assert len(lossy.tries) == 2
    lossy.lose()
    lossy.retry()
    lossy.world.advance("1m")
    assert (len(lossy.tries), lossy.row().state) == (4, State.SUCCESS)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_what_a_person_let_run_goes_on_with_another_worker_when_its_own_ends(make_world: MakeWorld, how: str) -> None:
    world = make_world(replicas=2)
    lossy = Lossy(world, make_job("mail", retry=Retry(max=0)), takes=60)
    lossy.lose()
    lossy.retry()
    (holder,) = (number for number, each in enumerate(world.replicas) if each.engine._worker == lossy.row().holder)
    getattr(world, how)(holder)
    world.advance("5m")
    assert (len(lossy.tries), lossy.row().state) == (3, State.SUCCESS)


def test_a_journal_that_comes_to_know_of_a_success_holds_the_row_in_spite_of_a_persons_word(waiting: Lossy) -> None:
    row = waiting.row()
    recalled: Any = waiting.world.replicas[0].engine.chain._recalled
    recalled._lost = {(row.job, row.key): None}
    waiting.world.signal("ready")
    waiting.world.advance("5s")
    assert (waiting.row().state, waiting.row().code) == (State.PENDING, "held_rollback")
