"""Keeping what is ours: renewals every third of a lease, the end of trust, heartbeats.

Promises: a lease is renewed from outside the job's loop and outside the engine's, so neither a blocked loop nor a long
transaction loses it; a run whose trust ended is named before its lease lapses at the store.

Rule of the file: ``Book`` is plain bookkeeping on the boot clock; ``keep_once`` is one round of the keeper, which a
thread (``Keeper``) repeats in production and a task in the virtual world.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from noonmark.core.model import FAR, SECOND, Micros, Occurrence, Renewal, WorkerInfo, changed
from noonmark.engine.gate import REMEMBERED, Away
from noonmark.engine.points import Point, reach
from noonmark.engine.runs import Run
from noonmark.ports.clock import Clock
from noonmark.ports.store import Store, StoreError

HEARTBEAT_TTL: Micros = 30 * SECOND
_LONGEST_NAP: Micros = 10 * SECOND
_LOG = logging.getLogger("noonmark.engine")


class Book:
    """The runs whose leases we hold, by occurrence.

    Written by the engine's loop, read by the keeper through ``list(dict.values())``: single dict operations are atomic,
    so no lock is held while either side is slow.
    """

    def __init__(self) -> None:
        self._runs: dict[int, Run] = {}
        self._late: dict[int, Run] = {}

    def hold(self, run: Run) -> None:
        """Begin to renew a lease."""
        self._runs[run.row.id] = run

    def drop(self, run: Run) -> None:
        """Stop renewing; a newer run of the same occurrence keeps its place."""
        if self._runs.get(run.row.id) is run:
            del self._runs[run.row.id]

    def get(self, occurrence_id: int) -> Run | None:
        """Return the run of an occurrence."""
        return self._runs.get(occurrence_id)

    def row_of(self, occurrence_id: int) -> Occurrence | None:
        """Return the row of a run that is held, or that reports late."""
        run = self._late.get(occurrence_id) or self._runs.get(occurrence_id)
        return None if run is None else run.row

    @contextmanager
    def reporting(self, runs: Iterable[Run]) -> Iterator[None]:
        """Know the rows of runs that were dropped long ago while what they report is offered to the store."""
        self._late = {run.row.id: run for run in runs}
        try:
            yield
        finally:
            self._late = {}

    def all(self) -> list[Run]:
        """Return every held run, at one instant."""
        return list(self._runs.values())

    def __len__(self) -> int:
        return len(self._runs)

    def due(self, now: Micros) -> list[Run]:
        """Return what must be renewed now (boot clock)."""
        return [run for run in self.all() if run.renew_at <= now]

    def next_renewal(self) -> Micros | None:
        """Return the boot-clock moment of the next renewal."""
        return min((run.renew_at for run in self.all()), default=None)


class Duty:
    """What the keeper does in one round, without waiting."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        worker: WorkerInfo,
        book: Book,
        *,
        on_lost: Callable[[list[Run]], None],
        on_cancel: Callable[[list[Run]], None],
        ttl: Micros = HEARTBEAT_TTL,
        dice: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self.store = store
        self.worker = worker
        self._clock = clock
        self._book = book
        self._on_lost = on_lost
        self._on_cancel = on_cancel
        self._ttl = ttl
        self._dice = dice
        self._beating = threading.Lock()  # the loop's first and last beat must not overtake the keeper's
        self.beat_at: Micros = 0
        """Boot-clock moment of the next heartbeat."""
        self._counts_until: Micros = 0
        self._came_back = False
        self._failures = 0
        self._unheard_since: Micros | None = None
        self._over: deque[Away] = deque(maxlen=REMEMBERED)

    def over(self) -> list[Away]:
        """Return, once each, the times when the store did not answer us that are over; from any thread."""
        found = []
        while self._over:
            found.append(self._over.popleft())
        return found

    def _heard(self) -> None:
        since, self._unheard_since = self._unheard_since, None
        if since is not None:
            self._over.append(Away(start=since, end=self._clock.boot()))

    def beat(self, *, ended: bool = False) -> Micros:
        """Say that we live (or that we stop by ourselves); returns the store's time."""
        with self._beating:
            asked = self._clock.boot()
            wall = self._clock.wall()
            info = changed(self.worker, seen_at=wall, ended_at=wall if ended else None)
            now = self.store.heartbeat(info, self._ttl)
            self._heard()
            offset = wall - now
            is_told = abs(offset - info.wall_offset) < SECOND
            self.worker = changed(self.worker, wall_offset=offset)
            # A wrong clock is known only from the answer; it is told in the next beat, which then comes at once.
            self.beat_at = self._clock.boot() + (self._ttl // 3 if is_told or ended else 0)
            self._came_back = self._came_back or 0 < self._counts_until <= asked
            self._counts_until = asked + self._ttl
            return now

    @property
    def is_silent(self) -> bool:
        """True when others may take us for gone: our last heartbeat counts no more."""
        return self._clock.boot() >= self._counts_until

    def came_back(self) -> bool:
        """True once after a heartbeat that came too late: meanwhile we may have been taken for gone."""
        came_back, self._came_back = self._came_back, False
        return came_back

    def keep_once(self) -> Micros:
        """Renew what is due and beat when it is time; return the boot-clock moment of the next round."""
        asked = self._clock.boot()
        try:
            self._renew(self._book.due(self._clock.boot()))
            if self._clock.boot() >= self.beat_at:
                self.beat()
            self._failures = 0
        except StoreError as error:
            self._failures += 1
            self._unheard_since = asked if self._unheard_since is None else self._unheard_since
            if self._failures == 1:
                _LOG.warning("leases could not be renewed (%s); trying again", error)
            nap = min(SECOND, 100_000 * self._failures)
            return self._clock.boot() + int(nap * (0.5 + self._dice() / 2))  # the others fail at the same moment
        upcoming = self._book.next_renewal()
        latest = min(self.beat_at, self._clock.boot() + _LONGEST_NAP)
        return latest if upcoming is None else min(latest, upcoming)

    def _renew(self, runs: Iterable[Run]) -> None:
        asked = self._clock.boot()
        held = {run.row.id: run for run in runs}
        if not held:
            return
        wanted = [Renewal(occurrence_id=id_, fence=run.fence, lease=run.lease) for id_, run in held.items()]
        reach(Point.RENEW_ASKED)
        answer = self.store.renew(self.worker.id, wanted)
        reach(Point.RENEWED)
        self._heard()
        for id_, run in held.items():
            if id_ not in answer.lost:
                run.believe(asked)
        if lost := [held[id_] for id_ in answer.lost if id_ in held]:
            for run in lost:
                run.renew_at = asked + run.lease  # the loop drops it; until then, do not ask again
            self._on_lost(lost)
        if asked_to_stop := [held[id_] for id_ in answer.cancel_requested if id_ in held and id_ not in answer.lost]:
            self._on_cancel(asked_to_stop)


class Keeper(threading.Thread):
    """The thread that repeats the duty.  It sleeps between rounds and is woken when an earlier renewal appears."""

    def __init__(self, duty: Duty, clock: Clock) -> None:
        super().__init__(name="noonmark-leases", daemon=True)
        self._duty = duty
        self._clock = clock
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._planned: Micros = 0

    def expect(self, renew_at: Micros) -> None:
        """Make sure that the next round comes no later than this boot-clock moment."""
        if renew_at < self._planned:
            self._planned = renew_at
            self._wake.set()

    def run(self) -> None:
        """Repeat the duty until ``end``."""
        while not self._ended.is_set():
            self._planned = FAR  # a hint that arrives during the round must not be lost to the round's own plan
            self._wake.clear()
            try:
                upcoming = self._duty.keep_once()
            except Exception:
                _LOG.exception("the lease keeper failed; it goes on")
                upcoming = self._clock.boot() + SECOND
            self._planned = upcoming
            self._wake.wait(max(0, upcoming - self._clock.boot()) / 1e6)

    def end(self) -> None:
        """Stop renewing and wait for the round in progress."""
        self._ended.set()
        self._wake.set()
        if self.is_alive():
            self.join(timeout=10)
