"""A lock that is held: its token, its fence, and how long it may be trusted.

Promises: trust is counted on the boot-time clock from when the service was *asked*, so a slow answer shortens it; once
lost, a lock is lost for good, and that is said exactly once.

Rule of the file: ``check`` reads the clock, not a flag, so it is right even in a process that has just been woken from
a pause and whose threads have not run yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

from noonmark.core.durations import format_duration
from noonmark.core.model import FAR, Micros
from noonmark.locks import process
from noonmark.locks.errors import LockLost
from noonmark.locks.service import Service
from noonmark.ports.lock import Grant, LockError

RENEW_PARTS = 3
_RETRY_PARTS, _RETRY_LEAST, _RETRY_MOST = 20, 20_000, 1_000_000

_HELD, _LOST, _RELEASED = "held", "lost", "released"


class Held:
    """A grant as its holder sees it.  Safe to use from several threads.

    Attributes:
        name: what is locked.
        token: tells this holder from every other.
        fence: greater than that of every earlier holder; hand it to what the lock protects.
        service: where it is held.
    """

    def __init__(
        self,
        service: Service,
        name: str,
        ttl: Micros,
        token: str,
        grant: Grant,
        *,
        asked_at: Micros,
        renew: bool = True,
        tell: Callable[[Held], None] | None = None,
    ) -> None:
        self.name, self.token, self.fence = name, token, grant.fence
        self.service = service
        self._clock = service.clock
        self._ttl = ttl
        self._renews = renew
        self._tell = tell
        self.was_lost = False
        self._process = process.generation
        self._mutex = threading.RLock()
        self._ended: threading.Event | None = None
        self._state, self._why = _HELD, ""
        self._asking = False
        self._trusted_until = asked_at + grant.validity
        self._renew_at = self._next_renewal(asked_at, grant.validity)

    def _next_renewal(self, asked_at: Micros, validity: Micros) -> Micros:
        return asked_at + min(self._ttl // RENEW_PARTS, validity // 2) if self._renews else FAR

    # -- what the holder asks -------------------------------------------------------------------

    @property
    def trusted_until(self) -> Micros:
        """When to stop believing in the lock unless it is renewed: microseconds on the boot-time clock."""
        return self._trusted_until

    def remaining(self) -> timedelta:
        """Return how long the lock may still be trusted if it were not renewed; zero when it is not held."""
        left = (
            self._trusted_until - self._clock.boot()
            if self._state is _HELD and process.generation == self._process
            else 0
        )
        return timedelta(microseconds=max(0, left))

    @property
    def lost(self) -> bool:
        """True once the lock is not ours any more, or may not be; a lock that was released is not lost."""
        if (
            process.generation != self._process
        ):  # first: what follows may wait for threads that a forked process has not
            return True
        if self._state is _HELD and self._clock.boot() >= self._trusted_until:
            self.lose("it was not renewed in time")
        return self._state is _LOST

    def wait_lost(self, timeout: float | None = None) -> bool:
        """Wait until the lock is lost or released, at most ``timeout`` seconds; return True if it is lost."""
        with self._mutex:
            if self._state is not _HELD:
                return self._state is _LOST
            if self._ended is None:  # made for those who wait: few do
                self._ended = threading.Event()
        self._ended.wait(timeout)
        return self.lost

    def check(self) -> None:
        """Return if the lock may be trusted at this moment.

        Raises:
            LockLost: it may not; what it protects must not be touched any more.
        """
        if self.lost or self._state is not _HELD:
            raise LockLost(f'the lock "{self.name}" is not ours: {self.why}')

    @property
    def is_released(self) -> bool:
        """True once ``release`` was called."""
        return self._state is _RELEASED

    @property
    def is_over(self) -> bool:
        """True once it was released or lost."""
        return self.lost or self._state is _RELEASED

    @property
    def is_own_process(self) -> bool:
        """False in a process that was forked while the lock was held."""
        return process.generation == self._process

    @property
    def why(self) -> str:
        """Why the lock is not held any more, as the end of a sentence; empty while it is."""
        if process.generation != self._process:
            return "it belongs to the process that this one was forked from"
        return self._why

    # -- what the holder does -------------------------------------------------------------------

    def renew(self) -> None:
        """Count the ttl anew, now.  It happens by itself every ttl/3; this is for those who turned that off.

        Raises:
            LockLost: the lock is not ours any more.
            LockError: no answer, so nothing changed as far as we know; trust ends when it would have.
        """
        self.check()
        asked_at = self._clock.boot()
        self._renewed(asked_at, self.service.locks.renew(self.name, self._ttl, self.token))
        self.check()

    def release(self) -> bool:
        """Free the lock; False if it was not ours any more.  Calling it again does no harm and answers False.

        Raises:
            LockError: no answer; the lock is not renewed any more and frees itself within its ttl.
        """
        if process.generation != self._process:
            return False
        self.was_lost = was_lost = self.lost
        with self._mutex:
            if self._state is _RELEASED:
                return False
            if self._state is _HELD:
                self._why = "it was released"
            self._state = _RELEASED
        self._end()
        freed = self.service.locks.release(self.name, self.token)
        if freed:
            self.service.ring(self.name)
        return freed and not was_lost

    # -- what the keeper does -------------------------------------------------------------------

    @property
    def renew_at(self) -> Micros:
        """When to renew next (boot clock)."""
        return self._renew_at

    @property
    def next_at(self) -> Micros:
        """When the keeper has to look at this lock next (boot clock)."""
        return self._trusted_until if self._asking else min(self._renew_at, self._trusted_until)

    def ask_for_renewal(self) -> None:
        """Renew on the service's thread."""
        self._asking = True
        self.service.renew_now(self)

    def renew_quietly(self) -> None:
        """Renew; no answer means to ask again soon, until trust ends."""
        if self._state is not _HELD:
            return
        asked_at = self._clock.boot()
        try:
            grant = self.service.locks.renew(self.name, self._ttl, self.token)
        except LockError as error:
            pause = min(max(self._ttl // _RETRY_PARTS, _RETRY_LEAST), _RETRY_MOST)
            self._why = f"it could not be renewed ({error})"
            self._renew_at = self._clock.boot() + round(pause * (0.5 + self.service.dice() / 2))
            self._asking = False
            self.service.keeper.look_again(self)
            return
        self._renewed(asked_at, grant)

    def _renewed(self, asked_at: Micros, grant: Grant | None) -> None:
        if grant is None or grant.fence != self.fence:
            self.lose("its time ran out, or somebody else holds it")
            return
        with self._mutex:
            if self._state is _HELD:
                # An explicit renewal and the keeper's may cross: the later asking counts.
                self._trusted_until = max(self._trusted_until, asked_at + grant.validity)
                self._renew_at = self._next_renewal(asked_at, grant.validity)
                self._why = ""
            self._asking = False
        self.service.keeper.look_again(self)

    def lose(self, why: str) -> None:
        """End trust, once; tell the holder."""
        with self._mutex:
            if self._state is not _HELD:
                return
            self._state = _LOST
            self._why = self._why or why
        self._end()
        if self._tell is not None:
            self._tell(self)

    def _end(self) -> None:
        self.service.keeper.forget(self)
        if self._ended is not None:
            self._ended.set()

    def __repr__(self) -> str:
        left = format_duration(self.remaining() // timedelta(microseconds=1) // 1000 * 1000)
        return f"<Held {self.name!r} {self._state}, fence {self.fence}, trusted for {left}>"
