"""The verb ``take``: lease what is due, oldest first, and start at once what the row itself proves may start.

Rule of the file: nobody waits here.  Rows that another transaction holds are skipped, and so are jobs that somebody is
changing: their rows are only looked at.  A row is read once and updated once; what the caller gets is what was read, with
the changes put in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noonmark.core.lifecycle import KEPT
from noonmark.core.model import Micros, Occurrence, State, Taken
from noonmark.core.model.rollback import ChainLink
from noonmark.stores.postgres import proving, writing
from noonmark.stores.postgres.arrays import numbers, texts, unescaped
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Session, Statement
from noonmark.stores.postgres.rows import AT, COLUMNS, Line, draft, finished, make
from noonmark.stores.postgres.transaction import NOW, Transaction

# A scalar subquery and no EXISTS: that one might become a join, which would read every worker's rows.
HAS_OWN = "coalesce((SELECT true FROM ~agenda AS a WHERE a.worker = w.id AND a.worker <> '' LIMIT 1), false)"
GONE = f"SELECT w.id FROM ~worker AS w WHERE NOT w.reaped AND w.gone_at <= {NOW} AND {HAS_OWN}"
_NEXT_GONE = f"SELECT min(w.gone_at) FROM ~worker AS w WHERE NOT w.reaped AND w.id <> $2::text AND {HAS_OWN}"
_EARLIEST = "SELECT due_at FROM ~agenda WHERE worker = '' ORDER BY due_at, occurrence_id LIMIT 1"
_EARLIEST_OWN = (
    "SELECT due_at FROM ~agenda WHERE worker = $2::text AND worker <> '' ORDER BY due_at, occurrence_id LIMIT 1"
)
RULES_VERSION = "SELECT coalesce(sum(value), 0)::bigint FROM ~counter WHERE name = 'rules_version'"
OUTLOOK = (
    f"SELECT {NOW}, least(({_EARLIEST}), ({_EARLIEST_OWN}), ({_NEXT_GONE})), ({RULES_VERSION}),"
    f" EXISTS (SELECT 1 FROM ~wake), EXISTS ({GONE})"
)
# The limit counts what could be locked; only then the rows themselves are locked and read, as they are at that moment.
_DUE = (
    "WITH a AS MATERIALIZED (SELECT occurrence_id FROM ~agenda WHERE {whose} AND due_at <= " + NOW + ""
    " ORDER BY due_at, occurrence_id LIMIT $3::bigint FOR UPDATE SKIP LOCKED),"
    f" o AS MATERIALIZED (SELECT o.* FROM a CROSS JOIN LATERAL (SELECT {COLUMNS}, waits, run_fence, run_worker"
    " FROM ~occurrence WHERE id = a.occurrence_id FOR UPDATE SKIP LOCKED) AS o),"
    " j AS MATERIALIZED (SELECT name, revision, paused FROM ~job WHERE name = ANY(ARRAY(SELECT DISTINCT job FROM o))"
    " FOR SHARE SKIP LOCKED)"
    " SELECT o.*, " + NOW + ", CASE WHEN row_number() OVER () = 1"
    " THEN (SELECT json_agg(json_build_array(name, revision, paused))::text FROM j) END FROM o"
)
DUE = _DUE.format(whose="worker = '' AND $2::text IS NOT NULL")
DUE_OWN = _DUE.format(whose="worker = $2::text AND worker <> ''")
START = (
    "WITH n AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])"
    " AS n (id, due_at, fence, lost)),"
    " moved AS (UPDATE ~agenda AS a SET due_at = n.due_at, state = 'RUNNING', is_new = false, is_held = true FROM n"
    " WHERE a.occurrence_id = n.id AND a.occurrence_id = ANY($1::bigint[]))"
    " UPDATE ~occurrence AS o SET state = 'RUNNING', due_at = n.due_at, fence = n.fence, holder = $5::text,"
    " looking = false, run_fence = n.fence, run_worker = $5::text, attempt = o.attempt + 1, started_at = $6::bigint,"
    " first_started_at = coalesce(o.first_started_at, $6::bigint), lost = n.lost, verdict = 'should_run',"
    " code = 'started', detail = '{}', waits = false FROM n WHERE o.id = n.id"
    " AND o.id = ANY($1::bigint[])"
)
LOOK = (
    "WITH n AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])"
    " AS n (id, due_at, fence, lost, takeovers, run_fence)),"
    " moved AS (UPDATE ~agenda AS a SET due_at = n.due_at, is_new = false, is_held = true FROM n"
    " WHERE a.occurrence_id = n.id AND a.occurrence_id = ANY($1::bigint[]))"
    " UPDATE ~occurrence AS o SET due_at = n.due_at, fence = n.fence, holder = $7::text, looking = true, lost = n.lost,"
    " takeovers = n.takeovers, run_fence = n.run_fence, waits = false FROM n WHERE o.id = n.id"
    " AND o.id = ANY($1::bigint[])"
)
_REMEMBER = (
    "INSERT INTO ~request VALUES ($4::text, $1::bigint, json_build_object('rows', $3::json, 'now', $1::bigint,"
    " 'next_due', CASE WHEN EXISTS (SELECT 1 FROM ~wake) THEN $1::bigint"  # as ``outlook_of`` says
    f" ELSE least(({_EARLIEST}), ({_EARLIEST_OWN}), ({_NEXT_GONE})) END, 'rules_version', ({RULES_VERSION}))::text)"
)
_AGAIN = f"SELECT {COLUMNS} FROM ~occurrence WHERE id = ANY($1::bigint[])"

_ID, _FENCE, _HOLDER, _DUE_AT, _LOST = AT["id"], AT["fence"], AT["holder"], AT["due_at"], AT["lost"]
_WIDTH = len(AT)
_WAITS, _RUN_FENCE, _RUN_WORKER, _NOW, _JOBS = range(_WIDTH, _WIDTH + 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is to be expected: the answer of an idle take, and whether somebody has to be woken or cancelled first."""

    now: Micros
    next_due: Micros | None
    rules_version: int
    must_wake: bool
    must_cancel: bool

    def nothing(self) -> Taken:
        """Return the answer of a take that takes nothing."""
        return Taken(rows=(), now=self.now, next_due=self.next_due, rules_version=self.rules_version)


