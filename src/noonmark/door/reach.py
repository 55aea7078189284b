"""How callers of the door reach their store: opened at the first use, and not given up at the first failure.

Promise: a call ends.  A store that does not answer is asked again, with the same request id, until it has been away for
the scheduler's ``patience``; then the caller gets a ``StoreUnreachable`` that says so.  The longest a call can take is
the patience and one last attempt, which the store's own timeouts bound.  While the store stays away, every further call
is one attempt, so that a web server is not held up request by request.

Rule of the file: a worker's waiting is not done here but in the engine; a worker waits without end.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from noonmark.core.model import Micros
from noonmark.ports.store import Store, StoreError, StoreFull, StoreUnreachable, StoreUnusable

PATIENCE: Micros = 3_000_000
"""How long a call waits for a store that is away: a restart's blink, and no longer than a person looks at a page."""
_NEVER_REPEATED = frozenset({"url", "capabilities", "listen", "close", "add_within"})
_READS = frozenset({"open", "now", "facts", "occurrences", "story", "jobs", "workers", "tallies"})


class Reach:
    """The store of one scheduler.

    Args:
        opener: opens it, one attempt.
        patience: µs that calls spend on a store that is away.
    """

    def __init__(self, opener: Callable[[], Store], patience: Micros = PATIENCE) -> None:
        self._opener = opener
        self.patience = patience / 1e6
        self.away_since: float | None = None
        """Monotonic moment of the first failure since the last answer: all callers' waiting counts from here."""
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._failure: tuple[float, StoreUnreachable] | None = None

    @property
    def opened(self) -> Store | None:
        """The store, if it has been opened."""
        return self._store

    def store(self) -> Store:
        """Return the store itself, opened by the first who asks; one attempt.

        Raises:
            StoreUnreachable, StoreUnusable: it cannot be opened.
        """
        if (store := self._store) is not None:
            return store
        asked = time.monotonic()
        with self._lock:
            if self._store is not None:
                return self._store
            if self._failure is not None and self._failure[0] >= asked:
                raise type(self._failure[1])(str(self._failure[1]))  # somebody tried while we waited for our turn
            try:
                self._store = self._opener()
            except StoreUnreachable as error:
                self._failure = time.monotonic(), error
                raise
            return self._store

    def patiently(self) -> Store:
        """Return the store for one call: it repeats what the store does not answer, within the patience."""
        return cast(Store, _Patient(self))

    def close(self) -> None:
        """Give the store back, if it was opened; the next use opens it again."""
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()


class _Patient:
    """One call's view of the store.  What the call waits is bounded over all its verbs together."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._left = reach.patience

    def __getattr__(self, name: str) -> Any:
        store = self._reach.opened or self._persist("open", self._reach.store)
        found = getattr(store, name)
        return found if name in _NEVER_REPEATED else partial(self._persist, name, found)

    def _persist(self, name: str, verb: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        failures = 0
        while True:
            began = time.monotonic()
            try:
                answer = verb(*args, **kwargs)
            except StoreUnusable:
                raise
            except StoreError as error:
                self._wait(name, began, failures, error)
                failures += 1
            else:
                self._reach.away_since = None
                return answer

    def _wait(self, name: str, began: float, failures: int, error: StoreError) -> None:
        from noonmark.engine.gate import backoff  # only who meets an outage pays for the engine's import

        if self._reach.away_since is None:
            self._reach.away_since = began
        pause, now = backoff(failures, random.SystemRandom().random()), time.monotonic()
        away, self._left = now - self._reach.away_since, self._left - (now + pause - began)
        if self._left < 0 or away + pause > self._reach.patience:
            kind = StoreFull if isinstance(error, StoreFull) else StoreUnreachable
            raise kind(_told(name, error, away)) from error
        time.sleep(pause)


def _told(name: str, error: StoreError, away: float) -> str:
    said = f"{str(error).rstrip('.')}. It has been away for {away:.1f} s"
    if name in _READS:
        return f"{said}."
    return f"{said}; whether the request took effect is unknown, and asking again with the same key or id is safe."
