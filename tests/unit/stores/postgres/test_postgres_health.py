"""What the doctor says of a PostgreSQL server."""

from __future__ import annotations

import psycopg

from noonmark.stores.postgres import PostgresStore
from noonmark.stores.postgres.durability import Durability
from noonmark.stores.postgres.health import _of_durability


def levels(store: PostgresStore) -> dict[str, str]:
    return {finding.code: finding.level for finding in store.diagnose()}


def test_a_server_that_forgets_is_told_with_remedies(store: PostgresStore) -> None:
    found = levels(store)  # the tests' server is such a one
    assert found["postgres_server"] == "ok"
    assert found["postgres_fsync_off"] == found["postgres_full_page_writes_off"] == "warn"
    assert all(finding.remedy for finding in store.diagnose() if finding.level != "ok")
    assert "refuse" not in found.values()


def test_tables_without_autovacuum_are_named(store: PostgresStore, admin: psycopg.Connection, schema: str) -> None:
    assert "postgres_autovacuum_off" not in levels(store)
    admin.execute(f'ALTER TABLE "{schema}".agenda SET (autovacuum_enabled = off)')
    told = {finding.code: finding for finding in store.diagnose()}["postgres_autovacuum_off"]
    assert told.detail == {"tables": "agenda"}


def test_a_clock_that_went_back_is_told(store: PostgresStore, admin: psycopg.Connection, schema: str) -> None:
    admin.execute(f'UPDATE "{schema}".clock SET mark = %s', (store.now() + 60_000_000,))
    assert levels(store)["postgres_clock_behind"] == "warn"


def test_standbys_that_are_not_waited_for_are_told_and_those_that_are_not() -> None:
    plain = Durability(synchronous_commit="on", fsync=True, full_page_writes=True, standby_names="", replicas=0)
    lossy = Durability(synchronous_commit="on", fsync=True, full_page_writes=True, standby_names="", replicas=2)
    safe = Durability(synchronous_commit="on", fsync=True, full_page_writes=True, standby_names="*", replicas=2)
    assert [[finding.code for finding in _of_durability(each)] for each in (plain, lossy, safe)] == [
        [],
        ["postgres_failover_loss"],
        [],
    ]
