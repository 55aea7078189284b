"""``lock:`` with real workers, a real Redis, and somebody outside who takes the lock with the bare functions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from noonmark import CatchUp, ContextSync, Retry, Scheduler, manual
from noonmark.locks import acquire, release
from noonmark.testing.servers import Redis, start_redis


@pytest.fixture(scope="module")
def server() -> Iterator[Redis]:
    """The Redis where the lock is; the store is elsewhere."""
    with start_redis() as running:
        yield running


@pytest.fixture
def outside(server: Redis) -> Iterator[redis.Redis]:
    """A client of somebody who knows nothing of noonmark."""
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def live() -> Iterator[Scheduler]:
    with Scheduler("memory://", rules=False) as scheduler:
        yield scheduler


def wait_for(is_so: Callable[[], Any], *, at_most: float = 60) -> Any:
    """Wait until something is so, and return it."""
    end = time.monotonic() + at_most
    while not (found := is_so()):
        assert time.monotonic() < end, f"it did not come true within {at_most} s"
        time.sleep(0.02)
    return found


def row(live: Scheduler, name: str) -> Any:
    """Return the one row of a job."""
    (found,) = live.occurrences(name)
    return found


def test_the_lock_is_held_renewed_and_given_back_and_its_fence_grows(
    live: Scheduler, server: Redis, outside: redis.Redis
) -> None:
    fences: list[int] = []
    ttls: list[int] = []

    @live.job(manual(), key="{n}", reason="x", lock={"name": "reindex", "kind": "redis", "at": server.url, "ttl": "2s"})
    def reindex(ctx: ContextSync, n: int) -> None:  # noqa: ARG001 - it only makes the key
        fences.append(ctx.lock_fence)
        for _ in range(25):  # longer than the ttl
            time.sleep(0.1)
            ttls.append(outside.pttl("lock:reindex"))  # type: ignore[arg-type]

    reindex.later("0s")(n=1)
    worker = live.worker(concurrency=4)
    worker.start()
    try:
        wait_for(lambda: row(live, "reindex").state == "SUCCESS")
        reindex.later("0s")(n=2)
        wait_for(lambda: [each.state for each in live.occurrences("reindex")] == ["SUCCESS"] * 2)
    finally:
        worker.stop()
    assert len(ttls) == 50
    assert min(ttls) > 0, "it was renewed in time, all the time"
    assert 0 < fences[0] < fences[1]
    assert outside.get("lock:reindex") is None, "given back, not left to its ttl"


def test_a_command_is_given_the_fence(server: Redis, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = "' '.join(os.environ[f'NOONMARK_{name}'] for name in ('LOCK_FENCE', 'FENCE'))"
    script = f"import os; open({str(out)!r}, 'w').write({said})"
    rules = tmp_path / "noonmark.yaml"
    rules.write_text(
        "version: 1\njobs:\n  reindex:\n    manual: true\n    reason: x\n"
        f"    lock: {{name: command, kind: redis, at: '{server.url}'}}\n"
        f"    command: [{sys.executable}, -c, {json.dumps(script)}]\n"
    )
    with Scheduler("memory://", rules=str(rules)) as live:
        worker = live.worker()
        worker.start()
        try:
            live.jobs["reindex"].later("0s")()
            wait_for(lambda: row(live, "reindex").state == "SUCCESS")
        finally:
            worker.stop()
    lock_fence, fence = map(int, out.read_text().split())
    assert lock_fence > 0
    assert lock_fence != fence, "one is Redis's, the other the store's"


def test_an_outsiders_lock_is_waited_for_and_why_says_so(live: Scheduler, server: Redis, outside: redis.Redis) -> None:
    assert acquire(outside, "reindex", 60_000, "outsider")
    ran = threading.Event()

    @live.job(manual(), reason="x", lock={"name": "reindex", "at": server.url}, retry=0)
    async def reindex() -> None:
        ran.set()

    reindex.later("0s")()
    worker = live.worker()
    worker.start()
    try:
        wait_for(lambda: row(live, "reindex").code == "lock_wait")
        assert not ran.is_set()
        said = row(live, "reindex").sentence
        assert "Somebody else holds the lock reindex" in said
        assert server.url.partition("://")[2] in said
        assert release(outside, "reindex", "outsider")
        assert ran.wait(20), "it is asked again within five seconds"
    finally:
        worker.stop()


def test_a_lock_that_is_lost_cancels_the_run(live: Scheduler, server: Redis, outside: redis.Redis) -> None:
    begun, told = threading.Event(), threading.Event()

    @live.job(manual(), reason="x", lock={"name": "reindex", "at": server.url, "ttl": "1s"}, retry=Retry(max=0))
    def reindex(ctx: ContextSync) -> None:
        begun.set()
        while not ctx.lost:
            time.sleep(0.02)
        told.set()

    reindex.later("0s")()
    worker = live.worker()
    worker.start()
    try:
        assert begun.wait(20)
        outside.set("lock:reindex", "somebody else")
        assert told.wait(10)
        found = wait_for(lambda: (last := row(live, "reindex")).state == "FAILED_MANUAL" and last)
        assert found.code == "lock_lost"
    finally:
        worker.stop()
    assert outside.get("lock:reindex") == b"somebody else", "what is not ours is left alone"


def test_an_unreachable_lock_service_starts_nothing_and_delays_nobody(live: Scheduler) -> None:
    ran = threading.Event()

    @live.job(manual(), reason="x", lock={"name": "reindex", "at": "redis://127.0.0.1:1"})
    def reindex() -> None:
        raise AssertionError("it must not start")

    @live.job(manual(), reason="x")
    def other() -> None:
        ran.set()

    reindex.later("0s")()
    other.later("0s")()
    worker = live.worker()
    worker.start()
    try:
        assert ran.wait(10)
        wait_for(lambda: row(live, "reindex").code == "lock_away")
        assert "does not answer" in row(live, "reindex").sentence
    finally:
        worker.stop()


def test_a_mute_lock_service_delays_others_by_a_second_at_most_and_not_twice(live: Scheduler) -> None:
    with start_redis() as mute:
        lock = {"name": "reindex", "at": mute.url}
        moments: dict[str, float] = {}

        @live.job(manual(), key="{n}", reason="x", lock=lock)
        def reindex(n: int) -> None:  # noqa: ARG001
            raise AssertionError("it must not start")

        @live.job(manual(), key="other:{n}", reason="x", overlap="skip")
        def other(n: int) -> None:
            moments[f"{n}"] = time.monotonic()

        mute.pause()
        try:
            worker = live.worker()
            worker.start()
            asked = time.monotonic()
            for n in range(3):
                reindex.later("0s")(n=n)
            other.later("100ms")(n=0)
            wait_for(lambda: moments.get("0"), at_most=5)
            assert moments["0"] - asked < 3
            reindex.later("0s")(n=9)
            asked = time.monotonic()
            other.later("100ms")(n=1)
            wait_for(lambda: moments.get("1"), at_most=5)
            assert moments["1"] - asked < 3
            wait_for(
                lambda: any(
                    each.code == "lock_away" and each.params == {"n": 9} for each in live.occurrences("reindex")
                )
            )
            (ninth,) = [each for each in live.occurrences("reindex") if each.params == {"n": 9}]
            assert "asked again in a few seconds" in ninth.sentence, (
                "who just did not answer is not asked again at once"
            )
        finally:
            mute.resume()
            worker.stop()
        with redis.Redis.from_url(mute.url) as client:
            wait_for(lambda: client.get("lock:reindex") is None)


PROGRAM = """
import os, sys, time
from noonmark import CatchUp, ContextSync, Scheduler, manual

