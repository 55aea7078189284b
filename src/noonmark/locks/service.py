"""One lock service as this process uses it: its connections shared by all locks at one URL, and its renewal thread.

Promises: renewals of one service wait only for each other; a waiter hears at once of a release in the same process; a
lock whose fate is unknown is freed as soon as the service answers.

Rule of the file: a service belongs to the process that opened it; a forked child opens its own.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from noonmark.core.model import SECOND, Micros
from noonmark.locks import keeper as keepers
from noonmark.locks.errors import within
from noonmark.locks.keeper import Keeper
from noonmark.ports.lock import LockError, Locks

if TYPE_CHECKING:
    from noonmark.locks.held import Held

_IDLE = 10.0
"""Seconds that the renewal thread stays without work."""
_FREE_TRIES, _FREE_PAUSE = 3, 0.5
_LOG = logging.getLogger("noonmark.locks")


class Service:
    """A lock service with what its locks share.

    Args:
        locks: the service.
        keeper: another one than the process's own, for tests; one that is driven ``by_hand`` makes this service work in
            the calling thread.
        pause: waits for a bell, at most so many microseconds; another way of waiting, for tests.
        dice: returns a number in [0, 1); other ones, for tests that are to repeat exactly.
    """

    def __init__(
        self,
        locks: Locks,
        *,
        keeper: Keeper | None = None,
        pause: Callable[[threading.Event, Micros], None] | None = None,
        dice: Callable[[], float] | None = None,
    ) -> None:
        self.locks = locks
        self.keeper = keeper or keepers.shared()
        self.clock = self.keeper.clock
        self.pause = pause or _wait
        self.dice = dice or _dice
        self.is_in_use = True
        """False when whoever wants it next has to ask for it again: it was closed, or left to the parent of a fork."""
        self._mutex = threading.RLock()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._working = False
        self.waiting: dict[str, list[Callable[[], None]]] = {}

    # -- the renewal thread ---------------------------------------------------------------------

    def soon(self, work: Callable[[], None]) -> None:
        """Do something that may wait for the service, on its own thread."""
        if self.keeper.by_hand:
            work()
            return
        with self._mutex:
            self._work.put(work)
            if not self._working:
                threading.Thread(target=self._run, name=f"noonmark-lock-{self.locks.kind}", daemon=True).start()
                self._working = True

    def _run(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=_IDLE)
            except queue.Empty:
                with self._mutex:
                    if self._work.empty():
                        self._working = False
                        return
                continue
            try:
                work()
            except Exception:
                _LOG.exception("a lock renewal failed in an unexpected way; the lock is lost when its trust ends")

    def free_soon(self, name: str, token: str) -> None:
        """Free what may be ours without our knowing; if the service stays away, the ttl does it.

        On a thread of its own: it may have to wait for the service, and renewals must not.
        """

        def free() -> None:
            for left in reversed(range(_FREE_TRIES)):
                try:
                    if self.locks.release(name, token):
                        self.ring(name)
                    return
                except LockError as error:
                    if not left:
                        _LOG.warning("the lock %s could not be freed: %s", name, within(error))
                        return
                self.pause(threading.Event(), round(_FREE_PAUSE * SECOND))

        if self.keeper.by_hand:
            free()
        else:
            threading.Thread(target=free, name="noonmark-lock-free", daemon=True).start()

    # -- waiting --------------------------------------------------------------------------------

    @contextmanager
    def bell(self, name: str, ring: Callable[[], None]) -> Iterator[None]:
        """Wait for a lock while the block lasts, behind those of this process who wait for it already.

        Only the first of them asks the service; ``ring`` is called, from any thread, when it has reason to ask: the
        lock was freed in this process, or whoever was first has gone.
        """
        with self._mutex:
            self.waiting.setdefault(name, []).append(ring)
        try:
            yield
        finally:
            with self._mutex:
                rings = self.waiting[name]
                was_first = rings[0] is ring
                rings.remove(ring)
                following = rings[0] if rings and was_first else None
                if not rings:
                    del self.waiting[name]
            if following is not None:
                following()

    def is_first(self, name: str, ring: Callable[[], None]) -> bool:
        """Say whether this is the waiter that asks the service."""
        with self._mutex:
            rings = self.waiting.get(name)
            return not rings or rings[0] is ring

    def ring(self, name: str) -> None:
        """Tell the first who waits for a lock in this process that it is free."""
        if name in self.waiting:
            with self._mutex:
                rings = self.waiting.get(name)
                first = rings[0] if rings else None
            if first is not None:
                first()

    def renew_now(self, held: Held) -> None:
        """Renew a lock on this service's thread."""
        self.soon(held.renew_quietly)


def _dice() -> float:
    return random.uniform(0, 1)


def _wait(bell: threading.Event, length: Micros) -> None:
    bell.wait(length / SECOND)


# -- the services of this process -------------------------------------------------------------------

_services: dict[str, Service] = {}
_around: WeakValueDictionary[int, Service] = WeakValueDictionary()
_opening = threading.Lock()


def service_at(url: str, open_it: Callable[[str], Locks]) -> Service:
    """Return this process's service at a URL, opened when it is first asked for and closed when the process ends."""
    is_relative = url.startswith("sqlite:///") and not url.startswith("sqlite:////")  # another file in another folder
    key = f"{os.getcwd()} {url}" if is_relative else url
    found = _services.get(key)
    if found is not None:
        return found
    with _opening:
        found = _services.get(key)
        if found is None:
            found = _services[key] = Service(open_it(url))
            found.is_in_use = not is_relative
        return found


def service_of(locks: Locks) -> Service:
    """Return the one service of this process around an opened ``Locks``, so that its waiters hear of each other."""
    with _opening:
        found = _around.get(id(locks))
        if found is None or found.locks is not locks:
            found = _around[id(locks)] = Service(locks)
        return found


def close() -> None:
    """Close every service that ``lock()`` opened.  Held locks are not freed by it: their ttl does that."""
    with _opening:
        services = list(_services.values())
        _services.clear()
    for service in services:
        service.is_in_use = False
        with contextlib.suppress(LockError):
            service.locks.close()


def _forget_parent() -> None:
    # The parent's connections stay open, unused: closing them here would end the parent's sessions.
    global _opening
    for service in _services.values():
        service.is_in_use = False
        _inherited.append(service)
    _services.clear()
    _opening = threading.Lock()


_inherited: list[Service] = []
atexit.register(close)
os.register_at_fork(after_in_child=_forget_parent)
