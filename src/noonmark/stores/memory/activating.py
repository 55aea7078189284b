"""``activate``: make a declared rule the one in force, and move the frontiers along."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace

from noonmark.core.model import Activation, JobRow, Micros, NewOccurrence, Occurrence, Origin, State, Verdict
from noonmark.stores.memory.settling import reopen
from noonmark.stores.memory.tables import Tables, stamped


def activate(tables: Tables, change: Activation, actor: str, now: Micros) -> JobRow:
    """Apply one change and return the job as it is then."""
    known = tables.jobs.get(change.name)
    job = known or JobRow(name=change.name, rule="", digest="", revision=0, effective_at=0)
    if job.revision != change.expected_revision:
        return job
    if known is not None and job.digest == change.digest:
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
    put(tables, job)
    workers = {"", *(new.worker for new in change.frontiers)}
    meet(tables, job, change.frontiers, workers=workers, actor=actor, now=now)
    for new in change.frontiers:
        _raise_frontier(tables, new, job, now)
    return job


def put(tables: Tables, job: JobRow) -> None:
    """Put a new revision in force."""
    tables.jobs[job.name] = job
    tables.revisions.append(job)
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
