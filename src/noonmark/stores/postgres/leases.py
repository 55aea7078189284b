"""Renewals, heartbeats and remarks: what a running worker says while it works.

Rule of the file: these are short, one round trip each, run on a connection of their own where they keep a lease alive, and
are judged afresh each time; nothing here waits for a batch of the same process.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from noonmark.core.model import HOUR, Micros, Note, Renewal, Renewed, WorkerInfo
from noonmark.stores.postgres import clock
from noonmark.stores.postgres.arrays import numbers
from noonmark.stores.postgres.link import Session
from noonmark.stores.postgres.requests import PRUNE, PRUNED_AT_ONCE
from noonmark.stores.postgres.taking import HAS_OWN
from noonmark.stores.postgres.transaction import NOW, Transaction

_LOCK = "SELECT id, due_at FROM ~occurrence WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"
RENEW = (
    "WITH ours AS (UPDATE ~occurrence AS o SET due_at = " + NOW + " + n.lease"
    " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS n (id, fence, lease)"
    " WHERE o.id = n.id AND o.id = ANY($2::bigint[]) AND o.fence = n.fence AND o.holder = $5::text"
    " AND o.state = 'RUNNING' AND NOT o.looking"
    " RETURNING o.id, o.due_at, o.cancel_requested),"
    " moved AS (UPDATE ~agenda AS a SET due_at = ours.due_at FROM ours WHERE a.occurrence_id = ours.id"
    " AND a.occurrence_id = ANY($2::bigint[]))"
    " SELECT id, cancel_requested, due_at FROM ours"
)
_BEAT = (
    "INSERT INTO ~worker AS w (id, name, host, pid, process_started, boot_id, started_at, seen_at, until, ended_at, tzdata,"
    " version, wall_offset, jobs, gone_at) VALUES ($1::text, $2::text, $3::text, $4::bigint, $5::text, $6::text, $7::bigint,"
    " $8::bigint, $9::bigint, $10::bigint, $11::text, $12::text, $13::bigint, $14::text, $15::bigint)"
    " ON CONFLICT (id) DO UPDATE SET name = excluded.name, host = excluded.host, pid = excluded.pid,"
    " process_started = excluded.process_started, boot_id = excluded.boot_id, seen_at = excluded.seen_at,"
    " until = excluded.until, ended_at = excluded.ended_at, tzdata = excluded.tzdata, version = excluded.version,"
    " wall_offset = excluded.wall_offset, jobs = excluded.jobs, gone_at = excluded.gone_at, reaped = false"
)
_REAP = f"UPDATE ~worker AS w SET reaped = true WHERE NOT reaped AND gone_at < $1::bigint AND NOT {HAS_OWN}"
# A free slot keeps its line for an hour, so that those who compete for it can wait for each other; of subjects that come
# once nothing is left.  Whoever has just come to such a line finds it gone and repeats (``claims.occupy``).
SWEEP = (
    "DELETE FROM ~slot WHERE name = ANY(ARRAY(SELECT name FROM ~slot WHERE occurrence_id = 0 AND since < $1::bigint"
    " LIMIT $2::integer FOR UPDATE SKIP LOCKED))"
)
SWEPT_AT_ONCE, SWEPT_EVERY = 1000, 6
_turns = itertools.count()
_NOTE = (
    "WITH held AS (SELECT id FROM ~occurrence WHERE id = $2::bigint AND fence = $3::bigint AND holder = $4::text"
    " AND state = 'RUNNING' AND NOT looking FOR SHARE),"
    " written AS (INSERT INTO ~note (occurrence_id, kind, name, value, fence, at)"
    " SELECT id, $5::text, $6::text, $7::text, $3::bigint, " + NOW + " FROM held"
    " ON CONFLICT (occurrence_id, kind, name) DO {conflict}) SELECT count(*) FROM held"
)
FIRST_WINS = _NOTE.format(conflict="NOTHING")
LAST_WINS = _NOTE.format(conflict="UPDATE SET value = excluded.value, fence = excluded.fence, at = excluded.at")


def renew(session: Session, worker: str, leases: Sequence[Renewal], fixed: Micros | None) -> Renewed:
    """Extend the leases that are still ours; see the port."""
    if not leases:
        [[(now,)]] = session.ask((f"SELECT {NOW}", (fixed,)))
        return Renewed(lost=frozenset(), cancel_requested=frozenset(), now=now)
    ids = numbers(lease.occurrence_id for lease in leases)
    columns = (ids, numbers(lease.fence for lease in leases), numbers(lease.lease for lease in leases))
    answers = session.begin(
        (f"SELECT {NOW}", (fixed,)), (_LOCK, (ids,)), (RENEW, (fixed, *columns, worker)), ("COMMIT", ())
    )
    session.in_transaction = False
    now, found = answers[0][0][0], answers[2]
    before: dict[int, Micros | None] = {row[0]: row[1] for row in answers[1]}
    ours = {occurrence_id: asked for occurrence_id, asked, _ in found}
    told = Transaction(session, now, timed=False)
    for occurrence_id, _, until in found:
        if until < (before[occurrence_id] or 0):
            told.due(until)  # a lease may be shorter than the one before; a longer one is news to nobody
    if told.telling():
        session.ask(*told.telling())
    return Renewed(
        lost=frozenset(lease.occurrence_id for lease in leases if lease.occurrence_id not in ours),
        cancel_requested=frozenset(occurrence_id for occurrence_id, asked in ours.items() if asked),
        now=now,
    )


def heartbeat(session: Session, worker: WorkerInfo, ttl: Micros, fixed: Micros | None) -> Micros:
    """Record that the worker lives, and do the little housekeeping that has no other moment."""
    tx, _ = Transaction.begin(session, "", fixed, kept=0)
    now = tx.now
    until = now + ttl
    ended_at = None if worker.ended_at is None else now
    tx.later(
        _BEAT, worker.id, worker.name, worker.host, worker.pid, worker.process_started, worker.boot_id,
        worker.started_at or now, now, until, ended_at, worker.tzdata, worker.version, worker.wall_offset,
        json.dumps(worker.jobs, ensure_ascii=False), until if ended_at is None else ended_at,
    )  # fmt: skip
    tx.later(PRUNE, now - HOUR, PRUNED_AT_ONCE)
    tx.later(_REAP, now - HOUR)
    if tx.timed:
        tx.later(clock.MARK, now)
    if next(_turns) % SWEPT_EVERY == 0:
        tx.later(SWEEP, now - HOUR, SWEPT_AT_ONCE)
    if ended_at is not None:
        tx.due(-1)  # its own rows are to be ended now
    tx.finish()
    return now


def note_if_held(
    session: Session, worker: str, occurrence_id: int, fence: int, note: Note, fixed: Micros | None
) -> bool:
    """Write a remark of a run, if the fence is still the row's; see the port."""
    statement = LAST_WINS if note.kind == "progress" else FIRST_WINS
    params = (fixed, occurrence_id, fence, worker, note.kind, note.name, note.value)
    [[(held,)]] = session.ask((statement, params))
    if held:
        return True
    tx, _ = Transaction.begin(session, "", fixed, kept=0)
    tx.count("stale_refused")
    tx.finish()
    return False
