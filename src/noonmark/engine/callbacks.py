"""How a running job reaches the store: its context, or the journal behind it for a child process.

Rule of the file: every request of a job goes through the gate, so that the store is called from its own thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from noonmark.core.model import Micros
from noonmark.engine.context import Context, ContextSync, RunFacts
from noonmark.engine.gate import Gate
from noonmark.engine.journal import Journal
from noonmark.engine.runs import Run, parameters
from noonmark.ports.clock import Clock
from noonmark.ports.store import Store


class Callbacks:
    """What the jobs of one worker call back on."""

    def __init__(self, store: Store, gate: Gate, worker: str, clock: Clock, store_now: Callable[[], Micros]) -> None:
        self._store = store
        self._gate = gate
        self._worker = worker
        self._clock = clock
        self._store_now = store_now

    def facts(self, run: Run) -> RunFacts:
        """Return what is fixed for this attempt."""
        row = run.row
        started = row.started_at if row.started_at is not None else self._store_now()
        first = row.first_started_at if row.first_started_at is not None else started
        return RunFacts(
            key=row.key,
            fence=run.fence,
            attempt=row.attempt,
            run_id=row.run_id,
            job=row.job,
            subject=row.subject,
            business_date=row.business_date,
            scheduled_for=row.scheduled_for,
            late=max(0, started - row.scheduled_for),
            first_late=max(0, first - row.scheduled_for),
            params=parameters(run),
            lock_fence=run.lock_fence,
        )

    def journal(self, run: Run) -> Callable[[str, tuple[Any, ...]], Any]:
        """Return the blocking way to the run's journal."""
        journal = Journal(self._store, self._worker, run)

        def ask(op: str, args: tuple[Any, ...]) -> Any:
            return self._gate.submit(journal.call(op, *args)).result()

        return ask

    def context(self, run: Run) -> Context:
        """Return the context of an async run."""
        journal = Journal(self._store, self._worker, run)

        async def ask(op: str, args: tuple[Any, ...]) -> Any:
            return await asyncio.wrap_future(self._gate.submit(journal.call(op, *args)))

        return Context(self.facts(run), ask=ask, is_lost=partial(_notice, run), boot=self._clock.boot)

    def context_sync(self, run: Run) -> ContextSync:
        """Return the context of a sync run."""
        ask = self.journal(run)
        return ContextSync(self.facts(run), ask=ask, is_lost=partial(_notice, run), boot=self._clock.boot)


def _notice(run: Run) -> bool:
    """Tell a job whether its run is lost, and remember that it was told."""
    run.saw_stop = run.saw_stop or run.lost
    return run.lost
