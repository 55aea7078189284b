"""The one way from asyncio code to the synchronous store.

Promise: a verb that is called here ends with the store's answer, however long the store was away; the same call, with
the same request id, is repeated until then.  A store without room (``StoreFull``) is away like any other.  Only one that
cannot serve until a person acts (``StoreUnusable``) and the end of the worker (``GateClosed``) break the wait.  A store
that served before and says so gets ``MENDING`` to be mended, because a failover or a changed password may be half done
when we ask.

Rule of the file: one dedicated thread talks to the store (ADR 0004); nobody else in the engine does, but the lease
keeper, which must not queue behind a long transaction.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, Protocol, TypeVar

from noonmark.core.model import MINUTE, SECOND, Micros
from noonmark.core.values import dataclass
from noonmark.engine.errors import GateClosed
from noonmark.engine.points import Point, reach
from noonmark.engine.signals import Observer, StoreAway, StoreBack, tell
from noonmark.ports.clock import Clock
from noonmark.ports.store import StoreError, StoreFull, StoreUnusable

P = ParamSpec("P")
T = TypeVar("T")

RETRY_FIRST = 0.05
RETRY_LONGEST = 0.5  # so that the first run comes within one second of the store's return
RETRY_UNUSABLE = 3.0  # asking often mends nothing, and a server may lock out who fails to log in too often
MENDING: Micros = 30 * SECOND
"""How long a store that served before may say that it cannot: the usual lease's length.  A run whose lease is
longer is taken over when that ends."""
REMEMBERED = 20
"""How many times away a worker remembers: who asks why asks about one of the last."""
_LOG = logging.getLogger("noonmark.engine")


class Gate(Protocol):
    """Carries verbs to the store."""

    async def call(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out one verb and return its answer; waits while the store is away."""
        ...

    def submit(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Carry out one verb for a job, which may wait in another thread or loop."""
        ...

    @property
    def away_since(self) -> Micros | None:
        """Boot-clock moment since which the store does not answer, None while it does."""
        ...

    def over(self) -> list[Away]:
        """Return, once each, the times when the store was away that are over."""
        ...


def backoff(failures: int, dice: float) -> float:
    """Return how long to wait before the next try, in seconds: doubling, bounded, spread by the dice in [0, 1)."""
    return float(min(RETRY_LONGEST, RETRY_FIRST * 2.0 ** min(failures, 10)) * (0.5 + dice / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A time in which the store did not answer, boot clock: from the first call without an answer to the next answer."""

    start: Micros
    end: Micros


class Outage:
    """Remembers since when the store is away, so that it is said once and not at every try."""

    def __init__(self, clock: Clock, observer: Observer | None) -> None:
        self._clock = clock
        self._observer = observer
        self._since: Micros | None = None
        self._said: Micros = 0
        self._is_full = False
        self._has_served = False
        self._unusable_since: Micros | None = None
        self._asked: Micros = 0
        self._began: Micros = 0
        self._over: deque[Away] = deque(maxlen=REMEMBERED)

    def asks(self) -> None:
        """Take note of a call that begins: if no answer comes, the store was away from here on."""
        self._asked = self._clock.boot()

    @property
    def since(self) -> Micros | None:
        """Boot-clock moment of the first failure, None while the store answers."""
        return self._since

    def bears(self, error: StoreUnusable) -> bool:
        """Take note of a refusal that a person must mend; False when nobody has, or when the store never served."""
        now = self._clock.boot()
        if not self._has_served:
            return False
        if self._unusable_since is None:
            self._unusable_since = now
            self._begin(now)
            self._said = now
            _LOG.error("the store cannot serve; the worker stops if that lasts %d s: %s", MENDING // SECOND, error)
            tell(self._observer, StoreAway(error=str(error)))
        return now - self._unusable_since < MENDING

    def failed(self, error: StoreError) -> None:
        """Take note of a failed try."""
        now = self._clock.boot()
        self._unusable_since = None  # it is away, which is another matter
        if isinstance(error, StoreFull):
            self._is_without_room(now, error)
        elif self._since is None:
            self._begin(now)
            self._said = now
            _LOG.warning("the store does not answer (%s); the worker waits for it and loses nothing", error)
            tell(self._observer, StoreAway(error=str(error)))
        elif now - self._said > MINUTE:
            self._said = now
            _LOG.warning("the store is still away after %d s (%s)", (now - self._since) // 1_000_000, error)

    def _is_without_room(self, now: Micros, error: StoreFull) -> None:
        """Say it loudly: unlike a restart it needs a person, and unlike a wrong password it ends when there is room."""
        is_new, is_known_away = not self._is_full, self._since is not None
        if is_new or now - self._said > MINUTE:
            self._begin(now)
            self._is_full, self._said = True, now
            _LOG.error(
                "the store has no room (%s); nothing starts and nothing is recorded until somebody makes room; the worker"
                " waits for it and loses nothing",
                error,
            )
        if not is_known_away:
            tell(self._observer, StoreAway(error=str(error)))

    def _begin(self, now: Micros) -> None:
        if self._since is None:
            self._since, self._began = now, min(now, self._asked or now)

    def answered(self) -> None:
        """Take note of an answer."""
        self._has_served, self._unusable_since, self._is_full = True, None, False
        if self._since is None:
            return
        now = self._clock.boot()
        away = now - self._since
        self._over.append(Away(start=self._began, end=now))
        self._since = None
        _LOG.warning("the store answers again, after %.1f s", away / 1e6)
        tell(self._observer, StoreBack(away_for=away))

    def over(self) -> list[Away]:
        """Return, once each, the times away that are over; safe to call from any thread."""
        found = []
        while self._over:
            found.append(self._over.popleft())
        return found


class StoreGate:
    """The gate of a real worker: one daemon thread that works off a queue."""

    def __init__(self, clock: Clock, dice: Callable[[], float], observer: Observer | None = None) -> None:
        self._dice = dice
        self._outage = Outage(clock, observer)
        self._queue: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="noonmark-store", daemon=True)
        self._thread.start()

    async def call(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out one verb in the store thread; the loop goes on meanwhile."""
        return await asyncio.wrap_future(self.submit(verb, *args, **kwargs))

    def submit(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue one verb and return its future."""
        future: Future[T] = Future()
        if self._closing.is_set():
            future.set_exception(GateClosed("the worker has stopped"))
            return future
        self._queue.put((future, lambda: verb(*args, **kwargs)))
        return future

    @property
    def away_since(self) -> Micros | None:
        """Boot-clock moment since which the store does not answer, None while it does."""
        return self._outage.since

    def over(self) -> list[Away]:
        """Return, once each, the times when the store was away that are over."""
        return self._outage.over()

    def give_up(self) -> None:
        """Stop waiting for a store that is away: what is queued ends with GateClosed."""
        self._closing.set()

    def close(self) -> None:
        """Work off what is queued and end the thread."""
        self._queue.put(None)
        self._thread.join(timeout=10)
        self._closing.set()

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            future, verb = entry
            if not future.set_running_or_notify_cancel():
                continue
            try:
                answer = self._persist(verb)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(answer)
            del entry, future, verb  # else the last answer lives until the next call

    def _persist(self, verb: Callable[[], Any]) -> Any:
        failures = 0
        while True:
            self._outage.asks()
            try:
                answer = verb()
            except StoreUnusable as error:
                if not self._outage.bears(error):
                    raise
                self._wait(RETRY_UNUSABLE * (0.5 + self._dice() / 2), error)
            except StoreError as error:
                self._outage.failed(error)
                self._wait(backoff(failures, self._dice()), error)
                failures += 1
            else:
                reach(Point.APPLIED)
                self._outage.answered()
                return answer

    def _wait(self, seconds: float, error: StoreError) -> None:
        if self._closing.wait(seconds):
            raise GateClosed("the worker stopped while its store was away") from error