sched = Scheduler(sys.argv[1], rules=False)
lock = {"name": "reindex", "kind": "redis", "at": "env:LOCKS", "ttl": "2s"}

@sched.job(
    manual(), key="{n}", reason="x", overlap="allow", lease="2s", lock=lock, catch_up=CatchUp(recheck="1s")
)
def reindex(ctx: ContextSync, n: int) -> None:
    with open(sys.argv[2], "a") as log:
        log.write(f"begin {n} {ctx.lock_fence} {time.monotonic()} {os.getpid()}\\n")
        log.flush()
        time.sleep(60 if n == 0 and ctx.attempt == 1 else 0.3)
        log.write(f"end {n} {ctx.lock_fence} {time.monotonic()}\\n")

if __name__ == "__main__" and len(sys.argv) > 2:
    sched.run(concurrency=4)
"""


@pytest.mark.usefixtures("outside")
def test_two_workers_and_an_outsider_never_hold_it_at_once_and_a_killed_workers_run_goes_on(
    server: Redis, tmp_path: Path
) -> None:
    program, log = tmp_path / "program.py", tmp_path / "log"
    program.write_text(PROGRAM)
    log.touch()
    url = f"sqlite:///{tmp_path}/n.db"
    command = [sys.executable, str(program), url, str(log)]
    environment = {**os.environ, "LOCKS": server.url}
    lock = {"name": "reindex", "kind": "redis", "at": "env:LOCKS", "ttl": "2s"}
    workers = [subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) for _ in range(2)]
    ended = threading.Event()
    outsider = threading.Thread(target=_contend, args=(server.url, ended, log))
    try:
        with Scheduler(url, rules=False) as sched:
            # Word for word as in the program: it is the same rule, so that nobody puts another revision in force.
            @sched.job(
                manual(), key="{n}", reason="x", overlap="allow", lease="2s", lock=lock, catch_up=CatchUp(recheck="1s")
            )
            def reindex(n: int) -> None: ...

            reindex.later("0s")(n=0)
            wait_for(lambda: "begin 0" in log.read_text())
            os.kill(int(log.read_text().split()[4]), signal.SIGKILL)
            outsider.start()
            for n in range(1, 4):
                reindex.later("0s")(n=n)
            wait_for(lambda: {each.state for each in sched.occurrences("reindex")} == {"SUCCESS"}, at_most=90)
            wait_for(
                lambda: "end outsider" in log.read_text()
            )  # who asks each quarter of a second may have come too late
    finally:
        ended.set()
        for worker in workers:
            worker.terminate()
            worker.wait(20)
        if outsider.ident is not None:
            outsider.join()
    _check_one_at_a_time(log.read_text())


def _contend(url: str, ended: threading.Event, log: Path) -> None:
    """Hold the lock for a moment, again and again, as a program that knows nothing of noonmark."""
    with redis.Redis.from_url(url) as client:
        turn = 0
        while not ended.wait(0.25):
            if acquire(client, "reindex", 5000, f"outsider-{turn}"):
                _note(log, f"begin outsider-{turn} 0")
                time.sleep(0.1)
                _note(log, f"end outsider-{turn} 0")
                release(client, "reindex", f"outsider-{turn}")
                turn += 1


def _note(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(f"{line} {time.monotonic()}\n")


def _check_one_at_a_time(text: str) -> None:
    lines = sorted((line.split() for line in text.splitlines()), key=lambda words: float(words[3]))
    holder, fences, outsiders = "", [], 0
    for what, who, fence, *_ in lines:
        if what == "begin":
            # The killed run never said that it ended; its lock lapsed by itself.
            assert holder in ("", "0"), f"{who} began while {holder} was at work\n{text}"
            holder = who
            outsiders += who.startswith("outsider")
            if fence != "0":
                fences.append(int(fence))
        else:
            assert holder == who
            holder = ""
    assert fences == sorted(set(fences)), "each holder's fence is greater than all before"
    assert len(fences) == 5, "four runs, one of them twice"
    assert outsiders > 0
