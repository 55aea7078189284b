"""Asking for a lock until it is ours or the time to wait is over: one course of asking for threads and for tasks.

Promises: one token for the whole course, so an answer that was lost is found again; whatever was granted and not handed
to the caller is freed.

Rule of the file: ``once`` may block and runs anywhere; how to wait between two askings is the caller's business.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from noonmark.core.durations import format_duration
from noonmark.core.model import Micros
from noonmark.locks.errors import LockTaken
from noonmark.locks.held import Held
from noonmark.locks.service import Service
from noonmark.ports.lock import LockError, LockUnusable

NAP_FIRST: Micros = 5_000
NAP_LONGEST: Micros = 250_000
_GROWTH = 1.6


class Course:
    """One wish for a lock.

    Args:
        wait: how long to wait for it, microseconds; 0 asks once.
    """

    def __init__(
        self,
        service: Service,
        name: str,
        ttl: Micros,
        *,
        wait: Micros,
        renew: bool,
        tell: Callable[[Held], None] | None,
    ) -> None:
        self.service, self.name = service, name
        self._ttl, self._wait, self._renew, self._tell = ttl, wait, renew, tell
        self._token = os.urandom(16).hex()
        self._give_up_at: Micros = -1
        self._nap = NAP_FIRST
        self._trouble: LockError | None = None
        self._unsure = False

    def once(self) -> Held | None:
        """Ask once.

        Returns:
            The held lock, or None: sleep for ``nap()`` and ask again.

        Raises:
            LockTaken: somebody holds it, and the time to wait is over.
            LockError: the service does not answer, and the time to wait is over.
        """
        asked_at = self.service.clock.boot()
        if self._give_up_at < 0:
            self._give_up_at = asked_at + self._wait
        try:
            grant = self.service.locks.acquire(self.name, self._ttl, self._token)
        except LockUnusable:
            raise
        except LockError as error:
            self._unsure, self._trouble, grant = True, error, None
        else:
            self._trouble = None
        if grant is not None:
            held = Held(
                self.service,
                self.name,
                self._ttl,
                self._token,
                grant,
                asked_at=asked_at,
                renew=self._renew,
                tell=self._tell,
            )
            if self.service.clock.boot() < held.trusted_until:
                self.service.keeper.watch(held)
                self._unsure = False
                return held
            self._unsure = True
            self._trouble = LockError(
                f"{self.service.locks.url} answered so late that the lock was over; ask for a longer ttl"
            )
        if self.service.clock.boot() >= self._give_up_at:
            raise self._trouble or LockTaken(self._taken())
        return None

    def _taken(self) -> str:
        waited = f" and did not become free within {format_duration(self._wait)}" if self._wait else ""
        remedy = "" if self._wait else '; wait="30s" waits for it'
        return f'the lock "{self.name}" at {self.service.locks.url} is held by somebody else{waited}{remedy}'

    def nap(self, ring: Callable[[], None]) -> Micros:
        """Return how long to sleep for the bell: growing, bounded, spread by dice; behind another waiter, to the end."""
        left = max(0, self._give_up_at - self.service.clock.boot())
        if not self.service.is_first(self.name, ring):
            return left
        length = round(self._nap * (0.5 + self.service.dice()))
        self._nap = min(round(self._nap * _GROWTH), NAP_LONGEST)
        return min(length, left)

    def once_in_turn(self, ring: Callable[[], None]) -> Held | None:
        """Ask once if it is this waiter's turn, or its last chance; see ``once``."""
        if self.service.is_first(self.name, ring) or self.service.clock.boot() >= self._give_up_at:
            return self.once()
        return None

    def abandon(self, held: Held | None) -> None:
        """Free what the caller did not get: a grant that came after all, or one whose answer was lost."""
        if held is not None:
            self.service.keeper.forget(held)
        if held is not None or self._unsure:
            self.service.free_soon(self.name, self._token)

    def run(self) -> Held:
        """Ask until it is ours, in this thread."""
        held: Held | None = None
        done = False
        try:
            held = self.once()
            if held is None:
                bell = threading.Event()
                ring = bell.set  # one object: it is what tells waiters apart
                with self.service.bell(self.name, ring):
                    while held is None:
                        self.service.pause(bell, self.nap(ring))
                        bell.clear()
                        held = self.once_in_turn(ring)
            done = True
            return held
        finally:
            if not done:
                self.abandon(held)
