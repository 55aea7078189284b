"""No hot statement scans: cost must not grow with the number of schedules or with history."""

from __future__ import annotations

import time
from typing import Any

import pytest

from noonmark.core.model import SECOND, Query, State
from noonmark.stores.sqlite import (
    SqliteStore,
    acting,
    activating,
    adding,
    claims,
    leases,
    reading,
    settling,
    taking,
    transaction,
)
from noonmark.testing.builders import make_activation, make_caller_row, make_frontier
from noonmark.testing.clock import START

HOT = {
    "due": (taking.DUE, 2),
    "due of one worker": (taking.DUE_OWN, 3),
    "earliest": (taking.EARLIEST, 0),
    "earliest of one worker": (taking.EARLIEST_OWN, 1),
    "earliest before a change": (transaction._EARLIEST, 0),
    "gone workers": (taking.GONE, 1),
    "next worker to go": (taking.NEXT_GONE, 1),
    "start": (taking.START, 6),
    "look": (taking.LOOK, 6),
    "succeed": (settling.SUCCEED, 8),
    "oldest in the queue of a slot": (claims.OLDEST_WAITER, 1),
    "renew": (leases.RENEW, 4),
    "revisions of a job": (reading.REVISIONS_OF, 1),
    "identity": (adding._BY_IDENTITY, 3),
    "open rows of a series": (activating._SERIES, 1),
    "rows with a key": (acting._WITH_KEY, 1),
}


def _plan(store: SqliteStore, statement: str, bindings: tuple[Any, ...]) -> list[str]:
    with store._file.reader.read() as connection:
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)]


@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_searches(store: SqliteStore, name: str) -> None:
    statement, count = HOT[name]
    plan = _plan(store, statement, (1,) * count)
    assert not [step for step in plan if step.startswith("SCAN") and "worker" not in step], plan
    assert "TEMP B-TREE" not in " ".join(plan), plan


@pytest.mark.parametrize("statement", [reading.OPEN_COMMON, reading.OPEN_OWN])
def test_counting_reads_open_rows_only(store: SqliteStore, statement: str) -> None:
    assert all("USING INDEX occurrence_" in step or "USING COVERING" in step for step in _plan(store, statement, (1,)))


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (Query(ids=(1, 2)), "INTEGER PRIMARY KEY"),
        (Query(job="a"), "occurrence_job"),
        (Query(job="a", scheduled_until=5), "occurrence_job"),
        (Query(key="k"), "occurrence_key"),
        (Query(after_id=5), "INTEGER PRIMARY KEY"),
        (Query(open_only=True), "INTEGER PRIMARY KEY"),
        (Query(states=frozenset({State.FAILED_MANUAL})), "occurrence_failed"),
        (Query(), "occurrence_scheduled"),
    ],
)
def test_a_read_goes_through_the_index_made_for_it(store: SqliteStore, query: Query, index: str) -> None:
    plan = _plan(store, *reading.selection(query))
    assert index in " ".join(plan), plan
    assert "SCAN occurrence" not in plan, plan


def test_an_idle_take_does_not_feel_thousands_of_schedules(store: SqliteStore) -> None:
    later = START + 1000 * SECOND
    for batch in range(5):
        names = [f"job-{batch}-{n}" for n in range(1000)]
        store.activate(
            f"a{batch}",
            [
                make_activation(name, effective_at=0, frontiers=(make_frontier("f", at=later, job=name),))
                for name in names
            ],
            actor="ada",
        )
    best = min(_seconds_of_an_idle_take(store, n) for n in range(20))
    assert best < 0.001
    assert store._file.main._connection.in_transaction is False


def _seconds_of_an_idle_take(store: SqliteStore, n: int) -> float:
    begun = time.perf_counter()
    taken = store.take(f"t{n}", "w1", limit=100, runnable={"job": SECOND}, look_lease=SECOND)
    spent = time.perf_counter() - begun
    assert taken.rows == ()
    return spent


def test_an_idle_take_writes_nothing(store: SqliteStore) -> None:
    store.add("a", [make_caller_row("a", at=START + SECOND)])
    before = store._file.main._connection.total_changes()
    store.take("t", "w1", limit=100, runnable={}, look_lease=SECOND)
    assert store._file.main._connection.total_changes() == before
