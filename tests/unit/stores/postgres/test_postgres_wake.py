"""Wake-up: heard across stores, said to be absent while it is, and made good when it is back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg

from noonmark.core.model import SECOND, Renewal
from noonmark.ports.store import Capability
from noonmark.stores.postgres import PostgresStore, open_postgres
from noonmark.testing.builders import make_activation, make_caller_row, make_start
from noonmark.testing.servers import Postgres


class Ear:
    """Counts what is heard."""

    def __init__(self) -> None:
        self.heard = 0
        self._more = threading.Condition()

    def __call__(self) -> None:
        with self._more:
            self.heard += 1
            self._more.notify_all()

    def hears(self, times: int, *, within: float = 10.0) -> bool:
        with self._more:
            return self._more.wait_for(lambda: self.heard >= times, within)


def _wait_until(true: Callable[[], bool], within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while not true():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.01)
    return True


def _listening(store: PostgresStore) -> Ear:
    """Listen, and wait until the server knows."""
    ear = Ear()
    store.listen(ear)
    assert ear.hears(1), "called once when it begins to hear"
    ear.heard = 0
    return ear


def test_what_one_store_makes_due_another_one_hears(open_store: Callable[..., PostgresStore]) -> None:
    here, there = open_store(), open_store()
    ear = _listening(there)
    here.add("a", [make_caller_row("a", at=here.now() - 1)])
    assert ear.hears(1)


def test_a_renewal_is_news_only_where_the_lease_ends_earlier(open_store: Callable[..., PostgresStore]) -> None:
    here, there = open_store(), open_store()
    here.add("a", [make_caller_row("a", at=here.now() - 1)])
    [row] = here.take("t", "w1", limit=1, runnable={}, look_lease=30 * SECOND).rows
    here.activate("r", [make_activation("job", effective_at=here.now())], actor="ada")
    assert here.settle("s", "w1", [make_start(row, lease=30 * SECOND)])[0].outcome == "applied"
    ear = _listening(there)
    for _ in range(3):
        here.renew("w1", [Renewal(occurrence_id=row.id, fence=row.fence, lease=30 * SECOND)])
    here.renew("w1", [Renewal(occurrence_id=row.id, fence=row.fence, lease=SECOND)])
    assert ear.hears(1)
    assert not ear.hears(2, within=0.5)


def test_what_is_due_later_than_known_is_no_news(open_store: Callable[..., PostgresStore]) -> None:
    here, there = open_store(), open_store()
    here.add("a", [make_caller_row("a", at=here.now() + 60 * SECOND)])
    ear = _listening(there)
    here.add("b", [make_caller_row("b", at=here.now() + 90 * SECOND)])
    assert not ear.hears(1, within=0.3)
    here.add("c", [make_caller_row("c", at=here.now() + 30 * SECOND)])
    assert ear.hears(1)


def test_schemas_do_not_hear_each_other(postgres: Postgres, store: PostgresStore, schema: str) -> None:
    other = open_postgres(f"{postgres.url}?schema={schema}_x")
    try:
        ear = _listening(other)
        store.add("a", [make_caller_row("a", at=store.now() - 1)])
        assert not ear.hears(1, within=0.3)
    finally:
        other.close()
        with psycopg.connect(postgres.url, autocommit=True) as admin:
            admin.execute(f'DROP SCHEMA "{schema}_x" CASCADE'.encode())


def test_a_connection_that_is_ended_is_mended_and_made_good(
    store: PostgresStore, admin: psycopg.Connection, schema: str
) -> None:
    ear = _listening(store)
    assert Capability.NOTIFY in store.capabilities
    ended = admin.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = %s",
        (f'LISTEN "noonmark:{schema}"',),
    ).fetchone()
    assert ended == (1,)
    assert ear.hears(1), "something may have been said meanwhile"
    assert _wait_until(lambda: Capability.NOTIFY in store.capabilities)
    store.add("a", [make_caller_row("a", at=store.now() - 1)])
    assert ear.hears(2)


def test_closing_ends_the_thread(store: PostgresStore) -> None:
    before = set(threading.enumerate())  # what other tests left may end meanwhile
    _listening(store)
    (listening,) = set(threading.enumerate()) - before
    store.close()
    assert not listening.is_alive()
