"""The store's time: the server's, never behind what was written, and believed again when it was set back for good."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from noonmark.core.model import LOOK_LEASE, SECOND, Query, Renewal, State
from noonmark.stores.redis import RedisStore
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_worker
from noonmark.testing.servers import Redis


@pytest.fixture
def meta(server: Redis, namespace: str) -> Callable[..., str]:
    """Read or write a number of the namespace, as if the server's clock had been elsewhere before."""

    def touch(name: str, value: int | None = None) -> str:
        key = f"noonmark:{{{namespace}}}:meta"
        if value is not None:
            server.command("HSET", key, name, value)
        return str(server.command("HGET", key, name))

    return touch


def test_time_is_the_servers(server: Redis, store: RedisStore) -> None:
    seconds, micros = map(int, server.command("TIME"))
    assert 0 <= store.now() - (seconds * SECOND + micros) < 5 * SECOND


def test_every_write_leaves_its_instant_as_the_high_water_mark(store: RedisStore, meta: Callable[..., str]) -> None:
    before = store.now()
    store.add("a", [make_caller_row("a", at=before)])
    assert before <= int(meta("mark")) <= store.now()


def test_an_instant_of_a_test_is_no_mark(store: RedisStore, meta: Callable[..., str]) -> None:
    store.add("a", [make_caller_row("a", at=0)], at=store.now() + 1_000 * SECOND)
    assert int(meta("mark") if meta("mark") != "None" else 0) < store.now() + SECOND


def test_behind_the_mark_time_stands_still(store: RedisStore, meta: Callable[..., str]) -> None:
    ahead = store.now() + 3_600 * SECOND
    meta("mark", ahead)
    assert store.now() == ahead
    store.add("a", [make_caller_row("a", at=ahead + 1)])
    assert store.take("t", "w", limit=1, runnable={}, look_lease=LOOK_LEASE).rows == ()
    assert store.now() == ahead
    assert int(meta("behind")) > 0, "somebody counts the five seconds"


def test_idling_notices_a_clock_that_was_set_back(store: RedisStore, meta: Callable[..., str]) -> None:
    meta("mark", store.now() + 3_600 * SECOND)
    store.take("t", "w", limit=1, runnable={}, look_lease=LOOK_LEASE)
    assert int(meta("behind")) > 0


def test_after_five_seconds_the_clock_is_believed_and_leases_move_along(
    store: RedisStore, meta: Callable[..., str]
) -> None:
    begin = store.now()
    store.activate("r", [make_activation(effective_at=begin)], actor="ada")
    store.heartbeat(make_worker("w"), 60 * SECOND)
    store.add("a", [make_caller_row("run", at=begin), make_caller_row("later", at=begin + 7_200 * SECOND)])
    (run,) = store.take("t", "w", limit=5, runnable={"job": LEASE}, look_lease=LOOK_LEASE).rows
    # everything above happened, so it seems now, an hour from now, and six seconds ago the clock was found to be behind
    jump = 3_600 * SECOND
    store.renew("w", [Renewal(occurrence_id=run.id, fence=run.fence, lease=LEASE + jump)])
    store.heartbeat(make_worker("w"), 60 * SECOND + jump)
    meta("mark", store.now() + jump)
    meta("behind", begin - 6 * SECOND)
    now = store.heartbeat(make_worker("other"), 60 * SECOND)
    assert begin <= now < begin + 60 * SECOND, "the server's clock is believed again"
    rows = {row.identity: row for row in store.occurrences(Query())}
    assert rows["l:run"].due_at is not None
    assert abs(rows["l:run"].due_at - (now + LEASE)) < 30 * SECOND, "its lease is as long as before"
    assert rows["l:later"].due_at == begin + 7_200 * SECOND, "what is due at a moment stays due at it"
    until = next(info.until for info in store.workers() if info.id == "w")
    assert abs(until - (now + 60 * SECOND)) < 30 * SECOND
    (alert,) = store.tallies().open_alerts
    assert (alert.kind, alert.code) == ("clock", "clock_behind")


def test_every_lease_moves_along_however_many_there_are(store: RedisStore, meta: Callable[..., str]) -> None:
    begin, jump, count = store.now(), 3_600 * SECOND, 10_500
    store.activate("r", [make_activation(effective_at=begin)], actor="ada")
    for page in range(0, count, 1_500):
        store.add(f"a{page}", [make_caller_row(f"{n}", at=begin) for n in range(page, page + 1_500)])
        long = {"job": LEASE + jump}
        taken = store.take(f"t{page}", "w", limit=1_500, runnable=long, look_lease=LOOK_LEASE)
        assert len(taken.rows) == 1_500
    meta("mark", store.now() + jump)
    meta("behind", begin - 6 * SECOND)
    now = store.heartbeat(make_worker("other"), 60 * SECOND)
    late = [row for row in store.occurrences(Query(limit=count)) if row.due_at is None or row.due_at > now + 2 * LEASE]
    assert len(late) == 0, "a worker that died would be missed for an hour"
    assert store.tallies().by_state[State.RUNNING] == count


def test_a_clock_that_caught_up_by_itself_is_forgotten(store: RedisStore, meta: Callable[..., str]) -> None:
    meta("behind", store.now() - 60 * SECOND)
    store.add("a", [make_caller_row("a", at=0)])
    assert meta("behind") == "0"
    assert store.tallies().open_alerts == ()


def test_fences_grow_over_a_clock_that_was_set_back(store: RedisStore, meta: Callable[..., str]) -> None:
    store.add("a", [make_caller_row("a", at=0)])
    (first,) = store.take("t1", "w", limit=1, runnable={}, look_lease=0).rows
    meta("mark", 1)  # a restore to a time when less had been written
    (second,) = store.take("t2", "w", limit=1, runnable={}, look_lease=0, at=first.fence - 500).rows or (first,)
    (third,) = store.take("t3", "w", limit=1, runnable={}, look_lease=0).rows
    assert first.fence <= second.fence < third.fence
