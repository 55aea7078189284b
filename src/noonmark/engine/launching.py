"""From a row that was started to a run at work: what may not begin any more is given back instead.

Promise: a run begins only while its lease is still to be trusted, and is known to be renewed before it is handed over;
what this worker cannot run, and what is known to have run in what the store lost, goes back with its attempt not counted.

Rule of the file: belongs to the engine's loop.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from noonmark.core.model import SECOND, Micros, Occurrence
from noonmark.engine.alerts import say_start
from noonmark.engine.gate import Gate
from noonmark.engine.joblocks import Hold, JobLocks
from noonmark.engine.leases import Book
from noonmark.engine.points import Point, reach
from noonmark.engine.roster import Roster
from noonmark.engine.rules import Rules
from noonmark.engine.runs import Run
from noonmark.engine.signals import Observer, Started, tell
from noonmark.engine.starting import handed_back, started
from noonmark.ports.clock import Clock
from noonmark.ports.store import Store

ORPHANED: Micros = 15 * SECOND
"""So long a row is left alone that was taken by a worker without a handler for it."""


class Launcher:
    """Begins the runs of one worker.

    Args:
        has_run: says of a row that its key is known to have run in a range that the store lost.
        expect_renewal: is told by when the leases that begin are to be renewed, boot-clock microseconds.
        lock_lost: is told of a run whose outside lock was lost before it began.
        zone: the system's, for the log.
    """

    def __init__(
        self,
        store: Store,
        gate: Gate,
        rules: Rules,
        book: Book,
        roster: Roster,
        locks: JobLocks,
        *,
        clock: Clock,
        worker: str,
        store_now: Callable[[], Micros],
        has_run: Callable[[Occurrence], bool],
        expect_renewal: Callable[[Micros], None],
        lock_lost: Callable[[Hold], None],
        zone: str,
        observer: Observer | None,
    ) -> None:
        self._store = store
        self._gate = gate
        self._rules = rules
        self._book = book
        self._roster = roster
        self._locks = locks
        self._clock = clock
        self._worker = worker
        self._now = store_now
        self._has_run = has_run
        self._expect_renewal = expect_renewal
        self._lock_lost = lock_lost
        self._zone = zone
        self._observer = observer

    async def start_taken(self, rows: Sequence[Occurrence], asked: Micros, now: Micros) -> None:
        """Begin what ``take`` started by itself.

        Args:
            rows: as they were taken.
            asked: boot-clock moment at which they were asked for.
            now: the store's time in the answer.
        """
        runs, orphans, ran = started(rows, self._rules, asked=asked, now=now, has_run=self._has_run)
        await self.launch(runs)
        if orphans:
            await self._hand_back(orphans, self._now() + ORPHANED, "handler_missing")
        if ran:
            await self._hand_back(ran, self._now(), "held_rollback")  # a look holds it, or finds it released

    async def launch(self, runs: Sequence[Run]) -> None:
        """Begin these runs; one whose lease was over before we heard of it may be another's, and is given back."""
        now = self._clock.boot()
        late = [run for run in runs if run.trust_until <= now]
        self._begin([run for run in runs if run.trust_until > now])
        if late:
            for run in late:
                if run.hold is not None:
                    self._locks.free(run.hold)
            await self._hand_back([run.row for run in late], self._now(), "handed_back")

    async def _hand_back(self, rows: Sequence[Occurrence], due_at: Micros, code: str) -> None:
        missing = code == "handler_missing"
        items = [handed_back(row, due_at, code, self._rules.missing(row.job) if missing else {}) for row in rows]
        await self._gate.call(self._store.settle, secrets.token_hex(8), self._worker, items)

    def _begin(self, runs: Sequence[Run]) -> None:
        """Hold the leases, say so, hand over."""
        if not runs:
            return
        now = self._now()
        try:
            for run in runs:
                self._book.hold(run)
                say_start(run.job, run.row, run.fence, now=now, system_zone=self._zone)
                if self._observer is not None:
                    tell(self._observer, Started(row=run.row, fence=run.fence))
            self._expect_renewal(min(run.renew_at for run in runs))
            reach(Point.RUN_BEGINS)
            self._roster.begin(runs)
        except Exception:
            self._roster.forsake(runs)  # renewed but not at work, they would be nobody's for ever
            raise
        for run in runs:
            if run.hold is not None and not run.hold.is_ours:  # lost while the start was being settled
                self._lock_lost(run.hold)
