"""Locks on PostgreSQL: rights, poolers, isolation, restarts, and what stays behind."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from noonmark.core.model import DAY, SECOND
from noonmark.locks import LockError, LockLost, LockUnusable, lock, open_locks, postgres_link
from noonmark.locks.advisory import AdvisoryLocks
from noonmark.locks.postgres import PostgresLocks

TTL = 30 * SECOND


@pytest.fixture
def admin(postgres: Any) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        yield connection


def with_option(url: str, option: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{option}"


def test_locks_of_different_schemas_do_not_meet_and_live_beside_the_store_s(
    postgres: Any, admin: psycopg.Connection[Any]
) -> None:
    with (
        contextlib.closing(PostgresLocks(with_option(postgres.url, "schema=one"))) as one,
        contextlib.closing(PostgresLocks(with_option(postgres.url, "schema=two"))) as two,
    ):
        assert one.acquire("a", TTL, "t") is not None
        assert two.acquire("a", TTL, "u") is not None
    found = admin.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE '%\\_locks'").fetchall()
    assert {("one_locks",), ("two_locks",)} <= set(found)


def test_any_schema_name_is_quoted(postgres: Any) -> None:
    url = with_option(postgres.url, "schema=Mine%22%20%25s%20%7Bx%7D")
    with contextlib.closing(PostgresLocks(url)) as locks, lock("a", at=locks) as held:
        held.renew()


def test_many_who_come_first_at_once_make_the_tables_once(postgres: Any) -> None:
    url = with_option(postgres.url, f"schema=fresh{time.monotonic_ns()}")
    together, failures = threading.Barrier(6), []

    def open_and_ask(number: int) -> None:
        with contextlib.closing(PostgresLocks(url)) as locks:
            together.wait(10)
            try:
                locks.acquire(f"a{number}", TTL, "t")
            except LockError as error:
                failures.append(error)

    threads = [threading.Thread(target=open_and_ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert failures == []


@pytest.mark.parametrize("kind", [PostgresLocks, AdvisoryLocks])
def test_a_user_without_rights_is_told_what_to_run_and_then_may(
    kind: Any, postgres: Any, admin: psycopg.Connection[Any]
) -> None:
    user = f"small{time.monotonic_ns()}"
    schema = f"{user}_locks"
    admin.execute(f"CREATE ROLE {user} LOGIN")
    admin.execute("REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
    url = with_option(postgres.url.replace("postgres@", f"{user}@"), f"schema={user}")
    with contextlib.closing(kind(url)) as locks:
        with pytest.raises(LockUnusable, match="CREATE SCHEMA") as refused:
            locks.acquire("a", TTL, "t")
        advice = str(refused.value).partition("run: ")[2].partition("; and grant")[0]
        for statement in advice.split("; "):
            admin.execute(statement)
        with pytest.raises(LockUnusable, match="permission denied"):
            locks.acquire("a", TTL, "t")
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {user}")
        admin.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}")
        with lock("a", at=locks) as held:
            held.renew()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("postgres@", "nobody-here@"), "does not exist"),
        (("/postgres", "/no_such_database"), "does not exist"),
    ],
)
def test_a_wrong_user_or_database_needs_a_person(change: tuple[str, str], said: str, postgres: Any) -> None:
    with contextlib.closing(PostgresLocks(postgres.url.replace(*change))) as locks:
        with pytest.raises(LockUnusable, match=said) as refused:
            locks.acquire("a", TTL, "t")
        assert "Check user, password and database" in str(refused.value)


def test_nobody_listening_is_an_unknown_outcome() -> None:
    with contextlib.closing(PostgresLocks("postgresql://127.0.0.1:1/x")) as locks, pytest.raises(LockError) as away:
        locks.acquire("a", TTL, "t")
    assert not isinstance(away.value, LockUnusable)


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_a_stricter_isolation_by_default_is_no_trouble(
    level: str, postgres: Any, admin: psycopg.Connection[Any]
) -> None:
    user = f"strict{time.monotonic_ns()}"
    admin.execute(f"CREATE ROLE {user} LOGIN SUPERUSER")
    admin.execute(f"ALTER ROLE {user} SET default_transaction_isolation = '{level}'")
    url = postgres.url.replace("postgres@", f"{user}@")
    winners: list[int] = []
    together = threading.Barrier(4)

    def ask(number: int) -> None:
        with contextlib.closing(PostgresLocks(url)) as locks:
            locks.renew("warm", TTL, "t")
            for turn in range(10):
                together.wait(10)
                if locks.acquire(f"{user}-{turn}", TTL, f"t{number}"):
                    winners.append(turn)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(winners) == list(range(10))


def test_a_connection_that_was_ended_while_idle_is_replaced_unnoticed(
    postgres: Any, admin: psycopg.Connection[Any]
) -> None:
    with contextlib.closing(PostgresLocks(postgres.url)) as locks, lock("idle", at=locks) as held:
        for _ in range(2):
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'noonmark locks'"
            )
            held.renew()


def test_an_answer_that_does_not_come_is_given_up_in_time(
    postgres: Any, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_link, "TIMEOUT", 0.3)
    with contextlib.closing(PostgresLocks(postgres.url)) as locks:
        assert locks.acquire("stuck", TTL, "t") is not None
        with admin.transaction():
            admin.execute("SELECT 1 FROM noonmark_locks.lease WHERE name = 'stuck' FOR UPDATE")
            began = time.monotonic()
            with pytest.raises(LockError, match="no answer within"):
                locks.renew("stuck", TTL, "t")
            assert time.monotonic() - began < 3
        assert locks.renew("stuck", TTL, "t") is not None


def test_names_that_nobody_used_for_a_day_are_forgotten_and_fences_go_on(
    postgres: Any, admin: psycopg.Connection[Any]
) -> None:
    url = with_option(postgres.url, f"schema=swept{time.monotonic_ns()}")
    schema = url.rpartition("=")[2] + "_locks"
    with contextlib.closing(PostgresLocks(url)) as locks:
        old = locks.acquire("old", TTL, "t")
        assert old is not None
        locks.acquire("new", TTL, "t")
        admin.execute(
            f"UPDATE {schema}.lease SET fence = fence - {2 * DAY}, until_us = until_us - {2 * DAY} WHERE name = 'old'"
        )
    with contextlib.closing(PostgresLocks(url)) as locks:
        locks.acquire("other", TTL, "t")
        rows = admin.execute(f"SELECT name FROM {schema}.lease ORDER BY name").fetchall()
        assert rows == [("new",), ("other",)]
        again = locks.acquire("old", TTL, "u")
        assert again is not None
        assert again.fence > old.fence


def test_fences_of_advisory_locks_that_nobody_took_for_a_day_are_forgotten_and_grow_all_the_same(
    postgres: Any, admin: psycopg.Connection[Any]
) -> None:
    schema = f"swept{time.monotonic_ns()}"
    url = with_option(with_option(postgres.url, f"schema={schema}"), "kind=advisory")
    with contextlib.closing(AdvisoryLocks(url)) as locks:
        old = locks.acquire("old", TTL, "t")
        assert old is not None
        locks.acquire("new", TTL, "t")
        admin.execute(f"UPDATE {schema}_locks.fence SET fence = fence - {2 * DAY} WHERE name = 'old'".encode())
    with contextlib.closing(AdvisoryLocks(url)) as locks:
        locks.acquire("other", TTL, "t")
        rows = admin.execute(f"SELECT name FROM {schema}_locks.fence ORDER BY name".encode()).fetchall()
        assert rows == [("new",), ("other",)]
        again = locks.acquire("old", TTL, "u")
        assert again is not None
        assert again.fence > old.fence


def test_the_statements_of_a_lock_search_by_its_key(postgres: Any, admin: psycopg.Connection[Any]) -> None:
    with contextlib.closing(PostgresLocks(postgres.url)) as locks:
        locks.acquire("a", TTL, "t")
        admin.execute(
            "INSERT INTO noonmark_locks.lease SELECT 'many-' || n, 't', 1, 1 FROM generate_series(1, 20000) n"
            " ON CONFLICT DO NOTHING"
        )
        admin.execute("ANALYZE noonmark_locks.lease")
        for statement in (locks._acquire, locks._renew, locks._release):
            plan = admin.execute(
                psycopg.sql.SQL("EXPLAIN ") + statement, {"name": "a", "token": "t", "ttl": TTL}
            ).fetchall()
            assert "Seq Scan" not in str(plan), plan
        admin.execute("DELETE FROM noonmark_locks.lease WHERE name LIKE 'many-%'")


# -- session locks -------------------------------------------------------------------------------------


def test_other_programs_take_part_with_the_documented_key(postgres: Any, admin: psycopg.Connection[Any]) -> None:
    key = "SELECT pg_try_advisory_lock(hashtextextended('lock:shared', 0))"
    with contextlib.closing(AdvisoryLocks(postgres.url)) as locks:
        with lock("shared", at=locks):
            assert admin.execute(key).fetchone() == (False,)
        assert admin.execute(key).fetchone() == (True,)
        assert locks.acquire("shared", TTL, "t") is None
        admin.execute("SELECT pg_advisory_unlock_all()")
        assert locks.acquire("shared", TTL, "t") is not None


def test_a_session_that_stays_silent_for_the_ttl_is_ended_by_the_server(
    postgres: Any, admin: psycopg.Connection[Any]
) -> None:
    with contextlib.closing(AdvisoryLocks(postgres.url)) as locks:
        assert locks.acquire("silent", 300_000, "t") is not None
        until = time.monotonic() + 10
        while admin.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'").fetchone():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert locks.renew("silent", 300_000, "t") is None
        assert locks.release("silent", "t") is False


def test_behind_a_pooler_that_shares_sessions_it_is_refused(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a pooler makes up the process id that it tells its clients; here our own client does."""
    with contextlib.closing(AdvisoryLocks(postgres.url)) as locks:
        monkeypatch.setattr(locks, "_pid_told_to", lambda _connection: -1)
        with pytest.raises(LockUnusable, match="pooler"):
            locks.acquire("pooled", TTL, "t")
        monkeypatch.undo()
        assert locks.acquire("pooled", TTL, "t") is not None, "what was refused is not held"


