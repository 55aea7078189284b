"""Renewals, heartbeats and remarks: what a running worker says while it works.

Rule of the file: these are short, run on a connection of their own where they keep a lease alive, and are judged afresh
each time; nothing here waits for a batch of the same process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from noonmark.core.model import HOUR, Micros, Note, Renewal, Renewed, WorkerInfo
from noonmark.stores.sqlite import requests, taking
from noonmark.stores.sqlite.clock import StoreClock
from noonmark.stores.sqlite.transaction import Transaction

RENEW = (
    "UPDATE occurrence SET due_at = ? WHERE id = ? AND fence = ? AND holder = ? AND state = 'RUNNING' AND looking = 0"
    " RETURNING id, cancel_requested"
)
_BEAT = (
    "INSERT INTO worker (id, name, host, pid, process_started, boot_id, started_at, seen_at, until, ended_at, tzdata,"
    " version, wall_offset, jobs, gone_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET name = excluded.name, host = excluded.host, pid = excluded.pid,"
    " process_started = excluded.process_started, boot_id = excluded.boot_id, seen_at = excluded.seen_at,"
    " until = excluded.until, ended_at = excluded.ended_at, tzdata = excluded.tzdata, version = excluded.version,"
    " wall_offset = excluded.wall_offset, jobs = excluded.jobs, gone_at = excluded.gone_at, reaped = 0"
)
_REAP = f"UPDATE worker AS w SET reaped = 1 WHERE reaped = 0 AND gone_at < ? AND NOT {taking.HAS_OWN}"
_FIRST_WINS = "INSERT INTO note VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (occurrence_id, kind, name) DO NOTHING"
_LAST_WINS = (
    "INSERT INTO note VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (occurrence_id, kind, name) DO UPDATE"
    " SET value = excluded.value, fence = excluded.fence, at = excluded.at"
)


def renew(tx: Transaction, worker: str, leases: Sequence[Renewal]) -> Renewed:
    """Extend the leases that are still ours; see the port."""
    wanted = [(tx.now + lease.lease, lease.occurrence_id, lease.fence, worker) for lease in leases]
    ours = dict(tx.many(RENEW, wanted)) if wanted else {}
    for until, *_ in wanted:
        tx.due(until)  # a lease may be shorter than the one before
    return Renewed(
        lost=frozenset(lease.occurrence_id for lease in leases if lease.occurrence_id not in ours),
        cancel_requested=frozenset(occurrence_id for occurrence_id, asked in ours.items() if asked),
        now=tx.now,
    )


def heartbeat(tx: Transaction, clock: StoreClock, worker: WorkerInfo, ttl: Micros) -> Micros:
    """Record that the worker lives, and do the little housekeeping that has no other moment."""
    until = tx.now + ttl
    ended_at = None if worker.ended_at is None else tx.now
    tx.execute(
        _BEAT,
        (
            worker.id, worker.name, worker.host, worker.pid, worker.process_started, worker.boot_id,
            worker.started_at or tx.now, tx.now, until, ended_at, worker.tzdata, worker.version, worker.wall_offset,
            json.dumps(worker.jobs, ensure_ascii=False), until if ended_at is None else ended_at,
        ),
    )  # fmt: skip
    if ended_at is not None and tx.execute(taking.GONE, (tx.now,)).fetchone() is not None:
        tx.due(tx.now)  # its own rows are to be ended now
    requests.prune(tx, requests.PRUNED_AT_ONCE)
    tx.execute(_REAP, (tx.now - HOUR,))
    return clock.follow_majority(tx) if tx.timed else tx.now


def note_if_held(tx: Transaction, worker: str, occurrence_id: int, fence: int, note: Note) -> bool:
    """Write a remark of a run, if the fence is still the row's; see the port."""
    held = tx.execute(
        "SELECT 1 FROM occurrence WHERE id = ? AND fence = ? AND holder = ? AND state = 'RUNNING' AND looking = 0",
        (occurrence_id, fence, worker),
    ).fetchone()
    if held is None:
        tx.count("stale_refused")
        return False
    statement = _LAST_WINS if note.kind == "progress" else _FIRST_WINS
    tx.execute(statement, (occurrence_id, note.kind, note.name, note.value, fence, tx.now))
    return True
