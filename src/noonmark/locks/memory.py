"""Locks of one process, for tests and for programs that have no second process.

Promises what the port says, among the threads of this process; nobody else knows of these locks.

Rule of the file: it is the port in its shortest form, on the boot-time clock; where another kind differs, that kind is
wrong.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from noonmark.core.model import Micros
from noonmark.locks.checks import check
from noonmark.locks.errors import LockUrlError
from noonmark.ports.clock import Clock, SystemClock
from noonmark.ports.lock import Grant, LockUnusable
from noonmark.ports.process import owner


@dataclass(slots=True)
class _Row:
    token: str
    fence: int
    until: Micros  # boot clock


class MemoryLocks:
    """Locks in a dictionary.

    Args:
        clock: replaces the machine's clocks, for tests.
    """

    kind = "memory"
    url = "memory://"

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._mutex = threading.Lock()
        self._rows: dict[str, _Row] = {}
        self._owner = owner()
        self._closed = False

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        check(name, token, ttl)
        with self._mutex:
            now = self._now()
            row = self._rows.get(name)
            if row is not None and row.until > now:
                if row.token != token:
                    return None
                row.until = now + ttl
                return Grant(fence=row.fence, validity=ttl)
            fence = max(row.fence + 1 if row is not None else 1, self._clock.wall())
            self._rows[name] = _Row(token=token, fence=fence, until=now + ttl)
            return Grant(fence=fence, validity=ttl)

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock; else None."""
        check(name, token, ttl)
        with self._mutex:
            now = self._now()
            row = self._rows.get(name)
            if row is None or row.token != token or row.until <= now:
                return None
            row.until = now + ttl
            return Grant(fence=row.fence, validity=ttl)

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        check(name, token)
        with self._mutex:
            now = self._now()
            row = self._rows.get(name)
            if row is None or row.token != token or row.until <= now:
                return False
            row.until = 0
            return True

    def expire(self, name: str) -> None:
        """End the lock's time at once, as if it had passed; for tests."""
        with self._mutex:
            if name in self._rows:
                self._rows[name].until = 0

    def _now(self) -> Micros:
        if self._closed:
            raise LockUnusable("memory:// was closed in this process; open it again")
        if not self._owner.is_here:
            raise LockUnusable(
                "memory:// was opened before this process was forked, and the two no longer know of each other;"
                " use sqlite:/// for locks between processes"
            )
        return self._clock.boot()

    def close(self) -> None:
        """Forget the locks."""
        self._closed = True
        self._rows.clear()


def open_memory(url: str) -> MemoryLocks:
    """Make the locks that ``memory://`` means.

    Raises:
        LockUrlError: it says more than that.
    """
    if url.partition("://")[2].strip("/"):
        raise LockUrlError(
            "memory:// has no name and no options: its locks are this process's; write memory:// or sqlite:///noonmark.db"
        )
    return MemoryLocks()
