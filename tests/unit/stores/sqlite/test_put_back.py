"""A file that is put back under an open store, or beside a log that was left behind: opened anew or refused, never mixed."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from noonmark.core import errors_zh
from noonmark.core.model import SECOND, Query
from noonmark.core.model.rollback import Claim
from noonmark.ports.store import StoreUnreachable, StoreUnusable
from noonmark.stores.sqlite import SqliteStore, caller, connection, errors, openfile, pair
from noonmark.testing.builders import make_caller_row

_CRASHING = """
import os, sys
from pathlib import Path
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_caller_row
store = SqliteStore(Path(sys.argv[1]))
store.add("lost", [make_caller_row("lost", at=1)])
os._exit(9)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "noonmark.db"


@pytest.fixture
def store(path: Path) -> SqliteStore:
    """Open, with one row in it; who is given it closes it."""
    made = SqliteStore(path)
    _add(made, "kept")
    return made


def _add(store: SqliteStore, *names: str) -> None:
    for name in names:
        store.add(name, [make_caller_row(name, at=SECOND)])


def _names(store: SqliteStore) -> set[str]:
    return {row.identity.removeprefix("l:") for row in store.occurrences(Query(limit=1000))}


def _copy(path: Path) -> Path:
    """Take a copy as a nightly job does."""
    copy = path.with_name("copy.db")
    database = apsw.Connection(str(path))
    database.execute("VACUUM INTO ?", (str(copy),))
    database.close()
    return copy


def _crash(path: Path) -> None:
    """Let a process write to the store and end without closing it."""
    ended = subprocess.run([sys.executable, "-c", _CRASHING, str(path)], timeout=60, check=False)
    assert ended.returncode == 9
    assert Path(f"{path}-wal").stat().st_size > 0


def _is_sound(path: Path) -> bool:
    database = apsw.Connection(str(path))
    try:
        return bool(database.pragma("integrity_check") == "ok")
    finally:
        database.close()


def _take_away_the_log(path: Path) -> None:
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").rename(f"{path}{side}.old")


@pytest.mark.parametrize("driver", ["apsw", "sqlite3"])
def test_a_file_put_in_place_beside_a_log_that_was_left_behind_is_refused_and_touched_by_nobody(
    tmp_path: Path, driver: str, recwarn: pytest.WarningsRecorder
) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    _add(store, "kept")
    copy = _copy(path)
    store.close()
    _crash(path)
    copy.replace(path)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    with pytest.raises(StoreUnusable, match=r"another file was put in its place") as refused:
        SqliteStore(path, driver=driver)
    assert f"mv {path}-wal {path}-wal.old" in str(refused.value)
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before
    _take_away_the_log(path)
    again = SqliteStore(path, driver=driver)
    assert _names(again) == {"kept"}
    again.close()
    assert _is_sound(path)
    assert not recwarn.list


def test_a_file_that_was_removed_and_copied_anew_is_another_even_with_the_same_inode(
    path: Path, store: SqliteStore
) -> None:
    copy = _copy(path)
    store.close()
    _crash(path)
    path.unlink()
    shutil.copy(copy, path)
    with pytest.raises(StoreUnusable, match="another file was put in its place"):
        SqliteStore(path)


def test_under_an_open_store_a_file_put_in_place_is_refused_until_the_old_log_is_away(
    path: Path, store: SqliteStore
) -> None:
    copy = _copy(path)
    _add(store, "lost")
    copy.replace(path)
    before = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    for ask in (store.identity, store.now, store.jobs, store.writers, store.store_id, lambda: _add(store, "new")):
        with pytest.raises(StoreUnusable, match="another file was put in its place"):
            ask()
    assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == before
    _take_away_the_log(path)
    _add(store, "new")
    assert _names(store) == {"kept", "new"}
    store.close()
    assert _is_sound(path)


def test_each_verb_goes_over_to_a_file_that_was_put_in_place_with_its_log_away(path: Path, store: SqliteStore) -> None:
    copy = _copy(path)
    _add(store, "lost")
    was = store.prove(Claim(writer="w-1", worker="w1", receipt=None))
    _take_away_the_log(path)
    copy.replace(path)
    _add(store, "new")  # nobody has asked for its identity
    assert _names(store) == {"kept", "new"}
    proof = store.prove(Claim(writer="w-1", worker="w1", receipt=was.receipt))
    assert (proof.outcome, proof.serving.identity) == ("lost", pair.file_identity(path))
    other = SqliteStore(path)
    assert _names(other) == {"kept", "new"}
    other.close()
    store.close()
    assert _is_sound(path)


