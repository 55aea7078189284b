"""A series taken past moments of which somebody else knows what became: where it goes on, and what lies in between.

Promise: a series that is taken past a moment has its next frontier row in the same transaction (I13), and what its rule
wants of the moments in between has a row or a range record; a moment that has a row already is not yielded again.

Rule of the file: synchronous, as ``activate``; the store refuses what was derived from a frontier that moved meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from noonmark.core import catchup, series
from noonmark.core.codec import checks_to_json, job_from_text
from noonmark.core.model import (
    Activation,
    Decision,
    Job,
    JobRow,
    Micros,
    NewOccurrence,
    Occurrence,
    Origin,
    Passed,
    Query,
    State,
    Verdict,
)
from noonmark.core.stored import RuleUnreadable
from noonmark.ports.store import Store

AT_ONCE = 500
"""Most moments of a series that are put into one transaction."""
HALFWAY = "importing"
"""Code of a row that an import has entered and not yet marked as done."""
FEW = 20
"""So many moments are asked for at once when a place to go on is looked for: nearly always the first is free."""
_FAR: Micros = 2**52  # behind every moment
_ROUNDS = 5


def series_of(store: Store, name: str) -> tuple[Job, JobRow] | None:
    """Return the rule of a job that goes on by itself, None for every other one."""
    for row in store.jobs([name]):
        try:
            job = job_from_text(row.rule) if row.rule else None
        except RuleUnreadable:
            return None
        return (job, row) if job is not None and job.is_series and job.scope != series.EACH_WORKER else None
    return None


def free_frontier(store: Store, job: Job, row: NewOccurrence) -> NewOccurrence | None:
    """Return the first frontier row that a series can go on with: at this moment or behind those that have a row.

    Args:
        job: the rule in force.
        row: where the series would go on.

    Returns:
        The row, None behind the last moment.  A moment that waits already, or was taken back, is one to go on with; one
        that ended or that somebody asked for is not, for a store raises no second row of it.
    """
    after = row.scheduled_for - 1
    while moments := series.moments_between(job, after, _FAR, limit=FEW):
        there = _passed_over(store, row, moments[0].at, moments[-1].at)
        for moment in moments:
            if moment.identity not in there:
                return row if moment.identity == row.identity else _at(job, row, moment)
        after = moments[-1].at
    return None


def _at(job: Job, row: NewOccurrence, moment: series.Moment) -> NewOccurrence:
    params = {} if row.worker else series.subject_values(job, row.subject)
    return series.row_for_moment(
        job, moment, revision=row.revision, subject=row.subject, params=params, worker=row.worker
    )


def _passed_over(store: Store, row: NewOccurrence, since: Micros, until: Micros) -> set[str]:
    """Return the identities between two moments that the series cannot go on with."""
    found: set[str] = set()
    query = Query(job=row.job, subject=row.subject, scheduled_from=since, scheduled_until=until + 1, limit=AT_ONCE)
    after = 0
    while rows := store.occurrences(replace(query, after_id=after)):
        found |= {each.identity for each in rows if not _carries(each)}
        after = rows[-1].id
    return found


def _carries(row: Occurrence) -> bool:
    is_ours = row.origin is Origin.SCHEDULE and row.code != HALFWAY
    return is_ours and (row.state is State.PENDING or row.verdict == Verdict.SKIP_SUPERSEDED)


def overtake(store: Store, frontier: Occurrence, request_id: str, *, actor: str) -> bool:
    """End a frontier row of which it is known that it ran, and let its series go on; the row is to be marked as done.

    Returns:
        Whether it was done; False: the row is no frontier any more, or its rule is gone.
    """
    found = series_of(store, frontier.job)
    if found is None:
        return False
    job, row = found
    gone = Passed(occurrence_id=frontier.id, fence=frontier.fence, verdict=Verdict.SKIP_SUPERSEDED, code=HALFWAY)
    following = next_frontier(store, job, row, frontier.scheduled_for, subject=frontier.subject)
    change = moved_on(row, passed=(gone,), frontiers=following)
    store.activate(request_id, [change], actor=actor)
    (after,) = store.occurrences(Query(ids=(frontier.id,)))
    return not after.frontier


def pass_by(
    store: Store, name: str, subject: str, until: Micros, new_request: Callable[[], str], *, actor: str
) -> None:
    """Take a series past an instant, as its rule's ``missed`` policy wants it of the moments until then.

    Args:
        until: the last moment of which it is known what became, UTC microseconds.
        actor: who is recorded as having moved it.
    """
    rounds, before = 0, 0
    while rounds < _ROUNDS and (found := series_of(store, name)) is not None:
        job, row = found
        query = Query(job=name, subject=subject, frontier_only=True, open_only=True, scheduled_until=until + 1, limit=1)
        frontier = next(iter(store.occurrences(query)), None)
        if frontier is None or frontier.worker:
            return
        rounds += frontier.id == before  # somebody else was at it; steps of a long way are no failures
        before = frontier.id
        step = catchup.leave(job, frontier, until, revision=row.revision, limit=AT_ONCE)
        last = next((new for new in step.adds if new.frontier), None)  # a part of the way only
        adds = tuple(replace(new, frontier=False) for new in step.adds)
        known_until = until if last is None else last.scheduled_for - 1
        following = next_frontier(store, job, row, known_until, subject=subject)
        if following and last is not None and following[0].identity == last.identity:
            adds = adds[:-1]
        change = moved_on(row, passed=(passed_of(frontier, step.decision),), adds=adds, frontiers=following)
        store.activate(new_request(), [change], actor=actor)


def next_frontier(
    store: Store, job: Job, row: JobRow, after: Micros, *, subject: str, worker: str = ""
) -> tuple[NewOccurrence, ...]:
    """Return the frontier row with which a series goes on, nothing behind its last moment.

    Args:
        job: the rule in force; a subject that it does not have any more has no next moment.
        row: the job as it was read.
        after: the last moment of which it is known what became, UTC microseconds.
        subject, worker: whose series.
    """
    moment = series.next_moment(job, after)
    if moment is None:
        return ()
    values = {} if worker else series.subject_values(job, subject)
    if not worker and not (values if job.each else not subject):
        return ()
    new = series.row_for_moment(job, moment, revision=row.revision, subject=subject, params=values, worker=worker)
    found = free_frontier(store, job, new)
    return () if found is None else (found,)


def passed_of(row: Occurrence, decision: Decision | None) -> Passed:
    """Return what becomes of a frontier row that is left: it ends by the decision, or (None) is still wanted."""
    if decision is None:
        return Passed(occurrence_id=row.id, fence=row.fence)
    return Passed(
        occurrence_id=row.id,
        fence=row.fence,
        verdict=decision.verdict,
        code=decision.code,
        detail=json.dumps(dict(decision.detail), ensure_ascii=False),
        checks=checks_to_json(decision.checks),
    )


def moved_on(
    row: JobRow,
    *,
    passed: tuple[Passed, ...] = (),
    adds: tuple[NewOccurrence, ...] = (),
    frontiers: tuple[NewOccurrence, ...] = (),
) -> Activation:
    """Return the activation by which a job's series moves on while its rule stays as it is.

    Args:
        row: the job as it was read; the store refuses the step where it changed meanwhile.
        passed: what becomes of frontier rows that are left.
        adds: rows and range records of what lies in between.
        frontiers: where the series goes on.
    """
    return Activation(
        name=row.name,
        rule=row.rule,
        digest=row.digest,
        expected_revision=row.revision,
        effective_at=row.effective_at,
        event=row.event,
        passed=passed,
        adds=adds,
        frontiers=frontiers,
    )
