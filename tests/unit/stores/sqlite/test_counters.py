"""Counts are kept as rows change; they must never drift from the rows."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from noonmark.core.model import SECOND, Act, Event, Occurrence, Query, Settlement
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import (
    make_activation,
    make_caller_row,
    make_end,
    make_frontier,
    make_series_row,
    make_start,
)
from noonmark.testing.clock import VirtualClock


def _outcome(row: Occurrence, dice: random.Random, now: int) -> Settlement:
    if row.looking and row.state == "PENDING":
        if dice.random() < 0.5:
            return make_start(row, slot=f"slot:job:{row.subject}" if dice.random() < 0.5 else "")
        event = dice.choice([Event.PARK, Event.SKIP, Event.MISS, Event.CANCEL])
    elif row.looking:
        if dice.random() < 0.5:
            return make_start(row, event=Event.TAKEOVER)
        event = dice.choice([Event.PARK, Event.FAIL_MANUAL])
    else:
        event = dice.choice([Event.SUCCEED, Event.FAIL_RETRY, Event.FAIL_MANUAL, Event.HAND_BACK])
    return make_end(row, event, due_at=now + dice.randrange(10) * SECOND)


@pytest.mark.parametrize("seed", range(6))
def test_counts_agree_with_the_rows_after_anything(store: SqliteStore, clock: VirtualClock, seed: int) -> None:
    dice = random.Random(seed)
    store.activate(
        "r0", [make_activation(effective_at=0, frontiers=(make_frontier("f", at=store.now() + SECOND),))], actor="ada"
    )
    held: list[Occurrence] = []
    for turn in range(120):
        now = store.now()
        held += store.take(f"t{turn}", "w1", limit=3, runnable={"job": 3 * SECOND}, look_lease=SECOND).rows
        what = dice.random()
        if what < 0.4:
            make = dice.choice([make_caller_row, make_series_row])
            store.add(f"a{turn}", [make(f"{dice.randrange(40)}", at=now + dice.randrange(5) * SECOND)])
        elif what < 0.8 and held:
            store.settle(f"s{turn}", "w1", [_outcome(held.pop(dice.randrange(len(held))), dice, now)])
        elif what < 0.95:
            kind = dice.choice(["retry", "cancel", "mark_done", "mark_skip", "mark_handled"])
            store.act(f"x{turn}", Act(kind=kind, actor="ada", occurrence_id=dice.randrange(1, 20)))
        clock.advance(dice.randrange(3) * SECOND)
    rows = store.occurrences(Query())
    assert dict(store.tallies().by_state) == Counter(row.state for row in rows)
    assert len(rows) > 10
    assert all((row.due_at is None) == (row.ended_at is not None) for row in rows)
