"""The reads: occurrences, stories, jobs, workers, counts.

Rule of the file: every read sees one consistent state, takes no lock that a writer waits for, and goes through an
index.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import itemgetter
from typing import Any

from noonmark.core.model import (
    Alert,
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
from noonmark.core.stored import names_of
from noonmark.stores.sqlite import attempts
from noonmark.stores.sqlite.activating import JOB_COLUMNS, job_from_columns
from noonmark.stores.sqlite.rows import COLUMNS, make
from noonmark.stores.sqlite.transaction import Reads

_LEDGER = (
    "seq, occurrence_id, job, at, last_at, count, event, verdict, code, detail, checks, worker, fence, revision, actor"
)
_ALERT = "id, job, kind, level, code, detail, occurrence_id, opened_at, updated_at, count, closed_at"
_WORKER = (
    "id, name, host, pid, process_started, boot_id, started_at, seen_at, until, ended_at, tzdata, version"
    ", wall_offset, jobs"
)
_REVISIONS = "SELECT seq, name, rule, digest, revision, effective_at, event, actor FROM job_revision"
REVISIONS_OF = f"{_REVISIONS} WHERE name = ?"
_OPEN_BY_NATURE = (
    "SELECT count(*) FILTER (WHERE due_at <= ?1),"
    " count(*) FILTER (WHERE state = 'PENDING' AND due_at > ?1 AND fence = 0),"
    " count(*) FILTER (WHERE state = 'PENDING' AND due_at > ?1 AND fence <> 0 AND holder = ''),"
    " min(due_at) FROM occurrence"
)
OPEN_COMMON = f"{_OPEN_BY_NATURE} INDEXED BY occurrence_due WHERE due_at IS NOT NULL AND worker = ''"
OPEN_OWN = f"{_OPEN_BY_NATURE} INDEXED BY occurrence_own WHERE due_at IS NOT NULL AND worker <> ''"
OPEN_IDS = (
    "SELECT id FROM occurrence INDEXED BY occurrence_due WHERE due_at IS NOT NULL AND worker = ''"
    " UNION ALL SELECT id FROM occurrence INDEXED BY occurrence_own WHERE due_at IS NOT NULL AND worker <> ''"
)


def occurrences(connection: Reads, query: Query) -> list[Occurrence]:
    """Read the rows that match every field of the query."""
    statement, bindings = selection(query)
    return [make(*row) for row in connection.execute(statement, bindings)]


def selection(query: Query) -> tuple[str, tuple[Any, ...]]:
    """Return the statement of a query and its bindings."""
    where: list[str] = []
    bindings: list[Any] = []

    def want(condition: str, *values: Any) -> None:
        where.append(condition)
        bindings.extend(values)

    if query.ids:
        want(f"id IN ({', '.join('?' * len(query.ids))})", *query.ids)
    if query.job is not None:
        want("job = ?", query.job)
    if query.subject is not None:
        want("subject = ?", query.subject)
    if query.key is not None:
        want("key = ?" if not query.key else "key = ? AND key <> ''", query.key)
    if query.identity is not None:
        want("identity = ?", query.identity)
    if query.states is not None:
        # spelled out, not bound: only so can SQLite see that the index of the failed ones serves
        names = ", ".join(f"'{state.value}'" for state in sorted(query.states))
        want(f"state = {names}" if len(query.states) == 1 else f"state IN ({names})")
    if query.open_only:
        want("due_at IS NOT NULL" if _is_narrow(query) else f"id IN ({OPEN_IDS})")
    if query.frontier_only:
        want("frontier = 1")
    if query.scheduled_from is not None:
        want("(scheduled_for >= ? OR range_until >= ?)", query.scheduled_from, query.scheduled_from)
    if query.scheduled_until is not None:
        want("scheduled_for < ?", query.scheduled_until)
    if query.after_id is not None:
        want("id > ?", query.after_id)
    turn = "" if query.oldest_first else " DESC"
    order = "id" if query.after_id is not None else f"scheduled_for{turn}, id{turn}"
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {COLUMNS} FROM occurrence{condition} ORDER BY {order} LIMIT ?", (*bindings, query.limit)


def _is_narrow(query: Query) -> bool:
    """True when the query has an index of its own; otherwise it is the open rows that are few, not the history."""
    return bool(query.ids) or any(field is not None for field in (query.job, query.key, query.after_id))


def story(connection: Reads, occurrence_id: int) -> Story | None:
    """Read everything about one occurrence."""
    row = connection.execute(f"SELECT {COLUMNS} FROM occurrence WHERE id = ?", (occurrence_id,)).fetchone()
    if row is None:
        return None
    lines = connection.execute(f"SELECT {_LEDGER} FROM ledger WHERE occurrence_id = ? ORDER BY seq", (occurrence_id,))
    notes = connection.execute(
        "SELECT kind, name, value, fence, at FROM note WHERE occurrence_id = ? ORDER BY rowid", (occurrence_id,)
    )
    return Story(
        occurrence=make(*row),
        ledger=tuple(LedgerLine(**_named(_LEDGER, line)) for line in lines),
        notes=tuple(
            Note(kind=kind, name=name, value=value, fence=fence, at=at) for kind, name, value, fence, at in notes
        ),
        attempts=attempts.of(connection, occurrence_id),
        alerts=_alerts(connection, "occurrence_id = ?", occurrence_id),
    )


def jobs(connection: Reads, names: Collection[str] | None, event: str | None) -> list[JobRow]:
    """Read the jobs, in the order of their names."""
    if event is not None:
        found = connection.execute(
            f"SELECT {JOB_COLUMNS} FROM job WHERE event = ?" + (" AND event <> ''" if event else "") + " ORDER BY name",
            (event,),
        ).fetchall()
        return [job_from_columns(row) for row in found if names is None or row[0] in names]
    if names is None:
        return [job_from_columns(row) for row in connection.execute(f"SELECT {JOB_COLUMNS} FROM job ORDER BY name")]
    statement = f"SELECT {JOB_COLUMNS} FROM job WHERE name = ?"
    rows = [connection.execute(statement, (name,)).fetchone() for name in sorted(set(names))]
    return [job_from_columns(row) for row in rows if row is not None]


def workers(connection: Reads) -> list[WorkerInfo]:
    """Read every worker ever heard of, newest first; one without a pid is known from a copied row only."""
    rows = connection.execute(f"SELECT {_WORKER} FROM worker WHERE pid <> 0 ORDER BY started_at DESC, id DESC")
    return [WorkerInfo(**(_named(_WORKER, row) | {"jobs": names_of(row[-1])})) for row in rows]


def tallies(connection: Reads, now: Micros, *, revisions: bool | Collection[str]) -> Tallies:
    """Count, for backlog and overview; only open rows are looked at, ended ones are counted as they end."""
    counters: dict[str, int] = dict(connection.execute("SELECT name, value FROM counter").fetchall())
    common = connection.execute(OPEN_COMMON, (now,)).fetchone()
    own = connection.execute(OPEN_OWN, (now,)).fetchone()
    return Tallies(
        now=now,
        by_state={state: counters[f"state:{state}"] for state in State if counters.get(f"state:{state}")},
        due_now=common[0] + own[0],
        delayed=common[1] + own[1],
        waiting=common[2] + own[2],
        earliest_due=min((moment for moment in (common[3], own[3]) if moment is not None), default=None),
        stale_refused=counters.get("stale_refused", 0),
        duplicates_refused=counters.get("duplicates_refused", 0),
        open_alerts=_alerts(connection, "closed_at IS NULL"),
        revisions=_revisions(connection, revisions) if revisions else (),
        acts=_acts(connection) if revisions is True else (),
    )


def _revisions(connection: Reads, wanted: Collection[str] | bool) -> tuple[JobRow, ...]:
    if isinstance(wanted, bool):
        rows = connection.execute(f"{_REVISIONS} ORDER BY seq").fetchall()
    else:
        rows = [row for name in sorted(set(wanted)) for row in connection.execute(REVISIONS_OF, (name,)).fetchall()]
        rows.sort(key=itemgetter(0))
    return tuple(
        JobRow(name=name, rule=rule, digest=digest, revision=revision, effective_at=effective, event=event, by=actor)
        for _, name, rule, digest, revision, effective, event, actor in rows
    )


def _acts(connection: Reads) -> tuple[LedgerLine, ...]:
    """Read what people did to whole jobs; such lines stand under no occurrence (0)."""
    rows = connection.execute(f"SELECT {_LEDGER} FROM ledger WHERE occurrence_id = 0 AND job <> '' ORDER BY seq")
    return tuple(LedgerLine(**_named(_LEDGER, line)) for line in rows)


def _alerts(connection: Reads, condition: str, *bindings: Any) -> tuple[Alert, ...]:
    rows = connection.execute(f"SELECT {_ALERT} FROM alert WHERE {condition} ORDER BY id", bindings)
    return tuple(Alert(**_named(_ALERT, row)) for row in rows)


def _named(columns: str, row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(columns.split(", "), row, strict=True))
