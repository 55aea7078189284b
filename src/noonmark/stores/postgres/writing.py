"""From the desk back into the tables: what a verb changed, in as few statements as it has kinds.

Rule of the file: rows that are there are locked, so they are simply updated; rows that are new are simply inserted, in the
order of their names, and where another transaction was first the server refuses and the verb is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noonmark.core.model import OPEN_STATES, Origin, State
from noonmark.stores.postgres.arrays import numbers, switches, texts
from noonmark.stores.postgres.desk import Desk
from noonmark.stores.postgres.ending import Entry
from noonmark.stores.postgres.rows import INSERT, INSERTED, LIVE, LIVED, STAMP, STAMPED, Line, as_columns
from noonmark.stores.postgres.transaction import Transaction

_AGENDA = ("occurrence_id", "due_at", "worker", "job", "state", "is_series", "is_new", "is_held")
_AGENDA_COLUMNS = (
    "unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::boolean[], $8::boolean[])"
    f" AS n ({', '.join(_AGENDA)})"
)
AGENDA_ADD = f"INSERT INTO ~agenda SELECT * FROM {_AGENDA_COLUMNS} ORDER BY occurrence_id"
AGENDA_MOVE = (
    "UPDATE ~agenda AS a SET due_at = n.due_at, state = n.state, is_new = n.is_new, is_held = n.is_held"
    f" FROM {_AGENDA_COLUMNS} WHERE a.occurrence_id = n.occurrence_id"
    " AND a.occurrence_id = ANY($1::bigint[])"
)
AGENDA_CLOSE = "DELETE FROM ~agenda WHERE occurrence_id = ANY($1::bigint[])"
_FAILED_ADD = (
    "INSERT INTO ~failed SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS n (id, scheduled_for)"
    " ON CONFLICT (occurrence_id) DO NOTHING"
)
_FAILED_DROP = "DELETE FROM ~failed WHERE occurrence_id = ANY($1::bigint[])"
_CLAIM_ADD = (
    "INSERT INTO ~claim SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (key, generation, id)"
    " ORDER BY key"
)
_CLAIM_MOVE = (
    "UPDATE ~claim AS c SET generation = n.generation, occurrence_id = n.id"
    " FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (key, generation, id) WHERE c.key = n.key"
    " AND c.key = ANY($1::text[])"
)
_CLAIM_DROP = "DELETE FROM ~claim WHERE key = ANY($1::text[])"
_SLOT = (
    "UPDATE ~slot AS s SET occurrence_id = n.id, since = n.since"
    " FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (name, id, since) WHERE s.name = n.name"
    " AND s.name = ANY($1::text[])"
)
# From one who waits to the next in the order of ``core.lifecycle.waits_under``, and no further than the first that is free:
# a hundred thousand may wait.  Each step asks for one line, or a plan that is made in empty tables would sort them all.
_STEP = "SELECT version, occurrence_id FROM ~waiter WHERE fact = n.name{after} ORDER BY version, occurrence_id LIMIT 1"
_AFTER = " AND (version, occurrence_id) > (q.version, q.occurrence_id)"
_OLDEST_WAITER = (
    f"WITH RECURSIVE queue AS (({_STEP.format(after='')}) UNION ALL SELECT next.* FROM queue AS q CROSS JOIN LATERAL"
    f" ({_STEP.format(after=_AFTER)}) AS next) SELECT o.id FROM queue AS w CROSS JOIN LATERAL (SELECT id FROM ~occurrence"
    " WHERE id = w.occurrence_id AND holder = '' AND due_at IS NOT NULL FOR UPDATE SKIP LOCKED) AS o LIMIT 1"
)
# Last of all writes, when everything else is locked: nobody is waited for, and whoever is at the row sees to it by himself.
# The notice is part of the transaction: hardly ever is somebody waiting.
PASS_ON = (
    "WITH woken AS MATERIALIZED (SELECT n.name, o.id FROM unnest($2::text[]) AS n (name)"
    f" CROSS JOIN LATERAL ({_OLDEST_WAITER}) AS o),"
    " moved AS (UPDATE ~agenda SET due_at = least(due_at, $1::bigint)"
    " WHERE occurrence_id = ANY(ARRAY(SELECT id FROM woken))),"
    " dropped AS (DELETE FROM ~waiter WHERE occurrence_id = ANY(ARRAY(SELECT id FROM woken))),"
    " taken AS (UPDATE ~slot AS s SET occurrence_id = w.id, since = $1::bigint FROM woken AS w WHERE s.name = w.name),"
    " awake AS (UPDATE ~occurrence AS o SET due_at = least(o.due_at, $1::bigint), waits = false, slot = w.name"
    " FROM woken AS w WHERE o.id = w.id)"
    " SELECT pg_notify($3::text, '') FROM woken LIMIT 1"
)
_FACT = (
    "UPDATE ~fact AS f SET version = n.version, value = n.value, set_at = n.set_at, actor = n.actor"
    " FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[]) AS n (name, version, value, set_at, actor)"
    " WHERE f.name = n.name AND f.name = ANY($1::text[])"
)
_WAIT_ADD = (
    "INSERT INTO ~waiter SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (fact, version, id)"
    " ON CONFLICT DO NOTHING"
)
WAIT_DROP = "DELETE FROM ~waiter WHERE occurrence_id = ANY($1::bigint[])"
# DO UPDATE and not DO NOTHING: it waits for a take that is about to delete the line, and then writes it anew.
WAKE = (
    "INSERT INTO ~wake SELECT fact FROM unnest($1::text[]) AS n (fact)"
    " WHERE (SELECT true FROM ~waiter AS w WHERE w.fact = n.fact LIMIT 1) ORDER BY fact"
    " ON CONFLICT (fact) DO UPDATE SET fact = excluded.fact"
)
ATTEMPT = (
    "INSERT INTO ~attempt SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[],"
    " $6::bigint[], $7::text[], $8::text[]) AS n ON CONFLICT DO NOTHING"
)
_OUTCOME = "INSERT INTO ~outcome SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS n ON CONFLICT DO NOTHING"
_LEDGER_NAMES = ("occurrence_id", "job", "at", "count", "event", "verdict", "code", "detail", "checks", "worker", "fence",
                 "revision", "actor")  # fmt: skip
_LEDGER = (
    f"INSERT INTO ~ledger ({', '.join(_LEDGER_NAMES)}, last_at) SELECT {', '.join(_LEDGER_NAMES)}, at FROM unnest("
    "$1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],"
    f" $10::text[], $11::bigint[], $12::bigint[], $13::text[]) WITH ORDINALITY AS n ({', '.join(_LEDGER_NAMES)}, place)"
    " ORDER BY place"
)
_LEDGER_COUNT = (
    "UPDATE ~ledger AS l SET count = l.count + n.by, last_at = $1::bigint, checks = n.checks"
    " FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS n (seq, by, checks) WHERE l.seq = n.seq"
    " AND l.seq = ANY($2::bigint[])"
)
_JOB = (
    "INSERT INTO ~job SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[],"
    " $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[]) AS n ORDER BY 1"
)
_JOB_NAMES = ("name", "rule", "digest", "revision", "effective_at", "paused", "pause_version", "paused_at", "resumed_at",
              "pause_reason", "event")  # fmt: skip
_JOB_MOVE = (
    f"UPDATE ~job AS j SET {', '.join(f'{name} = n.{name}' for name in _JOB_NAMES[1:])} FROM unnest($1::text[], $2::text[],"
    " $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[],"
    f" $11::text[]) AS n ({', '.join(_JOB_NAMES)}) WHERE j.name = n.name AND j.name = ANY($1::text[])"
)
_REVISION = (
    "INSERT INTO ~job_revision (name, rule, digest, revision, effective_at, event, actor, at) SELECT n.*, $8::bigint"
    " FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[]) AS n"
)


def write(desk: Desk) -> None:
    """Queue everything that changed; the transaction's end sends it."""
    tx = desk.tx
    changed = [line for line in desk.lines.values() if line.is_changed]
    _write_rows(tx, changed)
    write_agenda(tx, changed)
    _write_claims(desk)
    _write_slots(desk)
    _write_facts(desk)
    _write_history(desk)
    _write_jobs(desk)
    freed = sorted(name for name in desk.slots_before if name not in desk.slots)
    if freed:
        tx.later(PASS_ON, tx.now, texts(freed), tx.session.address.channel)


