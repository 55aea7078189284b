"""What an uncontended lock costs beside its service: few steps, no thread that is woken, no second round of asking."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any, cast

import pytest

from noonmark.core.model import SECOND, Micros
from noonmark.locks import Grant, lock, open_locks, redlock
from noonmark.locks.sqlite import SqliteLocks
from noonmark.locks.zookeeper_link import Session, read_url
from noonmark.locks.zookeeper_sweeper import Entry, Sweeper
from noonmark.testing.clock import VirtualClock


class Generous:
    """A service that grants everything at once."""

    kind, url = "memory", "memory://"

    def acquire(self, _name: str, ttl: Micros, _token: str) -> Grant | None:
        return Grant(fence=1, validity=ttl)

    renew = acquire

    def release(self, _name: str, _token: str) -> bool:
        return True

    def close(self) -> None: ...


def calls_of(work: Any) -> int:
    """Count the Python functions that are called, in this thread."""
    counted = 0

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def test_an_uncontended_lock_takes_few_steps() -> None:
    one = lock("a", at=cast("Any", Generous()))

    def cycle() -> None:
        with one:
            pass

    cycle()  # starts the keeper
    assert (
        calls_of(cycle) <= 18
    )  # it was 30; each costs a good tenth of a microsecond beside 25 for SQLite's two writes


def test_a_lock_in_a_file_takes_few_steps(tmp_path: Any) -> None:
    locks = SqliteLocks(f"sqlite:///{tmp_path}/a.db")

    def cycle() -> None:
        assert locks.acquire("a", 30 * SECOND, "t")
        assert locks.release("a", "t")

    cycle()
    assert calls_of(cycle) <= 12  # it was 18
    locks.close()


def test_the_sweeper_of_zookeeper_is_not_woken_by_locks_that_are_freed_before_it_has_to_act(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweeper = Sweeper(read_url("zookeeper://h"))
    woken = 0
    notify = sweeper._changed.notify

    def counting(n: int = 1) -> None:
        nonlocal woken
        woken += 1
        notify(n)

    monkeypatch.setattr(sweeper._changed, "notify", counting)
    until = time.monotonic() + 30
    for number in range(200):
        entry = Entry(name="a", token=str(number), parent="/a", prefix="lock-", session=cast("Session", None))
        sweeper.watch(entry, until)
        sweeper.expire(entry)
        sweeper.forget(entry)
    sweeper.close()
    assert woken <= 5, f"woken {woken} times for 200 locks"


class Servers:
    """Three servers that read their clocks one after the other, sometimes much later, as on a busy machine."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.asked: list[str] = []
        self.last = [0, 0, 0]

    def ask_all(self, nodes: Sequence[Any], name: str, _keys: Any, args: Sequence[Any], **_options: Any) -> list[Any]:
        self.asked.append(name)
        if name != "hold":
            return [1 for _ in nodes]
        answers: list[Any] = []
        for number in range(len(nodes)):
            self.clock.advance(3_000 if self.asked.count("hold") % 2 else 100)
            now = self.clock.wall()
            fence = max(now, self.last[number] + 1)
            self.last[number] = args[4] if fence < args[4] <= now + 1_000_000 else fence
            answers.append([self.last[number], 1, now])
        return answers


def test_redlock_needs_one_round_also_where_the_servers_answer_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    servers = Servers(clock)
    monkeypatch.setattr(redlock, "ask_all", servers.ask_all)
    locks = redlock.Redlock("redlock://a,b,c", clock=clock)
    fences = []
    for number in range(10):
        granted = locks.acquire("a", 30 * SECOND, f"t{number}")
        assert granted is not None
        fences.append(granted.fence)
        assert locks.release("a", f"t{number}")
        clock.advance(SECOND)
    assert fences == sorted(set(fences))
    assert servers.asked.count("raise") <= 1, "only the first, who does not know the servers' clocks yet"
    locks.close()


def test_tokens_differ_among_locks_and_processes() -> None:
    locks = open_locks("memory://")
    with lock("a", at=locks) as first, lock("b", at=locks) as second:
        assert first.token != second.token
        assert len(first.token) > 32, "what only this process has stands in front"
    locks.close()
