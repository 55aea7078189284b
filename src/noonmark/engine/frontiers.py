"""The watch that no series is left without its frontier row (I13).

Rule of the file: what is checked is bounded, because it runs once a minute for ever: a hundred thousand schedules are
looked through a page at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from noonmark.core.model import Job, JobRow, Query
from noonmark.engine.activate import raise_frontiers
from noonmark.engine.gate import Gate
from noonmark.engine.registry import Registry
from noonmark.engine.rules import Rules
from noonmark.ports.store import Store

AT_ONCE = 2000
"""Up to so many jobs are checked all together at the start; beyond, page by page."""
PAGE = 100


class Watchdog:
    """Checks series jobs for their frontier rows and raises what is missing."""

    def __init__(self, store: Store, gate: Gate, rules: Rules, registry: Registry, *, worker: str) -> None:
        self._store = store
        self._gate = gate
        self._rules = rules
        self._registry = registry
        self._worker = worker
        self._next = 0

    async def check_all(self) -> None:
        """Check every job where that is cheap, else our own per-worker jobs; the rest follows page by page."""
        rows = self._rules.rows()
        if len(rows) > AT_ONCE:
            await self.check_own()
            return
        open_rows = await self._gate.call(
            self._store.occurrences, Query(frontier_only=True, open_only=True, limit=10 * AT_ONCE)
        )
        there = {row.job for row in open_rows if not row.worker}
        await self._raise([row for row in rows if row.name not in there])

    async def check_own(self) -> None:
        """Check the jobs of scope each_worker that run here: their series begins with this worker."""
        await self._raise(self._rules.own_rows())

    async def check_some(self) -> None:
        """Check the next page of jobs, and our own per-worker ones."""
        rows = self._rules.rows()
        if rows:
            self._next %= len(rows)
            await self._raise(rows[self._next : self._next + PAGE])
            self._next += PAGE
        if len(rows) > PAGE:
            await self.check_own()

    async def _raise(self, rows: Sequence[JobRow]) -> None:
        pairs: list[tuple[Job, JobRow]] = []
        for row in rows:
            job = self._rules.job(row.name)
            if job is None or not job.is_series:
                continue
            if job.scope == "each_worker" and job.name not in self._registry:
                continue
            pairs.append((job, row))
        if pairs:
            await self._gate.call(raise_frontiers, self._store, pairs, worker=self._worker, actor=self._worker)