def outlook_of(row: Row) -> Outlook:
    """Return the outlook of a row of ``OUTLOOK``."""
    now, next_due, version, must_wake, must_cancel = row
    if must_wake:  # somebody is left asleep
        next_due = now
    return Outlook(now=now, next_due=next_due, rules_version=version, must_wake=must_wake, must_cancel=must_cancel)


@dataclass(slots=True)
class Begun:
    """A take under way: what is due is locked, nothing is written yet."""

    tx: Transaction
    outlook: Outlook
    due: list[Row]


def begin(
    session: Session, name: str, worker: str, limit: int, fixed: Micros | None, link: ChainLink | None = None
) -> Begun:
    """Look around and lock what is due: one round trip."""
    asked: list[Statement] = [(OUTLOOK, (fixed, worker))]
    if limit > 0:
        asked.append((DUE, (fixed, worker, limit)))
        if worker:
            asked.append((DUE_OWN, (fixed, worker, limit)))
    tx, (outlook, *found) = Transaction.begin(session, name, fixed, *asked, *proving.checking(link), kept=KEPT)
    head = found.pop() if link is not None else []
    due = [row for rows in found for row in rows]
    due.sort(key=lambda row: (row[_DUE_AT], row[_ID]))
    if tx.first is None:
        proving.check(link, head)
    return Begun(tx, outlook_of(outlook[0]), due[: max(limit, 0)])


def lease(
    begun: Begun,
    name: str,
    worker: str,
    runnable: Mapping[str, Micros],
    look_lease: Micros,
    link: ChainLink | None = None,
) -> Taken:
    """Lease what was locked to the worker and commit: the second round trip."""
    tx = begun.tx
    jobs: dict[str, tuple[int, bool]] = {}
    for row in begun.due:
        tx.now = max(tx.now, row[_NOW])
        if row[_JOBS] is not None:
            jobs |= {unescaped(job): (revision, paused) for job, revision, paused in json.loads(row[_JOBS])}
    rows = _lease(tx, worker, _choose(begun.due), jobs, runnable, look_lease)
    ids = json.dumps([[row.id, row.fence] for row in rows], separators=(",", ":"))
    tx.later(_REMEMBER, tx.now, worker, ids, name)
    if any(not row.looking for row in rows):
        proving.append(tx, link)
    [[after]] = tx.finish((OUTLOOK, (tx.now, worker)))
    outlook = outlook_of(after)
    return Taken(rows=rows, now=tx.now, next_due=outlook.next_due, rules_version=outlook.rules_version)


