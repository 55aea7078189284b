"""The store's time: the server's, never behind what was seen, and believed again when it was set back for good."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from noonmark.core.model import LOOK_LEASE, SECOND, Query, Renewal
from noonmark.stores.postgres import PostgresStore
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_worker

JUMP = 3_600 * SECOND


@pytest.fixture
def touch(admin: psycopg.Connection, schema: str) -> Callable[..., int | None]:
    """Read or write a column of the clock's row, as if the server's clock had been elsewhere before."""

    def touch(column: str, value: int | None = None) -> int | None:
        if value is not None:
            admin.execute(f'UPDATE "{schema}".clock SET {column} = %s'.encode(), (value,))
        row = admin.execute(f'SELECT {column} FROM "{schema}".clock'.encode()).fetchone()
        return None if row is None else row[0]

    return touch


def test_time_is_the_servers(store: PostgresStore, admin: psycopg.Connection) -> None:
    row = admin.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").fetchone()
    assert row is not None
    assert 0 <= store.now() - row[0] < 5 * SECOND


def test_a_heartbeat_leaves_its_instant_as_the_high_water_mark_and_an_instant_of_a_test_does_not(
    store: PostgresStore, touch: Callable[..., int]
) -> None:
    before = store.now()
    store.add("a", [make_caller_row("a", at=0)], at=before + JUMP)
    assert touch("mark") < before + SECOND
    store.heartbeat(make_worker("w"), 60 * SECOND)
    assert before <= touch("mark") <= store.now()


def test_behind_the_mark_time_stands_still_and_somebody_counts(
    store: PostgresStore, touch: Callable[..., int | None]
) -> None:
    ahead = store.now() + JUMP
    touch("mark", ahead)
    assert store.now() == ahead
    store.add("a", [make_caller_row("a", at=ahead + 1)])
    assert store.take("t", "w", limit=1, runnable={}, look_lease=LOOK_LEASE).rows == ()
    assert store.now() == ahead
    assert touch("behind_since") is not None


def test_idling_notices_a_clock_that_was_set_back(store: PostgresStore, touch: Callable[..., int | None]) -> None:
    touch("mark", store.now() + JUMP)
    store.take("t", "w", limit=1, runnable={}, look_lease=LOOK_LEASE)
    assert touch("behind_since") is not None


def test_after_five_seconds_the_clock_is_believed_and_leases_move_along(
    store: PostgresStore, touch: Callable[..., int | None]
) -> None:
    begin = store.now()
    store.activate("r", [make_activation(effective_at=begin)], actor="ada")
    store.heartbeat(make_worker("w"), 60 * SECOND)
    store.add("a", [make_caller_row("run", at=begin), make_caller_row("later", at=begin + 2 * JUMP)])
    (run,) = store.take("t", "w", limit=5, runnable={"job": LEASE}, look_lease=LOOK_LEASE).rows
    # everything above happened, so it seems now, an hour from now, and six seconds ago the clock was found to be behind
    store.renew("w", [Renewal(occurrence_id=run.id, fence=run.fence, lease=LEASE + JUMP)])
    store.heartbeat(make_worker("w"), 60 * SECOND + JUMP)
    touch("mark", store.now() + JUMP)
    touch("behind_since", begin - 6 * SECOND)
    now = store.heartbeat(make_worker("other"), 60 * SECOND)
    assert begin <= now < begin + 60 * SECOND, "the server's clock is believed again"
    rows = {row.identity: row for row in store.occurrences(Query())}
    assert rows["l:run"].due_at is not None
    assert abs(rows["l:run"].due_at - (now + LEASE)) < 30 * SECOND, "its lease is as long as before"
    assert rows["l:later"].due_at == begin + 2 * JUMP, "what is due at a moment stays due at it"
    until = next(info.until for info in store.workers() if info.id == "w")
    assert abs(until - (now + 60 * SECOND)) < 30 * SECOND
    (alert,) = store.tallies().open_alerts
    assert (alert.kind, alert.code) == ("clock", "clock_behind")


def test_a_clock_that_caught_up_by_itself_is_forgotten(store: PostgresStore, touch: Callable[..., int | None]) -> None:
    touch("mark", store.now() - SECOND)
    touch("behind_since", store.now() - 60 * SECOND)
    store.heartbeat(make_worker("w"), 60 * SECOND)
    assert touch("behind_since") is None
    assert store.tallies().open_alerts == ()


def test_fences_grow_over_a_clock_that_was_set_back(store: PostgresStore, touch: Callable[..., int | None]) -> None:
    store.add("a", [make_caller_row("a", at=0)])
    (first,) = store.take("t1", "w", limit=1, runnable={}, look_lease=0).rows
    touch("mark", 1)  # a restore to a time when less had been seen
    (second,) = store.take("t2", "w", limit=1, runnable={}, look_lease=0, at=first.fence - 500).rows or (first,)
    (third,) = store.take("t3", "w", limit=1, runnable={}, look_lease=0).rows
    assert first.fence <= second.fence < third.fence
