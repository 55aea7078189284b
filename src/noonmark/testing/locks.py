"""Outside locks in the virtual world: one lock service for everybody, and each replica's way to it.

Promises: what a replica holds is renewed while that replica runs, and lapses by virtual time when it was killed or stands
still.

Rule of the file: nothing waits; faults are asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable

from noonmark.core.model import FAR, LockRule, Micros
from noonmark.locks.memory import MemoryLocks
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
        self.clock = clock  # the replica's own: it may run apart from the lock service's
        self._replica = replica
        self._count = 0
        self.kept: list[_Kept] = []

    def keep(self, rule: LockRule, name: str, on_lost: Callable[[], None]) -> KeptLock | None:
        """Take the lock and keep it renewed; None when somebody holds it."""
        self._world.asked += 1
        if self._world.is_away:
            raise LockError("the virtual lock service is away")
        self._count += 1
        token = f"{self._replica}-{self._count}"
        asked = self.clock.boot()
        grant = self._world.service.acquire(name, rule.ttl, token)
        if grant is None:
            return None
        kept = _Kept(self, self._world, name, token, rule.ttl, grant, asked, on_lost)
        self.kept.append(kept)
        return kept

    def place(self, rule: LockRule) -> str:
        """Return where the rule's lock is."""
        return rule.at or "memory://"

    def close(self) -> None:
        """Nothing to give back."""

    def turn(self) -> Micros:
        """Renew what is due; return the boot-clock moment of the next renewal."""
        for kept in list(self.kept):
            kept.turn()
        return min((kept.renew_at for kept in self.kept), default=FAR)


class _Kept:
    def __init__(
        self,
        replica: ReplicaLocks,
        world: VirtualLocks,
        name: str,
        token: str,
        ttl: Micros,
        grant: Grant,
        asked: Micros,
        on_lost: Callable[[], None],
    ) -> None:
        self._replica, self._world = replica, world
        self._name, self._token, self._ttl, self._on_lost = name, token, ttl, on_lost
        self.fence = grant.fence
        self._until = asked + grant.validity
        self.renew_at = asked + ttl // 3
        self._was_lost = False

    @property
    def lost(self) -> bool:
        """True once it is not ours any more, or may not be."""
        return self._was_lost or self._replica.clock.boot() >= self._until

    def release(self) -> None:
        """Give it back."""
        self.abandon()
        self._world.service.release(self._name, self._token)

    def abandon(self) -> None:
        """Stop renewing."""
        if self in self._replica.kept:
            self._replica.kept.remove(self)

    def turn(self) -> None:
        """Renew when it is time; say a loss."""
        now = self._replica.clock.boot()
        if not self.lost and now < self.renew_at:
            return
        grant = None
        if not self.lost:
            grant = None if self._world.is_away else self._world.service.renew(self._name, self._ttl, self._token)
            if self._world.is_away:
                self.renew_at = min(now + self._ttl // 10, self._until)
                return
        if grant is None:
            self._was_lost = True
            self.abandon()
            self._on_lost()
            return
        self._until, self.renew_at = now + grant.validity, now + self._ttl // 3
