"""First answers: kept for an hour, forgotten afterwards, however busy the store is."""

from __future__ import annotations

from noonmark.core.model import HOUR, SECOND
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_activation, make_worker
from noonmark.testing.clock import VirtualClock


def _kept(store: SqliteStore) -> int:
    with store._file.reader.read() as connection:
        return int(connection.execute("SELECT count(*) FROM request").get)


def test_answers_older_than_an_hour_are_forgotten_by_a_heartbeat(store: SqliteStore, clock: VirtualClock) -> None:
    for n in range(10):
        store.signal(f"s{n}", [])
    clock.advance(HOUR)
    store.heartbeat(make_worker("w1"), SECOND)
    assert _kept(store) == 10
    clock.advance(1)
    store.heartbeat(make_worker("w1"), SECOND)
    assert _kept(store) == 0


def test_a_busy_store_forgets_as_fast_as_it_remembers(store: SqliteStore, clock: VirtualClock) -> None:
    for n in range(2000):
        store.signal(f"s{n}", [])
        clock.advance(HOUR // 200)
    assert _kept(store) < 500


def test_an_activation_repeats_its_first_answer_after_later_revisions(store: SqliteStore) -> None:
    job = make_activation(effective_at=0)
    first = store.activate("a", [job, make_activation("other", effective_at=0, expected_revision=9)], actor="ada")
    store.activate("b", [make_activation(effective_at=0, digest="new", expected_revision=1)], actor="ada")
    assert store.activate("a", [job], actor="ada") == first
