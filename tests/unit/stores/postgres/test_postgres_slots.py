"""Overlap slots: none stays behind, whatever two transactions do at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg

from noonmark.core.model import Act, Acted, Event, State
from noonmark.stores.postgres import PostgresStore
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
