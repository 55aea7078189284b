"""A take that is asked again while its first try is on its way, or not committed yet: one answer, and no row for nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from noonmark.core.model import LOOK_LEASE, Query, State, Taken
from noonmark.ports.store import StoreUnreachable
from noonmark.stores.postgres import PostgresStore
from noonmark.stores.postgres.transaction import Transaction
from noonmark.testing.builders import LEASE, make_activation, make_caller_row


def take(store: PostgresStore, request: str = "take") -> Taken:
    return store.take(request, "w1", limit=5, runnable={"job": LEASE}, look_lease=LOOK_LEASE)


def declare(store: PostgresStore) -> None:
    store.activate("rule", [make_activation("job", effective_at=store.now())], actor="w1")


def add(store: PostgresStore) -> None:
    store.add("add", [make_caller_row("a", at=store.now() - 1)])


def test_who_asks_again_before_the_first_try_is_committed_hears_of_what_it_leased(
    store: PostgresStore, admin: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has not noticed yet that the connection is gone, or is writing to its disk."""
    declare(store)
    add(store)
    orphan: list[Any] = []
    finish = Transaction.finish

    def cut_off(tx: Transaction, *_: Any) -> Any:
        tx.session.ask(*tx.writes())
        orphan.append(tx.session._wire)  # it lives on, with what it has written
        tx.session._wire = None
        raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(Transaction, "finish", cut_off)
    with pytest.raises(StoreUnreachable):
        take(store)
    monkeypatch.setattr(Transaction, "finish", finish)
    answers: list[Taken] = []
    again = threading.Thread(target=lambda: answers.append(take(store)))
    again.start()
    end = time.monotonic() + 30
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
    while not answers and admin.execute(waiting).fetchone() == (0,) and time.monotonic() < end:
        pass  # it waits for the first try, or has answered without it
    early = [len(taken.rows) for taken in answers]
    orphan[0].execute("COMMIT")
    again.join(30)
    orphan[0].close()
    assert not early, "answered while the first try was under way"
    assert [row.key for row in answers[0].rows] == ["key:a"]


def test_a_first_try_that_comes_after_its_repeat_found_nothing_leases_nothing(
    open_store: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, late = open_store(), open_store()
    declare(store)

    def lost(*_: Any, **__: Any) -> Any:
        raise psycopg.OperationalError("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "begin", lost)
        with pytest.raises(StoreUnreachable):
            take(store)
    assert take(store).rows == ()
    add(store)
    assert take(late).rows == ()
    assert [row.state for row in store.occurrences(Query(open_only=True))] == [State.PENDING]
    assert [row.key for row in take(store, "another").rows] == ["key:a"]