def test_what_is_under_way_when_the_file_is_replaced_is_kept_in_neither(path: Path, store: SqliteStore) -> None:
    copy = _copy(path)

    def change() -> None:
        with store._file.main.write():
            _take_away_the_log(path)
            copy.replace(path)

    with pytest.raises(StoreUnreachable, match="nothing of the change was kept"):
        change()
    _add(store, "new")
    assert _names(store) == {"kept", "new"}
    store.close()


def test_a_file_that_was_taken_away_under_an_open_store_is_not_written_any_more(
    path: Path, store: SqliteStore, tmp_path: Path
) -> None:
    path.rename(tmp_path / "away")
    for ask in (store.now, lambda: _add(store, "new")):
        with pytest.raises(StoreUnreachable, match="the file was taken away"):
            ask()
    (tmp_path / "away").rename(path)
    assert _names(store) == {"kept"}
    store.close()
    assert _is_sound(path)


@pytest.mark.parametrize("driver", ["apsw", "sqlite3"])
def test_what_a_log_held_that_was_taken_away_is_put_into_the_file_and_another_one_is_begun(
    tmp_path: Path, driver: str
) -> None:
    path = tmp_path / "noonmark.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = SqliteStore(path, driver=driver)
    _add(store, "kept")
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").unlink()
    _add(store, "new")
    other = SqliteStore(path, driver=driver)
    assert _names(store) == _names(other) == {"kept", "new"}
    other.close()
    store.close()
    assert _is_sound(path)


def test_a_log_in_whose_place_somebody_began_another_one_is_refused(
    path: Path, store: SqliteStore, tmp_path: Path
) -> None:
    Path(f"{path}-wal").rename(tmp_path / "away")
    Path(f"{path}-wal").write_bytes(b"")
    with pytest.raises(StoreUnreachable, match=r"its log .* was taken away while it was open"):
        _add(store, "new")
    Path(f"{path}-wal").unlink()
    (tmp_path / "away").rename(f"{path}-wal")
    assert _names(store) == {"kept"}
    store.close()
    assert _is_sound(path)


