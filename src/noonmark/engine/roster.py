"""The runs of this worker that occupy a slot, and the watch over them.

Promises: a run whose trust or time is over is told to stop at that moment; one that does not stop is given up after a
grace, so that it costs neither its slot nor its occurrence; what it still writes meets an old fence, and its success
is offered all the same, for the fence alone decides, and the journal keeps what was refused over a rollback.

Rule of the file: belongs to the engine's loop, and to nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from noonmark.core.model import FAR, MINUTE, SECOND, Micros
from noonmark.engine.executor import Executor, Inbox
from noonmark.engine.runs import Finish, Run
from noonmark.engine.signals import Lost, Observer, tell
from noonmark.ports.clock import Clock

STOP_GRACE: Micros = 5 * SECOND
"""How long a run that was told to stop may take before the engine goes on without it."""
_LOG = logging.getLogger("noonmark.engine")


class Roster:
    """Who runs, since when, until when."""

    def __init__(self, clock: Clock, inbox: Inbox, *, concurrency: int, observer: Observer | None) -> None:
        self._clock = clock
        self._inbox = inbox
        self._concurrency = concurrency
        self._observer = observer
        self._executor: Executor | None = None
        self._wake = asyncio.Event()
        self._watch_at = FAR
        self._stray = 0  # given up, but their code still runs somewhere
        self.active: dict[Run, None] = {}  # a dict, not a set: whoever walks it meets the runs in the order they began

    def bind(self, executor: Executor) -> None:
        """Give the roster what runs jobs."""
        self._executor = executor

    def free(self) -> int:
        """Return how many more runs may begin.  Strays cost nothing until they are as many as all slots together."""
        return self._concurrency - len(self.active) - max(0, self._stray - self._concurrency)

    def begin(self, runs: Sequence[Run]) -> None:
        """Let these runs begin."""
        watch_at = self._watch_at
        for run in runs:
            self.active[run] = None
            watch_at = min(watch_at, run.trust_until, run.timeout_at)
        if watch_at < self._watch_at:
            self._watch_at = watch_at
            self._wake.set()
        assert self._executor is not None
        self._executor.start(runs)

    def forsake(self, runs: Iterable[Run]) -> None:
        """Let go of runs that could not be begun, or not all of them: their leases lapse, and somebody takes over."""
        for run in runs:
            self.active[run] = None
        self.stop(list(runs), "lost", why="start", patience=0)

    def disown(self) -> None:
        """Stop every run of a store that lies there no more: nothing about it may reach the one that does."""
        for run in self.active:
            run.foreign = True
        self.stop(list(self.active), "lost", why="another store")

    def end(self, finish: Finish) -> bool:
        """Give the slot back; False for the late report of a run that had been given up."""
        run = finish.run
        if run.settled:
            self._stray -= 1
            return False
        run.settled = True
        self._stray += run.abandoned
        self.active.pop(run, None)
        return True

    def ended(self, batch: Iterable[Finish]) -> tuple[list[Finish], list[Finish]]:
        """Give the slots back; return how our runs ended, and the successes of runs that had been given up."""
        ours, late = [], []
        for finish in batch:
            if self.end(finish):
                ours.append(finish)
            elif finish.is_late_success:
                late.append(finish)
        return ours, late

    def stop(self, runs: Iterable[Run], reason: str, *, why: str = "", patience: Micros = STOP_GRACE) -> None:
        """Tell runs to stop: ``lost``, ``lock_lost``, ``timed_out``, ``cancelled`` or ``handed_back``.

        A lost lease outranks the others.
        """
        assert self._executor is not None
        for run in runs:
            if run.settled or run.stop_reason == "lost" or (run.stop_reason and reason != "lost"):
                continue
            run.stop_reason = reason
            run.stop_by = self._clock.boot() + patience
            if reason == "lost":
                run.lost = True
                run.renew_at = FAR
                _LOG.warning("run %s of %s lost its lease (%s); it is stopped", run.row.run_id, run.row.job, why)
                tell(self._observer, Lost(row=run.row, fence=run.fence, why=why))
            elif reason == "lock_lost":
                run.lost = True  # told as of a lost lease; the lease itself is kept, so that the end can be recorded
                _LOG.warning("run %s of %s lost its outside lock (%s); it is stopped", run.row.run_id, run.row.job, why)
                tell(self._observer, Lost(row=run.row, fence=run.fence, why="lock"))
            self._executor.stop(run)
            self._wake.set()

    def give_up(self, run: Run) -> None:
        """Go on without a run that was told to stop and has not."""
        if run.abandoned or run.settled:
            return
        run.abandoned = True
        run.lost = True
        words = {"timed_out": f"timed out after {run.job.timeout / 1e6:g} s and did not stop when told to"}
        error = words.get(run.stop_reason, f"did not stop when told to ({run.stop_reason})")
        self._inbox.put(Finish(run, ok=False, error=error, detail={"error": error}))
        self._inbox.flush()

    async def watch(self) -> None:
        """Watch for ever.  One timer serves all runs."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            now = self._clock.boot()
            self._watch_at = self._round(now)
            length = max(1000, min(self._watch_at - now, MINUTE))
            timer = loop.call_later(length / 1e6, self._wake.set)
            await self._wake.wait()
            timer.cancel()

    def _round(self, now: Micros) -> Micros:
        upcoming = FAR
        for run in list(self.active):
            if not run.stop_reason and now >= run.trust_until:
                self.stop([run], "lost", why="trust")
            elif not run.stop_reason and now >= run.timeout_at:
                self.stop([run], "timed_out")
            if run.stop_by is None:
                upcoming = min(upcoming, run.trust_until, run.timeout_at)
            elif now >= run.stop_by:
                self.give_up(run)
            else:
                upcoming = min(upcoming, run.stop_by)
        return upcoming
