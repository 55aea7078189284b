"""Overlap slots: none stays behind, whatever two transactions do at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg

from noonmark.core.model import Act, Acted, Event, Occurrence, Settled, State
from noonmark.stores.postgres import PostgresStore, leases
from noonmark.testing.builders import LEASE, make_start, make_worker
from noonmark.testing.conformance.harness import Harness

SLOT = "slot:job:"
WAITS = (
    "SELECT count(*) > 0 FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation JOIN pg_namespace AS n"
    " ON n.oid = c.relnamespace JOIN pg_locks AS w ON w.pid = l.pid WHERE n.nspname = %s AND NOT w.granted"
)


def test_a_slot_that_a_row_came_to_while_its_cancel_waited_is_free_again(
    open_store: Callable[..., PostgresStore], admin: psycopg.Connection, schema: str
) -> None:
    store, person = open_store(), open_store()
    harness = Harness(store)
    harness.activate()
    first = harness.add_one(harness.series_row("a", key="k", at=1000))
    second = harness.add_one(harness.series_row("b", key="k"))
    look = harness.take_one()
    acts: list[Acted] = []
    wish = Act(kind="cancel", actor="ada", reason="because", key="k")
    thread = threading.Thread(target=lambda: acts.append(person.act("c", wish, at=harness.at(3))))
    with admin.transaction():
        admin.execute(f'SELECT FROM "{schema}".occurrence WHERE id = {first} FOR UPDATE')
        thread.start()
        give_up = time.monotonic() + 10
        while admin.execute(WAITS, [schema]).fetchone() != (True,) and time.monotonic() < give_up:
            time.sleep(0.01)
        assert harness.start(look, slot=SLOT, at=1).outcome == "applied"
        run = harness.row(second)
        assert harness.end(run, Event.FAIL_RETRY, at=2, due_at=harness.at(500)).state is State.FAILED_RETRYING
    thread.join(10)
    assert [act.ids for act in acts] == [(first, second)]
    assert store.facts([SLOT])[SLOT].version == 0


def _beat(store: PostgresStore, at: int) -> None:
    for _ in range(leases.SWEPT_EVERY):
        store.heartbeat(make_worker(), LEASE, at=at)


def test_of_a_slot_that_nobody_was_in_for_an_hour_no_line_is_left(
    store: PostgresStore, admin: psycopg.Connection, schema: str
) -> None:
    harness = Harness(store)
    harness.activate()

    def lines() -> list[str]:
        return [row[0] for row in admin.execute(f'SELECT name FROM "{schema}".slot ORDER BY name')]

    for number in range(3):
        run = harness.looked_at(f"n{number}")
        harness.start(run, slot=f"slot:job:c{number}")
        if number:
            harness.end(run, at=number)
    assert lines() == ["slot:job:c0", "slot:job:c1", "slot:job:c2"]
    _beat(store, harness.at(3601.5))
    assert lines() == ["slot:job:c0", "slot:job:c2"], "one is in use, one was free for less than an hour"
    _beat(store, harness.at(7300))
    assert lines() == ["slot:job:c0"]
    assert [row.lost for row in harness.take("w2", at=7300).rows] == [1], "what is in use still, and comes alone"
    run = harness.looked_at("again", at=7300, worker="w2")
    assert harness.start(run, worker="w2", at=7300, slot="slot:job:c1").outcome == "applied"
    assert store.facts(["slot:job:c1"])["slot:job:c1"].value["occurrence_id"] == run.id


def test_a_slot_whose_line_is_swept_away_while_a_run_comes_to_it_is_taken_all_the_same(
    open_store: Callable[..., PostgresStore], admin: psycopg.Connection, schema: str
) -> None:
    store, worker = open_store(), open_store()
    harness = Harness(store)
    harness.activate()
    harness.end(_started(harness, "first"), at=1)
    look = harness.looked_at("second", at=1)
    settled: list[Settled] = []
    start = make_start(look, slot=SLOT)
    thread = threading.Thread(target=lambda: settled.extend(worker.settle("s", "w1", [start], at=harness.at(2))))
    with admin.transaction():
        admin.execute(f'SELECT FROM "{schema}".slot FOR UPDATE')
        thread.start()
        give_up = time.monotonic() + 10
        while admin.execute(WAITS, [schema]).fetchone() != (True,) and time.monotonic() < give_up:
            time.sleep(0.01)
        admin.execute(f'DELETE FROM "{schema}".slot')
    thread.join(10)
    assert [answer.outcome for answer in settled] == ["applied"]
    assert store.facts([SLOT])[SLOT].value["occurrence_id"] == look.id
    third = harness.looked_at("third", at=3)
    assert harness.start(third, at=3, slot=SLOT).changed == (SLOT,)


def _started(harness: Harness, name: str) -> Occurrence:
    run = harness.looked_at(name)
    assert harness.start(run, slot=SLOT).outcome == "applied"
    return run