def test_while_somebody_reads_an_older_state_no_other_log_is_begun(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    reading = apsw.Connection(str(path))
    reading.execute("BEGIN")
    reading.execute("SELECT count(*) FROM job").fetchall()
    _add(store, "kept")
    Path(f"{path}-wal").unlink()
    with pytest.raises(StoreUnreachable, match="was taken away while it was open"):
        store.now()
    assert not Path(f"{path}-wal").exists()
    reading.execute("ROLLBACK")
    assert _names(store) == {"kept"}
    reading.close()
    store.close()
    assert _is_sound(path)


def test_another_library_in_this_process_costs_nothing_that_was_acknowledged(
    path: Path, store: SqliteStore, tmp_path: Path
) -> None:
    theirs = sqlite3.connect(path)
    theirs.execute("SELECT count(*) FROM job").fetchall()
    theirs.close()
    _add(store, "new")
    copy = tmp_path / "crashed.db"
    for side in ("", "-wal"):
        shutil.copy(f"{path}{side}", f"{copy}{side}")
    crashed = SqliteStore(copy)
    assert _names(crashed) == {"kept", "new"}, "as after a crash"
    crashed.close()
    store.close()
    assert _is_sound(path)


def test_an_index_alone_that_was_left_behind_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    copy = _copy(path)
    Path(f"{path}-wal").unlink()
    copy.replace(path)
    with pytest.raises(StoreUnusable, match=r"noonmark\.db-shm\); it would be") as refused:
        store.now()
    assert "noonmark.db-wal" not in str(refused.value)
    Path(f"{path}-shm").unlink()
    assert _names(store) == set()
    store.close()


def test_many_threads_that_find_the_file_replaced_open_it_once(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    copy = _copy(path)
    _take_away_the_log(path)
    copy.replace(path)
    opened: list[object] = []
    threads = [threading.Thread(target=lambda: opened.append(store._file.main)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(opened) == 8
    assert len(set(map(id, opened))) == 1
    store.close()


def _whole_folder(path: Path) -> Path:
    shutil.copytree(path.parent, path.parent.with_name("there"))
    return path.parent.with_name("there") / path.name


def _whole_folder_and_back(path: Path) -> Path:
    there = _whole_folder(path)
    shutil.rmtree(path.parent)
    there.parent.rename(path.parent)
    return path


def _renamed_folder(path: Path) -> Path:
    path.parent.rename(path.parent.with_name("there"))
    return path.parent.with_name("there") / path.name


def _renamed_files(path: Path) -> Path:
    for entry in list(path.parent.iterdir()):
        entry.rename(path.parent / entry.name.replace("noonmark.db", "other.db"))
    return path.with_name("other.db")


def _only_file_and_log(path: Path) -> Path:
    Path(f"{path}-pair").unlink()
    return path


def _a_link_to_it(path: Path) -> Path:
    link = path.parent.parent / "link.db"
    link.symlink_to(path)
    return link


@pytest.mark.parametrize(
    "happens",
    [_whole_folder, _whole_folder_and_back, _renamed_folder, _renamed_files, _only_file_and_log, _a_link_to_it],
)
def test_ordinary_life_of_a_file_is_no_alarm_and_its_log_is_read(
    tmp_path: Path, happens: Callable[[Path], Path]
) -> None:
    (tmp_path / "here").mkdir()
    path = tmp_path / "here" / "noonmark.db"
    store = SqliteStore(path)
    _add(store, "kept")
    store.close()
    _crash(path)
    place = happens(path)
    again = SqliteStore(place)
    assert _names(again) == {"kept", "lost"}
    again.close()
    assert _is_sound(place)


def test_a_file_that_is_packed_anew_where_it_lies_is_no_alarm(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    _add(store, *map(str, range(50)))
    database = apsw.Connection(str(path))
    database.execute("VACUUM")
    database.pragma("wal_checkpoint", "TRUNCATE")
    database.close()
    _add(store, "new")
    store.close()
    _crash(path)
    again = SqliteStore(path)
    assert len(_names(again)) == 52
    again.close()


def test_a_file_restored_with_sqlites_own_backup_under_an_open_store_is_read_at_once(
    path: Path, store: SqliteStore
) -> None:
    copy = _copy(path)
    _add(store, "lost")
    source, target = apsw.Connection(str(copy)), apsw.Connection(str(path))
    with target.backup("main", source, "main") as backup:
        backup.step(-1)
    source.close()
    target.close()
    assert _names(store) == {"kept"}
    _add(store, "new")
    store.close()
    assert _is_sound(path)


def test_a_store_that_was_opened_by_a_relative_path_stays_at_its_file_when_the_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("noonmark.db")
    _add(store, "kept")
    copy = _copy(tmp_path / "noonmark.db")
    monkeypatch.chdir(tmp_path / "other")
    assert _names(store) == {"kept"}
    _take_away_the_log(tmp_path / "noonmark.db")
    copy.replace(tmp_path / "noonmark.db")
    _add(store, "new")
    assert _names(store) == {"kept", "new"}
    assert not list((tmp_path / "other").iterdir())
    store.close()


def test_of_a_store_that_was_closed_only_the_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store, other = SqliteStore(path), SqliteStore(path)
    store.close()
    assert Path(f"{path}-pair").exists()
    other.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["noonmark.db"]


def test_where_no_note_can_be_written_nothing_is_known_and_nothing_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(pair, "_write", refuse)
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    _add(store, "kept")
    assert not Path(f"{path}-pair").exists()
    store.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"": 5, "-wal": []}', "[" * 100_000])
def test_a_note_that_is_damaged_says_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "noonmark.db"
    SqliteStore(path).close()
    Path(f"{path}-pair").write_text(text, "utf-8")
    _crash(path)
    Path(f"{path}-pair").write_text(text, "utf-8")
    store = SqliteStore(path)
    assert _names(store) == {"lost"}
    store.close()


def test_the_refusals_are_told_in_chinese_too(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    refused = [
        pair.strange_log(path, [f"{path}-wal", f"{path}-shm"]),
        errors.unreachable(str(path), openfile.GONE, openfile.PUT_BACK),
        errors.unreachable(str(path), openfile.LOG_GONE.format(log=f"{path}-wal"), openfile.STOP),
        errors.unreachable(str(path), connection.REPLACED, connection.REPEAT),
        errors.unreachable(str(path), caller.STALE, caller.OPEN_ANEW),
    ]
    for error in refused:
        told = errors_zh.in_chinese(str(error))
        assert str(path) in told
        assert not re.search(r"[A-Za-z]{3,} [a-z]{2,} [a-z]{2,}", told.replace(str(tmp_path), "")), told
    assert f"mv {path}-wal {path}-wal.old; mv {path}-shm {path}-shm.old" in errors_zh.in_chinese(str(refused[0]))


def test_a_callers_transaction_is_not_joined_when_the_file_was_replaced_under_it(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    copy = _copy(path)
    theirs = apsw.Connection(str(path))
    theirs.execute("SELECT count(*) FROM job").fetchall()
    _take_away_the_log(path)
    copy.replace(path)
    theirs.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnreachable, match="Open your connection anew"):
        store.add_within(theirs, "r", [make_caller_row("a", at=SECOND)])
    theirs.execute("ROLLBACK")
    theirs.close()
    store.close()


def test_what_is_noted_of_a_file_that_was_taken_away_keeps_nobody_from_beginning_anew(path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", _CRASHING, str(path)], check=False).returncode == 9
    assert Path(f"{path}-pair").exists()
    for side in ("", "-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    anew = SqliteStore(path)
    assert anew.occurrences(Query()) == []
    anew.close()