def _write_rows(tx: Transaction, changed: Sequence[Line]) -> None:
    new = [line for line in changed if line.before is None]
    old = [line for line in changed if line.before is not None]
    stamped = [line for line in old if line.is_stamped]
    if new:
        tx.later(INSERT, *as_columns(new, INSERTED))
    if old:
        tx.later(LIVE, *as_columns(old, ("id", *LIVED)))
    if stamped:
        tx.later(STAMP, *as_columns(stamped, ("id", *STAMPED)))
    for line in changed:
        before, after = line.before, line.row.state
        if before is not after:
            if before is not None and before not in OPEN_STATES:
                tx.count(f"state:{before}", -1)
            if after not in OPEN_STATES:
                tx.count(f"state:{after}")


def write_agenda(tx: Transaction, changed: Sequence[Line]) -> None:
    """Queue what becomes of the agenda, and of the list of failures."""
    added = [line for line in changed if line.due_before is None and line.row.due_at is not None]
    moved = [line for line in changed if line.due_before is not None and line.row.due_at is not None]
    closed = [line for line in changed if line.due_before is not None and line.row.due_at is None]
    if closed:
        tx.later(AGENDA_CLOSE, numbers(line.row.id for line in closed))
    for lines, statement in ((moved, AGENDA_MOVE), (added, AGENDA_ADD)):
        if lines:
            tx.later(statement, *agenda_columns(lines))
    for line in (*added, *moved):
        if not line.row.holder and line.row.due_at != line.due_before:
            tx.due(line.row.due_at, line.row.worker)
    failed = [line.row for line in changed if line.row.state is State.FAILED_MANUAL]
    mended = [line.row for line in changed if line.before is State.FAILED_MANUAL and line.row.state is not line.before]
    if failed:
        tx.later(_FAILED_ADD, numbers(row.id for row in failed), numbers(row.scheduled_for for row in failed))
    if mended:
        tx.later(_FAILED_DROP, numbers(row.id for row in mended))


