"""The pause test: what a lock protects when its holders stand still (SIGSTOP), counted for every kind and three ways.

``make lock-pauses`` runs all of it and prints the table of docs/locks.md; ``--seed`` repeats a run's choices, though not
what the machine's scheduler does with them.

Five processes contend for many locks.  A holder reads a number, thinks for 0 to 0.3 s and writes it plus one, under a lock
of 1 s that is renewed every third of a second.  Processes are stopped for 0.75 to 2.5 s, half of the times close to the
ttl, two of the five at once.  A pause counts when it hits a holder.  An update is lost when it was acknowledged and the
number does not contain it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockworker import MODES, Board

from noonmark.testing.servers import FORGETFUL, find, start_etcd, start_postgres, start_redis, start_zookeeper

CONTENDERS = 5
LANES = ((0, 1, 2), (3, 4))
"""Who may stand still at the same time: one of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was counted for one kind and one way of fencing."""

    kind: str
    mode: str
    pauses: int
    acknowledged: int
    lost: int
    refused: int
    taken: int
    broken: int  # contenders that could not go on


@contextlib.contextmanager
def _redis() -> Iterator[str]:
    with start_redis() as server:
        yield server.url


@contextlib.contextmanager
def _redlock() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(start_redis()).port for _ in range(3)]
        yield "redlock://" + ",".join(f"127.0.0.1:{port}" for port in ports)


@contextlib.contextmanager
def _postgres(**options: str) -> Iterator[str]:
    with start_postgres(options={**FORGETFUL, "max_connections": "600"}) as server:
        yield server.url_with(**options) if options else server.url


@contextlib.contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/locks.db"


@contextlib.contextmanager
def _etcd() -> Iterator[str]:
    with start_etcd(
        options={"heartbeat-interval": "50", "election-timeout": "500", "unsafe-no-fsync": "true"}
    ) as server:
        yield server.url


@contextlib.contextmanager
def _zookeeper() -> Iterator[str]:
    with start_zookeeper(options={"tickTime": "200"}) as server:
        yield server.url


KINDS: dict[str, Callable[[], Any]] = {
    "redis": _redis,
    "redlock": _redlock,
    "postgres": _postgres,
    "postgres-advisory": lambda: _postgres(kind="advisory"),
    "sqlite": _sqlite,
    "etcd": _etcd,
    "zookeeper": _zookeeper,
}


def available() -> list[str]:
    """Return the kinds that can be tried on this machine: all, but for ZooKeeper where there is none."""
    return [kind for kind in KINDS if kind != "zookeeper" or find("zookeeper")]


class Group:
    """The contenders of one kind, and who stops them."""

    def __init__(self, kind: str, url: str, resource: Any, folder: Path, counts: Sequence[int], seed: str) -> None:
        self.kind, self._resource = kind, resource
        self._modes = [mode for mode, count in zip(MODES, counts, strict=True) for _ in range(count)]
        self._board = Board(folder / "board", len(self._modes), CONTENDERS)
        self._seed = seed
        self.pauses = dict.fromkeys(MODES, 0)
        self._counting = threading.Lock()
        self._ended = threading.Event()
        worker = Path(__file__).with_name("lockworker.py")
        words = [url, resource.url, folder / "board", str(CONTENDERS), ",".join(map(str, counts)), seed]
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", worker, *words], start_new_session=True, stderr=self._log
        )

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def run(self, pauses: int, patience: float) -> list[Row]:
        """Stop and continue until the fenced locks have seen so many pauses; then add up."""
        self._wait_until(lambda: all(self._pid(me) for me in range(CONTENDERS)), 60, "contenders start")
        # A pause before anybody has held anything would test nothing.
        self._wait_until(lambda: self._sum("acknowledged") > len(self._modes), 60, "work begins")
        deadline = time.monotonic() + patience
        lanes = [threading.Thread(target=self._stop_and_continue, args=(lane,)) for lane in LANES]
        for lane in lanes:
            lane.start()
        while self.pauses["both"] < pauses and time.monotonic() < deadline:
            time.sleep(0.05)
        self._ended.set()
        for lane in lanes:
            lane.join()
        time.sleep(0.5)  # the last to wake write what they have
        self._board.slots[0] = 1
        self._process.wait(timeout=60)
        self._log.seek(0)
        self.said = self._log.read()
        if self.said:
            sys.stderr.write(f"{self.kind}: {self.said[-4000:]}\n")
        return [self._row(mode) for mode in MODES]

    def _stop_and_continue(self, lane: tuple[int, ...]) -> None:
        dice = random.Random(f"{self._seed}-{self.kind}-{lane}")
        while not self._ended.wait(dice.uniform(0.2, 0.5)):
            me = dice.choice(lane)
            pid = self._pid(me)
            with contextlib.suppress(ProcessLookupError):  # it died, which is counted elsewhere
                os.kill(pid, signal.SIGSTOP)
            try:
                _wait_stopped(pid)
                self._count(me)
                self._ended.wait(dice.uniform(0.75, 1.25) if dice.random() < 0.5 else dice.uniform(0.75, 2.5))
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def _count(self, me: int) -> None:
        with self._counting:
            for lock, mode in enumerate(self._modes):
                self.pauses[mode] += self._board.slots[self._board.at(me, lock, "holding")]

    def _row(self, mode: str) -> Row:
        locks = [lock for lock, its in enumerate(self._modes) if its == mode]
        acknowledged = sum(self._board.total(lock, "acknowledged") for lock in locks)
        return Row(
            kind=self.kind,
            mode=mode,
            pauses=self.pauses[mode],
            acknowledged=acknowledged,
            lost=acknowledged - sum(self._resource.value(f"counter:n{lock}") for lock in locks),
            refused=sum(self._board.total(lock, "refused") for lock in locks),
            taken=sum(self._board.total(lock, "taken") for lock in locks),
            broken=self._board.slots[40],
        )

    def _sum(self, field: str) -> int:
        return sum(self._board.total(lock, field) for lock in range(len(self._modes)))

    def _pid(self, me: int) -> int:
        return self._board.slots[1 + me]

    def _wait_until(self, is_so: Callable[[], bool], patience: float, what: str) -> None:
        deadline = time.monotonic() + patience
        while not is_so():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._log.seek(0)
                raise AssertionError(f"{self.kind}: {what} did not happen: {self._log.read()[-2000:]}")
            time.sleep(0.05)


class Resource:
    """The Redis that holds what the locks of one kind protect; it is never stopped."""

    def __init__(self, url: str) -> None:
        import redis

        self.url = url
        self._client = redis.Redis.from_url(url)

    def value(self, key: str) -> int:
        """Return a number, whether it has its fence with it or not."""
        kind = self._client.type(key)
        return int((self._client.hget(key, "value") if kind == b"hash" else self._client.get(key)) or 0)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _wait_stopped(pid: int) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if (
            not Path(f"/proc/{pid}").exists()
            or Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        ):
            return
        time.sleep(0.001)


def run_kind(kind: str, *, pauses: int, counts: Sequence[int], seed: str, patience: float) -> list[Row]:
    """Run one kind with servers of its own."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(KINDS[kind]())
        resource = Resource(stack.enter_context(start_redis()).url)
        stack.callback(resource.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return stack.enter_context(Group(kind, url, resource, folder, counts, seed)).run(pauses, patience)


def run_all(
    kinds: Sequence[str], *, pauses: int, counts: Sequence[int], seed: str, at_once: int, patience: float = 300
) -> list[Row]:
    """Run kinds side by side; the rows come in the order of the kinds."""
    with ThreadPoolExecutor(at_once) as pool:
        started = [
            pool.submit(run_kind, kind, pauses=pauses, counts=counts, seed=seed, patience=patience) for kind in kinds
        ]
        return [row for future in started for row in future.result()]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    said = {"none": "nowhere", "write": "on write only", "both": "from the first read on"}
    lines = [
        "| lock | fence checked | pauses of a holder | acknowledged | **lost** | refused by fence |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        refused = "-" if row.mode == "none" else f"{row.refused:,}"
        lines.append(
            f"| {row.kind} | {said[row.mode]} | {row.pauses:,} | {row.acknowledged:,} | **{row.lost:,}** | {refused} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run the whole test and print the table; 1 when a fenced update was lost."""
    words = argparse.ArgumentParser(description="Locks under pauses.")
    words.add_argument("kinds", nargs="*", metavar="KIND", help=f"one or more of {', '.join(KINDS)}; default all")
    words.add_argument(
        "--pauses", type=int, default=200, help="pauses of holders per kind, with the fence from the first read"
    )
    words.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)))
    words.add_argument("--at-once", type=int, default=3, help="kinds run side by side")
    asked = words.parse_args()
    began = time.monotonic()
    kinds = asked.kinds or available()
    rows = run_all(kinds, pauses=asked.pauses, counts=(6, 6, 16), seed=asked.seed, at_once=asked.at_once)
    print(table(rows))
    print(f"\nseed {asked.seed}, {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}")
    fenced = [row for row in rows if row.mode == "both"]
    bad = [row for row in fenced if row.lost or row.broken or row.pauses < asked.pauses]
    for row in bad:
        print(f"NOT GOOD: {row}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
