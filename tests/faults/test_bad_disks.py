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
        wait_for(lambda: "done_once" in str(_successes(tmp_path)), at_most=60, what="the first success")
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


def test_a_worker_whose_disk_fills_says_so_waits_and_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gate, "MENDING", SECOND // 10)  # what a worker may not wait longer for is not this
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
        for n in range(2, 20):
            big.later("0s")(n=n)
        wait_for(lambda: "until somebody makes room" in caplog.text, at_most=60, what="the full disk")
        assert "Free some space" in caplog.text
        worker.join(1)
        assert worker.is_running
        asked = {row.id for row in sched.occurrences("big")}
        for link in (store._file.main, store._file.urgent):
            link._connection.pragma("max_page_count", 1_000_000)
        wait_for(
            lambda: {row.state for row in sched.occurrences("big")} == {State.SUCCESS}, at_most=60, what="the rest"
        )
        worker.stop()
        assert {row.id for row in sched.occurrences("big")} == asked, "nothing that was accepted is gone"
    checked = apsw.Connection(str(path))
    assert checked.pragma("integrity_check") == "ok"
    checked.close()
    with Scheduler(f"sqlite:///{path}", rules=False) as again:
        (first,) = again.occurrences("big", key="big:1")
        assert (first.state, first.result) == (State.SUCCESS, "1" * 100_000)


def test_a_worker_whose_file_cannot_grow_waits_for_its_store_and_loses_nothing(folder: Path) -> None:
    size = (folder / "noonmark.db").stat().st_size
    worker = start_worker(
        folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100_000, resource.RLIM_INFINITY))
    )
    try:
        wait_for(lambda: "the worker waits for it and loses nothing" in said(folder), at_most=60, what="the outage")
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
noonmark() { exec "$PYTHON" -m noonmark.faces.cli "$@" --url sqlite:///noonmark.db; }
noonmark worker jobs.py 2> ../full.log &
worker=$!
for n in $(seq 200); do grep -q "until somebody makes room" ../full.log && break; sleep 0.2; done
dd if=/dev/zero of=filler bs=4k 2> /dev/null || true
code=0; (noonmark doctor > ../doctor.log 2>&1) || code=$?
echo "doctor $code" > ../codes.log
kill -0 $worker && echo "worker waits" >> ../codes.log
rm filler
mount -o remount,size=20m .
for n in $(seq 100); do grep -q "answers again" ../full.log && break; sleep 0.1; done
kill $worker
code=0; wait $worker || code=$?
echo "worker $code" >> ../codes.log
mount -o remount,ro .
code=0; (noonmark worker jobs.py 2> ../ro.log) || code=$?
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
def test_a_real_disk_that_is_full_is_waited_for_and_one_that_is_read_only_ends_the_worker(folder: Path) -> None:
    (folder / "small").mkdir()
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", IN_A_SMALL_DISK],
        cwd=folder,
        env={**environment(), "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    codes = (folder / "codes.log").read_text(encoding="utf-8").splitlines()
    assert codes == ["doctor 1", "worker waits", "worker 0", "read-only 4"]
    full, looked, read_only = (
        (folder / name).read_text(encoding="utf-8") for name in ("full.log", "doctor.log", "ro.log")
    )
    assert "the disk is full; nothing of the last change was kept, everything before it is intact" in full
    assert "the store answers again" in full
    assert "The disk is full" in looked
    assert "Check that its directory exists and that you may write it" in read_only
    assert "Traceback" not in full + looked + read_only
