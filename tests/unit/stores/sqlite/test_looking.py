"""A file that this user may only read is looked at: what is there is told, nothing is written, acting is refused."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from noonmark import Scheduler, manual
from noonmark.core.errors_zh import in_chinese
from noonmark.core.model import Act, Query
from noonmark.ports.store import StoreUnreachable, StoreUnusable
from noonmark.stores.sqlite import SqliteStore, looking, schema
from noonmark.testing.builders import make_caller_row

READS = (
    ("jobs",), ("why", "greet"), ("history",), ("verify",), ("doctor", "--state", "none"), ("backlog",), ("leases",),
    ("flags",), ("next",), ("show", "greet"), ("ledger", "show", "--state", "none"),
)  # fmt: skip
SCRIPT = """
import contextlib, io, json, os, sys
from noonmark.faces.cli.__main__ import main
os.environ["NOONMARK_URL"] = sys.argv[1]
said = []
for line in json.loads(sys.argv[2]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line)
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""
DROP_FROM_WHAT_CAN_BE_HAD = 24
OVERRIDES = (1, 2)
"""root's rights to write and to read whatever the modes of files say, by their numbers in Linux."""


def without_overrides() -> None:
    """Take root's rights away, between fork and exec; others have none."""
    if os.getuid() == 0 and sys.platform == "linux":
        for right in OVERRIDES:
            ctypes.CDLL(None).prctl(DROP_FROM_WHAT_CAN_BE_HAD, right, 0, 0, 0)


def make(path: Path) -> None:
    """Leave a store with one job and one run that was asked for, which nobody has open any more."""
    sched = Scheduler(f"sqlite:///{path}", rules=False)

    @sched.job(manual(), reason="Needs a name.")
    def greet(name: str = "") -> None: ...

    greet.run_now(reason="x")
    sched.close()


@contextmanager
def kept_from_others(folder: Path, *, folder_too: bool = True) -> Iterator[None]:
    """Take the right to write away from the folder and from what lies in it, or only from the latter."""
    for each in folder.iterdir():
        each.chmod(0o444)
    if folder_too:
        folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)
        for each in folder.iterdir():
            each.chmod(0o644)


def called(path: Path, *lines: tuple[str, ...], query: str = "") -> list[Any]:
    """Call the command line as a user whom the modes of files bind; return exit code, stdout and stderr of each call."""
    url = f"sqlite:///{path}{query}"
    env = {**os.environ, "NOONMARK_STATE": "none", "NOONMARK_LANG": "en", "XDG_RUNTIME_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, url, json.dumps(lines)],
        capture_output=True, text=True, check=False, timeout=120, env=env, preexec_fn=without_overrides,
    )  # fmt: skip
    if os.getuid() == 0 and os.access(path, os.W_OK) and _writes_all_the_same(path):
        pytest.skip("root's right to write everything cannot be given up here")
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def _writes_all_the_same(path: Path) -> bool:
    look = "import os, sys; sys.exit(os.access(sys.argv[1], os.W_OK))"
    asked = [sys.executable, "-c", look, str(path)]
    return subprocess.run(asked, check=False, timeout=60, preexec_fn=without_overrides).returncode != 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


@pytest.mark.parametrize("query", ["", "?driver=sqlite3"])
def test_every_command_that_reads_works_in_a_folder_that_cannot_be_written(folder: Path, query: str) -> None:
    path = folder / "noonmark.db"
    make(path)
    there = sorted(each.name for each in folder.iterdir())
    with kept_from_others(folder):
        answers = called(path, *READS, query=query)
    for line, (code, out, err) in zip(READS, answers, strict=True):
        assert (code, "cannot" in err) == (0, False), (line, out, err)
    assert "greet" in answers[0][1]
    assert "This user may only read" in answers[4][1]
    assert sorted(each.name for each in folder.iterdir()) == there, "nothing is left behind"


def test_a_file_that_somebody_works_with_is_read_as_it_is_this_moment(folder: Path) -> None:
    path = folder / "noonmark.db"
    make(path)
    with _open(path) as store:
        store.add("late", [make_caller_row("late", at=store.now(), job="greet", key="late")])
        with kept_from_others(folder):
            (code, out, err), (refused, _, why) = called(path, ("history", "--json"), ("cancel", "r1"))
    assert code == 0, err
    assert {row["key"] for row in json.loads(out)["occurrences"]} >= {"late"}, "its log is read, too"
    assert (refused, "read-only" in why) == (4, True)


def test_where_only_the_file_is_read_only_nothing_is_left_beside_it_for_the_workers_to_stumble_over(
    folder: Path,
) -> None:
    path = folder / "noonmark.db"
    make(path)
    there = sorted(each.name for each in folder.iterdir())
    with kept_from_others(folder, folder_too=False):
        ((code, out, err),) = called(path, ("jobs",))
        assert sorted(each.name for each in folder.iterdir()) == there
    assert (code, "greet" in out) == (0, True), err


