"""What a person reads when the file cannot serve, and that nothing is lost or altered by it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import apsw
import pytest

from noonmark.core.model import Query
from noonmark.ports.store import StoreFull, StoreUnreachable, StoreUnusable
from noonmark.stores.sqlite import SqliteStore, errors, schema
from noonmark.testing.builders import make_caller_row
from noonmark.testing.clock import VirtualClock


def _refused(path: Path) -> str:
    with pytest.raises(StoreUnusable) as caught:
        SqliteStore(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_directory_is_named_as_such(tmp_path: Path) -> None:
    assert "it is a directory" in _refused(tmp_path)


def test_a_missing_parent_directory_is_made(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a" / "b" / "noonmark.db", synchronous="OFF")
    store.close()
    assert (tmp_path / "a" / "b" / "noonmark.db").exists()


def test_a_parent_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("I am no directory")
    assert "its directory cannot be created" in _refused(tmp_path / "file" / "noonmark.db")


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    text = "# my notes\n" * 200
    path.write_text(text)
    assert "not a SQLite database" in _refused(path)
    assert path.read_text() == text


def test_somebody_elses_database_is_refused_and_left_alone(path: Path) -> None:
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE notes (text)")
    other.close()
    before = path.read_bytes()
    assert "not one of noonmark's" in _refused(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_newer_schema_is_refused_with_what_to_do(path: Path) -> None:
    SqliteStore(path, synchronous="OFF").close()
    newer = apsw.Connection(str(path))
    newer.pragma("user_version", schema.version() + 1)
    newer.close()
    said = _refused(path)
    assert f"schema {schema.version() + 1}" in said
    assert "Upgrade noonmark" in said


def test_a_damaged_file_is_told_apart_from_an_absent_one(path: Path, clock: VirtualClock) -> None:
    store = SqliteStore(path, clock=clock, synchronous="OFF")
    store.add("a", [make_caller_row(str(n), at=store.now()) for n in range(500)])
    store.close()
    whole = bytearray(path.read_bytes())
    for start in range(4096, len(whole), 4096):
        whole[start : start + 200] = b"\xff" * 200
    path.write_bytes(whole)
    with pytest.raises(StoreUnusable, match="damaged"):  # noqa: PT012
        opened = SqliteStore(path, clock=clock, synchronous="OFF")
        try:
            opened.occurrences(Query())
        finally:
            opened.close()


def test_a_read_only_file_is_said_at_the_door(path: Path) -> None:
    SqliteStore(path, synchronous="OFF").close()
    path.chmod(0o444)
    said = _as_nobody_in_particular(path)
    assert said.startswith("StoreUnusable")
    assert "read-only" in said


def test_a_read_only_directory_is_said_at_the_door(path: Path) -> None:
    path.parent.chmod(0o555)
    try:
        said = _as_nobody_in_particular(path)
    finally:
        path.parent.chmod(0o755)
    assert said.startswith("StoreUnusable")
    assert "cannot be opened" in said


def _as_nobody_in_particular(path: Path) -> str:
    """Open the store in a process without root's right to write everything, and return what it says."""
    script = textwrap.dedent(
        """
        import os, sys
        from noonmark.stores.sqlite import SqliteStore, taking
        from noonmark.stores.sqlite import schema
        schema.migrations()
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            SqliteStore(sys.argv[1]).close()
        except Exception as problem:
            print(type(problem).__name__, problem)
        """
    )
    for parent in path.parents:  # pytest's folders are private; let the other user in as far as the file
        if parent.stat().st_uid == os.getuid() and parent.stat().st_mode & 0o011 != 0o011 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
        if parent.name.startswith("pytest-of-"):
            break
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_a_full_disk_loses_nothing_that_was_there(store: SqliteStore, path: Path) -> None:
    now = store.now()
    store.add("first", [make_caller_row("a", at=now)])
    connection = store._file.main._connection
    pages = connection.pragma("page_count")
    connection.pragma("max_page_count", pages + 2)
    with pytest.raises(StoreFull, match="the disk is full"):
        store.add("second", [make_caller_row(f"b{n}", at=now) for n in range(500)])
    assert [row.identity for row in store.occurrences(Query())] == ["l:a"]
    connection.pragma("max_page_count", 1_000_000)
    assert [added.outcome for added in store.add("second", [make_caller_row("b", at=now)])] == ["added"]
    assert store.tallies().by_state == {"PENDING": 2}
    assert apsw.Connection(str(path)).pragma("integrity_check") == "ok"


@pytest.mark.parametrize("error", [apsw.FullError, apsw.CantOpenError, apsw.IOError])
def test_a_full_disk_is_known_under_each_of_its_names_and_is_away(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: type[apsw.Error]
) -> None:
    monkeypatch.setattr(errors, "free_bytes", lambda _path: 4096)
    told = errors.translated(str(path), error("it says so"))
    assert type(told) is StoreFull
    assert isinstance(told, StoreUnreachable)


def test_a_disk_with_room_is_not_called_full(path: Path) -> None:
    assert isinstance(errors.translated(str(path), apsw.CantOpenError("unable to open")), StoreUnusable)
    assert type(errors.translated(str(path), apsw.IOError("disk I/O error"))) is StoreUnreachable


def test_a_lock_held_beyond_patience_is_unreachable_and_comes_back(store: SqliteStore, path: Path) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    store._file.main.patience = store._file.urgent.patience = 0.02
    with pytest.raises(StoreUnreachable, match="another process holds the write lock"):
        store.signal("s", [])
    with pytest.raises(StoreUnreachable):
        store.renew("w1", [])
    assert store.occurrences(Query()) == []  # readers do not wait for writers
    other.execute("ROLLBACK")
    other.close()
    assert store.signal("s", []) == []


def test_a_closed_store_says_so_and_closes_twice(path: Path) -> None:
    store = SqliteStore(path, synchronous="OFF")
    store.close()
    store.close()
    with pytest.raises(StoreUnusable, match="it was closed"):
        store.now()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_store_that_crossed_a_fork_refuses_to_serve(store: SqliteStore) -> None:
    child = os.fork()
    if child == 0:
        try:
            store.now()
        except StoreUnusable:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_an_unknown_synchronous_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="FULL, NORMAL, OFF"):
        SqliteStore(path, synchronous="SOMETIMES")
