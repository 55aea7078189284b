"""Wake-up: whoever listens hears of earlier due moments, and of nothing else."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from noonmark.core.model import HOUR, SECOND
from noonmark.ports.store import Capability
from noonmark.stores.sqlite import SqliteStore, wake
from noonmark.testing.builders import make_caller_row
from noonmark.testing.clock import START, VirtualClock


@pytest.fixture
def other(store: SqliteStore, path: Path, clock: VirtualClock) -> Iterator[SqliteStore]:
    """A second store object at the same file, as another process would have it."""
    assert store.url.endswith(path.name)
    opened = SqliteStore(path, clock=clock, synchronous="OFF")
    yield opened
    opened.close()


class Ear:
    """Counts what a listener hears; ``heard`` waits for it."""

    def __init__(self, store: SqliteStore) -> None:
        self._semaphore = threading.Semaphore(0)
        self.stop = store.listen(self._semaphore.release)

    def heard(self, *, within: float = 5.0) -> bool:
        return self._semaphore.acquire(timeout=within)


def _place(path: Path) -> Path:
    place = wake.meeting_place(path)
    assert place is not None
    return place


def test_a_listener_elsewhere_hears_of_a_row_that_is_due_earlier(store: SqliteStore, other: SqliteStore) -> None:
    ear = Ear(other)
    store.add("a", [make_caller_row("a", at=START + HOUR)])
    assert ear.heard()


def test_the_own_listener_is_called_before_the_verb_returns(store: SqliteStore) -> None:
    ear = Ear(store)
    store.add("a", [make_caller_row("a", at=START + HOUR)])
    assert ear.heard(within=0)


def test_a_row_that_is_due_later_than_known_wakes_nobody(store: SqliteStore) -> None:
    store.add("a", [make_caller_row("a", at=START + SECOND)])
    ear = Ear(store)
    store.add("b", [make_caller_row("b", at=START + HOUR)])
    assert not ear.heard(within=0)
    store.add("c", [make_caller_row("c", at=START)])
    assert ear.heard(within=0)


def test_whoever_stopped_listening_hears_nothing(store: SqliteStore) -> None:
    ear = Ear(store)
    ear.stop()
    ear.stop()
    store.add("a", [make_caller_row("a", at=START)])
    assert not ear.heard(within=0)


def test_the_meeting_place_is_private(path: Path, store: SqliteStore) -> None:
    Ear(store)
    place = _place(path)
    for directory in (place, place.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert len(list(place.glob("*.sock"))) == 1


def test_a_dead_listener_is_forgotten(path: Path, store: SqliteStore) -> None:
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = _place(path) / "0-dead.sock"
    dead.bind(str(name))
    dead.close()
    store.add("a", [make_caller_row("a", at=START)])
    assert not name.exists()


def test_a_listener_that_does_not_read_holds_nobody_up(path: Path, store: SqliteStore) -> None:
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    deaf.bind(str(_place(path) / "0-deaf.sock"))
    for _ in range(600):  # far more than its buffer takes
        store._wake.tell()
    assert deaf.recv(16) == b"!"
    deaf.close()


def test_closing_leaves_no_socket_and_no_thread(path: Path, clock: VirtualClock) -> None:
    before = set(threading.enumerate())  # what other tests left may end meanwhile
    opened = SqliteStore(path, clock=clock, synchronous="OFF")
    opened.listen(lambda: None)
    (listening,) = set(threading.enumerate()) - before
    opened.close()
    assert not listening.is_alive()
    assert list(_place(path).iterdir()) == []


def test_a_path_too_long_for_sockets_falls_back_or_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("x" * 120)))
    assert wake.meeting_place(path) is not None
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / ("y" * 120)))
    assert wake.meeting_place(path) is None


def test_without_a_private_place_there_is_no_promise_to_notify(
    path: Path, monkeypatch: pytest.MonkeyPatch, clock: VirtualClock, tmp_path: Path
) -> None:
    open_to_all = tmp_path / "r"
    (open_to_all / f"noonmark-{os.getuid()}").mkdir(parents=True)
    (open_to_all / f"noonmark-{os.getuid()}").chmod(0o777)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(open_to_all))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(open_to_all))
    opened = SqliteStore(path, clock=clock, synchronous="OFF")
    assert Capability.NOTIFY not in opened.capabilities
    ear = Ear(opened)  # listeners in the same process are still told
    opened.add("a", [make_caller_row("a", at=START)])
    assert ear.heard(within=0)
    opened.close()


def test_the_promise_to_notify_is_made_where_sockets_work(store: SqliteStore) -> None:
    assert Capability.NOTIFY in store.capabilities


def test_a_script_that_just_ends_is_not_complained_of(tmp_path: Path) -> None:
    """Whoever only asks for a run seldom closes anything; the interpreter must not warn of a socket of ours."""
    path = tmp_path / "noonmark.db"
    program = (
        "from noonmark import Scheduler, manual\n"
        f"sched = Scheduler('sqlite:///{path}', rules=False)\n"
        "@sched.job(manual(), reason='to be asked for')\n"
        "def work() -> None: ...\n"
        "work.later('0s')()\n"
        "print(sched.store._wake._voice is not None)\n"
    )
    with closing(SqliteStore(path)) as elsewhere:
        ear = Ear(elsewhere)
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", program], capture_output=True, text=True, check=False
        )
        assert ear.heard(), "the case needs a script that has a voice"
    assert (done.stdout, done.stderr) == ("True\n", "")
