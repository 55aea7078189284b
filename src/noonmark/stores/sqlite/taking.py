"""The verb ``take``: lease what is due, oldest first, and start at once what the row itself proves may start.

Rule of the file: an idle take reads a few index entries and writes nothing.  A row is read once and updated once; what
the caller gets is what was read, with the changes put in, not a second read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from noonmark.core.model import Event, Micros, Occurrence, State, Taken
from noonmark.stores.sqlite import attempts, claims, ending, facts, ledger
from noonmark.stores.sqlite.rows import AT, COLUMNS, Row, make
from noonmark.stores.sqlite.transaction import Reads, Transaction

CANCELLED_AT_ONCE = 1000

DUE = (
    f"SELECT {COLUMNS}, waits FROM occurrence INDEXED BY occurrence_due"
    " WHERE worker = '' AND due_at <= ? ORDER BY due_at, id LIMIT ?"
)
DUE_OWN = (
    f"SELECT {COLUMNS}, waits FROM occurrence INDEXED BY occurrence_own"
    " WHERE worker = ? AND worker <> '' AND due_at <= ? ORDER BY due_at, id LIMIT ?"
)
EARLIEST = "SELECT min(due_at) FROM occurrence INDEXED BY occurrence_due WHERE worker = '' AND due_at IS NOT NULL"
EARLIEST_OWN = (
    "SELECT min(due_at) FROM occurrence INDEXED BY occurrence_own"
    " WHERE worker = ? AND worker <> '' AND due_at IS NOT NULL"
)
HAS_OWN = "EXISTS (SELECT 1 FROM occurrence o WHERE o.worker = w.id AND o.worker <> '' AND o.due_at IS NOT NULL)"
GONE = f"SELECT w.id FROM worker w WHERE w.reaped = 0 AND w.gone_at <= ? AND {HAS_OWN}"
NEXT_GONE = f"SELECT min(w.gone_at) FROM worker w WHERE w.reaped = 0 AND w.id <> ? AND {HAS_OWN}"
START = (
    "UPDATE occurrence SET state = 'RUNNING', due_at = ?1, fence = ?2, holder = ?3, looking = 0, run_fence = ?2,"
    " run_worker = ?3, attempt = attempt + 1, started_at = ?4, first_started_at = coalesce(first_started_at, ?4),"
    " lost = ?5, verdict = 'should_run', code = 'started', detail = '{}', waits = 0 WHERE id = ?6"
)
LOOK = (
    "UPDATE occurrence SET due_at = ?1, fence = ?2, holder = ?3, looking = 1, lost = ?4, takeovers = ?5, waits = 0"
    " WHERE id = ?6"
)

_ID, _STATE, _JOB, _FENCE, _HOLDER = AT["id"], AT["state"], AT["job"], AT["fence"], AT["holder"]
_DUE_AT, _GATED, _FRONTIER, _CLAIMED = AT["due_at"], AT["gated"], AT["frontier"], AT["claimed"]
_REVISION, _NOT_BEFORE, _NOT_AFTER, _EXPIRES = AT["revision"], AT["not_before"], AT["not_after"], AT["expires_at"]
_FIRST, _CANCEL, _LOOKING, _LOST = AT["first_started_at"], AT["cancel_requested"], AT["looking"], AT["lost"]
_TAKEOVERS, _ATTEMPT, _STARTED = AT["takeovers"], AT["attempt"], AT["started_at"]
_VERDICT, _CODE, _DETAIL = AT["verdict"], AT["code"], AT["detail"]


def has_work(connection: Reads, worker: str, now: Micros) -> bool:
    """Return True when a take at this moment would change anything."""
    earliest = _earliest(connection, worker)
    return (
        (earliest is not None and earliest <= now)
        or connection.execute("SELECT 1 FROM wake LIMIT 1").fetchone() is not None
        or connection.execute(GONE, (now,)).fetchone() is not None
    )


def is_due(connection: Reads, worker: str, now: Micros) -> bool:
    """Return True when a take at this moment would lease a row, once what waits was woken."""
    earliest = _earliest(connection, worker)
    return (earliest is not None and earliest <= now) or connection.execute(
        "SELECT 1 FROM wake LIMIT 1"
    ).fetchone() is not None


def nothing(connection: Reads, worker: str, now: Micros) -> Taken:
    """Return the answer of an idle take."""
    return Taken(rows=(), now=now, next_due=next_due(connection, worker), rules_version=rules_version(connection))


def rules_version(connection: Reads) -> int:
    """Return the number that grows with every change of a rule or a pause."""
    row = connection.execute("SELECT value FROM counter WHERE name = 'rules_version'").fetchone()
    return 0 if row is None else int(row[0])


def next_due(connection: Reads, worker: str) -> Micros | None:
    """Return the next moment at which this worker may find something; a vanished neighbour's rows count too."""
    moments = (_earliest(connection, worker), connection.execute(NEXT_GONE, (worker,)).get)
    return min((moment for moment in moments if moment is not None), default=None)


def _earliest(connection: Reads, worker: str) -> Micros | None:
    common: Micros | None = connection.execute(EARLIEST).get
    own: Micros | None = connection.execute(EARLIEST_OWN, (worker,)).get if worker else None
    if common is None or own is None:
        return own if common is None else common
    return min(common, own)


def take(tx: Transaction, worker: str, *, limit: int, runnable: Mapping[str, Micros], look_lease: Micros) -> Taken:
    """Lease at most ``limit`` due rows to the worker; see the port."""
    some_sleep_still = facts.wake_waiting(tx)
    _cancel_rows_of_the_gone(tx)
    claims.pass_slots_on(tx)
    chosen = _choose(_due(tx, worker, limit))
    rows = _lease(tx, worker, chosen, runnable, look_lease)
    return Taken(
        rows=rows,
        now=tx.now,
        next_due=tx.now if some_sleep_still else next_due(tx.connection, worker),
        rules_version=rules_version(tx.connection),
    )


