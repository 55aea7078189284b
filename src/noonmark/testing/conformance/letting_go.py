"""Rows that a rollback held, and a person who lets them go."""

from __future__ import annotations

from typing import Any

from noonmark.core import rollback
from noonmark.core.model import Event, Gates, State
from noonmark.testing.builders import make_end
from noonmark.testing.conformance.harness import Harness


def _hold(harness: Harness, *, name: str = "a", at: float = 0, **fields: Any) -> int:
    """Park a row as a look after a rollback does."""
    row = harness.looked_at(name, at=-5, **fields)
    return _park(harness, row, at=at)


def _park(harness: Harness, row: Any, *, at: float) -> int:
    item = make_end(row, Event.PARK, due_at=harness.at(86_400), code="held_rollback", verdict="skip_lease")
    assert harness.settle(item, at=at)[0].outcome == "applied"
    return int(row.id)


def a_held_row_that_is_released_is_due_and_no_limit_of_it_counts(harness: Harness) -> None:
    harness.activate()
    row_id = _hold(harness, expires_at=harness.at(10), not_after=harness.at(10))
    answer = harness.act("release", occurrence_id=row_id, at=100)
    assert (answer.outcome, answer.state) == ("done", State.PENDING)
    row = harness.row(row_id)
    assert (row.due_at, row.expires_at, row.not_after, row.code) == (harness.at(100), None, None, "released")
    assert (row.actor, row.gated) == ("ada", True)
    assert harness.story(row_id).ledger[-1].event == "release"
    assert harness.take_ids(at=101) == [row_id]


def only_held_rows_can_be_released(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.caller_row(at=50))
    assert harness.act("release", occurrence_id=row_id).outcome == "refused"
    assert harness.act("release", occurrence_id=999).outcome == "not_found"
    assert harness.row(row_id).due_at == harness.at(50)


def a_lapsed_run_that_was_held_is_released_for_a_fresh_start(harness: Harness) -> None:
    harness.activate()
    harness.running()
    lapsed = harness.take_one(at=100)
    assert lapsed.is_lapsed
    row_id = _park(harness, lapsed, at=100)
    assert harness.act("release", occurrence_id=row_id, at=101).state is State.PENDING
    again = harness.take_one(at=102)
    assert (again.attempt, again.looking) == (0, True)
    assert harness.start(again, at=102).outcome == "applied"
    assert [attempt.outcome for attempt in harness.story(row_id).attempts] == ["lost", "running"]


def a_held_row_wakes_when_the_rollbacks_fact_moves(harness: Harness) -> None:
    harness.activate()
    row = harness.looked_at(at=-5)
    harness.signal(rollback.FACT, {"epochs": []})
    gates = Gates(revision=1, facts={rollback.FACT: 1})
    park = make_end(row, Event.PARK, due_at=harness.at(86_400), code="held_rollback", gates=gates)
    assert harness.settle(park)[0].outcome == "applied"
    assert harness.take_ids(at=10) == []
    harness.signal(rollback.FACT, {"epochs": [], "x": 1}, at=11)
    assert harness.take_ids(at=12) == [row.id]


def a_held_row_that_wakes_is_looked_at_again_and_never_started_by_take(harness: Harness) -> None:
    """The fact moves whenever another writer joins the rollback; a person has said nothing yet."""
    harness.activate()
    harness.signal(rollback.FACT, {"epochs": []})
    row = harness.looked_at(at=-5, frontier=True, gated=False)  # made after the rollback, so no proof has gated it
    successor = harness.series_row("b", at=86_400, frontier=True)
    gates = Gates(revision=1, facts={rollback.FACT: 1})
    park = make_end(row, Event.PARK, due_at=harness.at(86_400), code="held_rollback", gates=gates, adds=(successor,))
    assert harness.settle(park)[0].outcome == "applied"
    assert not harness.row(row.id).frontier
    harness.signal(rollback.FACT, {"epochs": [], "x": 1}, at=11)
    again = harness.take_one(at=12)
    assert (again.id, again.looking, again.state) == (row.id, True, State.PENDING)
