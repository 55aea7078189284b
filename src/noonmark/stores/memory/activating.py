"""``activate``: make a declared rule the one in force, and move the frontiers along."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from noonmark.core.model import Activation, JobRow, Micros, NewOccurrence, Occurrence, Origin, Passed, State, Verdict
from noonmark.stores.memory.rows import stamped
from noonmark.stores.memory.settling import reopen
from noonmark.stores.memory.tables import Tables


def activate(tables: Tables, change: Activation, actor: str, now: Micros) -> JobRow:
    """Apply one change and return the job as it is then."""
    known = tables.jobs.get(change.name)
    job = known or JobRow(name=change.name, rule="", digest="", revision=0, effective_at=0)
    if job.revision != change.expected_revision or not are_frontiers(tables, change.passed):
        return job
    if known is not None and job.digest == change.digest:
        leave(tables, job, change.passed, change.adds, actor=actor, now=now)
        _add_missing_frontiers(tables, change, job, actor, now)
        return job
    job = replace(
        job,
        rule=change.rule,
        digest=change.digest,
        revision=job.revision + 1,
        effective_at=change.effective_at,
        event=change.event,
    )
    put(tables, job, actor=actor, now=now)
    met = [replace(new, gated=True) for new in change.adds]  # take knows nothing of the new gates
    leave(tables, job, change.passed, met, actor=actor, now=now)
    workers = {"", *(new.worker for new in change.frontiers)}
    meet(tables, job, change.frontiers, workers=workers, actor=actor, now=now)
    for new in change.frontiers:
        _raise_frontier(tables, new, job, now)
    return job


def are_frontiers(tables: Tables, passed: Sequence[Passed]) -> bool:
    """Return True while every one of these rows is the frontier that was read."""
    rows = [(row.fence, tables.rows.get(row.occurrence_id)) for row in passed]
    return all(row is not None and row.frontier and row.fence == fence for fence, row in rows)


def leave(
    tables: Tables, job: JobRow, passed: Sequence[Passed], adds: Sequence[NewOccurrence], *, actor: str, now: Micros
) -> None:
    """Let frontier rows that nobody looked at go, and put in what became of the moments after them."""
    for gone in passed:
        if not gone.verdict or tables.rows[gone.occurrence_id].cancel_requested:  # the look will carry out the cancel
            tables.change(gone.occurrence_id, frontier=False)
            continue
        fields = {"verdict": gone.verdict, "code": gone.code, "detail": gone.detail}
        tables.end(gone.occurrence_id, State.SKIPPED, now, **fields)
        tables.log(gone.occurrence_id, now, event="skip", checks=gone.checks, actor=actor)
    for new in adds:
        if tables.known(new) is None:
            tables.insert(replace(new, revision=job.revision) if new.state is State.PENDING else new, now)


def put(tables: Tables, job: JobRow, *, actor: str, now: Micros) -> None:
    """Put a new revision in force."""
    tables.jobs[job.name] = job
    tables.revisions.append(job)
    tables.revised.append((actor, now))
    tables.rules_version += 1


def meet(
    tables: Tables,
    job: JobRow,
    frontiers: Iterable[NewOccurrence],
    *,
    workers: Collection[str] | None,
    actor: str,
    now: Micros,
) -> None:
    """Let open scheduled rows of older revisions meet the one in force (``workers`` None: those of every worker).

    What it does not yield ends, what it yields again stays, and what is due already keeps its identity and is looked at
    anew: ``take`` knows nothing of the new gates.
    """
    yielded = {(new.subject, new.identity) for new in frontiers}
    for row in tables.open_rows():
        if row.job != job.name or row.origin is not Origin.SCHEDULE or row.revision >= job.revision:
            continue
        if row.state is State.RUNNING or (workers is not None and row.worker not in workers):
            continue  # a started attempt keeps its revision
        if row.scheduled_for <= job.effective_at:
            tables.change(row.id, frontier=False, gated=True, revision=job.revision)
        elif row.state is State.PENDING and (row.subject, row.identity) not in yielded:
            _end_superseded(tables, row, job, actor, now)


def _end_superseded(tables: Tables, row: Occurrence, job: JobRow, actor: str, now: Micros) -> None:
    if row.cancel_requested:  # any end but a success carries the cancel out, and its key stays held
        tables.end(row.id, State.CANCELLED, now, code="cancelled", detail="{}")
        tables.log(row.id, now, event="cancel", actor=actor)
        return
    detail = json.dumps({"revision": job.revision})
    verdict = Verdict.SKIP_SUPERSEDED
    tables.end(row.id, State.SKIPPED, now, verdict=verdict, code="revision_superseded", detail=detail)
    tables.log(row.id, now, event="skip", actor=actor)


def _raise_frontier(tables: Tables, new: NewOccurrence, job: JobRow, now: Micros) -> None:
    new = replace(new, revision=job.revision)
    known = tables.known(new)
    if known is None:
        tables.insert(new, now)
    elif known.state is State.PENDING:
        if known.cancel_requested:  # what a person cancelled stays held under the name by which it was cancelled
            new = replace(new, key=known.key)
        else:
            tables.release_key(known)  # the key is one of the things that are stamped anew
        tables.change(known.id, **stamped(new))
    else:
        reopen(tables, known, new, now)


def _add_missing_frontiers(tables: Tables, change: Activation, job: JobRow, actor: str, now: Micros) -> None:
    """Add what is not there; and let a worker's own rows meet the revision that another worker put in force."""
    own = {new.worker for new in change.frontiers if new.worker}
    rows = [row for row in tables.open_rows() if row.job == job.name]
    if any(row.worker in own and row.revision < job.revision for row in rows):
        meet(tables, job, change.frontiers, workers=own, actor=actor, now=now)
    there = {(row.subject, row.worker) for row in rows if row.frontier and row.revision >= job.revision}
    for new in change.frontiers:
        if (new.subject, new.worker) not in there:
            _raise_frontier(tables, new, job, now)
