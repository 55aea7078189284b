"""A disk that fills, a file that cannot grow, a disk that became read-only, a database that was damaged."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from fleet import wait_for

import noonmark as noonmark_package
from noonmark import Scheduler, State, manual
from noonmark.core.model import SECOND, Query
from noonmark.engine import gate
from noonmark.ports.store import StoreUnusable
from noonmark.stores.sqlite import SqliteStore

JOBS = """
from noonmark import Scheduler, every

sched = Scheduler("sqlite:///noonmark.db", rules=False)

@sched.job(every("1s"), key="tick:{scheduled_for}", reason="Fill the disk.")
async def tick() -> str:
    return "x" * 60_000
"""


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "noonmark.faces.cli", *args, "--url", "sqlite:///noonmark.db"]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")}
    return {**kept, "PYTHONPATH": str(Path(noonmark_package.__file__ or "").parents[1]), "LANG": "C.UTF-8"}


def noonmark(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*args), cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )


def start_worker(folder: Path, before: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
    with (folder / "said.log").open("wb") as said:
        return subprocess.Popen(
            command("worker", "jobs.py"),
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=said,
            preexec_fn=before,
        )


def said(folder: Path) -> str:
    return (folder / "said.log").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which a worker ran for a moment."""
    (tmp_path / "jobs.py").write_text(JOBS, encoding="utf-8")
    worker = start_worker(tmp_path)
    try:
        wait_for(lambda: "done_once" in str(_successes(tmp_path)), at_most=30, what="the first success")
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0, said(tmp_path)
    return tmp_path


def _successes(folder: Path) -> list[str]:
    if not (folder / "noonmark.db").exists():
        return []
    store = SqliteStore(folder / "noonmark.db")
    try:
        return ["done_once" for _ in store.occurrences(Query(states=frozenset({State.SUCCESS})))]
    finally:
        store.close()


def test_a_damaged_database_ends_every_command_with_4_and_is_left_as_it_is(folder: Path) -> None:
    path = folder / "noonmark.db"
    whole = bytearray(path.read_bytes())
    whole[2 * 4096 : 24 * 4096] = b"\xff" * 22 * 4096
    path.write_bytes(whole)
    for args in (["jobs"], ["why", "tick"], ["verify"], ["run", "tick"], ["worker", "jobs.py"]):
        answer = noonmark(folder, *args)
        assert answer.returncode == 4, answer
        assert "damaged" in answer.stderr
        assert "Restore it from a backup" in answer.stderr
        assert "Traceback" not in answer.stderr
    assert path.read_bytes() == bytes(whole)


def test_a_worker_whose_disk_fills_says_so_and_what_it_had_done_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MENDING", SECOND)  # in earnest it waits half a minute for somebody to make room
    path = tmp_path / "noonmark.db"
    with Scheduler(f"sqlite:///{path}", rules=False) as sched:

        @sched.job(manual(), key="big:{params.n}", lease="2s", reason="Fill the disk.")
        async def big(n: int) -> str:
            return f"{n}" * 100_000

        big.later("0s")(n=1)
        worker = sched.worker()
        worker.start()
        wait_for(lambda: sched.occurrences("big", states=[State.SUCCESS]), what="the first run")
        store = sched.store
        assert isinstance(store, SqliteStore)
        for link in (store._file.main, store._file.urgent):
            connection = link._connection
            connection.pragma("max_page_count", connection.pragma("page_count") + 8)
        with pytest.raises(StoreUnusable, match="the disk is full") as caught:  # noqa: PT012
            for n in range(2, 40):
                big.later("0s")(n=n)
                worker.join(0.05)
            worker.join(20)
        assert "Free some space" in str(caught.value)
    checked = apsw.Connection(str(path))
    assert checked.pragma("integrity_check") == "ok"
    checked.close()
    with Scheduler(f"sqlite:///{path}", rules=False) as again:
        (first,) = again.occurrences("big", key="big:1")
        assert (first.state, first.result) == (State.SUCCESS, "1" * 100_000)
        asked = [row.id for row in again.occurrences("big")]

        @again.job(manual(), name="big", key="big:{params.n}", lease="2s", reason="Fill the disk.")
        async def small(n: int) -> str:
            return f"{n}"

        with_space = again.worker()
        with_space.start()
        wait_for(
            lambda: {row.state for row in again.occurrences("big")} == {State.SUCCESS}, at_most=60, what="the rest"
        )
        with_space.stop()
        assert [row.id for row in again.occurrences("big")] == asked, "nothing that was accepted is gone"


def test_a_worker_whose_file_cannot_grow_waits_for_its_store_and_loses_nothing(folder: Path) -> None:
    size = (folder / "noonmark.db").stat().st_size
    worker = start_worker(
        folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100_000, resource.RLIM_INFINITY))
    )
    try:
        wait_for(lambda: "the worker waits for it and loses nothing" in said(folder), at_most=30, what="the outage")
        assert worker.poll() is None
    finally:
        worker.kill()
        worker.wait()
    assert "Traceback" not in said(folder)
    before = len(_successes(folder))
    worker = start_worker(folder)
    try:
        wait_for(lambda: len(_successes(folder)) > before, at_most=60, what="work after the outage")
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0
    proved = noonmark(folder, "verify")
    assert proved.returncode == 0, proved.stdout


IN_A_SMALL_DISK = r"""
set -e
mount -t tmpfs -o size=1500k none small
cp noonmark.db jobs.py small
cd small
code=0; "$@" 2> ../full.log || code=$?
echo "worker $code" > ../codes.log
mount -o remount,ro .
code=0; "$@" 2> ../ro.log || code=$?
echo "read-only $code" >> ../codes.log
"""


def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, check=False, timeout=20
    )
    return tried.returncode == 0


@pytest.mark.skipif(not _may_mount(), reason="this system does not allow a small disk to be mounted")
def test_a_real_disk_that_is_full_and_then_read_only_is_told_in_words_and_ends_with_4(folder: Path) -> None:
    (folder / "small").mkdir()
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", IN_A_SMALL_DISK, "sh", *command("worker", "jobs.py")],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "codes.log").read_text().split() == ["worker", "4", "read-only", "4"]
    full, read_only = ((folder / name).read_text(encoding="utf-8") for name in ("full.log", "ro.log"))
    assert "the disk is full; nothing of the last change was kept, everything before it is intact" in full
    assert "read-only" in read_only
    assert "Traceback" not in full + read_only