def again(session: Session, worker: str, first: str) -> Taken:
    """Repeat the first answer; a row that is under another fence by now is nobody's to run, so it is left out."""
    answer = json.loads(first)
    fences = dict(answer.pop("rows"))
    [found] = session.ask((_AGAIN, (numbers(fences),)))
    rows = {row[_ID]: make(row) for row in found if row[_FENCE] == fences[row[_ID]] and row[_HOLDER] == worker}
    return Taken(rows=tuple(rows[id_] for id_ in fences if id_ in rows), **answer)


def _choose(rows: Sequence[Row]) -> Sequence[Row]:
    """A row that once cost somebody a lease may be what kills workers: nothing else shall die with it."""
    for index, row in enumerate(rows):
        if row[_LOST] or row[_HOLDER]:
            return rows[: index or 1]
    return rows


def _lease(
    tx: Transaction,
    worker: str,
    chosen: Sequence[Row],
    jobs: Mapping[str, tuple[int, bool]],
    runnable: Mapping[str, Micros],
    look_lease: Micros,
) -> tuple[Occurrence, ...]:
    now = tx.now
    starts: list[tuple[int, ...]] = []
    looks: list[tuple[int, ...]] = []
    lost: list[Line] = []
    waited: list[int] = []
    taken: list[Occurrence] = []
    for columns in chosen:
        row = draft(*columns[:_WIDTH])
        run_fence = columns[_RUN_FENCE]
        if columns[_WAITS]:
            waited.append(row.id)
        was_held, was_looking = row.holder != "", row.looking
        row.fence = row.fence + 1 if row.fence >= now else now
        row.holder = worker
        if was_held:
            row.lost += 1
        if _may_start(row, jobs.get(row.job) if row.job in runnable else None, now):
            row.due_at = now + runnable[row.job]
            starts.append((row.id, row.due_at, row.fence, row.lost))
            row.state, row.looking, row.started_at = State.RUNNING, False, now
            row.attempt += 1
            if row.first_started_at is None:
                row.first_started_at = now
            row.verdict, row.code, row.detail = "should_run", "started", "{}"
        else:
            if row.state is State.RUNNING and was_held and not was_looking:
                row.takeovers += 1
                lost.append(Line(row, run_fence=run_fence, run_worker=columns[_RUN_WORKER]))
                run_fence = 0
            row.due_at, row.looking = now + look_lease, True
            looks.append((row.id, row.due_at, row.fence, row.lost, row.takeovers, run_fence))
        taken.append(row)
    _queue(tx, worker, starts, looks, lost, waited)
    return tuple(finished(row) for row in taken)


def _queue(
    tx: Transaction,
    worker: str,
    starts: Sequence[tuple[int, ...]],
    looks: Sequence[tuple[int, ...]],
    lost: Sequence[Line],
    waited: Sequence[int],
) -> None:
    if starts:
        tx.later(START, *(numbers(column) for column in zip(*starts, strict=True)), worker, tx.now)
    if looks:
        tx.later(LOOK, *(numbers(column) for column in zip(*looks, strict=True)), worker)
    runs = [line for line in lost if line.run_fence]
    if runs:
        tx.later(
            writing.ATTEMPT, numbers(line.row.id for line in runs), numbers(line.run_fence for line in runs),
            numbers(line.row.attempt for line in runs), texts(unescaped(line.run_worker) for line in runs),
            numbers(line.row.started_at for line in runs), numbers(tx.now for _ in runs), texts("lost" for _ in runs),
            texts(None for _ in runs),
        )  # fmt: skip
    if waited:
        tx.later(writing.WAIT_DROP, numbers(waited))


def _may_start(row: Any, job: tuple[int, bool] | None, now: Micros) -> bool:
    """Does the row itself prove that it may start, so that nobody has to look?"""
    return (
        job is not None
        and row.state is not State.RUNNING
        and not row.gated
        and not row.frontier
        and row.claimed
        and row.revision == job[0]
        and not job[1]
        and (row.not_before is None or row.not_before <= now)
        and (row.not_after is None or now < row.not_after)
        and (row.first_started_at is not None or row.expires_at is None or now <= row.expires_at)
        and not row.cancel_requested
    )
