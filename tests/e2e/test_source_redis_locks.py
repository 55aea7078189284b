"""What the first text shows with its own hands on Redis, done with noonmark's bare functions on real servers.

Two workers contend over three rounds; a wrong token frees and prolongs nothing; a delayed job fires once and leaves an
empty queue; and the five points of the text's list, by name.  The same with noonmark's jobs: test_source_redis_jobs.py.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
import redis

import noonmark as noonmark_package
from noonmark.locks import ZSET, acquire, poll_once, release, renew, schedule
from noonmark.testing.servers import find, start_redis

KINDS = [kind for kind in ("valkey", "redis") if find(kind)] or ["valkey"]

ROUNDS = """
import os, sys, time, uuid
from datetime import datetime, timezone
import redis
from noonmark.locks import acquire, release

name, port = sys.argv[1], int(sys.argv[2])
r, token = redis.Redis(port=port), uuid.uuid4().hex
sys.stdout.write(f"ready {r.ping()}\\n")
sys.stdout.flush()
start = float(sys.stdin.readline())

def say(text):
    now = datetime.fromtimestamp(r.time()[0], timezone.utc).isoformat()
    sys.stdout.write(f"[{now}] worker-{name} round {turn}: {text}\\n")
    sys.stdout.flush()

for turn in (1, 2, 3):
    time.sleep(max(0.0, start + 0.8 * turn - time.time()))
    if acquire(r, "digest", 2000, token):
        say("has the lock, runs digest (128 documents)")
        time.sleep(0.6)
        assert release(r, "digest", token)
        say("done, lock released")
    else:
        say("the lock is taken, skips this round")
