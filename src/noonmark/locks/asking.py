"""Asking for a lock until it is ours or the time to wait is over: one course of asking for threads and for tasks.

Promises: one token for the whole course, so an answer that was lost is found again; whatever was granted and not handed
to the caller is freed.

Rule of the file: ``once`` may block and runs anywhere; how to wait between two askings is the caller's business.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count

from noonmark.core.durations import format_duration
from noonmark.core.model import Micros
from noonmark.locks.errors import LockTaken
from noonmark.locks.held import Held, Terms
from noonmark.ports.lock import LockError, LockUnusable

NAP_FIRST: Micros = 5_000
NAP_LONGEST: Micros = 250_000
_GROWTH = 1.6


def new_token() -> str:
    """Return what tells one holder from every other: a number after what only this process has."""
    return f"{_PROCESS}{next(_COUNT):x}"


def attempt(terms: Terms, token: str, asked_at: Micros) -> Held | None:
    """Ask once; None when somebody holds it.

    Raises:
        LockError: no answer, or one that came too late; what was granted may be ours.
    """
    service = terms.service
    grant = service.locks.acquire(terms.name, terms.ttl, token)
    if grant is None:
        return None
    held = Held(terms, token, grant, asked_at)
    if terms.boot() >= held.trusted_until:
        raise LockError(f"{service.locks.url} answered so late that the lock was over; ask for a longer ttl")
    service.keeper.watch(held)
    return held


class Course:
    """One wish for a lock.

    Args:
        wait: how long to wait for it, microseconds; 0 asks once.
        token: with which it was asked for already, if it was.
    """

    def __init__(self, terms: Terms, wait: Micros, token: str = "") -> None:
        self.terms = terms
        self._wait = wait
        self._token = token or new_token()
        self._give_up_at: Micros = -1
        self._nap = NAP_FIRST
        self._unsure = False

    def once(self) -> Held | None:
        """Ask once.

        Returns:
            The held lock, or None: sleep for ``nap()`` and ask again.

        Raises:
            LockTaken: somebody holds it, and the time to wait is over.
            LockError: the service does not answer, and the time to wait is over.
        """
        asked_at = self.terms.boot()
        try:
            held = attempt(self.terms, self._token, asked_at)
        except LockUnusable:
            raise
        except LockError as error:
            self._go_on(asked_at, error)
            return None
        if held is None:
            self._go_on(asked_at, None)
        else:
            self._unsure = False
        return held

    def _go_on(self, asked_at: Micros, trouble: LockError | None) -> None:
        """Return while there is time to ask again."""
        if self._give_up_at < 0:
            self._give_up_at = asked_at + self._wait
        if trouble is not None:
            self._unsure = True
        if self.terms.boot() >= self._give_up_at:
            raise trouble or LockTaken(self._taken())

    def _taken(self) -> str:
        waited = f" and did not become free within {format_duration(self._wait)}" if self._wait else ""
        remedy = "" if self._wait else '; wait="30s" waits for it'
        return (
            f'the lock "{self.terms.name}" at {self.terms.service.locks.url} is held by somebody else{waited}{remedy}'
        )

    def nap(self, ring: Callable[[], None]) -> Micros:
        """Return how long to sleep for the bell: growing, bounded, spread by dice; behind another waiter, to the end."""
        left = max(0, self._give_up_at - self.terms.service.clock.boot())
        if not self.terms.service.is_first(self.terms.name, ring):
            return left
        length = round(self._nap * (0.5 + self.terms.service.dice()))
        self._nap = min(round(self._nap * _GROWTH), NAP_LONGEST)
        return min(length, left)

    def once_in_turn(self, ring: Callable[[], None]) -> Held | None:
        """Ask once if it is this waiter's turn, or its last chance; see ``once``."""
        if self.terms.service.is_first(self.terms.name, ring) or self.terms.service.clock.boot() >= self._give_up_at:
            return self.once()
        return None

    def abandon(self, held: Held | None) -> None:
        """Free what the caller did not get: a grant that came after all, or one whose answer was lost."""
        if held is not None:
            self.terms.service.keeper.forget(held)
        if held is not None or self._unsure:
            self.terms.service.free_soon(self.terms.name, self._token)

    def run(self, asked_at: Micros, trouble: LockError | None) -> Held:
        """Go on asking until it is ours, in this thread, after a first asking without success."""
        held: Held | None = None
        done = False
        service = self.terms.service
        try:
            self._go_on(asked_at, trouble)
            bell = threading.Event()
            ring = bell.set  # one object: it is what tells waiters apart
            with service.bell(self.terms.name, ring):
                while held is None:
                    service.pause(bell, self.nap(ring))
                    bell.clear()
                    held = self.once_in_turn(ring)
            done = True
            return held
        finally:
            if not done:
                self.abandon(held)


def _leave_parent() -> None:
    global _PROCESS
    _PROCESS = _name_process()


def _name_process() -> str:
    return f"{os.urandom(16).hex()}x"


_PROCESS = _name_process()
_COUNT = count()
os.register_at_fork(after_in_child=_leave_parent)
