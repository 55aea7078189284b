"""Rows that ``take`` started by itself, on their way to becoming runs.

Rule of the file: pure bookkeeping; who has no handler for a row gives it back, its attempt not counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from noonmark.core.model import Event, Job, Micros, Occurrence, Settlement
from noonmark.engine.registry import Handler
from noonmark.engine.rules import Rules
from noonmark.engine.runs import Run


def started(
    rows: Sequence[Occurrence], rules: Rules, *, asked: Micros, now: Micros, has_run: Callable[[Occurrence], bool]
) -> tuple[list[Run], list[Occurrence], list[Occurrence]]:
    """Return the runs of these rows, the rows that this worker cannot run, and those that ran in what the store lost.

    Args:
        rows: as ``take`` handed them out, started.
        rules: in force.
        asked: boot-clock moment at which they were asked for.
        now: the store's time in the answer.
        has_run: says of a row that its key is known to have run in a range that the store lost.
    """
    runs, orphans, ran = [], [], []
    known: dict[str, tuple[Job, Handler] | None] = {}  # looked up once a batch: most rows are of few jobs
    for row in rows:
        if row.job not in known:
            known[row.job] = rules.runs(row.job)
        found = known[row.job]
        if found is None:
            orphans.append(row)
            continue
        job, handler = found
        if has_run(row) and job.on_rollback == "hold":
            ran.append(row)
            continue
        # The lease is what the store gave, which was asked for before the rules were read anew.
        lease = job.lease if row.due_at is None else row.due_at - now
        run = Run(row=row, job=job, handler=handler, fence=row.fence, lease=lease, asked=asked)
        run.quiet = True
        runs.append(run)
    return runs, orphans, ran


def handed_back(row: Occurrence, due_at: Micros, code: str, detail: Mapping[str, str]) -> Settlement:
    """Return what gives a started row back, due at ``due_at`` by the store's time; ``detail``: what its reason says."""
    said = json.dumps(dict(detail), ensure_ascii=False)
    return Settlement(
        occurrence_id=row.id, fence=row.fence, event=Event.HAND_BACK, due_at=due_at, code=code, detail=said
    )
