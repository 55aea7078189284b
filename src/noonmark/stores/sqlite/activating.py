"""The verb ``activate``: make a declared rule the one in force, and move the frontiers along.

Rule of the file: whatever a revision does not yield again ends, what it yields again keeps its row, what is due already
meets the new gates.  A worker's own rows are touched by that worker's frontiers only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from noonmark.core.model import Activation, Event, JobRow, NewOccurrence, Passed, State, Verdict
from noonmark.stores.sqlite import adding, claims, ending, ledger
from noonmark.stores.sqlite.transaction import Reads, Transaction

JOB_COLUMNS = (
    "name, rule, digest, revision, effective_at, paused, pause_version, paused_at, resumed_at, pause_reason, event"
)
_PUT = (
    "INSERT INTO job (name, rule, digest, revision, effective_at, event) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (name) DO UPDATE SET rule = excluded.rule, digest = excluded.digest, revision = excluded.revision,"
    " effective_at = excluded.effective_at, event = excluded.event"
)
_SERIES = (
    "SELECT id, subject, identity, state, scheduled_for, worker, revision, frontier FROM occurrence"
    " INDEXED BY occurrence_series WHERE job = ? AND due_at IS NOT NULL AND origin = 'schedule' ORDER BY scheduled_for"
)


def job_from_columns(row: Sequence[Any]) -> JobRow:
    """Return the job of a row read with ``JOB_COLUMNS``."""
    name, rule, digest, revision, effective_at, paused, version, paused_at, resumed_at, reason, event = row
    return JobRow(
        name=name,
        rule=rule,
        digest=digest,
        revision=revision,
        effective_at=effective_at,
        paused=bool(paused),
        pause_version=version,
        paused_at=paused_at,
        resumed_at=resumed_at,
        pause_reason=reason,
        event=event,
    )


def find_job(connection: Reads, name: str) -> JobRow | None:
    """Return the job as it is now."""
    row = connection.execute(f"SELECT {JOB_COLUMNS} FROM job WHERE name = ?", (name,)).fetchone()
    return None if row is None else job_from_columns(row)


def activate(tx: Transaction, changes: Sequence[Activation], actor: str) -> list[JobRow]:
    """Put rules in force; see the port."""
    rows = [_activate(tx, change, actor) for change in changes]
    claims.pass_slots_on(tx)
    return rows


def answer_to_plain(jobs: Sequence[JobRow]) -> Any:
    """Return what has to be remembered of an answer: rules are kept by revision anyway."""
    return [
        [job.name, job.revision, job.effective_at, job.paused, job.pause_version, job.paused_at, job.resumed_at,
         job.pause_reason]
        for job in jobs
    ]  # fmt: skip


def answer_from_plain(tx: Transaction, plain: Any) -> list[JobRow]:
    """Return the jobs as they were answered first."""
    jobs = []
    for name, revision, effective_at, *pause in plain:
        kept = tx.execute(
            "SELECT rule, digest, event FROM job_revision WHERE name = ? AND revision = ?", (name, revision)
        ).fetchone()
        rule, digest, event = kept or ("", "", "")
        jobs.append(job_from_columns((name, rule, digest, revision, effective_at, *pause, event)))
    return jobs


def _activate(tx: Transaction, change: Activation, actor: str) -> JobRow:
    known = find_job(tx.connection, change.name)
    job = known or JobRow(name=change.name, rule="", digest="", revision=0, effective_at=0)
    if job.revision != change.expected_revision or not are_frontiers(tx, change.passed):
        return job
    if known is not None and job.digest == change.digest:
        leave(tx, job, change.passed, change.adds, actor)
        _add_missing_frontiers(tx, change, job, actor)
        return job
    job = replace(
        job,
        rule=change.rule,
        digest=change.digest,
        revision=job.revision + 1,
        effective_at=change.effective_at,
        event=change.event,
    )
    put(tx, job, actor)
    # gated: take knows nothing of the new gates, so somebody must look
    leave(tx, job, change.passed, [replace(new, gated=True) for new in change.adds], actor)
    if known is not None:
        workers = {"", *(new.worker for new in change.frontiers)}
        meet(tx, job, change.frontiers, workers=workers, actor=actor)
    for new in change.frontiers:
        _raise_frontier(tx, new, job)
    return job


def put(tx: Transaction, job: JobRow, actor: str) -> None:
    """Put a new revision in force."""
    tx.execute(_PUT, (job.name, job.rule, job.digest, job.revision, job.effective_at, job.event))
    tx.execute(
        "INSERT INTO job_revision (name, rule, digest, revision, effective_at, event, actor, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (job.name, job.rule, job.digest, job.revision, job.effective_at, job.event, actor, tx.now),
    )
    tx.count("rules_version")


def are_frontiers(tx: Transaction, passed: Sequence[Passed]) -> bool:
    """Return True while every one of these rows is the frontier that was read."""
    return all(
        tx.execute(
            "SELECT 1 FROM occurrence WHERE id = ? AND fence = ? AND frontier = 1 AND due_at IS NOT NULL",
            (row.occurrence_id, row.fence),
        ).fetchone()
        is not None
        for row in passed
    )


def leave(tx: Transaction, job: JobRow, passed: Sequence[Passed], adds: Sequence[NewOccurrence], actor: str) -> None:
    """Let frontier rows that nobody looked at go, and put in what became of the moments after them."""
    for row in passed:
        line = ending.load(tx, row.occurrence_id)
        assert line is not None, "read a moment ago in this transaction"
        if not row.verdict or line.row.cancel_requested:  # the look will carry out the cancel
            tx.execute("UPDATE occurrence SET frontier = 0 WHERE id = ?", (row.occurrence_id,))
            continue
        ending.end(tx, line, State.SKIPPED, verdict=row.verdict, code=row.code, detail=row.detail)
        ledger.append_row(tx, row.occurrence_id, Event.SKIP, checks=row.checks, actor=actor)
    for new in adds:
        if new.state is State.PENDING:
            new = replace(new, revision=job.revision)
        if adding.find(tx, new) is None:
            adding.insert(tx, new)


def meet(
    tx: Transaction,
    job: JobRow,
    frontiers: Sequence[NewOccurrence],
    *,
    workers: Collection[str] | None,
    actor: str,
) -> None:
    """Let the open scheduled rows of older revisions meet the revision (``workers`` None: those of every worker)."""
    yielded = {(new.subject, new.identity) for new in frontiers}
    for row in tx.execute(_SERIES, (job.name,)).fetchall():
        occurrence_id, subject, identity, state, scheduled_for, worker, revision, _ = row
        if state == State.RUNNING or revision >= job.revision or (workers is not None and worker not in workers):
            continue  # a started attempt keeps its revision
        if scheduled_for <= job.effective_at:
            # gated: take knows nothing of the new gates, so somebody must look
            tx.execute(
                "UPDATE occurrence SET frontier = 0, gated = 1, revision = ? WHERE id = ?",
                (job.revision, occurrence_id),
            )
        elif state == State.PENDING and (subject, identity) not in yielded:
            _end_superseded(tx, occurrence_id, job, actor)


def _end_superseded(tx: Transaction, occurrence_id: int, job: JobRow, actor: str) -> None:
    line = ending.load(tx, occurrence_id)
    assert line is not None, "read a moment ago in this transaction"
    if line.row.cancel_requested:  # any end but a success carries the cancel out, and its key stays held
        ending.end(tx, line, State.CANCELLED, code="cancelled", detail="{}")
        ledger.append_row(tx, occurrence_id, Event.CANCEL, actor=actor)
        return
    ending.end(
        tx,
        line,
        State.SKIPPED,
        verdict=Verdict.SKIP_SUPERSEDED.value,
        code="revision_superseded",
        detail=json.dumps({"revision": job.revision}),
    )
    ledger.append_row(tx, occurrence_id, Event.SKIP, actor=actor)


def _raise_frontier(tx: Transaction, new: NewOccurrence, job: JobRow) -> None:
    if new.revision != job.revision:
        new = replace(new, revision=job.revision)
    known = adding.find(tx, new)
    if known is None:
        adding.insert(tx, new)
    elif known.state == State.PENDING:
        if known.cancel_requested:  # what a person cancelled stays held under the name by which it was cancelled
            new = replace(new, key=known.key)
        else:
            claims.release(tx, known.key, known.id)
        adding.stamp(tx, known.id, new)
    elif known.is_superseded:
        adding.reopen(tx, known.id, new)


def _add_missing_frontiers(tx: Transaction, change: Activation, job: JobRow, actor: str) -> None:
    """Add what is not there; and let a worker's rows of an older revision meet the one that others activated."""
    if not change.frontiers:
        return
    rows = tx.execute(_SERIES, (job.name,)).fetchall()
    own = {new.worker for new in change.frontiers if new.worker}
    if any(row[5] in own and row[6] < job.revision for row in rows):
        meet(tx, job, change.frontiers, workers=own, actor=actor)
    there = {(row[1], row[5]) for row in rows if row[7] and row[6] >= job.revision}
    for new in change.frontiers:
        if (new.subject, new.worker) not in there:
            _raise_frontier(tx, new, job)
