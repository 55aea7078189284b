"""Outside locks in the virtual world: one lock service for everybody, and each replica's way to it.

Promises: what a replica holds is renewed while that replica runs, and lapses by virtual time when it was killed or stands
still.

Rule of the file: nothing waits; faults are asked for by name.  Who holds, renews and loses is the product's own
``locks``, driven by hand: what is tried here is what runs.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

from noonmark.core.model import LockRule, Micros
from noonmark.locks.holding import Lock
from noonmark.locks.jobs import keep
from noonmark.locks.keeper import Keeper
from noonmark.locks.memory import MemoryLocks
from noonmark.locks.service import Service
from noonmark.ports.clock import Clock
from noonmark.ports.lock import Grant, KeptLock, LockError
from noonmark.testing.clock import VirtualClock


class VirtualLocks:
    """The lock service of a world.  ``is_away`` makes it silent; ``take`` and ``free`` are what outsiders do."""

    def __init__(self, clock: VirtualClock) -> None:
        self.service = MemoryLocks(clock=clock)
        self.clock = clock
        self.is_away = False
        self.asked = 0

    def take(self, name: str, ttl: Micros = 3_600_000_000) -> Grant | None:
        """Take a lock as somebody who is no worker."""
        return self.service.acquire(name, ttl, "outsider")

    def free(self, name: str) -> bool:
        """Give it back."""
        return self.service.release(name, "outsider")

    def steal(self, name: str, ttl: Micros = 3_600_000_000) -> None:
        """Take a lock away from whoever holds it."""
        self.service._rows.pop(name, None)
        self.service.acquire(name, ttl, "outsider")

    def met_silence(self) -> None:
        """A worker asked while the service is away; a world that counts its faults counts this."""

    def is_held(self, name: str) -> bool:
        """True while anybody holds the lock."""
        if self.service.acquire(name, 1_000_000, "probe") is None:
            return True
        self.service.release(name, "probe")
        return False


class ReplicaLocks:
    """One replica's way to the locks; ``turn`` renews what is due, as the lock keeper of a process does."""

    def __init__(self, world: VirtualLocks, replica: str, clock: Clock) -> None:
        self._world = world
        self._keeper = Keeper(clock, by_hand=True)  # the replica's own clock: it may run apart from the service's
        self._service = Service(
            _Way(world), keeper=self._keeper, pause=lambda _bell, _length: None, dice=Random(replica).random
        )

    def keep(self, rule: LockRule, name: str, on_lost: Callable[[], None]) -> KeptLock | None:
        """Take the lock and keep it renewed; None when somebody holds it."""
        self._world.asked += 1
        ttl = timedelta(microseconds=rule.ttl)
        return keep(Lock(name, ttl, find=lambda: self._service, on_lost=on_lost))

    def place(self, rule: LockRule) -> str:
        """Return where the rule's lock is."""
        return rule.at or "memory://"

    def close(self) -> None:
        """Nothing to give back."""

    def turn(self) -> Micros:
        """Renew what is due; return the boot-clock moment of the next renewal."""
        return self._keeper.turn()


class _Way:
    """The memory locks as a replica reaches them: not at all while the service is away."""

    kind, url = MemoryLocks.kind, MemoryLocks.url

    def __init__(self, world: VirtualLocks) -> None:
        self._world = world

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        return self._reached().acquire(name, ttl, token)

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock; else None."""
        return self._reached().renew(name, ttl, token)

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        return self._reached().release(name, token)

    def close(self) -> None:
        """Nothing to give back."""

    def _reached(self) -> MemoryLocks:
        if self._world.is_away:
            self._world.met_silence()
            raise LockError("the virtual lock service is away")
        return self._world.service
