"""A lock that is held: its token, its fence, and how long it may be trusted.

Promises: trust is counted on the boot-time clock from when the service was *asked*, so a slow answer shortens it; once
lost, a lock is lost for good, and that is said exactly once.

Rule of the file: ``check`` reads the clock, not a flag, so it is right even in a process that has just been woken from
a pause and whose threads have not run yet.  A grant ends once: whoever takes it off the keeper's list ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from noonmark.core.durations import format_duration
from noonmark.core.model import FAR, Micros
from noonmark.locks.errors import LockLost, within
from noonmark.locks.service import Service
from noonmark.ports.lock import Grant, LockError
from noonmark.ports.process import Owner, owner

RENEW_PARTS = 3
_RETRY_PARTS, _RETRY_LEAST, _RETRY_MOST = 20, 20_000, 1_000_000

_HELD, _LOST, _RELEASED = "held", "lost", "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is the same for every grant of one lock object: most of them live for less time than this takes to write."""

    service: Service
    name: str
    ttl: Micros
    renews: bool = True
    tell: Callable[[Held], None] | None = None  # called once, from any thread, when a grant is lost
    owner: Owner = field(default_factory=owner)
    mutex: Any = field(default_factory=threading.RLock)  # guards renewals and losses of these grants
    boot: Callable[[], Micros] = field(init=False)  # the service's boot-time clock
    renew_after: Micros = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "boot", self.service.clock.boot)
        object.__setattr__(self, "renew_after", self.ttl // RENEW_PARTS if self.renews else FAR)

    def look_after(self, validity: Micros) -> Micros:
        """Return how long after the asking the keeper has to look at a grant: when to renew it, or when trust ends."""
        return min(self.renew_after, validity // 2) if self.renews else validity


class Held:
    """A grant as its holder sees it.  Safe to use from several threads.

    Attributes:
        token: tells this holder from every other.
        fence: greater than that of every earlier holder; hand it to what the lock protects.
        trusted_until: when to stop believing in the lock unless it is renewed: microseconds on the boot-time clock.
        next_at: when the keeper has to look at this lock next (boot clock).
        is_released: whether ``release`` was called.
        was_lost: whether it was lost already when it was released.
    """

    # How every grant begins; most are over before any of this changes, so it is not written anew for each.
    is_released = was_lost = False
    _state, _why = _HELD, ""
    _ended: threading.Event | None = None

    def __init__(self, terms: Terms, token: str, grant: Grant, asked_at: Micros) -> None:
        self._terms = terms
        self.token, self.fence = token, grant.fence
        validity = grant.validity
        self.trusted_until = asked_at + validity
        self.next_at = asked_at + (
            after if (after := terms.renew_after) <= validity // 2 else terms.look_after(validity)
        )

    # -- what the holder asks -------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What is locked."""
        return self._terms.name

    @property
    def service(self) -> Service:
        """Where it is held."""
        return self._terms.service

    def remaining(self) -> timedelta:
        """Return how long the lock may still be trusted if it were not renewed; zero when it is not held."""
        left = self.trusted_until - self.service.clock.boot() if self._state is _HELD and self.is_own_process else 0
        return timedelta(microseconds=max(0, left))

    @property
    def lost(self) -> bool:
        """True once the lock is not ours any more, or may not be; a lock that was released is not lost."""
        if not self.is_own_process:  # first: what follows may wait for threads that a forked process has not
            return True
        if self._state is _HELD and self.service.clock.boot() >= self.trusted_until:
            self.lose("it was not renewed in time")
        return self._state is _LOST

    def wait_lost(self, timeout: float | None = None) -> bool:
        """Wait until the lock is lost or released, at most ``timeout`` seconds; return True if it is lost."""
        with self._terms.mutex:
            if self._ended is None:  # made for those who wait: few do
                self._ended = threading.Event()
        if self._state is _HELD:  # asked after the bell is there, which whoever ends the lock rings after saying so
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
    def is_over(self) -> bool:
        """True once it was released or lost."""
        return self.is_released or self.lost

    @property
    def is_own_process(self) -> bool:
        """False in a process that was forked while the lock was held."""
        return self._terms.owner.is_here

    @property
    def why(self) -> str:
        """Why the lock is not held any more, as the end of a sentence; empty while it is."""
        if not self.is_own_process:
            return "it belongs to the process that this one was forked from"
        return "it was released" if self.is_released and not self.was_lost else self._why

    # -- what the holder does -------------------------------------------------------------------

    def renew(self) -> None:
        """Count the ttl anew, now.  It happens by itself every ttl/3; this is for those who turned that off.

        Raises:
            LockLost: the lock is not ours any more.
            LockError: no answer, so nothing changed as far as we know; trust ends when it would have.
        """
        self.check()
        asked_at = self.service.clock.boot()
        self._renewed(asked_at, self.service.locks.renew(self.name, self._terms.ttl, self.token))
        self.check()

    def release(self) -> bool:
        """Free the lock; False if it was not ours any more.  Calling it again does no harm and answers False.

        Raises:
            LockError: no answer; the lock is not renewed any more and frees itself within its ttl.
        """
        terms = self._terms
        if not terms.owner.is_here:
            return False
        if terms.boot() >= self.trusted_until:
            self.lose("it was not renewed in time")
        service = terms.service
        if not service.keeper.forget(self):
            with terms.mutex:
                if self._state is not _LOST:
                    return False
                self.was_lost = True
        self._state, self.is_released = _RELEASED, True
        if self._ended is not None:
            self._ended.set()
        freed = service.locks.release(terms.name, self.token)
        if freed and terms.name in service.waiting:
            service.ring(terms.name)
        return freed and not self.was_lost

    # -- what the keeper does -------------------------------------------------------------------

    def ask_for_renewal(self) -> None:
        """Renew on the service's thread."""
        self.next_at = self.trusted_until
        if self._terms.renews:
            self.service.renew_now(self)

    def renew_quietly(self) -> None:
        """Renew; no answer means to ask again soon, until trust ends."""
        if self._state is not _HELD:
            return
        service, ttl = self.service, self._terms.ttl
        asked_at = service.clock.boot()
        try:
            grant = service.locks.renew(self.name, ttl, self.token)
        except LockError as error:
            pause = min(max(ttl // _RETRY_PARTS, _RETRY_LEAST), _RETRY_MOST)
            self._why = f"it could not be renewed ({within(error)})"
            again_at = service.clock.boot() + round(pause * (0.5 + service.dice() / 2))
            self.next_at = min(again_at, self.trusted_until)
            service.keeper.look_again(self)
            return
        self._renewed(asked_at, grant)

    def _renewed(self, asked_at: Micros, grant: Grant | None) -> None:
        if grant is None or grant.fence != self.fence:
            self.lose("its time ran out, its session ended, or somebody else holds it")
            return
        with self._terms.mutex:
            if self._state is _HELD:
                # An explicit renewal and the keeper's may cross: the later asking counts.
                self.trusted_until = max(self.trusted_until, asked_at + grant.validity)
                self.next_at = asked_at + self._terms.look_after(grant.validity)
                self._why = ""
        self.service.keeper.look_again(self)

    def lose(self, why: str) -> None:
        """End trust, once; tell the holder."""
        with self._terms.mutex:
            if not self.service.keeper.forget(self):
                return
            self._state = _LOST
            self._why = self._why or why
        if self._ended is not None:
            self._ended.set()
        if self._terms.tell is not None:
            self._terms.tell(self)

    def __repr__(self) -> str:
        left = format_duration(self.remaining() // timedelta(microseconds=1) // 1000 * 1000)
        return f"<Held {self.name!r} {self._state}, fence {self.fence}, trusted for {left}>"
