"""What only PostgreSQL does to three workers: ended backends, read-only, refused logins, no connection left, locks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from fleet import wait_for
from sites import KINDS, Site

from noonmark.testing.servers import Postgres

OTHERS = "pid <> pg_backend_pid() AND backend_type = 'client backend'"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server and three workers."""
    made = Site(KINDS["postgres"], tmp_path_factory.mktemp("postgres"))
    yield made
    made.close()


@pytest.fixture
def admin(site: Site) -> Iterator[psycopg.Connection[Any]]:
    """A person at the server, whose own session is always allowed to write."""
    options = "-c default_transaction_read_only=off"
    with psycopg.connect(site.server.url, autocommit=True, options=options) as connection:
        yield connection


def number(admin: psycopg.Connection[Any], query: str) -> int:
    row = admin.execute(query).fetchone()  # type: ignore[call-overload]
    assert row is not None
    return int(row[0])


def end_all(admin: psycopg.Connection[Any]) -> int:
    return number(admin, f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {OTHERS}")


def test_backends_that_are_all_ended_are_opened_again(site: Site, admin: psycopg.Connection[Any]) -> None:
    with site.outage(0) as back:
        assert end_all(admin) >= 4
        back.append(time.monotonic())


def test_backends_that_are_ended_again_and_again_cost_nothing_but_time(
    site: Site, admin: psycopg.Connection[Any]
) -> None:
    with site.outage(2) as back:
        for _ in range(40):
            end_all(admin)
            time.sleep(0.05)
        back.append(time.monotonic())


def test_a_server_that_is_read_only_for_a_while_is_waited_for(site: Site, admin: psycopg.Connection[Any]) -> None:
    with site.outage(2) as back:
        admin.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        admin.execute("SELECT pg_reload_conf()")
        try:
            wait_for(lambda: "read-only" in site.said(), what="the refusal")
            time.sleep(2)
        finally:
            admin.execute("ALTER SYSTEM RESET default_transaction_read_only")
            admin.execute("SELECT pg_reload_conf()")
        back.append(time.monotonic())


def test_logins_that_are_refused_for_a_while_end_nobody(site: Site, admin: psycopg.Connection[Any]) -> None:
    assert isinstance(site.server, Postgres)
    file = site.server.data / "pg_hba.conf"
    before = file.read_bytes()
    with site.outage(2, at_most=3.5) as back:
        file.write_text("host all all 127.0.0.1/32 reject\n", encoding="utf-8")
        admin.execute("SELECT pg_reload_conf()")
        try:
            wait_for(lambda: _refused(admin, site), what="the refusal")
        finally:
            file.write_bytes(before)
            admin.execute("SELECT pg_reload_conf()")
        back.append(time.monotonic())


def _refused(admin: psycopg.Connection[Any], site: Site) -> bool:
    end_all(admin)
    return "the store cannot serve" in site.said()


def fill(crowd: contextlib.ExitStack, url: str) -> int:
    """Take every connection that the server still has to give."""
    for taken in range(500):
        try:
            crowd.enter_context(psycopg.connect(url))
        except psycopg.OperationalError as error:
            if "too many clients" in str(error):
                return taken
            raise
    raise AssertionError("the server never had enough")


def test_a_server_without_a_free_connection_is_waited_for(site: Site) -> None:
    with contextlib.ExitStack() as crowd, site.outage(2) as back:
        assert fill(crowd, site.server.url) > 50
        site.proxy.cut()
        time.sleep(0.5)
        fill(crowd, site.server.url)  # what the workers lost is taken, too
        time.sleep(1.5)
        crowd.close()
        back.append(time.monotonic())


def test_a_table_that_somebody_locks_for_a_while_is_waited_for(site: Site) -> None:
    with site.outage(4) as back:
        with psycopg.connect(site.server.url) as locker:
            locker.execute("LOCK TABLE noonmark.occurrence IN ACCESS EXCLUSIVE MODE")
            time.sleep(4)
        back.append(time.monotonic())


def test_a_listener_that_was_ended_is_missed_for_a_quarter_of_a_second_at_most(
    site: Site, admin: psycopg.Connection[Any]
) -> None:
    # Its last query is the LISTEN, or the question after ten seconds of silence whether the server is still there.
    listening = f"FROM pg_stat_activity WHERE {OTHERS} AND query ILIKE '%listen%'"
    wait_for(lambda: number(admin, f"SELECT count(*) {listening}") >= 3, what="listeners")
    ended = number(admin, f"SELECT count(pg_terminate_backend(pid)) {listening}")
    assert ended >= 3
    for _ in range(5):
        (row,) = site.ask(0.0)
        asked = time.monotonic()
        wait_for(lambda row=row: site.done(row), what="the run")  # type: ignore[misc]
        assert time.monotonic() - asked < 1.0
    wait_for(lambda: number(admin, f"SELECT count(*) {listening}") >= 3, what="listeners again")
    site.prove([row])
