"""``take``: lease what is due, oldest first, and start at once what the row itself proves may start."""

from __future__ import annotations

from collections.abc import Mapping

from noonmark.core.model import Micros, Occurrence, State, Taken, Verdict, WorkerInfo
from noonmark.stores.memory.tables import Tables

WAKES_PER_CALL = 1_000
"""Bound of the rows one ``take`` wakes, so that one signal cannot stall everybody."""


def take(
    tables: Tables, worker: str, *, limit: int, runnable: Mapping[str, Micros], look_lease: Micros, now: Micros
) -> Taken:
    """Lease at most ``limit`` due rows to the worker."""
    tables.wake(now, WAKES_PER_CALL)
    _bury_workers(tables, now)
    tables.pass_slots_on(now)
    rows = tuple(
        _start(tables, row, worker, runnable[row.job], now)
        if _may_start_at_once(tables, row, runnable, now)
        else _look(tables, row, worker, look_lease, now)
        for row in _due(tables, worker, limit, now)
    )
    return Taken(rows=rows, now=now, next_due=_next_due(tables, worker, now), rules_version=tables.rules_version)


def has_due(tables: Tables, worker: str, limit: int, now: Micros) -> bool:
    """Would a take at this moment lease anything?"""
    tables.wake(now, WAKES_PER_CALL)
    _bury_workers(tables, now)
    return bool(_due(tables, worker, limit, now))


def _due(tables: Tables, worker: str, limit: int, now: Micros) -> list[Occurrence]:
    soonest, _ = tables.outlook()
    if soonest is None or soonest > now:
        return []
    due = [row for row in tables.open_rows() if row.due_at is not None and row.due_at <= now and _is_for(row, worker)]
    due.sort(key=lambda row: (row.due_at, row.id))
    chosen: list[Occurrence] = []
    for row in due[:limit]:
        # A row that once cost somebody a lease may be what kills workers: nothing else shall die with it.
        if row.lost or row.holder:
            return chosen or [row]
        chosen.append(row)
    return chosen


def _is_for(row: Occurrence, worker: str) -> bool:
    return row.worker in ("", worker)


def _may_start_at_once(tables: Tables, row: Occurrence, runnable: Mapping[str, Micros], now: Micros) -> bool:
    """Does the row itself prove that it may start, so that nobody has to look?"""
    job = tables.jobs.get(row.job)
    return (
        row.job in runnable
        and job is not None
        and row.state in (State.PENDING, State.FAILED_RETRYING)
        and not row.gated
        and not row.frontier
        and row.claimed
        and row.revision == job.revision
        and not job.paused
        and (row.not_before is None or row.not_before <= now)
        and (row.not_after is None or now < row.not_after)
        and (row.first_started_at is not None or row.expires_at is None or now <= row.expires_at)
        and not row.cancel_requested
    )


def _lease(tables: Tables, row: Occurrence, worker: str, until: Micros, now: Micros) -> Occurrence:
    """Put the row under a new fence; a lease that lapsed is counted, and a run that lost its lease is recorded."""
    lapsed = bool(row.holder)
    run_lost = lapsed and row.state is State.RUNNING and not row.looking
    if run_lost:
        tables.end_attempt(row.id, "lost", now)
    tables.stop_waiting(row.id)
    return tables.change(
        row.id,
        fence=max(row.fence + 1, now),
        holder=worker,
        looking=True,
        due_at=until,
        lost=row.lost + lapsed,
        takeovers=row.takeovers + run_lost,
    )


def _look(tables: Tables, row: Occurrence, worker: str, look_lease: Micros, now: Micros) -> Occurrence:
    return _lease(tables, row, worker, now + look_lease, now)


def _start(tables: Tables, row: Occurrence, worker: str, lease: Micros, now: Micros) -> Occurrence:
    return begin_run(tables, _lease(tables, row, worker, now + lease, now), now)


def begin_run(tables: Tables, row: Occurrence, now: Micros) -> Occurrence:
    """Turn a leased row into a run: attempt + 1, and the start is on record."""
    row = tables.change(
        row.id,
        state=State.RUNNING,
        looking=False,
        frontier=False,
        attempt=row.attempt + 1,
        started_at=now,
        first_started_at=now if row.first_started_at is None else row.first_started_at,
        verdict=Verdict.SHOULD_RUN,
        code="started",
        detail="{}",
    )
    tables.begin_attempt(row, now)
    return row


def _bury_workers(tables: Tables, now: Micros) -> None:
    """Cancel what only a worker that is gone could have taken."""
    if not tables.outlook()[1]:
        return
    gone = {info.id for info in tables.workers.values() if _gone_at(info) <= now}
    for row in tables.open_rows():
        if row.worker in gone:
            tables.end_attempt(row.id, "cancelled", now)
            tables.end(row.id, State.CANCELLED, now, code="worker_gone", detail="{}")
            tables.log(row.id, now, event="cancel")


def _next_due(tables: Tables, worker: str, now: Micros) -> Micros | None:
    if tables.wakes:
        return now
    soonest, is_any_bound = tables.outlook()
    if not is_any_bound:
        return soonest
    moments, others = [], set()
    for row in tables.open_rows():
        if row.worker and not _is_for(row, worker):
            others.add(row.worker)
        elif row.due_at is not None:
            moments.append(row.due_at)
    if others:
        moments += [_gone_at(info) for info in tables.workers.values() if info.id in others]
    return min(moments, default=None)


def _gone_at(info: WorkerInfo) -> Micros:
    """Return the moment from which the worker is not waited for any more."""
    return info.until if info.ended_at is None else info.ended_at