def agenda_columns(lines: Sequence[Line]) -> list[str]:
    """Return the columns of agenda lines, one array each."""
    rows = [line.row for line in lines]
    return [
        numbers(row.id for row in rows),
        numbers(row.due_at for row in rows),
        texts(row.worker for row in rows),
        texts(row.job for row in rows),
        texts(row.state for row in rows),
        switches(row.origin is Origin.SCHEDULE or row.frontier for row in rows),
        switches(row.fence == 0 for row in rows),
        switches(row.holder != "" for row in rows),
    ]


def _write_claims(desk: Desk) -> None:
    now = {key: (claim.generation, claim.occurrence_id) for key, claim in desk.claims.items()}
    before = desk.claims_before
    dropped = [key for key in before if key not in now]
    if dropped:
        desk.tx.later(_CLAIM_DROP, texts(dropped))
    moved = {key: held for key, held in now.items() if key in before and before[key] != held}
    added = {key: held for key, held in now.items() if key not in before}
    for held_by, statement in ((moved, _CLAIM_MOVE), (added, _CLAIM_ADD)):
        if held_by:
            generations, holders = zip(*held_by.values(), strict=True)
            desk.tx.later(statement, texts(held_by), numbers(generations), numbers(holders))


def _write_slots(desk: Desk) -> None:
    names = sorted({*desk.slots, *desk.slots_before})
    changed = [name for name in names if desk.slots.get(name) != desk.slots_before.get(name)]
    if changed:
        occupants, since = zip(*(desk.slots.get(name, (0, desk.now)) for name in changed), strict=True)
        desk.tx.later(_SLOT, texts(changed), numbers(occupants), numbers(since))


