"""The store on Python's own SQLite keeps every promise, in the same words."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

import pytest

from noonmark.ports.store import StoreUnreachable, StoreUnusable
from noonmark.stores.sqlite import SqliteStore, drivers
from noonmark.stores.sqlite.drivers import StdlibConnection, has_reset_bug
from noonmark.testing.archives import Archives
from noonmark.testing.builders import make_caller_row
from noonmark.testing.conformance import Case, Harness, archive_cases, cases


def make(path: Path) -> SqliteStore:
    return SqliteStore(path, synchronous="OFF", driver="sqlite3")


@pytest.mark.parametrize("case", cases(), ids=str)
def test_it_keeps_the_port(case: Case, tmp_path: Path) -> None:
    with contextlib.closing(make(tmp_path / "a.db")) as store:
        case.run(Harness(store))


@pytest.mark.parametrize("case", archive_cases(), ids=str)
def test_it_keeps_the_archive(case: Case, tmp_path: Path) -> None:
    with contextlib.closing(Archives(lambda name: make(tmp_path / f"{name}.db"))) as archives:
        case.run(archives)


@pytest.mark.parametrize(
    ("version", "has_it"),
    [
        ((3, 6, 23), False), ((3, 7, 0), True), ((3, 40, 1), True), ((3, 44, 5), True), ((3, 44, 6), False),
        ((3, 45, 0), True), ((3, 50, 6), True), ((3, 50, 7), False), ((3, 51, 2), True), ((3, 51, 3), False),
        ((3, 54, 1), False),
    ],
)  # fmt: skip
def test_the_versions_with_the_wal_reset_bug_are_known(version: tuple[int, int, int], has_it: bool) -> None:
    assert has_reset_bug(version) is has_it


def test_a_library_with_the_bug_is_told_once_in_the_log_and_by_the_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    drivers._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING), contextlib.closing(make(tmp_path / "a.db")) as store:
        found = {finding.code: finding.level for finding in store.diagnose()}
    assert found["sqlite_reset_bug"] == "warn"
    assert sum("can damage a file" in line for line in caplog.messages) == 1
    with contextlib.closing(SqliteStore(tmp_path / "a.db", synchronous="OFF")) as store:
        assert "sqlite_reset_bug" not in {finding.code for finding in store.diagnose()}


def test_a_library_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreUnusable, match=r"3\.35\.0 or newer is needed"):
        make(tmp_path / "a.db")


def test_an_unknown_driver_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="apsw, sqlite3"):
        SqliteStore(tmp_path / "a.db", driver="odbc")


def test_what_goes_wrong_is_told_in_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at" * 50)
    with pytest.raises(StoreUnusable, match="not a SQLite database"):
        make(tmp_path / "text.db")
    with contextlib.closing(make(tmp_path / "a.db")) as store:
        store._file.main.patience = 0.01
        with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnreachable, match="holds the write lock for too long"):
                store.add("r", [make_caller_row("x", at=1)])
            other.rollback()
        assert store.add("r", [make_caller_row("x", at=1)])[0].outcome == "added"
    with pytest.raises(StoreUnusable, match="closed in this process"):
        store.now()


def test_several_statements_are_run_one_by_one_inside_the_transaction() -> None:
    with contextlib.closing(StdlibConnection(sqlite3.connect(":memory:", isolation_level=None))) as own:
        own.execute("BEGIN")
        own.execute(
            "CREATE TABLE a (x); -- a comment; with a semicolon\nINSERT INTO a VALUES ('one;two');\n-- the end\n"
        )
        assert own.in_transaction
        assert own.execute("SELECT x FROM a").get == "one;two"
        own.execute("ROLLBACK")
        assert own.execute("SELECT count(*), 7 FROM sqlite_schema").get == (0, 7)
        assert own.execute("SELECT 1 WHERE 0").get is None


def test_rows_of_many_statements_come_together() -> None:
    with contextlib.closing(StdlibConnection(sqlite3.connect(":memory:", isolation_level=None))) as own:
        own.execute("CREATE TABLE a (x PRIMARY KEY)")
        rows = own.executemany("INSERT INTO a VALUES (?) ON CONFLICT DO NOTHING RETURNING x", [(1,), (1,), (2,)])
        assert rows.fetchone() == (1,)
        assert rows.fetchall() == [(2,)]
        assert own.total_changes() == 2
        assert own.last_insert_rowid() == 2
