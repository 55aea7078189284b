"""The reads: occurrences, stories, jobs, workers, counts.

Rule of the file: every read is one round trip, takes no lock, and goes through an index; what consists of several
statements is read from one snapshot.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import itemgetter
from typing import Any

from noonmark.core.model import (
    OPEN_STATES,
    Alert,
    Attempt,
    JobRow,
    LedgerLine,
    Micros,
    Note,
    Occurrence,
    Query,
    State,
    Story,
    Tallies,
    WorkerInfo,
)
from noonmark.core.stored import STATES, names_of
from noonmark.stores.postgres.arrays import numbers, texts, unescaped
from noonmark.stores.postgres.desk import JOB_COLUMNS, job_from_columns
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Param, Session, Statement
from noonmark.stores.postgres.rows import COLUMNS, make
from noonmark.stores.postgres.transaction import NOW

_LEDGER = (
    "seq, occurrence_id, job, at, last_at, count, event, verdict, code, detail, checks, worker, fence, revision, actor"
)
_ALERT = "id, job, kind, level, code, detail, occurrence_id, opened_at, updated_at, count, closed_at"
_WORKER = (
    "id, name, host, pid, process_started, boot_id, started_at, seen_at, until, ended_at, tzdata, version"
    ", wall_offset, jobs"
)
_ONE = f"SELECT {COLUMNS} FROM ~occurrence WHERE id = $1::bigint"
_LEDGER_OF = f"SELECT {_LEDGER} FROM ~ledger WHERE occurrence_id = $1::bigint ORDER BY seq"
_NOTES_OF = "SELECT kind, name, value, fence, at FROM ~note WHERE occurrence_id = $1::bigint ORDER BY seq"
_ATTEMPTS_OF = (
    "SELECT fence, number, worker, started_at, ended_at, outcome, error FROM ~attempt WHERE occurrence_id = $1::bigint"
    " ORDER BY started_at, fence"
)
_CURRENT = (
    "SELECT run_fence, attempt, run_worker, started_at, ended_at, CASE WHEN state = 'SUCCESS' THEN 'success'"
    " ELSE 'running' END, CASE WHEN state = 'SUCCESS' THEN error END FROM ~occurrence WHERE id = $1::bigint"
    " AND run_fence <> 0"
)
_ALERTS_OF = f"SELECT {_ALERT} FROM ~alert WHERE occurrence_id = $1::bigint ORDER BY id"
_OPEN_ALERTS = f"SELECT {_ALERT} FROM ~alert WHERE closed_at IS NULL ORDER BY id"
_WORKERS = f"SELECT {_WORKER} FROM ~worker WHERE pid <> 0 ORDER BY started_at DESC, id DESC"
_COUNTERS = "SELECT name, sum(value)::bigint FROM ~counter GROUP BY name"
OPEN = (
    f"WITH t AS MATERIALIZED (SELECT {NOW} AS now) SELECT state, count(*), count(*) FILTER (WHERE due_at <= t.now),"
    " count(*) FILTER (WHERE state = 'PENDING' AND due_at > t.now AND is_new),"
    " count(*) FILTER (WHERE state = 'PENDING' AND due_at > t.now AND NOT is_new AND NOT is_held), min(due_at)"
    " FROM ~agenda, t GROUP BY state"
)
_ACTS = f"SELECT {_LEDGER} FROM ~ledger WHERE occurrence_id = 0 AND job <> '' ORDER BY seq"  # they concern whole jobs
_REVISION = "seq, name, rule, digest, revision, effective_at, event, actor"
_REVISIONS = f"SELECT {_REVISION} FROM ~job_revision ORDER BY seq"
# Sorted by us: whoever asks for the order of the key is led along all of it.
REVISIONS_OF = f"SELECT {_REVISION} FROM ~job_revision WHERE name = ANY($1::text[])"
_SNAPSHOT: Statement = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
_END: Statement = ("COMMIT", ())


def occurrences(session: Session, query: Query) -> list[Occurrence]:
    """Read the rows that match every field of the query."""
    statement, params = selection(query)
    [rows] = session.ask((statement, params))
    return [make(row) for row in rows]


def selection(query: Query) -> tuple[str, tuple[Param, ...]]:
    """Return the statement of a query and its parameters."""
    where: list[str] = []
    params: list[Param] = []

    def want(condition: str, value: Param) -> None:
        params.append(value)
        where.append(condition.replace("?", f"${len(params)}"))

    if query.ids:
        want("id = ANY(?::bigint[])", numbers(query.ids))
    if query.job is not None:
        want("job = ?::text" if query.identity is not None else "job || '' = ?::text", query.job)
    if query.subject is not None:
        want("subject = ?::text", query.subject)
    if query.key is not None:
        want("key = ?::text" if not query.key else "key = ?::text AND key <> ''", query.key)
    if query.identity is not None:
        want("identity = ?::text", query.identity)
    if query.states is not None:
        _want_states(query, where, want)
    if query.open_only:
        _want_open(query, where, want)
    if query.frontier_only:
        where.append("frontier")
    if query.scheduled_from is not None:
        want("(scheduled_for >= ?::bigint OR range_until >= ?::bigint)", query.scheduled_from)
    if query.scheduled_until is not None:
        want("scheduled_for < ?::bigint", query.scheduled_until)
    if query.after_id is not None:
        want("id > ?::bigint", query.after_id)
    turn = "" if query.oldest_first else " DESC"
    order = "id" if query.after_id is not None else f"scheduled_for{turn}, id{turn}"
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    params.append(query.limit)
    return f"SELECT {COLUMNS} FROM ~occurrence{condition} ORDER BY {order} LIMIT ${len(params)}::bigint", tuple(params)


def _want_states(query: Query, where: list[str], want: Any) -> None:
    """Narrow by state; where the query has no index of its own, through the small tables that know such rows."""
    assert query.states is not None, "asked for"
    names = texts(sorted(state.value for state in query.states))
    if not _is_narrow(query):
        if query.states == frozenset({State.FAILED_MANUAL}):
            where.append("id = ANY(ARRAY(SELECT occurrence_id FROM ~failed))")
        elif query.states and query.states <= OPEN_STATES:
            want("id = ANY(ARRAY(SELECT occurrence_id FROM ~agenda WHERE state = ANY(?::text[])))", names)
    want("state = ANY(?::text[])", names)


def _want_open(query: Query, where: list[str], want: Any) -> None:
    """Narrow to open rows, through the agenda unless the query names rows: a job may have a long history."""
    if query.ids or query.key is not None or query.after_id is not None:
        where.append("due_at IS NOT NULL")
        return
    series = " AND is_series" if query.frontier_only else ""
    if query.job is not None:
        want(f"id = ANY(ARRAY(SELECT occurrence_id FROM ~agenda WHERE job = ?::text{series}))", query.job)
    elif query.frontier_only:
        where.append("id = ANY(ARRAY(SELECT occurrence_id FROM ~agenda WHERE is_series))")
    else:
        where.append("id = ANY(ARRAY(SELECT occurrence_id FROM ~agenda))")


def _is_narrow(query: Query) -> bool:
    """True when the query has an index of its own; otherwise it is the open rows that are few, not the history."""
    return bool(query.ids) or any(field is not None for field in (query.job, query.key, query.after_id))


def story(session: Session, occurrence_id: int) -> Story | None:
    """Read everything about one occurrence."""
    asked = (occurrence_id,)
    _, rows, lines, notes, past, current, alerts, _ = session.ask(
        _SNAPSHOT, (_ONE, asked), (_LEDGER_OF, asked), (_NOTES_OF, asked), (_ATTEMPTS_OF, asked), (_CURRENT, asked),
        (_ALERTS_OF, asked), _END,
    )  # fmt: skip
    if not rows:
        return None
    return Story(
        occurrence=make(rows[0]),
        ledger=tuple(LedgerLine(**_named(_LEDGER, line)) for line in lines),
        notes=tuple(
            Note(kind=kind, name=name, value=value, fence=fence, at=at)
            for kind, name, value, fence, at in map(_plain, notes)
        ),
        attempts=tuple(_attempt(occurrence_id, row) for row in (*past, *current)),
        alerts=tuple(Alert(**_named(_ALERT, row)) for row in alerts),
    )


def _attempt(occurrence_id: int, row: Row) -> Attempt:
    fence, number, worker, started_at, ended_at, outcome, error = _plain(row)
    return Attempt(
        occurrence_id=occurrence_id,
        fence=fence,
        number=number,
        worker=worker,
        started_at=started_at,
        ended_at=ended_at,
        outcome=outcome,
        error=error,
    )


def jobs(session: Session, names: Collection[str] | None, event: str | None) -> list[JobRow]:
    """Read the jobs, in the order of their names."""
    if event is not None:
        more = " AND event <> ''" if event else ""
        [found] = session.ask((f"SELECT {JOB_COLUMNS} FROM ~job WHERE event = $1::text{more} ORDER BY name", (event,)))
        return [job for job in map(job_from_columns, found) if names is None or job.name in names]
    if names is None:
        [found] = session.ask((f"SELECT {JOB_COLUMNS} FROM ~job ORDER BY name", ()))
    else:
        asked = texts(sorted(set(names)))
        [found] = session.ask((f"SELECT {JOB_COLUMNS} FROM ~job WHERE name = ANY($1::text[]) ORDER BY name", (asked,)))
    return [job_from_columns(row) for row in found]


def workers(session: Session) -> list[WorkerInfo]:
    """Read every worker ever heard of, newest first; one without a pid is known from a copied row only."""
    [rows] = session.ask((_WORKERS, ()))
    return [WorkerInfo(**(_named(_WORKER, row) | {"jobs": names_of(unescaped(row[-1]))})) for row in rows]


def tallies(session: Session, fixed: Micros | None, *, revisions: bool | Collection[str]) -> Tallies:
    """Count, for backlog and overview; only open rows are looked at, ended ones are counted as they end."""
    last: list[Statement] = []
    if revisions:
        named = () if isinstance(revisions, bool) else revisions
        last = [(REVISIONS_OF, (texts(named),))] if named else [(_REVISIONS, ()), (_ACTS, ())]
    _, clock, counted, open_rows, alerts, *told, _ = session.ask(
        _SNAPSHOT, (f"SELECT {NOW}", (fixed,)), (_COUNTERS, ()), (OPEN, (fixed,)), (_OPEN_ALERTS, ()), *last, _END
    )
    counters: dict[str, int] = dict(counted)
    by_state = {state: counters[f"state:{state}"] for state in State if counters.get(f"state:{state}")}
    by_state |= {STATES[row[0]]: row[1] for row in open_rows}
    moments = [row[5] for row in open_rows]
    return Tallies(
        now=clock[0][0],
        by_state={state: by_state[state] for state in State if state in by_state},
        due_now=sum(row[2] for row in open_rows),
        delayed=sum(row[3] for row in open_rows),
        waiting=sum(row[4] for row in open_rows),
        earliest_due=min(moments, default=None),
        stale_refused=counters.get("stale_refused", 0),
        duplicates_refused=counters.get("duplicates_refused", 0),
        open_alerts=tuple(Alert(**_named(_ALERT, row)) for row in alerts),
        revisions=tuple(_revision(row) for row in sorted(told[0], key=itemgetter(0))) if told else (),
        acts=tuple(LedgerLine(**_named(_LEDGER, line)) for line in told[1]) if revisions is True else (),
    )


def _revision(row: Row) -> JobRow:
    _, name, rule, digest, revision, effective, event, actor = _plain(row)
    return JobRow(name=name, rule=rule, digest=digest, revision=revision, effective_at=effective, event=event, by=actor)


def _plain(row: Row) -> Row:
    return tuple(unescaped(part) if isinstance(part, str) else part for part in row)


def _named(columns: str, row: Row) -> dict[str, Any]:
    return dict(zip(columns.split(", "), _plain(row), strict=True))
