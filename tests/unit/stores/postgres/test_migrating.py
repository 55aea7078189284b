"""Migrations as a person runs them, and taking a trial's schema away."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from noonmark.core.model import Query
from noonmark.ports.store import StoreUnusable
from noonmark.stores.postgres import PostgresStore, migrate, migration_sql, pending_migrations
from noonmark.stores.postgres.erasing import erase
from noonmark.stores.postgres.link import Wire
from noonmark.testing.builders import make_caller_row
from noonmark.testing.servers import wait_until


def _tables(admin: psycopg.Connection, schema: str) -> int:
    row = admin.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (schema,)).fetchone()
    assert row is not None
    return int(row[0])


def test_the_sql_that_is_printed_makes_a_schema_that_opens_without_migrating(
    url: str, schema: str, admin: psycopg.Connection, open_store: Callable[..., PostgresStore]
) -> None:
    text = migration_sql(url)
    assert _tables(admin, schema) == 0, "printing changes nothing"
    admin.execute(text.encode())
    assert pending_migrations(url) == []
    assert "nothing to do" in migration_sql(url)
    store = open_store("&migrate=no")
    assert store.now() > 0


def test_a_schema_that_lacks_something_is_refused_where_opening_may_not_migrate(
    url: str, open_store: Callable[..., PostgresStore]
) -> None:
    with pytest.raises(StoreUnusable, match="noonmark store migrate"):
        open_store("&migrate=no")
    assert migrate(url)
    assert migrate(url) == []
    assert open_store("&migrate=no").now() > 0


def test_a_schema_is_erased_whole_and_one_of_somebody_else_is_left_alone(
    url: str, schema: str, store: PostgresStore, admin: psycopg.Connection
) -> None:
    store.close()
    assert erase(url) > 5
    assert _tables(admin, schema) == 0
    assert erase(url) == 0, "a second time there is nothing"
    admin.execute(f'CREATE SCHEMA "{schema}"')
    admin.execute(f'CREATE TABLE "{schema}".diary (line text)')
    with pytest.raises(StoreUnusable, match="somebody else"):
        erase(url)
    assert _tables(admin, schema) == 1


def test_a_schema_that_a_newer_noonmark_has_expanded_still_serves_an_older_one(
    schema: str, admin: psycopg.Connection, store: PostgresStore, open_store: Callable[..., PostgresStore]
) -> None:
    admin.execute(f'ALTER TABLE "{schema}".occurrence ADD COLUMN mood text')
    admin.execute(f"UPDATE \"{schema}\".meta SET value = '99' WHERE name = 'version'")
    older = open_store()  # its min_reader is ours still
    at = older.now()
    older.add("a", [make_caller_row("a", at=at)])
    assert [row.key for row in store.occurrences(Query())] == ["key:a"]


def test_a_schema_that_needs_a_newer_noonmark_is_refused(
    schema: str, admin: psycopg.Connection, store: PostgresStore, open_store: Callable[..., PostgresStore]
) -> None:
    store.close()
    admin.execute(f"UPDATE \"{schema}\".meta SET value = '99' WHERE name IN ('version', 'min_reader')")
    with pytest.raises(StoreUnusable, match="Upgrade noonmark"):
        open_store()


def test_many_may_open_a_new_schema_at_once(open_store: Callable[..., PostgresStore]) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: open_store(), range(8)))
    assert all(store.now() > 0 for store in stores)


def test_the_connection_that_looked_at_the_schema_is_the_one_that_is_worked_with(
    open_store: Callable[..., PostgresStore], admin: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store().close()
    begun: list[int] = []
    connect = Wire.connect

    def counted(*args: object, **fields: object) -> Wire:
        wire = connect(*args, **fields)  # type: ignore[arg-type]
        begun.append(wire.info.backend_pid)
        return wire

    monkeypatch.setattr(Wire, "connect", counted)
    store = open_store()
    store.add("a", [make_caller_row("a", at=store.now())])
    assert len(begun) == 1
    store.close()
    left = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s)"
    wait_until(lambda: admin.execute(left, (begun,)).fetchone() == (0,), 10, "its end")


def test_a_schema_that_cannot_serve_leaves_no_connection_open(
    open_store: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    wires: list[Wire] = []
    connect = Wire.connect
    monkeypatch.setattr(Wire, "connect", lambda *args, **fields: wires.append(connect(*args, **fields)) or wires[-1])
    with pytest.raises(StoreUnusable):
        open_store("&migrate=no")
    assert [wire.closed for wire in wires] == [True]
