"""The lock service of a world, which people outside use too, and which may be away.

Rule of the file: a fault counts when a worker meets it, once.
"""

from __future__ import annotations

from collections.abc import Callable

from noonmark.core.model import Micros
from noonmark.locks.memory import MemoryLocks
from noonmark.ports.lock import Grant
from noonmark.testing.clock import VirtualClock
from noonmark.testing.locks import VirtualLocks

_OUTSIDER = "outsider"


class SimLocks(VirtualLocks):
    """The locks of one world.

    Args:
        clock: to live by.
        count: is told of every fault that a worker met, once for each.
    """

    def __init__(self, clock: VirtualClock, count: Callable[[str], None]) -> None:
        super().__init__(clock)
        self._count = count
        self._silences: list[str] = []
        self._unmet: set[str] = set()
        self._numbers = 0
        self.service = _Shared(clock, self._refused)

    def take_away(self, name: str, length: Micros) -> None:
        """Somebody outside takes the lock, for a while, if it is free."""
        if self.take(name, length) is not None:
            self._unmet.add(_OUTSIDER)

    def go_away(self) -> Callable[[], None]:
        """Answer nobody; returns what ends this silence, and leaves the others."""
        self._numbers += 1
        silence = f"silence {self._numbers}"
        self._silences.append(silence)
        self._unmet.add(silence)
        self.is_away = True

        def back() -> None:
            if silence in self._silences:
                self._silences.remove(silence)
            self.is_away = bool(self._silences)

        return back

    def heal(self) -> None:
        """Answer everybody, and let nobody outside hold anything."""
        self._silences.clear()
        self._unmet.clear()
        self.is_away = False

    def holder(self, name: str) -> str:
        """Return the token of whoever holds the lock, "" when nobody does."""
        row = self.service._rows.get(name)
        return row.token if row is not None and row.until > self.clock.boot() else ""

    def met_silence(self) -> None:
        """A worker asked, and the service is away."""
        for silence in self._silences:
            self._meet(silence, "locks away")

    def _refused(self, token: str) -> None:
        if token == _OUTSIDER:
            self._meet(_OUTSIDER, "lock taken")

    def _meet(self, what: str, kind: str) -> None:
        if what in self._unmet:
            self._unmet.remove(what)
            self._count(kind)


class _Shared(MemoryLocks):
    """Memory locks that tell who stands in whose way."""

    def __init__(self, clock: VirtualClock, refused: Callable[[str], None]) -> None:
        super().__init__(clock=clock)
        self._told = refused

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free, and tell who holds it against a caller."""
        grant = super().acquire(name, ttl, token)
        if grant is None:
            self._told(self._rows[name].token)
        return grant
