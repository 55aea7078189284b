"""The file's shape: made once, by whoever comes first."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import apsw

from noonmark.stores.sqlite import SqliteStore, schema


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _ in schema.migrations()] == list(range(1, len(schema.migrations()) + 1))


def test_a_new_file_bears_our_name_and_version(store: SqliteStore, path: Path) -> None:
    connection = apsw.Connection(str(path))
    assert connection.pragma("application_id") == schema.APPLICATION_ID
    assert connection.pragma("user_version") == schema.version()
    assert connection.pragma("journal_mode") == "wal"
    connection.close()
    assert store.capabilities


def test_opening_again_keeps_the_store_id(store: SqliteStore, path: Path) -> None:
    SqliteStore(path, synchronous="OFF").close()
    connection = apsw.Connection(str(path))
    rows = connection.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchall()
    connection.close()
    assert len(rows) == 1
    assert store.now() > 0


def test_many_may_open_a_new_file_at_once(path: Path) -> None:
    barrier = threading.Barrier(6)
    problems: list[Exception] = []

    def open_it() -> None:
        barrier.wait()
        try:
            SqliteStore(path, synchronous="OFF").close()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


class Overtaken:
    """A connection between whose readings another process opens the file for the first time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = apsw.Connection(str(path))
        self._overtaken = False

    def pragma(self, name: str) -> Any:
        if not self._overtaken:
            self._overtaken = True
            SqliteStore(self._path, synchronous="OFF").close()
        return self._connection.pragma(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_a_first_migration_that_overtakes_a_look_is_not_taken_for_a_strangers_file(path: Path) -> None:
    apsw.Connection(str(path)).pragma("journal_mode", "wal")
    looking = Overtaken(path)
    assert schema.is_current(cast("apsw.Connection", looking), str(path)) is False, "it was empty when it was looked at"
    assert schema.is_current(looking._connection, str(path)) is True
    looking.close()


def test_full_promises_a_power_cut_and_normal_does_not(tmp_path: Path) -> None:
    promised = {}
    for synchronous in ("FULL", "NORMAL"):
        store = SqliteStore(tmp_path / f"{synchronous}.db", synchronous=synchronous)
        promised[synchronous] = store.capabilities
        for link in (store._file.main, store._file.urgent):
            assert link._connection.pragma("synchronous") == {"FULL": 2, "NORMAL": 1}[synchronous]
        store.close()
    assert promised["FULL"] - promised["NORMAL"] == {"durable-host-crash"}
    assert "durable-process-crash" in promised["NORMAL"]
