"""The reads of the memory store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from noonmark.core.model import OPEN_STATES, Fact, JobRow, Micros, Occurrence, Query, State, Story, Tallies
from noonmark.stores.memory.tables import Tables

WORKER_FIELDS = ("host", "pid", "process_started", "boot_id", "until", "ended_at")


def fact(tables: Tables, name: str) -> Fact:
    """Return the fact of this name, stored or derived from rows and workers."""
    kind, _, rest = name.partition(":")
    derive = DERIVED.get(kind)
    if derive is None:
        return tables.facts.get(name, Fact(name=name))
    value, version = derive(tables, rest)
    return Fact(name=name, version=version, value=value)


def _key(tables: Tables, key: str) -> tuple[Any, int]:
    row = tables.holder(key)
    if row is None:
        return None, 0
    value = {
        "occurrence_id": row.id,
        "state": row.state.value,
        "generation": row.generation,
        "origin": row.origin.value,
        "job": row.job,
        "ended_at": row.ended_at,
    }
    return value, row.id


def _slot(tables: Tables, slot: str) -> tuple[Any, int]:
    held = tables.slots.get(f"slot:{slot}")
    return (None, 0) if held is None else ({"occurrence_id": held[0], "since": held[1]}, 1)


def _worker(tables: Tables, worker: str) -> tuple[Any, int]:
    info = tables.workers.get(worker)
    return (None, 0) if info is None else ({name: getattr(info, name) for name in WORKER_FIELDS}, 1)


def _pause(tables: Tables, job: str) -> tuple[Any, int]:
    row = tables.jobs.get(job)
    if row is None:
        return None, 0
    value = {
        "paused": row.paused,
        "paused_at": row.paused_at,
        "resumed_at": row.resumed_at,
        "reason": row.pause_reason,
    }
    return value, row.pause_version


DERIVED: dict[str, Callable[[Tables, str], tuple[Any, int]]] = {
    "key": _key,
    "slot": _slot,
    "worker": _worker,
    "pause": _pause,
}


def occurrences(tables: Tables, query: Query) -> list[Occurrence]:
    """Read the rows that match every field of the query."""
    candidates: Iterable[Occurrence] = tables.rows.values()
    if query.ids:
        candidates = [tables.rows[row_id] for row_id in dict.fromkeys(query.ids) if row_id in tables.rows]
    elif query.open_only:
        candidates = tables.open_rows()
    found = _narrowed(candidates, query)
    if query.after_id is not None:
        found.sort(key=attrgetter("id"))
    else:
        found.sort(key=lambda row: (row.scheduled_for, row.id), reverse=not query.oldest_first)
    return found[: query.limit]


def _narrowed(rows: Iterable[Occurrence], query: Query) -> list[Occurrence]:
    """Keep the rows that match; every field that is asked for is one pass, what is not asked for costs nothing."""
    for name in ("job", "subject", "key", "identity"):
        wanted = getattr(query, name)
        if wanted is not None:
            rows = [row for row in rows if getattr(row, name) == wanted]
    if query.states is not None:
        rows = [row for row in rows if row.state in query.states]
    if query.open_only and query.ids:  # else the candidates are no others
        rows = [row for row in rows if row.state in OPEN_STATES]
    if query.frontier_only:
        rows = [row for row in rows if row.frontier]
    if query.scheduled_from is not None:
        since = query.scheduled_from
        rows = [row for row in rows if (row.scheduled_for if row.range_until is None else row.range_until) >= since]
    if query.scheduled_until is not None:
        until = query.scheduled_until
        rows = [row for row in rows if row.scheduled_for < until]
    if query.after_id:  # ids begin at 1
        after = query.after_id
        rows = [row for row in rows if row.id > after]
    return list(rows)


def story(tables: Tables, row_id: int) -> Story | None:
    """Read everything about one row."""
    row = tables.rows.get(row_id)
    if row is None:
        return None
    return Story(
        occurrence=row,
        attempts=tuple(tables.attempts.get(row_id, ())),
        ledger=tuple(tables.ledger.get(row_id, ())),
        notes=tuple(tables.notes.get(row_id, {}).values()),
        alerts=tuple(alert for alert in tables.alerts if alert.occurrence_id == row_id),
    )


def tallies(tables: Tables, now: Micros, *, revisions: bool | Collection[str]) -> Tallies:
    """Count everything once."""
    states = Counter(row.state for row in tables.rows.values())
    rows = list(tables.open_rows())
    due = [row.due_at for row in rows if row.due_at is not None]
    later = [row for row in rows if row.state is State.PENDING and row.due_at is not None and row.due_at > now]
    return Tallies(
        now=now,
        by_state=dict(states),
        due_now=sum(1 for moment in due if moment <= now),
        delayed=sum(1 for row in later if row.fence == 0),
        waiting=sum(1 for row in later if row.fence != 0 and not row.holder),
        earliest_due=min(due, default=None),
        stale_refused=tables.stale_refused,
        duplicates_refused=tables.duplicates_refused,
        open_alerts=tuple(alert for alert in tables.alerts if alert.closed_at is None),
        revisions=_revisions(tables, revisions) if revisions else (),
        acts=tuple(line for line in tables.ledger.get(0, ()) if line.job) if revisions is True else (),
    )


def _revisions(tables: Tables, wanted: Collection[str] | bool) -> tuple[JobRow, ...]:
    pairs = zip(tables.revisions, tables.revised, strict=True)
    names = None if isinstance(wanted, bool) else set(wanted)
    return tuple(replace(job, by=actor) for job, (actor, _) in pairs if names is None or job.name in names)