r.close()
"""
LINE = re.compile(
    r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00\] worker-(?P<who>[AB]) round (?P<turn>[123]): "
    r"(?P<what>has the lock, runs digest \(128 documents\)|done, lock released|the lock is taken, skips this round)"
)
HOLDER = """
import sys, time, redis
from noonmark.locks import acquire
r = redis.Redis(port=int(sys.argv[1]))
sys.stdout.write(f"{acquire(r, 'index', int(sys.argv[2]), 'the-holder')}\\n")
sys.stdout.flush()
time.sleep(60)
"""


@pytest.fixture(scope="module", params=KINDS)
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """A server of each kind of the family that is installed."""
    with start_redis(kind=request.param) as server:
        yield server.port


@pytest.fixture
def r(port: int) -> Iterator[redis.Redis]:
    """A client, as the text has it, on an empty server."""
    with redis.Redis(port=port) as client:
        client.flushall()
        yield client


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(noonmark_package.__file__ or "").parents[1])}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def contend(port: int, workers: str = "AB") -> list[re.Match[str]]:
    """Let these workers contend over three rounds from one start; return what they said, line by line."""
    processes = [python(ROUNDS, name, port) for name in workers]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready True\n"
    start = time.clock_gettime(time.CLOCK_REALTIME)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{start}\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=30) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(workers), answers
    said = [LINE.fullmatch(line) for out, _ in answers for line in out.splitlines()]
    assert all(said), answers
    return [line for line in said if line]


def waiting(r: redis.Redis) -> list[tuple[bytes, float]]:
    found = r.zrange(ZSET, 0, -1, withscores=True)
    assert isinstance(found, list)
    return found


def server_seconds(r: redis.Redis) -> float:
    whole, micros = r.time()  # type: ignore[misc]
    return float(whole + micros / 1e6)


# --- the listings ----------------------------------------------------------------------------------


def test_two_workers_contend_over_three_rounds_and_the_listing_has_its_nine_lines(port: int, r: redis.Redis) -> None:
    said = contend(port)
    assert len(said) == 9, "three rounds: three that run, three that end, three that skip"
    for turn in "123":
        of_the_turn = [(line["who"], line["what"].split(",")[0]) for line in said if line["turn"] == turn]
        (holder,) = [who for who, what in of_the_turn if what == "has the lock"]
        other = "B" if holder == "A" else "A"
        assert sorted(of_the_turn) == sorted([(holder, "has the lock"), (holder, "done"), (other, "the lock is taken")])
    assert r.keys() == [], "nothing is left behind"


def test_the_listing_of_tokens_reads_as_in_the_text(r: redis.Redis) -> None:
    assert acquire(r, "x", 10_000, "token-A") is True
    assert (release(r, "x", "token-B"), r.get("lock:x")) == (False, b"token-A"), "a wrong token frees nothing"
    assert (release(r, "x", "token-A"), r.get("lock:x")) == (True, None)

    assert acquire(r, "x", 300, "token-A") is True
    assert 0 < r.pttl("lock:x") <= 300  # type: ignore[operator]
    assert renew(r, "x", "token-A", 2000) is True
    assert 1900 <= r.pttl("lock:x") <= 2000  # type: ignore[operator]
    assert renew(r, "x", "token-B", 9000) is False
    assert r.pttl("lock:x") <= 2000, "a wrong token prolongs nothing"  # type: ignore[operator]


def test_the_delayed_job_fires_once_one_second_later_and_leaves_no_queue(r: redis.Redis) -> None:
    fired: list[tuple[str, str, float]] = []
    begun = server_seconds(r)
    schedule(r, "digest-1", "run-abc", 1.0)
    while not fired:
        assert server_seconds(r) < begun + 5
        poll_once(r, lambda job, run: fired.append((job, run, server_seconds(r))))
    for _ in range(20):
        assert poll_once(r) is False
    ((job, run, at),) = fired
    assert (job, run) == ("digest-1", "run-abc")
    assert 1.0 <= at - begun < 1.5
    assert r.zcard(ZSET) == 0, "fired=1, left in the queue=0"


# --- the five points to accept ---------------------------------------------------------------------


def test_point_1_of_many_replicas_one_runs_each_round(port: int) -> None:
    said = contend(port, "AB" + "AB"[:1])  # three processes, two of them of one name, as replicas are
    for turn in "123":
        whats = [line["what"] for line in said if line["turn"] == turn]
        assert sum(what.startswith("has the lock") for what in whats) == 1
        assert sum(what.startswith("the lock is taken") for what in whats) == 2


def test_point_2_releasing_and_renewing_compare_the_token_first(r: redis.Redis) -> None:
    assert acquire(r, "index", 300, "A")
    time.sleep(0.35)  # A worked longer than its ttl
    assert acquire(r, "index", 10_000, "B"), "the lock had freed itself"
    before = r.pttl("lock:index")
    assert (release(r, "index", "A"), renew(r, "index", "A", 99_000)) == (False, False)
    assert r.get("lock:index") == b"B"
    assert r.pttl("lock:index") <= before  # type: ignore[operator]


def test_point_3_a_lock_frees_itself_after_its_holder_was_killed(port: int, r: redis.Redis) -> None:
    with python(HOLDER, port, 700) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        holder.send_signal(signal.SIGKILL)
        holder.communicate(timeout=10)
    begun = time.monotonic()
    token, taken = uuid4().hex, False
    while not taken:
        taken = acquire(r, "index", 5_000, token)
        assert time.monotonic() - begun < 3
        time.sleep(0.005)
    assert time.monotonic() - begun < 0.7 + 0.3, "no later than its ttl"


def test_point_4_a_long_job_keeps_its_lock_by_renewing_it(r: redis.Redis) -> None:
    ttl, token = 900, uuid4().hex
    assert acquire(r, "index", ttl, token)
    for _ in range(6):  # two ttls long
        time.sleep(ttl / 3 / 1000)
        assert not acquire(r, "index", ttl, "somebody")
        assert renew(r, "index", token, ttl)
    time.sleep(ttl / 1000 + 0.05)
    assert acquire(r, "index", ttl, "somebody"), "who stops renewing loses it"
    assert not renew(r, "index", token, ttl)


def test_point_5_a_delayed_job_is_ordered_by_its_due_time_and_claimed_by_one(port: int, r: redis.Redis) -> None:
    begun = server_seconds(r)
    schedule(r, "later", "run-2", 0.4)
    schedule(r, "sooner", "run-1", 0.2)
    names = [json.loads(raw)["job_id"] for raw, _ in waiting(r)]
    assert names == ["sooner", "later"], "the score is the due time"
    (_, first), (_, second) = waiting(r)
    assert abs(second - first - 0.2e6) < 0.1e6 or abs(second - first - 0.2) < 0.1
    assert poll_once(r) is False, "not due yet"

    fired: list[str] = []

    def poll(_: int) -> int:
        with redis.Redis(port=port) as mine:
            count = 0
            while server_seconds(mine) < begun + 0.8:
                count += poll_once(mine, lambda job, _run: fired.append(job))
            return count

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(poll, range(8))) == 2
    assert sorted(fired) == ["later", "sooner"], "each once, however many ask"
    assert fired == ["sooner", "later"]
    assert r.zcard(ZSET) == 0