def test_what_a_person_asks_for_is_refused_in_words(folder: Path) -> None:
    path = folder / "noonmark.db"
    make(path)
    acts = (("run", "greet"), ("pause", "greet", "--reason", "x"), ("signal", "a"), ("cancel", "r1", "--lang", "zh"))
    with kept_from_others(folder):
        answers = called(path, *acts)
    for code, _, err in answers[:2]:
        assert (code, "the file or its directory is read-only" in err) == (4, True), err
    assert answers[2][0] == 4
    assert "文件或其目录只读" in answers[3][2]


def test_a_log_without_its_index_is_told_and_not_left_out(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    make(path)
    with _open(path) as store:
        store.add("late", [make_caller_row("late", at=store.now(), job="greet", key="late")])
        for side in ("", "-wal"):
            shutil.copy(f"{path}{side}", folder / f"noonmark.db{side}")
    with kept_from_others(folder):
        english, chinese = called(folder / "noonmark.db", ("jobs",), ("jobs", "--lang", "zh"))
    assert (english[0], "holds changes that cannot be read without an index" in english[2]) == (4, True), english
    assert f"cp {folder / 'noonmark.db'} {folder / 'noonmark.db'}-wal FOLDER" in english[2]
    assert "没有旁边的索引就读不到" in chinese[2]


def test_a_copy_of_a_store_that_may_only_be_read_is_made_and_says_what_is_not_marked(
    folder: Path, tmp_path: Path
) -> None:
    path = folder / "noonmark.db"
    make(path)
    with kept_from_others(folder):
        target = f"sqlite:///{tmp_path / 'copied.db'}"
        ((code, out, err),) = called(path, ("store", "copy", f"sqlite:///{path}", target, "--go"))
    assert (code, "is not marked as copied" in err) == (0, True), (out, err)


# -- the rest needs no other user: the file is said to be one that may only be read


@pytest.fixture
def looked_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make(path)
    monkeypatch.setattr(looking, "may_write", lambda _: False)
    return path


def test_only_who_looks_is_let_in(looked_at: Path) -> None:
    with _open(looked_at, create=False) as store:
        assert store.only_looks
        with pytest.raises(StoreUnusable, match="read-only"):
            store.act("1", Act(kind="pause", actor="a", reason="x", job="greet"))
    with _open(looked_at) as worker:
        assert not worker.only_looks


def test_who_looks_sees_what_is_written_meanwhile_and_after_it(looked_at: Path) -> None:
    with _open(looked_at, create=False) as store:
        before = len(store.occurrences(Query()))
        with _open(looked_at) as worker:
            worker.add("a", [make_caller_row("a", at=worker.now(), job="greet", key="a")])
            assert len(store.occurrences(Query())) == before + 1
            worker.add("b", [make_caller_row("b", at=worker.now(), job="greet", key="b")])
            assert len(store.occurrences(Query())) == before + 2
        assert len(store.occurrences(Query())) == before + 2, "its log is in the file now"
        with _open(looked_at) as worker:
            worker.add("c", [make_caller_row("c", at=worker.now(), job="greet", key="c")])
        assert len(store.occurrences(Query())) == before + 3


def test_what_was_read_while_somebody_began_to_write_is_not_believed(looked_at: Path) -> None:
    with _open(looked_at, create=False) as store:
        with pytest.raises(StoreUnreachable, match="began to write it") as refused, store._file.reader.read():
            os.utime(looked_at, ns=(1, 1))
        assert "开始写入" in in_chinese(str(refused.value))
        assert store.occurrences(Query())


def test_a_file_of_an_older_noonmark_is_told_and_not_changed(looked_at: Path) -> None:
    older = apsw.Connection(str(looked_at))
    older.pragma("user_version", schema.version() - 1)
    older.close()
    with pytest.raises(StoreUnusable, match="written by an older noonmark") as refused:
        SqliteStore(looked_at, create=False)
    assert "较旧的 noonmark" in in_chinese(str(refused.value))
    assert "请以有权限的用户更新" in in_chinese(str(refused.value))


def test_on_another_machine_its_time_is_that_of_this_one_and_never_behind(looked_at: Path) -> None:
    other = apsw.Connection(str(looked_at))
    other.execute("UPDATE clock SET boot_id = 'elsewhere', mark = ?", (10**16,))
    other.close()
    with _open(looked_at, create=False) as store:
        assert store.now() == 10**16


@contextmanager
def _open(path: Path, *, create: bool = True) -> Iterator[SqliteStore]:
    store = SqliteStore(path, synchronous="OFF", create=create)
    try:
        yield store
    finally:
        store.close()
