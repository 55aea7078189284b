"""Keeping locks: renewals at a third of the ttl, and the end of trust at its moment, on the boot-time clock.

Promises: a held lock is renewed from outside its user's threads and loops; its trust ends when it ends, even while a
renewal hangs; what one service does not answer delays no lock of another.

Rule of the file: the keeper only reads the clock and decides; a service's own thread does the asking.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from noonmark.core.model import FAR, SECOND, Micros
from noonmark.ports.clock import Clock, SystemClock

if TYPE_CHECKING:
    from noonmark.locks.held import Held

_LINGER: Micros = 5 * SECOND
"""How long the thread stays when nothing is held: a loop that locks and unlocks must not start one each time."""
_LONGEST: Micros = 60 * SECOND
"""The longest sleep: a suspended machine wakes up with an older idea of how long is left."""
_LOG = logging.getLogger("noonmark.locks")


class Keeper:
    """Watches over the held locks of a process.

    Args:
        clock: replaces the machine's clocks, for tests.
        by_hand: no threads; the test calls ``turn``.
    """

    def __init__(self, clock: Clock | None = None, *, by_hand: bool = False) -> None:
        self.clock = clock or SystemClock()
        self.by_hand = by_hand
        self._held: dict[int, Held] = {}
        self._mutex = threading.RLock()  # a signal handler may free a lock while its own thread is in here
        self._changed = threading.Condition(self._mutex)
        self._wake_at: Micros = FAR  # always FAR while no thread runs
        self._running = False

    def watch(self, held: Held) -> None:
        """Begin to renew a lock and to watch its trust."""
        # Without the mutex, so in this order: whoever reads ``_wake_at`` has to be in ``_held`` already (see ``_keep``).
        self._held[id(held)] = held
        if held.next_at < self._wake_at:
            self._wake_by(held.next_at)

    def look_again(self, held: Held) -> None:
        """Notice that a lock's times have changed."""
        if id(held) in self._held:
            self._wake_by(held.next_at)

    def _wake_by(self, moment: Micros) -> None:
        # Waking the thread costs more than a lock; most locks are gone again long before it would have to act.
        if self.by_hand:
            return
        with self._mutex:
            if moment >= self._wake_at:
                return
            self._wake_at = moment
            if self._running:
                self._changed.notify()
                return
            threading.Thread(target=self._keep, name="noonmark-lock-keeper", daemon=True).start()
            self._running = True

    def forget(self, held: Held) -> bool:
        """Stop watching a lock; of several who say so, one alone is told True."""
        return self._held.pop(id(held), None) is not None

    def turn(self) -> Micros:
        """Do what is due and return when the next thing is (boot clock)."""
        now = self.clock.boot()
        for held in list(self._held.values()):
            if now >= held.trusted_until:
                held.lose("it was not renewed in time")
            elif now >= held.next_at:
                held.ask_for_renewal()
        return self._next()

    def _next(self) -> Micros:
        return min((held.next_at for held in list(self._held.values())), default=FAR)

    def _keep(self) -> None:
        while True:
            with self._mutex:
                left = self._wake_at - self.clock.boot()
                if left > 0:
                    told = self._changed.wait(min(left, _LONGEST if self._held else _LINGER) / SECOND)
                    if not told and not self._held and self._wake_at == FAR:
                        self._running = False
                        return
                    continue
            earliest: Micros = 0
            try:
                self.turn()
            except Exception:  # a lock that is not renewed is lost; the others must not be lost with it
                _LOG.exception("the lock keeper failed; it goes on")
                earliest = self.clock.boot() + SECOND
            with self._mutex:
                # First nobody is expected, then who is there is looked at: a lock that comes between the two finds FAR and
                # waits for the mutex, one that came before is seen.  The other way round it could be missed by both.
                self._wake_at = FAR
                self._wake_at = max(earliest, self._next())


def call_apart(function: Callable[[], object], name: str) -> None:
    """Call a user's function on a thread of its own: it may take its time, and renewals must not wait for it."""

    def call() -> None:
        try:
            function()
        except Exception:
            _LOG.exception("on_lost of the lock %s failed", name)

    threading.Thread(target=call, name="noonmark-lock-lost", daemon=True).start()


_shared: Keeper | None = None
_mutex = threading.Lock()


def shared() -> Keeper:
    """Return the keeper of this process."""
    global _shared
    with _mutex:
        if _shared is None:
            _shared = Keeper()
        return _shared


def _forget_parent() -> None:
    """A forked process has none of its parent's threads, and holds none of its locks."""
    global _shared, _mutex
    _shared, _mutex = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_parent)