def to_plain(taken: Taken) -> Any:
    """Return what has to be remembered of an answer."""
    rows = [[row.id, row.fence] for row in taken.rows]
    return {"rows": rows, "now": taken.now, "next_due": taken.next_due, "rules_version": taken.rules_version}


def again(tx: Transaction, worker: str, first: Any) -> Taken:
    """Repeat the first answer; a row that is under another fence by now is nobody's to run, so it is left out."""
    lines = [(ending.load(tx, occurrence_id), fence) for occurrence_id, fence in first.pop("rows")]
    rows = [line.row for line, fence in lines if line is not None and line.row.fence == fence]
    return Taken(rows=tuple(row for row in rows if row.holder == worker), **first)


def _due(tx: Transaction, worker: str, limit: int) -> list[Row]:
    if limit <= 0:
        return []
    rows: list[Row] = tx.execute(DUE, (tx.now, limit)).fetchall()
    own: list[Row] = tx.execute(DUE_OWN, (worker, tx.now, limit)).fetchall() if worker else []
    if own:
        rows = sorted(rows + own, key=lambda row: (row[_DUE_AT], row[_ID]))[:limit]
    return rows


def _choose(rows: Sequence[Row]) -> Sequence[Row]:
    """A row that once cost somebody a lease may be what kills workers: nothing else shall die with it."""
    for index, row in enumerate(rows):
        if row[_LOST] or row[_HOLDER]:
            return rows[: index or 1]
    return rows


def _lease(
    tx: Transaction, worker: str, chosen: Sequence[Row], runnable: Mapping[str, Micros], look_lease: Micros
) -> tuple[Occurrence, ...]:
    now, jobs = tx.now, _jobs(tx, chosen, runnable)
    starts: list[Row] = []
    looks: list[Row] = []
    taken: list[Occurrence] = []
    left: dict[str, int] = {}
    for row in chosen:
        values = list(row)
        waits = values.pop()
        if waits:
            facts.forget_waiting(tx, row[_ID])
        values[_FENCE] = fence = row[_FENCE] + 1 if row[_FENCE] >= now else now
        values[_HOLDER] = worker
        if row[_HOLDER]:
            values[_LOST] += 1
        if _may_start(row, jobs[row[_JOB]], now):
            values[_DUE_AT] = until = now + runnable[row[_JOB]]
            starts.append((until, fence, worker, now, values[_LOST], row[_ID]))
            left[row[_STATE]] = left.get(row[_STATE], 0) + 1
            values[_STATE], values[_LOOKING], values[_STARTED] = "RUNNING", 0, now
            values[_ATTEMPT] += 1
            if row[_FIRST] is None:
                values[_FIRST] = now
            values[_VERDICT], values[_CODE], values[_DETAIL] = "should_run", "started", "{}"
        else:
            if row[_STATE] == "RUNNING" and row[_HOLDER] and not row[_LOOKING]:
                values[_TAKEOVERS] += 1
                attempts.archive(tx, row[_ID], "lost")
            values[_DUE_AT] = until = now + look_lease
            values[_LOOKING] = 1
            looks.append((until, fence, worker, values[_LOST], values[_TAKEOVERS], row[_ID]))
        taken.append(make(*values))
    if starts:
        tx.many(START, starts)
        for state, rows in left.items():
            tx.moved(state, State.RUNNING, rows)
    if looks:
        tx.many(LOOK, looks)
    return tuple(taken)


def _jobs(tx: Transaction, chosen: Sequence[Row], runnable: Mapping[str, Micros]) -> dict[str, Row | None]:
    """Return (revision, paused) by job; None for those this worker cannot run, or that the store does not know."""
    names = {row[_JOB] for row in chosen}
    return {
        name: tx.execute("SELECT revision, paused FROM job WHERE name = ?", (name,)).fetchone()
        if name in runnable
        else None
        for name in names
    }


def _may_start(row: Row, job: Row | None, now: Micros) -> bool:
    """Does the row itself prove that it may start, so that nobody has to look?"""
    return (
        job is not None
        and row[_STATE] != "RUNNING"
        and not row[_GATED]
        and not row[_FRONTIER]
        and row[_CLAIMED] == 1
        and row[_REVISION] == job[0]
        and not job[1]
        and (row[_NOT_BEFORE] is None or row[_NOT_BEFORE] <= now)
        and (row[_NOT_AFTER] is None or now < row[_NOT_AFTER])
        and (row[_FIRST] is not None or row[_EXPIRES] is None or now <= row[_EXPIRES])
        and not row[_CANCEL]
    )


def _cancel_rows_of_the_gone(tx: Transaction) -> None:
    """Cancel what only a worker that is gone could have taken."""
    for (worker,) in tx.execute(GONE, (tx.now,)).fetchall():
        rows = tx.execute(
            "SELECT id FROM occurrence INDEXED BY occurrence_own"
            " WHERE worker = ? AND worker <> '' AND due_at IS NOT NULL ORDER BY due_at LIMIT ?",
            (worker, CANCELLED_AT_ONCE),
        ).fetchall()
        for (occurrence_id,) in rows:
            line = ending.load(tx, occurrence_id)
            assert line is not None
            ending.end(tx, line, State.CANCELLED, code="worker_gone", detail="{}")
            ledger.append_row(tx, occurrence_id, Event.CANCEL)
