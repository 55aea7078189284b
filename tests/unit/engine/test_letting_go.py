"""Letting go what rollbacks hold: only what the person was shown, and nothing between two acts for a worker to start."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core import rollback
from noonmark.core.model import SECOND, Act, Acted, Event, Occurrence, Query, State
from noonmark.core.model.rollback import Claim, Epoch
from noonmark.engine import mending
from noonmark.engine.exports import Outcome
from noonmark.engine.importing import Importer
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_end
from noonmark.testing.clock import VirtualClock


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

    def held(self, name: str, *, runs: bool = False) -> int:
        """Hold a row as a look after a rollback does: one that was never started, or a run that lapsed."""
        (added,) = self.store.add(self.request(), [make_caller_row(name, at=self.store.now() - 1, gated=not runs)])
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
    assert released == mending.Released(rows=1, left=(), added=(2,))
    assert [epoch.released_at is None for epoch in place.epochs()] == [False, True]
    assert len(place.store.tallies().open_alerts) == 1
    assert place.row(row_id).code != "released", "it may have run since"


def test_a_row_that_another_rollback_holds_by_now_is_not_let_go(place: Place) -> None:
    row_id = place.held("a")
    place.prove_lost()
    place.clock.advance(SECOND)
    place.before = once(lambda: place.prove_lost("other"))
    assert place.release() == mending.Released(rows=0, left=(), added=(2,))
    assert place.row(row_id).code == "held_rollback"
    assert place.release() == mending.Released(rows=1, left=())
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
    assert place.release() == mending.Released(rows=0, left=(), added=(1,))
    assert [each.released_at for each in place.epochs()] == [None]


def test_a_run_that_lapsed_is_marked_as_done_without_being_let_run_first(place: Place) -> None:
    row_id = place.held("a", runs=True)
    place.prove_lost()
    assert place.row(row_id).state is State.RUNNING
    assert place.release(as_done=True) == mending.Released(rows=1, left=())
    assert place.row(row_id).state is State.SUCCESS
    assert place.acts == ["mark_done a row", "release all"]


def test_an_import_marks_a_run_that_lapsed_without_letting_it_run_first(place: Place) -> None:
    row_id = place.held("a", runs=True)
    row = place.row(row_id)
    outcome = Outcome(
        occurrence=1, job=row.job, subject=row.subject, identity=row.identity, key=row.key,
        scheduled_for=row.scheduled_for, business_date="", origin=row.origin, outcome="success", fence=1,
    )  # fmt: skip
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
    assert place.release(as_done=True) == mending.Released(rows=0, left=(row_id,))
    assert place.epochs()[0].released_at is None
