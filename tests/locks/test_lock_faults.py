"""Locks in real time, with real servers and processes that are stopped and killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lock_places import PLACES, Place

from noonmark.core.model import SECOND
from noonmark.locks import LockError, LockLost, LockTaken, lock, open_locks
from noonmark.testing.servers import start_postgres, start_redis

HOLDER = """
import sys, time
from noonmark.locks import LockLost, lock
with lock("a", ttl=sys.argv[2], at=sys.argv[1], wait="20s") as held:  # a busy machine may answer later than the ttl
    print("holding", held.fence, flush=True)
    sys.stdin.readline()
    try:
        held.check()
        print("still trusted", flush=True)
    except LockLost as error:
        print("lost", flush=True)
"""


@contextlib.contextmanager
def holder(url: str, ttl: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock "a"."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, ttl],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait(10)
        process.stdin.close()
        process.stdout.close()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().split()[0]


def test_locks_of_every_kind_are_kept_far_beyond_their_ttl(make_place: Callable[[str], Place]) -> None:
    """All at the same time, for three ttls, while somebody else asks again and again."""

    def keep(kind: str) -> int:
        place, name = places[kind], f"kept-{kind}"  # one of Redlock's servers is that of redis
        mine, other = place.open(), place.open()
        refused = 0
        try:
            with lock(name, ttl="1500ms", at=mine) as held:
                until = time.monotonic() + 4.5
                while time.monotonic() < until:
                    with contextlib.suppress(LockError):  # a busy machine may keep the stranger waiting, not the holder
                        assert other.acquire(name, SECOND, "stranger") is None
                        refused += 1
                    held.check()
                    time.sleep(0.05)
            assert other.acquire(name, SECOND, "stranger") is not None
            assert other.release(name, "stranger")
        finally:
            for locks in {id(mine): mine, id(other): other}.values():
                locks.close()
        return refused

    places = {kind: make_place(kind) for kind in PLACES}
    with ThreadPoolExecutor(len(places)) as pool:
        assert min(pool.map(keep, places)) > 3


@pytest.mark.parametrize("kind", ["sqlite", "redis", "redlock", "postgres", "postgres-advisory"])
def test_a_killed_holder_s_lock_frees_itself(kind: str, make_place: Callable[[str], Place]) -> None:
    place = make_place(kind)
    with holder(place.url, "1s") as process:
        assert said(process) == "holding"
        with pytest.raises(LockTaken):
            lock("a", at=place.url).acquire()
        process.kill()
        killed = time.monotonic()
        with lock("a", at=place.url, wait="10s"):
            waited = time.monotonic() - killed
    assert waited < 1 + 4  # the ttl, and what a busy machine needs


@pytest.mark.parametrize("kind", ["sqlite", "redis", "redlock", "postgres", "postgres-advisory"])
def test_a_stopped_holder_knows_as_soon_as_it_goes_on(kind: str, make_place: Callable[[str], Place]) -> None:
    place = make_place(kind)
    with holder(place.url, "600ms") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        first = int(process.stdout.readline().split()[1])
        process.send_signal(signal.SIGSTOP)
        with lock("a", at=place.url, wait="10s") as held:
            assert held.fence > first
            process.stdin.write("\n")
            process.stdin.flush()
            process.send_signal(signal.SIGCONT)
            assert said(process) == "lost"
            process.wait(10)
            held.check()


def test_a_service_that_hangs_ends_trust_on_time_though_the_renewal_hangs_with_it() -> None:
    told = threading.Event()
    with start_redis() as server, contextlib.closing(open_locks(server.url)) as locks:
        one = lock("a", ttl="2s", at=locks, on_lost=told.set)
        held = one.acquire()
        server.pause()
        began = time.monotonic()
        assert told.wait(10)
        assert time.monotonic() - began < 2 + 1.5
        assert held.lost
        with pytest.raises(LockLost):
            held.check()
        server.resume()
        assert one.release() is False


def test_a_server_that_was_killed_and_came_back_in_time_costs_no_lock() -> None:
    with (
        start_postgres() as server,
        contextlib.closing(open_locks(server.url)) as locks,
        lock("a", ttl="20s", at=locks, renew=False) as held,
    ):
        server.kill()
        with pytest.raises(LockError):
            held.renew()
        server.start()
        until = time.monotonic() + 10
        while True:
            try:
                held.renew()
                break
            except LockError:  # still starting up
                assert time.monotonic() < until
        assert locks.acquire("a", 1_000_000, "stranger") is None
        held.check()


def test_redlock_outlives_a_minority_and_says_when_the_majority_is_gone(make_trio: Callable[[], Any]) -> None:
    servers, url = make_trio()
    with contextlib.closing(open_locks(url)) as locks:
        granted = locks.acquire("a", 20_000_000, "t")
        assert granted is not None
        servers[0].kill()
        assert locks.renew("a", 20_000_000, "t") == granted
        assert locks.acquire("a", 20_000_000, "stranger") is None
        assert locks.release("a", "t")
        later = locks.acquire("a", 20_000_000, "u")
        assert later is not None
        assert later.fence > granted.fence
        servers[1].kill()
        for call in (
            lambda: locks.acquire("b", 1_000_000, "t"),
            lambda: locks.renew("a", 1_000_000, "u"),
            lambda: locks.release("a", "u"),
        ):
            with pytest.raises(LockError, match="only 1 of 3"):
                call()
        servers[0].start()
        assert locks.acquire("c", 1_000_000, "t") is not None


def test_redlock_waits_for_a_hanging_server_only_a_little(make_trio: Callable[[], Any]) -> None:
    servers, url = make_trio()
    with contextlib.closing(open_locks(url.replace("3s", "1s"))) as locks:
        assert locks.acquire("warm", 20_000_000, "t") is not None
        servers[2].pause()
        began = time.monotonic()
        assert locks.acquire("a", 20_000_000, "t") is not None
        assert time.monotonic() - began < 6  # three rounds, and each waits for it at most once
        servers[2].resume()


def test_redlock_fences_grow_whichever_majority_grants(make_trio: Callable[[], Any]) -> None:
    """Each grant is by another majority, and the clock of each server is its own: the written-back fence carries on."""
    servers, url = make_trio()
    fences = []
    with contextlib.closing(open_locks(url)) as locks:
        for turn in range(9):
            away = servers[turn % 3]
            away.kill()
            token = f"t{turn}"
            granted = locks.acquire("a", 20_000_000, token)
            assert granted is not None
            fences.append(granted.fence)
            assert locks.release("a", token)
            away.start()
    assert fences == sorted(set(fences))


@pytest.fixture
def make_trio() -> Iterator[Callable[[], Any]]:
    """Three servers of one test's own."""
    with contextlib.ExitStack() as stack:

        def make() -> Any:
            servers = [stack.enter_context(start_redis()) for _ in range(3)]
            return servers, "redlock://" + ",".join(f"127.0.0.1:{server.port}" for server in servers) + "?timeout=3s"

        yield make


def test_processes_count_exactly_under_one_lock(tmp_path: Path) -> None:
    """Read, add one, write: without the lock this loses updates at once."""
    counter, url = tmp_path / "count", f"sqlite:///{tmp_path}/l.db"
    counter.write_text("0")
    script = (
        "import sys, pathlib\n"
        "from noonmark.locks import lock\n"
        "path = pathlib.Path(sys.argv[2])\n"
        "for _ in range(100):\n"
        "    with lock('count', at=sys.argv[1], wait='30s'):\n"
        "        path.write_text(str(int(path.read_text()) + 1))\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script, url, str(counter)]) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert counter.read_text() == "400"


def test_nothing_is_left_when_a_process_ends(tmp_path: Path) -> None:
    """No thread, no warning, no traceback, whatever was held."""
    script = (
        "import asyncio\n"
        "from noonmark.locks import lock\n"
        "held = lock('a', ttl='300ms').acquire()\n"
        "async def main():\n"
        "    async with lock('b'): await asyncio.sleep(0.3)\n"
        "asyncio.run(main())\n"
        "held.check()\n"
        "print('end')\n"
    )
    env = {key: value for key, value in os.environ.items() if not key.startswith("NOONMARK")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", script],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
