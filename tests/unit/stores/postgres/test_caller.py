"""The outbox: rows that are added in the caller's own transaction are there with it, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg.adapt import Buffer, Loader
from psycopg.pq import Format
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from noonmark.core.model import NewOccurrence, Query
from noonmark.stores.postgres import PostgresStore
from noonmark.testing.builders import make_caller_row
from noonmark.testing.conformance import Harness
from noonmark.testing.servers import Postgres


@pytest.fixture
def connection(postgres: Postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url) as connection:
        yield connection


@pytest.fixture
def engine(postgres: Postgres) -> Iterator[sqlalchemy.Engine]:
    engine = sqlalchemy.create_engine(
        postgres.url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool
    )
    yield engine
    engine.dispose()


def row(store: PostgresStore, name: str = "a", **fields: Any) -> NewOccurrence:
    return make_caller_row(name, at=store.now(), **fields)


def keys(store: PostgresStore) -> list[str]:
    return sorted(found.key for found in store.occurrences(Query()))


def test_a_commit_delivers_and_a_rollback_leaves_nothing(store: PostgresStore, connection: psycopg.Connection) -> None:
    store.add_within(connection, "r1", [row(store, "a")])
    assert keys(store) == [], "not before the commit"
    connection.rollback()
    assert keys(store) == []
    added = store.add_within(connection, "r1", [row(store, "a"), row(store, "b", key="key:a")])
    connection.commit()
    assert [answer.outcome for answer in added] == ["added", "duplicate_key"]
    assert keys(store) == ["key:a", "key:a"]
    assert store.tallies().due_now == 1


def test_a_request_that_was_committed_is_answered_the_same_everywhere(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    new = [row(store)]
    first = store.add_within(connection, "r1", new)
    connection.commit()
    assert store.add_within(connection, "r1", new) == first
    assert store.add("r1", new) == first
    connection.rollback()
    assert keys(store) == ["key:a"]


def test_a_transaction_that_may_not_write_is_refused_in_words_of_its_own(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    connection.execute("SET TRANSACTION READ ONLY")
    with pytest.raises(ValueError, match=r"^your transaction is read-only, .*begin one that may write"):
        store.add_within(connection, "r1", [row(store)])
    assert connection.execute("SELECT 1").fetchone() == (1,), "it goes on as it was"
    connection.rollback()
    assert keys(store) == []


def test_the_workers_hear_of_it_at_the_commit(store: PostgresStore, connection: psycopg.Connection) -> None:
    heard = threading.Event()
    ready = threading.Event()
    store.listen(lambda: (heard if ready.is_set() else ready).set())
    assert ready.wait(20)
    store.add_within(connection, "r1", [row(store)])
    assert not heard.wait(0.1)
    connection.commit()
    assert heard.wait(20)


def test_a_refusal_leaves_the_callers_transaction_as_it_was(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    connection.execute("CREATE TEMPORARY TABLE mine (n int)")
    connection.execute("INSERT INTO mine VALUES (1)")
    with pytest.raises(ValueError, match="cannot hold"):
        store.add_within(connection, "r1", [row(store, priority=1 << 70)])
    store.add_within(connection, "r2", [row(store, "b")])
    assert connection.execute("SELECT n FROM mine").fetchone() == (1,)
    connection.commit()
    assert keys(store) == ["key:b"]


def test_the_callers_settings_and_row_factories_are_his_own(store: PostgresStore, postgres: Postgres) -> None:
    from psycopg.rows import dict_row

    with psycopg.connect(postgres.url, row_factory=dict_row) as connection:
        before = connection.execute("SHOW enable_seqscan").fetchone()
        store.add_within(connection, "r1", [row(store)])
        assert connection.execute("SHOW enable_seqscan").fetchone() == before
    assert keys(store) == ["key:a"]


class Upset(Loader):
    """What somebody has his connection make of values that he reads."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return f"read: {bytes(data)!r}"


@pytest.mark.parametrize("kind", ["int8", "text"])
def test_the_callers_own_reading_of_a_type_is_his_own(
    store: PostgresStore, connection: psycopg.Connection, kind: str
) -> None:
    connection.adapters.register_loader(kind, Upset)
    [added] = store.add_within(connection, "r1", [row(store)])
    connection.commit()
    assert added.outcome == "added"
    assert [found.id for found in store.occurrences(Query())] == [added.id]
    with connection.cursor(binary=True) as cursor:
        assert str(cursor.execute(f"SELECT '1'::{kind}").fetchone()).count("read: "), "and stays so"


def test_sqlalchemy_connections_and_sessions_are_joined(store: PostgresStore, engine: sqlalchemy.Engine) -> None:
    with engine.begin() as connection:
        store.add_within(connection, "r1", [row(store, "a")])
    with Session(engine) as session:
        store.add_within(session, "r2", [row(store, "b")])
        session.commit()
        store.add_within(session, "r3", [row(store, "c")])
        session.rollback()
    assert keys(store) == ["key:a", "key:b"]


def test_what_cannot_be_joined_is_refused_with_what_can(
    store: PostgresStore, postgres: Postgres, engine: sqlalchemy.Engine
) -> None:
    new = [row(store)]
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        with pytest.raises(ValueError, match=r"conn\.transaction\(\)"):
            store.add_within(connection, "r1", new)
        with connection.transaction():
            store.add_within(connection, "r2", new)
    with engine.connect() as plain, pytest.raises(ValueError, match=r"engine\.begin\(\)"):
        store.add_within(plain, "r3", new)
    with pytest.raises(ValueError, match=r"psycopg\.Connection"):
        store.add_within(object(), "r4", new)
    closed = psycopg.connect(postgres.url)
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        store.add_within(closed, "r5", new)
    assert keys(store) == ["key:a"]


def test_a_failed_transaction_is_refused(store: PostgresStore, connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT 1/0")
    with pytest.raises(ValueError, match="has failed"):
        store.add_within(connection, "r1", [row(store)])
    connection.rollback()


def test_another_database_is_refused(store: PostgresStore, postgres: Postgres, admin: psycopg.Connection) -> None:
    admin.execute("CREATE DATABASE elsewhere_of_caller")
    try:
        other = psycopg.connect(postgres.url, dbname="elsewhere_of_caller")
        with other, pytest.raises(ValueError, match="another database"):
            store.add_within(other, "r1", [row(store)])
    finally:
        admin.execute("DROP DATABASE elsewhere_of_caller")


def test_two_callers_with_one_identity_wait_for_each_other_and_one_is_the_duplicate(
    store: PostgresStore, postgres: Postgres, open_store: Callable[..., PostgresStore]
) -> None:
    new = [row(store)]
    answers: list[str] = []
    with psycopg.connect(postgres.url) as first:
        store.add_within(first, "r1", new)
        waiting = threading.Thread(target=lambda: answers.append(open_store().add("r2", new)[0].outcome))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive(), "the other one is not committed yet"
        first.commit()
        waiting.join(30)
    assert answers == ["duplicate_identity"]


def test_a_callers_open_transaction_holds_up_no_lease(store: PostgresStore, connection: psycopg.Connection) -> None:
    harness = Harness(store)
    harness.activate()
    run = harness.running("a")
    again = store.add_within(connection, "r1", [harness.caller_row("a")])
    assert again[0].outcome == "duplicate_identity"
    assert harness.end(run, at=1).outcome == "applied"
    connection.rollback()
