"""``activate``: make a declared rule the one in force, and move the frontiers along."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from noonmark.core.model import Activation, JobRow, Micros, NewOccurrence, Occurrence, Origin, Passed, State, Verdict
from noonmark.stores.memory.settling import reopen
from noonmark.stores.memory.tables import Tables, stamped


def activate(tables: Tables, change: Activation, actor: str, now: Micros) -> JobRow:
    """Apply one change and return the job as it is then."""
    job = tables.jobs.get(change.name) or JobRow(name=change.name, rule="", digest="", revision=0, effective_at=0)
    if job.revision != change.expected_revision or not are_frontiers(tables, change.passed):
        return job
    if job.revision and job.digest == change.digest:
        leave(tables, job.revision, change.passed, change.adds, actor=actor, now=now)
        _add_missing_frontiers(tables, change, job.revision, now)
        return tables.jobs[change.name]
    job = JobRow(
        name=change.name,
        rule=change.rule,
        digest=change.digest,
        revision=job.revision + 1,
        effective_at=change.effective_at,
        paused=job.paused,
        pause_version=job.pause_version,
        paused_at=job.paused_at,
        resumed_at=job.resumed_at,
        pause_reason=job.pause_reason,
        event=change.event,
    )
    frontiers = {(new.subject, new.identity): new for new in change.frontiers}
    met = [replace(new, gated=True) for new in change.adds]  # take knows nothing of the new gates
    leave(tables, job.revision, change.passed, met, actor=actor, now=now)
    supersede(tables, job, frontiers, actor=actor, now=now)
    for new in change.frontiers:
        _raise_frontier(tables, new, job.revision, now)
    return job


def are_frontiers(tables: Tables, passed: Sequence[Passed]) -> bool:
    """Return True while every one of these rows is the frontier that was read."""
    rows = [(row.fence, tables.rows.get(row.occurrence_id)) for row in passed]
    return all(row is not None and row.frontier and row.fence == fence for fence, row in rows)


def leave(
    tables: Tables, revision: int, passed: Sequence[Passed], adds: Sequence[NewOccurrence], *, actor: str, now: Micros
) -> None:
    """Let frontier rows that nobody looked at go, and put in what became of the moments after them."""
    for gone in passed:
        if not gone.verdict:
            tables.change(gone.occurrence_id, frontier=False)
            continue
        fields = {"verdict": gone.verdict, "code": gone.code, "detail": gone.detail}
        tables.end(gone.occurrence_id, State.SKIPPED, now, **fields)
        tables.log(gone.occurrence_id, now, event="skip", checks=gone.checks, actor=actor)
    for new in adds:
        if tables.known(new) is None:
            tables.insert(replace(new, revision=revision) if new.state is State.PENDING else new, now)


def keep(tables: Tables, job: JobRow) -> None:
    """Put a new revision in force."""
    tables.jobs[job.name] = job
    tables.revisions.append(job)
    tables.rules_version += 1


def supersede(
    tables: Tables, job: JobRow, frontiers: dict[tuple[str, str], NewOccurrence], *, actor: str, now: Micros
) -> None:
    """Put the revision in force: what it does not yield ends, what it yields again stays, what is due meets it."""
    keep(tables, job)
    workers = {"", *(new.worker for new in frontiers.values())}
    for row in tables.open_rows():
        if row.job != job.name or row.origin is not Origin.SCHEDULE or row.worker not in workers:
            continue
        if row.state is State.RUNNING:
            continue  # a started attempt keeps its revision
        if row.scheduled_for <= job.effective_at:
            tables.change(row.id, frontier=False, revision=job.revision)
        elif row.state is State.PENDING and (row.subject, row.identity) not in frontiers:
            _end_superseded(tables, row, job, actor, now)


def _end_superseded(tables: Tables, row: Occurrence, job: JobRow, actor: str, now: Micros) -> None:
    detail = json.dumps({"revision": job.revision})
    verdict = Verdict.SKIP_SUPERSEDED
    tables.end(row.id, State.SKIPPED, now, verdict=verdict, code="revision_superseded", detail=detail)
    tables.log(row.id, now, event="skip", actor=actor)


def _raise_frontier(tables: Tables, new: NewOccurrence, revision: int, now: Micros) -> None:
    fields = stamped(new) | {"revision": revision}
    known = tables.known(new)
    if known is None:
        added = tables.insert(new, now)
        tables.change(added.id, revision=revision)
    elif known.state is State.PENDING:
        tables.release_key(known)
        tables.change(known.id, **fields)
    elif reopen(tables, known, new, now):
        tables.change(known.id, revision=revision)


def _add_missing_frontiers(tables: Tables, change: Activation, revision: int, now: Micros) -> None:
    there = {(row.subject, row.worker) for row in tables.open_rows() if row.job == change.name and row.frontier}
    for new in change.frontiers:
        if (new.subject, new.worker) not in there:
            _raise_frontier(tables, new, revision, now)