def _write_facts(desk: Desk) -> None:
    tx = desk.tx
    if desk.waits_no_more:
        tx.later(WAIT_DROP, numbers(sorted(desk.waits_no_more)))
    if desk.waiting:
        awaited, versions, ids = zip(*desk.waiting, strict=True)
        tx.later(_WAIT_ADD, texts(awaited), numbers(versions), numbers(ids))
    if desk.changed_facts:
        names = sorted(desk.changed_facts)
        facts = [desk.facts[name] for name in names]
        tx.later(
            _FACT, texts(names), numbers(fact.version for fact in facts), texts(fact.value for fact in facts),
            numbers(fact.set_at for fact in facts), texts(fact.actor for fact in facts),
        )  # fmt: skip
    if desk.wakes:
        tx.later(WAKE, texts(sorted(desk.wakes)))
        tx.wakes()


def _write_history(desk: Desk) -> None:
    tx = desk.tx
    if desk.attempts:
        ids, fences, attempts, workers, started, ended, outcomes, errors = zip(*desk.attempts, strict=True)
        tx.later(
            ATTEMPT, numbers(ids), numbers(fences), numbers(attempts), texts(workers), numbers(started), numbers(ended),
            texts(outcomes), texts(errors),
        )  # fmt: skip
    if desk.outcomes:
        ids, fences = zip(*desk.outcomes, strict=True)
        tx.later(_OUTCOME, numbers(ids), numbers(fences))
    new: list[Entry] = [entry for entry in desk.ledger if entry.seq is None]
    counted: list[Entry] = [entry for entry in desk.ledger if entry.seq is not None]
    if new:
        tx.later(_LEDGER, *_ledger_columns(new, tx.now))
    if counted:
        tx.later(
            _LEDGER_COUNT, tx.now, numbers(entry.seq for entry in counted), numbers(entry.count for entry in counted),
            texts(entry.checks for entry in counted),
        )  # fmt: skip


def _ledger_columns(entries: Sequence[Entry], now: int) -> list[str]:
    columns = []
    for name in _LEDGER_NAMES:
        values: list[Any] = [now if name == "at" else getattr(entry, name) for entry in entries]
        columns.append(
            numbers(values) if name in ("occurrence_id", "at", "count", "fence", "revision") else texts(values)
        )
    return columns


def _write_jobs(desk: Desk) -> None:
    tx = desk.tx
    known = {name for name in desk.changed_jobs if name in desk.jobs}
    for is_known, statement in ((True, _JOB_MOVE), (False, _JOB)):
        jobs = [job for name, job in sorted(desk.changed_jobs.items()) if (name in known) is is_known]
        if jobs:
            tx.later(
                statement, texts(job.name for job in jobs), texts(job.rule for job in jobs),
                texts(job.digest for job in jobs), numbers(job.revision for job in jobs),
                numbers(job.effective_at for job in jobs), switches(job.paused for job in jobs),
                numbers(job.pause_version for job in jobs), numbers(job.paused_at for job in jobs),
                numbers(job.resumed_at for job in jobs), texts(job.pause_reason for job in jobs),
                texts(job.event for job in jobs),
            )  # fmt: skip
    if desk.revisions:
        revised, actors = [job for job, _ in desk.revisions], [actor for _, actor in desk.revisions]
        tx.later(
            _REVISION, texts(job.name for job in revised), texts(job.rule for job in revised),
            texts(job.digest for job in revised), numbers(job.revision for job in revised),
            numbers(job.effective_at for job in revised), texts(job.event for job in revised), texts(actors), tx.now,
        )  # fmt: skip