def test_a_server_that_restarts_takes_session_locks_with_it_and_the_holder_learns_of_it(
    own_postgres: Any,
) -> None:
    with contextlib.closing(AdvisoryLocks(own_postgres.url)) as locks:
        held = lock("gone", at=locks).acquire()
        own_postgres.kill()
        own_postgres.start()
        with pytest.raises(LockLost):
            held.renew()


def test_a_closed_service_says_so(postgres: Any) -> None:
    for kind in ("", "kind=advisory"):
        locks = open_locks(with_option(postgres.url, kind) if kind else postgres.url)
        locks.close()
        locks.close()
        with pytest.raises(LockUnusable, match="closed"):
            locks.acquire("a", TTL, "t")


@pytest.fixture
def own_postgres() -> Iterator[Any]:
    from noonmark.testing.servers import start_postgres

    with start_postgres() as server:
        yield server


def test_a_renewal_behind_a_release_leaves_the_connection_to_its_next_lock(postgres: Any) -> None:
    with contextlib.closing(AdvisoryLocks(postgres.url)) as locks:
        assert locks.acquire("a", SECOND, "t") is not None
        session = locks._sessions["a", "t"]
        asked, goes_on, answers = threading.Event(), threading.Event(), []

        class Turn:
            """Lets the renewal through only when the release is done and the connection has another lock."""

            def __enter__(self) -> None:
                if threading.current_thread() is thread:
                    asked.set()
                    goes_on.wait(10)

            def __exit__(self, *_: object) -> None: ...

        thread = threading.Thread(target=lambda: answers.append(locks.renew("a", SECOND, "t")))
        session.mutex = Turn()  # type: ignore[assignment]
        thread.start()
        assert asked.wait(10)
        assert locks.release("a", "t")
        assert locks.acquire("b", 60 * SECOND, "u") is not None
        other = locks._sessions["b", "u"].connection
        assert other is session.connection
        goes_on.set()
        thread.join(10)
        assert answers == [None]
        assert other.execute("SHOW idle_session_timeout").fetchone() == ("1min",)
