"""The processes of the pause test: each contends for many locks at once and adds one to what a lock protects.

Run by ``lockpauses.py``.  One process imports everything and then forks the contenders, so that starting many is cheap.
What happened is counted in a file mapped into memory, which no pause and no lock service can touch.
"""

from __future__ import annotations

import faulthandler
import importlib
import mmap
import os
import random
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from noonmark.locks import FencedKey, FencedResource, StaleFence
from noonmark.locks.errors import LockLost, LockTaken
from noonmark.ports.lock import LockError, LockUnusable

MODES = ("none", "write", "both")
"""Where the protected thing checks the fence: nowhere, when it is written, when it is read and when it is written."""
FIELDS = ("holding", "acknowledged", "refused", "taken", "late")
HEADER = 64
"""Slots of 8 bytes before the counts: [0] stop, [1 + n] the pid of contender n, [40] what ended unexpectedly."""

_SET_IF_NEW = """
local known = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[1]) < known then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
return 1
"""


class Board:
    """The counts: one row of ``FIELDS`` for each contender and lock."""

    def __init__(self, path: Path, locks: int, contenders: int) -> None:
        self.locks, self.contenders = locks, contenders
        size = 8 * (HEADER + locks * contenders * len(FIELDS))
        with path.open("a+b") as file:
            file.truncate(size)
            self._map = mmap.mmap(file.fileno(), size)
        self.slots = memoryview(self._map).cast("q")

    def at(self, contender: int, lock: int, field: str) -> int:
        """Return the slot of a count."""
        return HEADER + (contender * self.locks + lock) * len(FIELDS) + FIELDS.index(field)

    def total(self, lock: int, field: str) -> int:
        """Return a count over all contenders."""
        return sum(self.slots[self.at(contender, lock, field)] for contender in range(self.contenders))


@dataclass(frozen=True)
class Fence:
    """A holder who shows his fence and nothing else: the lock's own end of trust must not help."""

    fence: int


class Counter:
    """What a lock protects: a number in a Redis."""

    def __init__(self, client: Any, mode: str, name: str) -> None:
        self._client, self._mode = client, mode
        self._keys = (f"counter:{name}", f"newest:{name}")
        self._fenced = FencedResource(FencedKey(client, self._keys[0]))

    def read(self, fence: int) -> int | None:
        """Return the number; None when a later holder has been here."""
        if self._mode != "both":
            return int(self._client.get(self._keys[0]) or 0)
        try:
            return int(self._fenced.read(Fence(fence)) or 0)
        except StaleFence:
            return None

    def write(self, fence: int, value: int) -> bool:
        """Write the number; False when a later holder has been here."""
        if self._mode == "none":
            return bool(self._client.set(self._keys[0], value))
        if self._mode == "write":
            return bool(self._client.eval(_SET_IF_NEW, 2, *self._keys, fence, value))
        try:
            self._fenced.write(Fence(fence), str(value).encode())
        except StaleFence:
            return False
        return True


def contend(url: str, resource: Any, board: Board, me: int, number: int, mode: str, seed: str) -> None:
    """Take the lock, read, think, write, release; again and again."""
    from noonmark.locks import lock

    dice = random.Random(f"{seed}-{me}-{number}")
    counter, slots = Counter(resource, mode, f"n{number}"), board.slots
    holding, acknowledged, refused, taken, late = (board.at(me, number, field) for field in FIELDS)
    while not slots[0]:
        try:
            with lock(f"n{number}", ttl="1s", at=url, wait="1s") as held:
                slots[holding] = 1
                slots[taken] += 1
                try:
                    value = counter.read(held.fence)
                    if value is None:
                        slots[refused] += 1
                        continue
                    time.sleep(dice.uniform(0, 0.3))
                    if counter.write(held.fence, value + 1):
                        slots[acknowledged] += 1
                    else:
                        slots[refused] += 1
                finally:
                    slots[holding] = 0
        except LockTaken:
            continue
        except LockLost:
            slots[late] += 1
        except LockUnusable as error:
            sys.stderr.write(f"{error}\n")
            slots[40] += 1
            return
        except LockError:
            time.sleep(dice.uniform(0.05, 0.15))


def _broke(board: Board, fault: threading.ExceptHookArgs) -> None:
    """A contender's thread ended in something that a lock's user could not have expected."""
    board.slots[40] += 1
    sys.stderr.write("".join(traceback.format_exception(fault.exc_value)) if fault.exc_value else "?")
    sys.stderr.flush()


def contender(url: str, resource_url: str, board: Board, me: int, modes: list[str], seed: str) -> None:
    """One process: a thread for each lock."""
    import redis

    faulthandler.enable()
    threading.excepthook = partial(_broke, board)
    resource = redis.Redis.from_url(resource_url, max_connections=200)
    threads = [
        threading.Thread(target=contend, args=(url, resource, board, me, number, mode, seed), daemon=True)
        for number, mode in enumerate(modes)
    ]
    for thread in threads:
        thread.start()
    board.slots[1 + me] = os.getpid()
    parent = os.getppid()
    while any(thread.is_alive() for thread in threads) and os.getppid() == parent:
        time.sleep(0.1)
    os._exit(0)


def main() -> None:
    """Fork the contenders and wait for them: url, url of what is protected, board, contenders, locks by mode, seed."""
    url, resource_url, path, contenders, counts, seed = sys.argv[1:]
    modes = [mode for mode, count in zip(MODES, counts.split(","), strict=True) for _ in range(int(count))]
    board = Board(Path(path), len(modes), int(contenders))
    drivers = {"etcd": "aetcd", "zookeeper": "kazoo.client", "postgresql": "psycopg"}
    for module in ("redis", "noonmark.locks.holding", drivers.get(url.partition(":")[0], "redis")):
        importlib.import_module(module)  # before the fork, so that it is done once
    children = []
    for me in range(int(contenders)):
        child = os.fork()
        if not child:
            contender(url, resource_url, board, me, modes, seed)
        children.append(child)
    while children:
        child, status = os.wait()
        children.remove(child)
        if status:
            board.slots[40] += 1
            sys.stderr.write(f"contender {child} ended with {os.waitstatus_to_exitcode(status)}\n")
            sys.stderr.flush()


if __name__ == "__main__":
    main()
