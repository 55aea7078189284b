"""The clocks of this machine: one boot-time clock for all its processes, and none that is faked on the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from noonmark.core.model import SECOND
from noonmark.engine.host import process_started
from noonmark.ports.clock import STRANGE, SystemClock, offset_in
from noonmark.stores.sqlite import SqliteStore

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from faults.faking import sweep

WEEK = "604800"
_ASK = """
import sys
from noonmark.engine.host import process_started
from noonmark.ports.clock import SystemClock
from noonmark.stores.sqlite import SqliteStore

clock = SystemClock()
print(clock.boot(), clock.boot_id(), process_started(int(sys.argv[2])))
try:
    store = SqliteStore(sys.argv[1])
    store.signal("x", [])
    print(store.now())
except Exception as refused:
    print(f"{type(refused).__name__}: {refused}")
"""


def _may(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "true"], capture_output=True, check=False, timeout=20).returncode == 0


NAMESPACE = ("unshare", "-rT", "--boottime", WEEK, "--fork")
FAKETIME = ("faketime", "-f", "+300s")


def _ask(way: tuple[str, ...], path: Path) -> list[str]:
    sweep()
    asked = [*way, sys.executable, "-c", _ASK, str(path), str(os.getpid())]
    return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_this_machine_s_clock_is_no_stranger() -> None:
    assert STRANGE not in SystemClock().boot_id()


def test_what_a_time_namespace_adds_is_read() -> None:
    assert offset_in("monotonic           0         0\nboottime       604800        25\n") == 604_800_000_000_025
    assert offset_in("monotonic  5  0\nboottime  -3  0\n") == -3_000_000_000
    assert offset_in("") == 0


@pytest.mark.skipif(not _may(*NAMESPACE), reason="this system makes no time namespace")
def test_a_process_in_a_time_namespace_has_the_time_of_all_the_others(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    try:
        told, theirs = _ask(NAMESPACE, path)
        boot, boot_id, started = told.split()
        assert abs(SystemClock().boot() - int(boot)) < 60 * SECOND
        assert boot_id == SystemClock().boot_id()
        assert started == process_started(os.getpid()), "a worker is known to live across the border"
        assert 0 <= store.now() - int(theirs) < 60 * SECOND
    finally:
        store.close()


@pytest.mark.skipif(not _may(*FAKETIME), reason="libfaketime is not installed")
def test_a_process_whose_clock_is_faked_is_refused_by_a_store_that_others_use(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path)
    try:
        before = store.now()
        told, said = _ask(FAKETIME, path)
        assert STRANGE in told.split()[1]
        assert said.startswith("StoreUnusable: cannot use the store")
        assert "another boot-time clock than the others" in said
        store.signal("y", [])
        assert 0 <= store.now() - before < 60 * SECOND
    finally:
        store.close()


def test_what_killed_processes_under_a_false_clock_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = [f"faketime_shm_{int(gone.stdout)}", f"sem.faketime_sem_{int(gone.stdout)}"]
    kept = [f"faketime_shm_{os.getpid()}", "faketime_shm_x", "other_1_1"]
    for name in (*left, *kept):
        (tmp_path / name).touch()
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
