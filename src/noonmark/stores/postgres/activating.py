"""The verb ``activate``: make a declared rule the one in force, and move the frontiers along.

Rule of the file: whatever a revision does not yield again ends, what it yields again keeps its row, what is due already
meets the new gates.  A worker's own rows are touched by that worker's frontiers only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from noonmark.core.model import Activation, Event, JobRow, NewOccurrence, Origin, Passed, State, Verdict
from noonmark.stores.postgres import adding, claims, ending
from noonmark.stores.postgres.arrays import numbers, texts, unescaped
from noonmark.stores.postgres.desk import Desk, Wanted
from noonmark.stores.postgres.link import Session
from noonmark.stores.postgres.rows import Line

_KEPT = (
    "SELECT r.name, r.revision, r.rule, r.digest, r.event FROM unnest($1::text[], $2::bigint[]) AS w (name, revision)"
    " JOIN ~job_revision AS r ON r.name = w.name AND r.revision = w.revision"
)


def wanted(changes: Sequence[Activation]) -> Wanted:
    """Return what these changes are about."""
    rows = [new for change in changes for new in (*change.frontiers, *change.adds)]
    names = {change.name for change in changes}
    return Wanted(
        ids={row.occurrence_id for change in changes for row in change.passed},
        identities=adding.identities(rows),
        series_of=names,
        keys=adding.claimed_keys(rows),
        may_release=True,
        jobs=names,
        changes_jobs=True,
        new_rows=len(rows),
    )


def activate(desk: Desk, changes: Sequence[Activation], actor: str) -> list[JobRow]:
    """Put rules in force; see the port."""
    return [_activate(desk, change, actor) for change in changes]


def answer_to_plain(jobs: Sequence[JobRow]) -> Any:
    """Return what has to be remembered of an answer: rules are kept by revision anyway."""
    return [
        [job.name, job.revision, job.effective_at, job.paused, job.pause_version, job.paused_at, job.resumed_at,
         job.pause_reason]
        for job in jobs
    ]  # fmt: skip


def answer_from_plain(session: Session, plain: Any) -> list[JobRow]:
    """Return the jobs as they were answered first."""
    names, revisions = texts(row[0] for row in plain), numbers(row[1] for row in plain)
    [rows] = session.ask((_KEPT, (names, revisions)))
    kept = {(unescaped(name), revision): tuple(map(unescaped, words)) for name, revision, *words in rows}
    jobs = []
    for name, revision, effective_at, paused, pause_version, paused_at, resumed_at, reason in plain:
        rule, digest, event = kept.get((name, revision), ("", "", ""))
        jobs.append(
            JobRow(
                name=name, rule=rule, digest=digest, revision=revision, effective_at=effective_at, paused=paused,
                pause_version=pause_version, paused_at=paused_at, resumed_at=resumed_at, pause_reason=reason,
                event=event,
            )
        )  # fmt: skip
    return jobs


def _activate(desk: Desk, change: Activation, actor: str) -> JobRow:
    known = desk.job(change.name)
    job = known or JobRow(name=change.name, rule="", digest="", revision=0, effective_at=0)
    if job.revision != change.expected_revision or not are_frontiers(desk, change.passed):
        return job
    if known is not None and job.digest == change.digest:
        leave(desk, job, change.passed, change.adds, actor)
        _add_missing_frontiers(desk, change, job, actor)
        return job
    job = replace(
        job,
        rule=change.rule,
        digest=change.digest,
        revision=job.revision + 1,
        effective_at=change.effective_at,
        event=change.event,
    )
    put(desk, job, actor)
    # gated: take knows nothing of the new gates, so somebody must look
    leave(desk, job, change.passed, [replace(new, gated=True) for new in change.adds], actor)
    if known is not None:
        workers = {"", *(new.worker for new in change.frontiers)}
        meet(desk, job, change.frontiers, workers=workers, actor=actor)
    for new in change.frontiers:
        _raise_frontier(desk, new, job)
    return job


def put(desk: Desk, job: JobRow, actor: str) -> None:
    """Put a new revision in force."""
    desk.changed_jobs[job.name] = job
    desk.revisions.append((job, actor))
    desk.tx.count("rules_version")


def are_frontiers(desk: Desk, passed: Sequence[Passed]) -> bool:
    """Return True while every one of these rows is the frontier that was read."""
    for row in passed:
        line = desk.lines.get(row.occurrence_id)
        if line is None or line.row.fence != row.fence or not line.row.frontier or line.row.due_at is None:
            return False
    return True


def leave(desk: Desk, job: JobRow, passed: Sequence[Passed], adds: Sequence[NewOccurrence], actor: str) -> None:
    """Let frontier rows that nobody looked at go, and put in what became of the moments after them."""
    for row in passed:
        line = desk.line_of(row.occurrence_id)
        if not row.verdict or line.row.cancel_requested:  # the look will carry out the cancel
            line.row.frontier, line.is_changed = False, True
            continue
        ending.end(desk, line, State.SKIPPED, verdict=row.verdict, code=row.code, detail=row.detail)
        ending.log_row(desk, line, Event.SKIP, checks=row.checks, actor=actor)
    for new in adds:
        if new.state is State.PENDING:
            new = replace(new, revision=job.revision)
        if desk.find(new) is None:
            adding.insert(desk, new)


def _series(desk: Desk, name: str) -> list[Line]:
    """Return the open scheduled rows of a job, the oldest moment first."""
    lines = [
        line for line in desk.by_job.get(name, ()) if line.row.due_at is not None and line.row.origin is Origin.SCHEDULE
    ]
    return sorted(lines, key=lambda line: (line.row.scheduled_for, line.row.id))


def meet(
    desk: Desk,
    job: JobRow,
    frontiers: Sequence[NewOccurrence],
    *,
    workers: Collection[str] | None,
    actor: str,
) -> None:
    """Let the open scheduled rows of older revisions meet the revision (``workers`` None: those of every worker)."""
    yielded = {(new.subject, new.identity) for new in frontiers}
    for line in _series(desk, job.name):
        row = line.row
        if row.state is State.RUNNING or row.revision >= job.revision:
            continue  # a started attempt keeps its revision
        if workers is not None and row.worker not in workers:
            continue
        if row.scheduled_for <= job.effective_at:
            # gated: take knows nothing of the new gates, so somebody must look
            row.frontier, row.gated, row.revision, line.is_changed = False, True, job.revision, True
        elif row.state is State.PENDING and (row.subject, row.identity) not in yielded:
            _end_superseded(desk, line, job, actor)


def _end_superseded(desk: Desk, line: Line, job: JobRow, actor: str) -> None:
    if line.row.cancel_requested:  # any end but a success carries the cancel out, and its key stays held
        ending.end(desk, line, State.CANCELLED, code="cancelled", detail="{}")
        ending.log_row(desk, line, Event.CANCEL, actor=actor)
        return
    ending.end(
        desk,
        line,
        State.SKIPPED,
        verdict=Verdict.SKIP_SUPERSEDED.value,
        code="revision_superseded",
        detail=json.dumps({"revision": job.revision}),
    )
    ending.log_row(desk, line, Event.SKIP, actor=actor)


def _raise_frontier(desk: Desk, new: NewOccurrence, job: JobRow) -> None:
    if new.revision != job.revision:
        new = replace(new, revision=job.revision)
    known = desk.find(new)
    if known is None:
        adding.insert(desk, new)
    elif known.row.state is State.PENDING:
        if known.row.cancel_requested:  # what a person cancelled stays held under the name by which it was cancelled
            new = replace(new, key=known.row.key)
        else:
            claims.release(desk, known)
        adding.stamp(known, new)
    elif adding.is_superseded(known):
        adding.reopen(desk, known, new)


def _add_missing_frontiers(desk: Desk, change: Activation, job: JobRow, actor: str) -> None:
    """Add what is not there; and let a worker's rows of an older revision meet the one that others activated."""
    if not change.frontiers:
        return
    rows = [line.row for line in _series(desk, job.name)]
    own = {new.worker for new in change.frontiers if new.worker}
    there = {(row.subject, row.worker) for row in rows if row.frontier and row.revision >= job.revision}
    if any(row.worker in own and row.revision < job.revision for row in rows):
        meet(desk, job, change.frontiers, workers=own, actor=actor)
    for new in change.frontiers:
        if (new.subject, new.worker) not in there:
            _raise_frontier(desk, new, job)
